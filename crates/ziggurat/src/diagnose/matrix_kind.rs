//! The properties of a matrix that determine the solver's choices: the part of the diagnosis that
//! every setup runs.
//!
//! The functions are generic over [`LevelMatrix`]: a single process examines all rows; several
//! processes examine their own rows and those of their neighbours, and combine the results. Cost: a
//! few passes over the matrix.

use std::sync::Arc;

use rayon::prelude::*;
use ziggurat_amg::halo::{Halo, Whole};
use ziggurat_amg::{Cells, KnownGrid, LevelMatrix, SetupError, WholeMatrix, cells, grid_of};
use ziggurat_sparse::device::Device;
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::grid::{GridPattern, GridSystem, RowSum};
use ziggurat_sparse::{Csr, CsrRef};

use super::ROUNDING;
use super::floating::FloatingParts;
use super::flow::is_one_way;
use super::nodes::unknowns_per_node;
use super::rows::sums_to_zero;
use super::scatter::is_scattered;
use super::symmetry::{is_mirrored, is_symmetric};
use super::weights::{Weights, sample};
use crate::config::MatrixFacts;

/// Number of rows per task.
const PIECE: usize = 4096;

/// The properties of a matrix that determine how it is solved.
///
/// ```
/// use ziggurat::amg::WholeMatrix;
/// use ziggurat::diagnose::MatrixKind;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "neumann3d:6".parse::<Problem>()?.matrix()?;
/// let kind = MatrixKind::of(&WholeMatrix::new(a.into(), 1))?;
/// assert!(kind.symmetric && kind.annihilates_constants && kind.rows == 216);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MatrixKind {
    /// a_ij = a_ji, up to rounding.
    pub symmetric: bool,
    /// Every diagonal entry is positive.
    pub positive_diagonal: bool,
    /// Every diagonal entry is negative.
    pub negative_diagonal: bool,
    /// Whether this describes −A, which is solved in place of a [negative](Self::is_negative) A.
    pub negated: bool,
    /// Every row sums to zero, up to rounding: the constant vector is in the null space.
    pub annihilates_constants: bool,
    /// max_i Σ_j |a_ij|, which bounds the rounding errors of a product.
    pub largest_row_sum: f64,
    /// Whether it is a symmetric M-matrix whose connections differ by orders of magnitude, within
    /// rows and from row to row: a network, or a heterogeneous medium.
    pub heterogeneous: bool,
    /// Whether it is symmetric, and most couplings have the sign of the diagonal, as in a mass
    /// matrix.
    pub positive_couplings: bool,
    /// Whether most couplings of most rows act in one direction, as in transport.
    pub one_way: bool,
    /// Number of unknowns per node.
    pub block: usize,
    /// The structured grid, if it is the matrix of one in natural order. Examined by
    /// [`with_grid`](Self::with_grid).
    pub grid: Option<GridPattern>,
    /// The cells of a reservoir system. Examined only where one process has the whole matrix.
    pub cells: Option<Cells>,
    /// Whether it is large and its rows refer to scattered columns. Examined only where one process
    /// has the whole matrix.
    pub scattered: bool,
    /// Number of rows over all processes.
    pub rows: u64,
    /// Number of entries over all processes.
    pub nnz: u64,
}

impl MatrixKind {
    /// Examines a matrix. Collective.
    ///
    /// # Errors
    /// If the rows of neighbours cannot be obtained.
    pub fn of<M: LevelMatrix>(a: &M) -> Result<Self, SetupError> {
        let wide = &*a.extended(1)?;
        let rows = Rows::of(wide.view(), &wide.rows());
        Ok(Self::of_rows(a, wide, rows, || is_symmetric(wide.view(), &wide.rows())))
    }

    /// Puts together what is known of the rows, of those of neighbours, and of the symmetry.
    fn of_rows<M: LevelMatrix>(a: &M, wide: &M, rows: Rows, is_symmetric: impl FnOnce() -> bool) -> Self {
        let (matrix, halo) = (wide.view(), wide.rows());
        let Rows { positive_diagonal, negative_diagonal, zero_sums, largest_sum } = rows;
        let own = halo.owned();
        let entries = matrix.row_ptr()[own.end] - matrix.row_ptr()[own.start];
        let [not_positive, not_negative, not_zero] =
            [!positive_diagonal, !negative_diagonal, !zero_sums].map(u64::from);
        let mut totals = [not_positive, not_negative, not_zero, entries as u64];
        halo.sum(&mut totals);
        let symmetric = is_symmetric();
        let weights = match symmetric {
            true => Weights::of(matrix, &halo, a.global_rows()),
            false => Weights::default(),
        };
        MatrixKind {
            symmetric,
            positive_diagonal: totals[0] == 0,
            negative_diagonal: totals[1] == 0,
            negated: false,
            annihilates_constants: totals[2] == 0 && a.global_rows() > 0,
            largest_row_sum: halo.largest(largest_sum),
            heterogeneous: weights.heterogeneous,
            positive_couplings: weights.positive,
            one_way: !symmetric && is_one_way(matrix, &halo, a.global_rows()),
            block: a.block(),
            grid: None,
            cells: None,
            scattered: false,
            rows: a.global_rows(),
            nnz: totals[3],
        }
    }

