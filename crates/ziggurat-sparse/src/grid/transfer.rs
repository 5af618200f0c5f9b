//! Interpolation between a grid and its coarse grid, and restriction, without indices.
//!
//! ```text
//! P = P_z P_y P_x,   R = Pᵀ
//! ```
//!
//! Each factor interpolates along one axis, with two weights for every point that coarsening along
//! it leaves out; coarse points keep their value. Only the weights are stored:
//! 7/4 numbers per fine point in three dimensions, instead of the 27/8 entries of the product and
//! their columns. Scale factors of rows and columns are powers of two in single precision. With
//! several unknowns per point, all kinds of them have the same weights, and vectors hold one kind
//! after another.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::Grid;
use crate::Csr;
use crate::matrix::ScaleFactors;
use crate::matrix::format::{Format, FormatPlan};
use crate::number::Store;
use crate::parallel::{PIECE, map_pieces, over_pieces, zeros};

/// Whether a transfer interpolates or restricts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferDirection {
    /// From the coarse grid to the fine one: P.
    Prolongation,
    /// From the fine grid to the coarse one: R = Pᵀ.
    Restriction,
}

/// Interpolation or restriction between a grid and the grid of every second point along some axes.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{GridMatrix, recognise};
/// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
/// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
/// let (p, coarse) = a.coarsen(&[0, 2]).ok_or("too few points")?;
/// assert_eq!((p.rows(), p.cols()), (81, coarse.grid().len()));
/// assert_eq!(p.to_csr().row(80).0, [15]); // a corner interpolates from one coarse point
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GridTransfer<S> {
    direction: TransferDirection,
    /// Unknowns per point.
    unknowns: usize,
    fine: Grid,
    coarse: Grid,
    /// The factors, finest first, in the order of falling axes.
    steps: Arc<[AxisWeights<S>]>,
    left: Option<Vec<f32>>,
    right: Option<Vec<f32>>,
    factor: f64,
    /// Buffers of the kernels.
    buffers: Mutex<Buffers>,
}

/// Buffers that no task uses, and how many there are in all.
#[derive(Debug, Default)]
struct Buffers {
    idle: Vec<Vec<f64>>,
    made: usize,
}

/// Interpolation along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AxisWeights<S> {
    pub(crate) axis: usize,
    /// The grid before coarsening along this axis.
    pub(crate) fine: Grid,
    /// The weights towards smaller and larger coordinates. The points that are left out are
    /// numbered as a grid of their own.
    pub(crate) lower: Vec<S>,
    pub(crate) upper: Vec<S>,
}

impl AxisWeights<f64> {
    /// Weights of zero.
    pub(super) fn zeros(axis: usize, fine: Grid) -> Self {
        let len = fine.left_out(axis).len();
        AxisWeights { axis, fine, lower: zeros(len), upper: zeros(len) }
    }

    /// Counts, in some planes of the grid of weights, the points between two coarse ones, and how
    /// many of these follow one of the two more than ten times as much as the other.
    fn sided(&self, planes: Range<usize>) -> SidedPoints {
        let plane = self.fine.left_out(self.axis).stride(2);
        let points = planes.start * plane..planes.end * plane;
        let pieces = map_pieces(points, PIECE, &|points| {
            let pairs = self.lower[points.clone()].iter().zip(&self.upper[points]);
            let inner = pairs.filter(|(lower, upper)| **lower > 0.0 && **upper > 0.0);
            inner.fold(SidedPoints::default(), |SidedPoints { sided, all }, (&lower, &upper)| SidedPoints {
                sided: sided + u64::from(lower.max(upper) > 10.0 * lower.min(upper)),
                all: all + 1,
            })
        });
        pieces.into_iter().fold(SidedPoints::default(), |one, other| SidedPoints {
            sided: one.sided + other.sided,
            all: one.all + other.all,
        })
    }
}

/// Points between two coarse ones along an axis.
///
/// ```
/// use ziggurat_sparse::grid::SidedPoints;
/// assert_eq!(SidedPoints { sided: 1, all: 4 }.share(), 0.25);
/// assert_eq!(SidedPoints::default().share(), 0.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SidedPoints {
    /// Those that follow one of the two ten times as much as the other.
    pub sided: u64,
    /// All of them.
    pub all: u64,
}

