//! The matrix of a grid: the value of every direction of the stencil at every point.
//!
//! Values of one direction are contiguous (structure of arrays), so that setup runs over lines of
//! points with vector instructions. Where a point has no neighbour in a direction, the value is
//! zero. Bytes: 8 D n for D directions.

use rayon::prelude::*;

use super::{Grid, GridPattern};
use crate::matrix::dia::Dia;
use crate::number::Store;
use crate::{CsrRef, MatrixError};

/// Points per task.
const TASK: usize = 8 * 1024;

/// The matrix of a grid with one unknown per point.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{GridMatrix, recognise};
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let on_grid = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
/// assert_eq!(on_grid.of_direction([0, 0, 0]).map(|values| values[77]), Some(6.0));
/// assert_eq!(on_grid.to_dia::<f64>().to_csr(), a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GridMatrix {
    grid: Grid,
    stencil: Vec<[i8; 3]>,
    /// The value of direction `s` at point `i` is at s n + i.
    values: Vec<f64>,
}

impl GridMatrix {
    /// Converts a matrix with the given pattern.
    ///
    /// # Errors
    /// If the matrix does not have that pattern.
    pub fn from_csr(a: CsrRef<'_, f64>, pattern: &GridPattern) -> Result<Self, MatrixError> {
        let GridPattern { grid, stencil } = pattern;
        let n = grid.len();
        if a.rows() != n || a.cols() != n {
            return Err(MatrixError::Mismatch {
                what: "rows of the matrix of a grid",
                expected: n,
                found: a.rows(),
            });
        }
        let offsets: Vec<isize> = stencil.iter().map(|&direction| grid.offset(direction)).collect();
        let mut matrix = GridMatrix::zeros(*grid, stencil.clone());
        let wrong = matrix.pieces(TASK).into_par_iter().enumerate().find_map_any(|(task, mut out)| {
            for row in task * TASK..(task * TASK + TASK).min(n) {
                let (columns, values) = a.row(row);
                let mut s = 0;
                for (&column, &value) in columns.iter().zip(values) {
                    let offset = column as isize - row as isize;
                    while s < offsets.len() && offsets[s] != offset {
                        s += 1;
                    }
                    match out.get_mut(s) {
                        Some(out) => out[row - task * TASK] = value,
                        None => return Some((row, column as usize)),
                    }
                }
            }
            None
        });
        match wrong {
            Some((row, column)) => Err(MatrixError::NewPattern { row, column, missing: false }),
            None => Ok(matrix),
        }
    }

    /// A matrix of zeros. Directions are sorted by z, y and x.
    pub(super) fn zeros(grid: Grid, stencil: Vec<[i8; 3]>) -> Self {
        let values = vec![0.0; stencil.len() * grid.len()];
        GridMatrix { grid, stencil, values }
    }

    /// The values in pieces of `len` points: for each piece, those of every direction.
    pub(super) fn pieces(&mut self, len: usize) -> Vec<Vec<&mut [f64]>> {
        let n = self.grid.len();
        let mut pieces: Vec<Vec<&mut [f64]>> = Vec::new();
        pieces.resize_with(n.div_ceil(len), || Vec::with_capacity(self.stencil.len()));
        for of_direction in self.values.chunks_mut(n.max(1)) {
            for (piece, values) in pieces.iter_mut().zip(of_direction.chunks_mut(len)) {
                piece.push(values);
            }
        }
        pieces
    }

    /// The grid.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The directions, sorted by z, y and x.
    pub fn stencil(&self) -> &[[i8; 3]] {
        &self.stencil
    }

    /// The values of a direction; `None` if it is not one of the stencil's.
    pub fn of_direction(&self, direction: [i8; 3]) -> Option<&[f64]> {
        let s = self.stencil.iter().position(|&other| other == direction)?;
        Some(self.values_of(s))
    }

    /// The values of direction `s`.
    pub(super) fn values_of(&self, s: usize) -> &[f64] {
        let n = self.grid.len();
        &self.values[s * n..(s + 1) * n]
    }

    /// The matrix stored by diagonals. Directions may share a diagonal where the grid has fewer
    /// than three points along an axis; at every point, only one of them is not zero.
    pub fn to_dia<S: Store>(&self) -> Dia<S> {
        let n = self.grid.len();
        let mut directions: Vec<(isize, usize)> =
            self.stencil.iter().enumerate().map(|(s, &direction)| (self.grid.offset(direction), s)).collect();
        directions.sort_unstable();
        let groups: Vec<&[(isize, usize)]> = directions.chunk_by(|one, other| one.0 == other.0).collect();
        let groups: Vec<_> =
            groups.into_iter().filter(|group| group[0].0.unsigned_abs() < n.max(1)).collect();
        let offsets = groups.iter().map(|group| group[0].0).collect();
        Dia::from_diagonals(n, n, offsets, |d, first, out| {
            for &(_, s) in groups[d] {
                let values = &self.values_of(s)[first..][..out.len()];
                out.iter_mut().zip(values).for_each(|(out, value)| *out += value);
            }
        })
    }

    /// How strongly points are connected along each axis, relative to the axis of their strongest
    /// connection: a mean over at most 4096 points. Zero for an axis without neighbours.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "anisotropic3d:20".parse::<Problem>()?.matrix()?;
    /// let [x, _, z] = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?.axis_strengths();
    /// assert!(x > 0.9 && z < 0.02);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn axis_strengths(&self) -> [f64; 3] {
        let (n, mut sums) = (self.grid.len(), [0.0; 3]);
        // A step without a common divisor with the sizes of usual grids.
        let step = (n / 4096).max(1) | 1;
        let points = (0..n).step_by(step);
        let count = points.len();
        for point in points {
            let mut strengths = [0.0; 3];
            for (s, direction) in self.stencil.iter().enumerate() {
                let value = self.values_of(s)[point];
                for (strength, &step) in strengths.iter_mut().zip(direction) {
                    if step != 0 {
                        *strength -= value;
                    }
                }
            }
            let strongest = strengths.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            if strongest > 0.0 {
                sums.iter_mut().zip(strengths).for_each(|(sum, x)| *sum += x.max(0.0) / strongest);
            }
        }
        sums.map(|sum| sum / count.max(1) as f64)
    }
}