    /// Examines a matrix that one process holds, also for what ranks do not look for: unknowns per
    /// node, grids, cells and the order of the unknowns.
    ///
    /// ```
    /// use ziggurat::diagnose::MatrixKind;
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:6".parse::<Problem>()?.matrix()?;
    /// assert!(MatrixKind::of_whole(&a.into())?.grid.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MatrixKind::of`].
    pub fn of_whole(a: &Arc<Csr<f64>>) -> Result<Self, SetupError> {
        let block = unknowns_per_node(a.view(), &Whole::new(a.rows()));
        Ok(Self::of_blocks(a, block, true)?.0)
    }

    /// As [`MatrixKind::of_whole`], with a known number of unknowns per node. `constants` states
    /// that nothing but constants is known of the near-kernel.
    ///
    /// The grid is looked for first: stencils take a quarter of the time to examine, and setup
    /// needs them next.
    pub(crate) fn of_blocks(
        a: &Arc<Csr<f64>>,
        block: usize,
        constants: bool,
    ) -> Result<(Self, Option<KnownGrid>), SetupError> {
        let (whole, halo) = (WholeMatrix::new(a.clone(), block), Whole::new(a.rows()));
        // Stencils of a matrix that is not symmetric are of no use.
        let square = a.rows() == a.cols();
        let likely =
            constants && square && sample(&halo, a.rows() as u64).all(|row| is_mirrored(a.view(), row));
        let pattern = if likely { grid_of(&whole).ok() } else { None };
        let pattern = pattern.filter(|grid| block == 1 || block == grid.unknowns);
        let grid = pattern.and_then(|pattern| KnownGrid::with_stencils(a, pattern).ok());
        let mut kind = match grid.as_ref().and_then(KnownGrid::stencils) {
            Some(stencils) => {
                let symmetric = || stencils.is_symmetric(ROUNDING) || is_symmetric(a.view(), &halo);
                Self::of_rows(&whole, &whole, Rows::on_grid(stencils), symmetric)
            }
            None => MatrixKind::of(&whole)?,
        };
        let grid = grid.filter(|_| kind.symmetric);
        kind.grid = grid.as_ref().map(|grid| grid.pattern().clone());
        kind.cells = if kind.symmetric { None } else { cells(a.view()) };
        kind.scattered = is_scattered(a.view());
        Ok((kind, grid))
    }