impl SidedPoints {
    /// The share of those that follow one.
    pub fn share(&self) -> f64 {
        self.sided as f64 / self.all.max(1) as f64
    }
}

impl<S: Clone> Clone for GridTransfer<S> {
    fn clone(&self) -> Self {
        GridTransfer {
            direction: self.direction,
            unknowns: self.unknowns,
            fine: self.fine,
            coarse: self.coarse,
            steps: self.steps.clone(),
            left: self.left.clone(),
            right: self.right.clone(),
            factor: self.factor,
            buffers: Mutex::default(),
        }
    }
}

impl<S: PartialEq> PartialEq for GridTransfer<S> {
    fn eq(&self, other: &Self) -> bool {
        let of = |this: &Self| (this.direction, this.unknowns, this.fine, this.factor);
        of(self) == of(other)
            && self.steps == other.steps
            && (&self.left, &self.right) == (&other.left, &other.right)
    }
}

/// The weights, rounded to another type.
fn narrowed<S: Store, T: Store>(weights: &[S]) -> Vec<T> {
    const BUFFER: usize = 1024;
    let mut narrow = zeros(weights.len());
    over_pieces(&mut narrow, &|first, narrow| {
        let mut wide = [0.0; BUFFER];
        for (narrow, weights) in narrow.chunks_mut(BUFFER).zip(weights[first..].chunks(BUFFER)) {
            wide.iter_mut().zip(weights).for_each(|(wide, weight)| *wide = weight.wide());
            T::narrow_all(&wide[..narrow.len()], narrow);
        }
    });
    narrow
}

impl GridTransfer<f64> {
    /// Along each axis, falling: the points between two coarse ones, and those that follow one of
    /// them much more than the other. Where that is most points, coefficients change from point to
    /// point, and a coarser grid does not resolve them. Only given planes of the fine grid count,
    /// so that processes that share a grid can add their numbers.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, _) = a.coarsen(&[0, 2]).ok_or("too few points")?;
    /// let [z, x] = p.sided_points(0..9)[..] else { return Err("two axes".into()) };
    /// assert_eq!((z.sided, z.all, x.all), (0, 3 * 9, 4 * 3)); // lines 2, 4 and 6; 4 coarse lines
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If there are no such planes.
    pub fn sided_points(&self, planes: Range<usize>) -> Vec<SidedPoints> {
        let halves = |odd: usize| (planes.start + 1 - odd) / 2..(planes.end + 1 - odd) / 2;
        let of_step = |step: &AxisWeights<f64>| match (step.axis, self.step(2)) {
            (2, _) => step.sided(halves(0)),       // even planes
            (_, Some(_)) => step.sided(halves(1)), // odd planes
            _ => step.sided(planes.clone()),
        };
        self.steps.iter().map(of_step).collect()
    }
}

impl<S: Store> GridTransfer<S> {
    /// The transfer in the other direction, with the same weights.
    ///
    /// # Panics
    /// If it is scaled.
    #[must_use]
    pub fn transposed(&self) -> Self {
        assert!(self.left.is_none() && self.right.is_none(), "a transfer without scale factors");
        let direction = match self.direction {
            TransferDirection::Prolongation => TransferDirection::Restriction,
            TransferDirection::Restriction => TransferDirection::Prolongation,
        };
        GridTransfer { direction, buffers: Mutex::default(), ..self.clone() }
    }

    /// The transfer of several unknowns per point, all with the same weights. Vectors hold the
    /// first unknown of all points, then the second, and so on.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, _) = a.coarsen(&[0, 2]).ok_or("too few points")?;
    /// let p = p.of_unknowns(3);
    /// assert_eq!((p.rows(), p.cols()), (3 * 81, 3 * 16));
    /// assert_eq!(p.to_csr().row(2 * 81 + 80).0, [2 * 16 + 15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If it is scaled.
    #[must_use]
    pub fn of_unknowns(self, unknowns: usize) -> Self {
        assert!(self.left.is_none() && self.right.is_none(), "a transfer without scale factors");
        GridTransfer { unknowns, ..self }
    }

    /// Unknowns per point.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// The axes along which it interpolates, falling.
    pub fn axes(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.axis).collect()
    }

    pub(crate) fn of_axes(steps: Vec<AxisWeights<S>>, direction: TransferDirection) -> Self {
        assert!(!steps.is_empty(), "a transfer along at least one axis");
        let (fine, mut coarse) = (steps[0].fine, steps[0].fine);
        for step in &steps {
            assert_eq!(step.fine, coarse, "the grids of the factors");
            let left_out = coarse.left_out(step.axis).len();
            assert_eq!([step.lower.len(), step.upper.len()], [left_out; 2], "weights of an axis");
            coarse = coarse.coarse(step.axis);
        }
        assert!(steps.windows(2).all(|pair| pair[0].axis > pair[1].axis), "falling axes");
        GridTransfer {
            direction,
            unknowns: 1,
            fine,
            coarse,
            steps: steps.into(),
            left: None,
            right: None,
            factor: 1.0,
            buffers: Mutex::default(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.shape().0
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.shape().1
    }

    pub(crate) fn shape(&self) -> (usize, usize) {
        let (rows, cols) = self.points();
        (self.unknowns * rows, self.unknowns * cols)
    }

    /// The numbers of points that it transfers to and from.
    pub(crate) fn points(&self) -> (usize, usize) {
        match self.direction {
            TransferDirection::Prolongation => (self.fine.len(), self.coarse.len()),
            TransferDirection::Restriction => (self.coarse.len(), self.fine.len()),
        }
    }

    /// Number of stored weights.
    pub fn nnz(&self) -> usize {
        self.steps.iter().map(|step| 2 * step.lower.len()).sum()
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        let scales = [&self.left, &self.right].into_iter().flatten();
        self.nnz() * size_of::<S>() + scales.map(|scale| size_of_val(&scale[..])).sum::<usize>()
    }

    /// Whether it interpolates or restricts.
    pub fn direction(&self) -> TransferDirection {
        self.direction
    }

    /// The fine and the coarse grid.
    pub fn grids(&self) -> (Grid, Grid) {
        (self.fine, self.coarse)
    }

    /// The weights along an axis towards smaller and larger coordinates, if it interpolates along
    /// it. They belong to the points 0, 2, 4, … along this axis, of a grid that is coarse along the
    /// larger axes and fine along the smaller ones, and are numbered as points of a grid.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, _) = a.coarsen(&[0, 2]).ok_or("too few points")?;
    /// let along = |axis| p.weights(axis).map(|[lower, _]| lower.len());
    /// assert_eq!([0, 1, 2].map(along), [Some(5 * 4), None, Some(9 * 5)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn weights(&self, axis: usize) -> Option<[&[S]; 2]> {
        self.step(axis).map(|step| [&step.lower[..], &step.upper])
    }

    /// The factors, finest first.
    pub(super) fn steps(&self) -> &[AxisWeights<S>] {
        &self.steps
    }

    pub(crate) fn step(&self, axis: usize) -> Option<&AxisWeights<S>> {
        self.steps.iter().find(|step| step.axis == axis)
    }

    /// The scale factors of rows and columns, and of all entries.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, _) = a.coarsen(&[0, 2]).ok_or("too few points")?;
    /// assert_eq!(p.scales(), (None, None, 1.0)); // before a level is scaled
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scales(&self) -> (Option<&[f32]>, Option<&[f32]>, f64) {
        (self.left.as_deref(), self.right.as_deref(), self.factor)
    }

    /// Makes buffers of `len` doubles for `tasks` tasks at a time, unless there are as many. Later
    /// calls allocate nothing.
    pub(crate) fn prepare_buffers(&self, tasks: usize, len: usize) {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        while buffers.made < tasks {
            buffers.idle.push(vec![0.0; len]);
            buffers.made += 1;
        }
    }

    /// Calls `work` with a buffer of `len` doubles, whose content is arbitrary.
    pub(crate) fn with_buffer<T>(&self, len: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
        let buffers = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = buffers().idle.pop().unwrap_or_default();
        if buffer.len() < len {
            buffer.resize(len, 0.0);
        }
        let result = work(&mut buffer[..len]);
        buffers().idle.push(buffer);
        result
    }
}

impl<S: Store> Format<S> for GridTransfer<S> {
    type As<T: Store> = GridTransfer<T>;
    type View<'a> = &'a GridTransfer<S>;