    /// The same with the structured grid of `a`, if it has one. `constants` states that nothing but
    /// constants is known of the near-kernel: interpolation on grids reproduces no other vectors.
    /// Collective.
    ///
    /// ```
    /// use ziggurat::{amg::WholeMatrix, diagnose::MatrixKind};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = WholeMatrix::new("poisson3d:6".parse::<Problem>()?.matrix()?.into(), 1);
    /// let kind = MatrixKind::of(&a)?.with_grid(&a, true);
    /// assert_eq!(kind.grid.map(|found| found.grid.points()), Some([6; 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_grid<M: LevelMatrix>(mut self, a: &M, constants: bool) -> Self {
        let grid = if constants && self.symmetric { grid_of(a).ok() } else { None };
        self.grid = grid.filter(|grid| self.block == 1 || self.block == grid.unknowns);
        self
    }

    /// Whether the matrix is symmetric with a negative diagonal, and so probably negative definite.
    /// Then −A is set up, and x = −(−A)⁻¹ b.
    ///
    /// ```
    /// use ziggurat::{amg::negative, diagnose::MatrixKind};
    /// use ziggurat_sparse::gallery::Problem;
    /// let laplacian = negative(&"poisson3d:6".parse::<Problem>()?.matrix()?.into());
    /// assert!(MatrixKind::of_whole(&laplacian)?.is_negative());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_negative(&self) -> bool {
        self.symmetric && self.negative_diagonal && self.rows > 0
    }

    /// The input of [`SolverConfig::resolve`](crate::SolverConfig::resolve), for a device.
    pub fn facts(&self, device: &impl Device) -> MatrixFacts {
        MatrixFacts {
            symmetric: self.symmetric,
            positive_diagonal: self.positive_diagonal,
            negated: self.negated,
            heterogeneous: self.heterogeneous,
            positive_couplings: self.positive_couplings,
            one_way: self.one_way,
            block: self.block,
            grid: self.grid.is_some(),
            cells: self.cells,
            scattered: self.scattered,
            nnz: self.nnz as usize,
            f64: device.computes_in(ziggurat_sparse::Kind::F64),
            gpu: device.traffic().is_some(),
        }
    }

    /// An orthonormal basis of the known null space of this matrix: the constants on each floating
    /// part, that is each connected component in which every row sums to zero. If there are very
    /// many, only the constants over all rows are known. The rows of the vectors are in the given
    /// order, if there is one. Collective.
    ///
    /// # Errors
    /// If the device has no memory for the vectors.
    pub fn null_space<D: Device, M: LevelMatrix>(
        &self,
        device: &D,
        a: &M,
        order: Option<&Permutation>,
    ) -> Result<Vec<D::Vector<f64>>, SetupError> {
        if !self.symmetric {
            return Ok(Vec::new());
        }
        let own_rows = a.rows().owned().len();
        let parts = match FloatingParts::of(a)? {
            Some(parts) => parts,
            None if self.annihilates_constants => {
                FloatingParts { sizes: vec![self.rows], part: vec![Some(0); own_rows] }
            }
            None => FloatingParts::default(),
        };
        let vector = |(part, &size): (usize, &u64)| {
            let value = (size as f64).sqrt().recip();
            let of = parts.part.iter().map(|&of| if of == Some(part) { value } else { 0.0 });
            let mut vector: Vec<f64> = of.collect();
            if let Some(order) = order {
                order.apply(&vector.clone(), &mut vector)?;
            }
            Ok::<_, SetupError>(device.upload(&vector)?)
        };
        parts.sizes.iter().enumerate().map(vector).collect()
    }
}

/// Properties of the owned rows.
#[derive(Clone, Copy)]
struct Rows {
    /// Every diagonal entry is positive.
    positive_diagonal: bool,
    /// Every diagonal entry is negative.
    negative_diagonal: bool,
    /// Every row sums to zero.
    zero_sums: bool,
    /// The largest Σ_j |a_ij|.
    largest_sum: f64,
}

impl Rows {
    /// Those of no rows.
    const NONE: Rows =
        Rows { positive_diagonal: true, negative_diagonal: true, zero_sums: true, largest_sum: 0.0 };

    fn of<H: Halo>(a: CsrRef<'_, f64>, halo: &H) -> Self {
        let own = halo.owned();
        let piece = |piece: usize| {
            let (mut rows, mut place) = (Rows::NONE, 0);
            for row in own.start + piece * PIECE..own.end.min(own.start + (piece + 1) * PIECE) {
                let values = a.row(row).1;
                let (sum, size) = values.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                let diagonal = a.get_near(row, row, &mut place).unwrap_or(0.0);
                rows = rows.and(RowSum { diagonal, sum, size, entries: values.len() });
            }
            rows
        };
        let pieces = (0..own.len().div_ceil(PIECE)).into_par_iter().map(piece);
        pieces.reduce(|| Rows::NONE, Rows::join)
    }

    /// Those of the matrix of a structured grid.
    fn on_grid(a: &GridSystem) -> Self {
        a.fold_rows(Rows::NONE, Rows::and, Rows::join)
    }

    /// With a further row.
    fn and(self, row: RowSum) -> Self {
        Rows {
            positive_diagonal: self.positive_diagonal & (row.diagonal > 0.0),
            negative_diagonal: self.negative_diagonal & (row.diagonal < 0.0),
            zero_sums: self.zero_sums && sums_to_zero(row.sum, row.size, row.entries),
            largest_sum: self.largest_sum.max(row.size),
        }
    }

    fn join(self, other: Rows) -> Self {
        Rows {
            positive_diagonal: self.positive_diagonal && other.positive_diagonal,
            negative_diagonal: self.negative_diagonal && other.negative_diagonal,
            zero_sums: self.zero_sums && other.zero_sums,
            largest_sum: self.largest_sum.max(other.largest_sum),
        }
    }
}