    fn view(&self) -> &GridTransfer<S> {
        self
    }

    /// A transfer is made with its grids, not found in a matrix.
    fn plan(_: &Arc<Csr<f64>>, _: usize) -> Option<FormatPlan<'_, Arc<Self>>> {
        None
    }

    /// The weights are between zero and one in any unit; factors are stored beside them, except
    /// for a common power of two, in which rows and columns may be far from one.
    fn scaled_as<T: Store>(&self, factors: ScaleFactors<'_>) -> Option<GridTransfer<T>> {
        let steps = self.steps.iter().map(|step| AxisWeights {
            axis: step.axis,
            fine: step.fine,
            lower: narrowed(&step.lower),
            upper: narrowed(&step.upper),
        });
        let mut scaled = GridTransfer::of_axes(steps.collect(), self.direction).of_unknowns(self.unknowns);
        let unit = |list: Option<&[f64]>| list.and_then(|list| list.first().copied()).unwrap_or(1.0);
        let (left, right) = (unit(factors.left), unit(factors.right));
        let relative = |list: Option<&[f64]>, old: Option<&Vec<f32>>, unit: f64| match (list, old) {
            (None, old) => old.cloned(),
            (Some(list), None) => Some(list.iter().map(|x| (x / unit) as f32).collect()),
            (Some(list), Some(old)) => {
                Some(list.iter().zip(old).map(|(x, old)| (x / unit) as f32 * old).collect())
            }
        };
        scaled.left = relative(factors.left, self.left.as_ref(), left);
        scaled.right = relative(factors.right, self.right.as_ref(), right);
        scaled.factor = self.factor * factors.factor * left * right;
        Some(scaled)
    }
}

#[cfg(test)]
mod tests {
    use crate::algebra::{product, transpose};
    use crate::gallery::Problem;
    use crate::grid::{GridMatrix, recognise};

    #[test]
    fn the_coarse_matrix_is_the_galerkin_product() {
        for (name, axes) in [
            ("poisson3d:7", &[2, 1, 0][..]),
            ("poisson3d:8", &[2, 1, 0]),
            ("jump3d:11", &[2, 1, 0]),
            ("anisotropic3d:6", &[1, 0]),
            ("convection3d:6", &[2, 0]),
            ("poisson3d27:5", &[1]),
            ("poisson2d:13", &[2, 0]),
            ("poisson3d27:4", &[2, 1, 0]),
            ("neumann3d:6", &[2, 1, 0]),
        ] {
            let csr = name.parse::<Problem>().unwrap().matrix().unwrap();
            let a = GridMatrix::from_csr(csr.view(), &recognise(csr.view()).unwrap()).unwrap();
            let (p, a) = a.coarsen(axes).unwrap();
            let (r, p) = (p.transposed().to_csr(), p.to_csr());
            assert_eq!(r, transpose(p.view(), p.all_rows()), "{name}");
            let ap = product(csr.view(), csr.all_rows(), p.view()).unwrap();
            let expected = product(r.view(), r.all_rows(), ap.view()).unwrap();
            let found = a.rows_to_csr(0..a.grid().len());
            let largest = expected.values().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            for row in expected.all_rows() {
                for column in 0..expected.cols() {
                    let [found, expected] = [&found, &expected].map(|a| a.get(row, column).unwrap_or(0.0));
                    assert!((found - expected).abs() <= 1e-13 * largest, "{name} ({row}, {column})");
                }
            }
        }
    }

    #[test]
    fn weights_sum_to_at_most_one_and_to_one_without_a_boundary() {
        for (name, has_boundary) in [("jump3d:15", true), ("neumann3d:15", false)] {
            let csr = name.parse::<Problem>().unwrap().matrix().unwrap();
            let a = GridMatrix::from_csr(csr.view(), &recognise(csr.view()).unwrap()).unwrap();
            let p = a.coarsen(&[0, 1, 2]).unwrap().0.to_csr();
            for row in p.all_rows() {
                let sum: f64 = p.row(row).1.iter().sum();
                assert!(
                    sum <= 1.0 + 1e-12 && (has_boundary || sum > 1.0 - 1e-12),
                    "{name}, row {row}: {sum}"
                );
            }
        }
    }
}
