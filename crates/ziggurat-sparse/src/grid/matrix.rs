//! The matrix of a grid: the value of every direction of the stencil at every point.
//!
//! Values of one direction are contiguous (structure of arrays), so that setup runs over lines of
//! points with vector instructions. A matrix in compressed rows whose values are exact in single
//! precision is stored in that, by diagonals: an outer iteration needs it in this form, too, and
//! shares it. Where a point has no neighbour in a direction, the value is zero. Bytes: 8 D n for D
//! directions, or 4 D n.

use std::ops::Range;
use std::sync::Arc;

use super::{Grid, GridPattern, NotAGrid};
use crate::matrix::ScaleFactors;
use crate::matrix::dia::{Dia, scale_diagonal};
use crate::number::Store;
use crate::parallel::{all_pieces, consume, map_pieces, over_pieces, zeros};
use crate::{CsrRef, MatrixError};

/// Points per task.
pub(super) const TASK: usize = 8 * 1024;

/// Points that are processed at a time; their buffers fit into the first-level cache.
pub(super) const PIECE: usize = 512;

/// The matrix of a grid with one unknown per point.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{GridMatrix, recognise};
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let on_grid = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
/// assert_eq!(on_grid.of_direction([0, 0, 0]).map(|values| values[77]), Some(6.0));
/// assert_eq!(on_grid.rows_to_csr(a.all_rows()), a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GridMatrix {
    grid: Grid,
    stencil: Vec<[i8; 3]>,
    values: GridValues,
}

/// The values of a grid's matrix.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{GridMatrix, GridValues, recognise};
/// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
/// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
/// assert!(matches!(a.values(), GridValues::Single(_))); // 4 and -1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GridValues {
    /// By diagonals, in the order of the directions. Single precision is exact.
    Single(Arc<Dia<f32>>),
    /// The value of direction `s` at point `i` is at s n + i.
    ByDirection(Vec<f64>),
}

impl GridMatrix {
    /// Converts a matrix with the given pattern.
    ///
    /// # Errors
    /// If the matrix does not have that pattern.
    pub fn from_csr(a: CsrRef<'_, f64>, pattern: &GridPattern) -> Result<Self, MatrixError> {
        let GridPattern { grid, stencil, .. } = pattern;
        let n = grid.len();
        if a.rows() != n || a.cols() != n {
            return Err(MatrixError::Mismatch {
                what: "rows of the matrix of a grid",
                expected: n,
                found: a.rows(),
            });
        }
        let offsets: Vec<isize> = stencil.iter().map(|&direction| grid.offset(direction)).collect();
        let with = |values| Ok(GridMatrix { grid: *grid, stencil: stencil.clone(), values });
        if let Some(single) = Dia::exact(a, offsets.clone()) {
            return with(GridValues::Single(Arc::new(single)));
        }
        let mut values = zeros(stencil.len() * n);
        fill_pieces(&mut values, n, TASK, &|rows, out| {
            for row in rows.clone() {
                let (columns, values) = a.row(row);
                let mut s = 0;
                for (&column, &value) in columns.iter().zip(values) {
                    let offset = column as isize - row as isize;
                    while s < offsets.len() && offsets[s] != offset {
                        s += 1;
                    }
                    match out.get_mut(s) {
                        Some(out) => out[row - rows.start] = value,
                        None => return Err((row, column as usize)),
                    }
                }
            }
            Ok(())
        })?;
        with(GridValues::ByDirection(values))
    }

    /// The matrix of a stencil: `value` is called with the position of every point and with every
    /// direction in which it has a neighbour, [0, 0, 0] included if it is in the stencil. A grid of
    /// two dimensions has the axes x and z.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{Grid, GridMatrix};
    /// let five = [[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 0, 1], [0, 0, -1]];
    /// let laplacian = |_: [usize; 3], direction| if direction == [0; 3] { 4.0 } else { -1.0 };
    /// let a = GridMatrix::from_stencil(Grid::new([9, 1, 9]), &five, laplacian)?;
    /// assert_eq!(a.rows_to_csr(0..81), "poisson2d:9".parse::<Problem>()?.matrix()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a direction leads further than to the next point along an axis.
    pub fn from_stencil(
        grid: Grid,
        stencil: &[[i8; 3]],
        value: impl Fn([usize; 3], [i8; 3]) -> f64 + Sync,
    ) -> Result<Self, NotAGrid> {
        if stencil.iter().flatten().any(|step| step.abs() > 1) {
            return Err(NotAGrid::Distances);
        }
        let (n, mut stencil) = (grid.len(), stencil.to_vec());
        stencil.sort_unstable_by_key(|&[x, y, z]| [z, y, x]);
        stencil.dedup();
        let mut values = zeros(stencil.len() * n);
        consume(pieces(&mut values, n, TASK), &|task, mut out| {
            for point in task * TASK..(task * TASK + TASK).min(n) {
                let at = grid.position(point);
                let is_inside = |axis: usize, step: i8| {
                    at[axis].checked_add_signed(step.into()).is_some_and(|to| to < grid.points()[axis])
                };
                for (out, &direction) in out.iter_mut().zip(&stencil) {
                    if (0..3).all(|axis| is_inside(axis, direction[axis])) {
                        out[point - task * TASK] = value(at, direction);
                    }
                }
            }
        });
        Ok(GridMatrix::by_direction(grid, stencil, values))
    }

    /// The matrix with a list of values, direction by direction. Directions are sorted by z, y and
    /// x.
    pub(super) fn by_direction(grid: Grid, stencil: Vec<[i8; 3]>, values: Vec<f64>) -> Self {
        debug_assert_eq!(values.len(), stencil.len() * grid.len());
        GridMatrix { grid, stencil, values: GridValues::ByDirection(values) }
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
    pub fn of_direction(&self, direction: [i8; 3]) -> Option<Vec<f64>> {
        let s = self.stencil.iter().position(|&other| other == direction)?;
        let mut values = zeros(self.grid.len());
        over_pieces(&mut values, &|first, out| self.copy(s, first, out));
        Some(values)
    }

    /// The value that a direction has at all points; `None` if it differs.
    pub(super) fn constant_of(&self, direction: [i8; 3]) -> Option<f64> {
        let s = self.stencil.iter().position(|&other| other == direction)?;
        let (n, first) = (self.grid.len(), self.value(s, 0));
        let is_constant = |points: Range<usize>| {
            let mut buffer = [0.0; PIECE];
            let values = &mut buffer[..points.len()];
            self.copy(s, points.start, values);
            // A fold without an early exit is vectorised.
            values.iter().fold(true, |all, &value| all & (value == first))
        };
        all_pieces(0..n, TASK, &|task| buffered(task).all(is_constant)).then_some(first)
    }

    /// Copies the values of direction `s` at the points from `first` on.
    #[inline]
    pub(super) fn copy(&self, s: usize, first: usize, out: &mut [f64]) {
        match &self.values {
            GridValues::Single(values) => values.copy_diagonal(s, first, out),
            GridValues::ByDirection(values) => {
                out.copy_from_slice(&values[s * self.grid.len() + first..][..out.len()]);
            }
        }
    }

    /// The value of direction `s` at a point.
    fn value(&self, s: usize, point: usize) -> f64 {
        let mut value = [0.0];
        self.copy(s, point, &mut value);
        value[0]
    }

    /// Number of entries: of each direction, as many as points have a neighbour there.
    pub fn nnz(&self) -> usize {
        let points = self.grid.points();
        let of = |direction: &[i8; 3]| {
            let along = (0..3).map(|axis| points[axis] - usize::from(direction[axis] != 0).min(points[axis]));
            along.product::<usize>()
        };
        self.stencil.iter().map(of).sum()
    }

    /// All values, with zeros where a point has no neighbour.
    pub fn values(&self) -> &GridValues {
        &self.values
    }

    /// The largest absolute entry, multiplied by its factors.
    ///
    /// # Panics
    /// If there are fewer factors than points.
    pub fn largest(&self, factors: ScaleFactors<'_>) -> f64 {
        if factors.left.is_none() && factors.right.is_none() {
            let most = match &self.values {
                GridValues::Single(values) => largest_of(values.values()),
                GridValues::ByDirection(values) => largest_of(values),
            };
            return most * factors.factor.abs();
        }
        let n = self.grid.len();
        let of_piece = |points: Range<usize>| {
            let mut buffer = [0.0; PIECE];
            let of_direction = |(s, &direction): (usize, &[i8; 3])| {
                let offset = self.grid.offset(direction);
                // The points of the piece whose neighbour has a number of the grid.
                let first = points.start.max(if offset < 0 { offset.unsigned_abs() } else { 0 });
                let end = n.saturating_add_signed(-offset).min(points.end);
                if first >= end {
                    return 0.0;
                }
                let scaled = &mut buffer[..end - first];
                self.copy(s, first, scaled);
                scale_diagonal(scaled, first, offset, factors);
                scaled.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
            };
            self.stencil.iter().enumerate().map(of_direction).fold(0.0, f64::max)
        };
        largest_piece(n, &|task| buffered(task).map(of_piece).fold(0.0, f64::max))
    }

    /// The largest absolute entry of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn largest_in_row(&self, row: usize) -> f64 {
        (0..self.stencil.len()).fold(0.0, |most, s| most.max(self.value(s, row).abs()))
    }

    /// Writes the values of all directions at a point.
    ///
    /// # Panics
    /// If there are fewer places than directions.
    pub fn at(&self, point: usize, values: &mut [f64]) {
        (0..self.stencil.len()).for_each(|s| values[s] = self.value(s, point));
    }

    /// The grid and the directions.
    pub fn pattern(&self) -> GridPattern {
        GridPattern::new(self.grid, self.stencil.clone())
    }
}

/// The values of `n` points, direction by direction, in pieces of `len` points: for each piece, one
/// slice per direction.
pub(super) fn pieces(values: &mut [f64], n: usize, len: usize) -> Vec<Vec<&mut [f64]>> {
    let mut pieces: Vec<Vec<&mut [f64]>> = Vec::new();
    pieces.resize_with(n.div_ceil(len), || Vec::with_capacity(values.len() / n.max(1)));
    for of_direction in values.chunks_mut(n.max(1)) {
        for (piece, values) in pieces.iter_mut().zip(of_direction.chunks_mut(len)) {
            piece.push(values);
        }
    }
    pieces
}

/// The row and the column of an entry.
type Entry = (usize, usize);

/// Fills the values of `n` points, in pieces of `len` points: `fill` gets the points of a piece and
/// their values, direction by direction.
///
/// # Errors
/// The first row that has an entry in none of the directions, and the column of this entry, which
/// `fill` returned.
pub(super) fn fill_pieces(
    values: &mut [f64],
    n: usize,
    len: usize,
    fill: &(dyn Fn(Range<usize>, &mut [&mut [f64]]) -> Result<(), Entry> + Sync),
) -> Result<(), MatrixError> {
    let pieces = pieces(values, n, len);
    let mut filled = vec![Ok(()); pieces.len()];
    consume(pieces.into_iter().zip(&mut filled).collect(), &|piece, (mut values, filled)| {
        *filled = fill(piece * len..((piece + 1) * len).min(n), &mut values);
    });
    let wrong = |(row, column)| MatrixError::NewPattern { row, column, missing: false };
    filled.into_iter().try_for_each(|filled| filled.map_err(wrong))
}

/// The points of a task, as many at a time as buffers hold.
pub(super) fn buffered(task: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = task.end;
    task.step_by(PIECE).map(move |first| first..(first + PIECE).min(end))
}

/// The largest of what `of_task` returns for tasks of `n` points, or zero.
fn largest_piece(n: usize, of_task: &(dyn Fn(Range<usize>) -> f64 + Sync)) -> f64 {
    map_pieces(0..n, TASK, of_task).into_iter().fold(0.0, f64::max)
}

/// The largest absolute value.
fn largest_of<S: Store>(values: &[S]) -> f64 {
    let most = |most: f64, value: &S| most.max(value.wide().abs());
    largest_piece(values.len(), &|task| values[task].iter().fold(0.0, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Problem;
    use crate::grid::recognise;

    #[test]
    fn largest_entries_are_those_of_compressed_rows() {
        // Some planes have more points than a piece.
        for name in ["poisson3d:9", "jump3d:12", "poisson3d27:7", "convection3d:11", "jump3d:26"] {
            let csr = name.parse::<Problem>().unwrap().matrix().unwrap();
            let a = GridMatrix::from_csr(csr.view(), &recognise(csr.view()).unwrap()).unwrap();
            assert_eq!(a.nnz(), csr.nnz(), "{name}");
            let factor = |row: usize| 1.0 + (row * 7 % 13) as f64;
            let factors: Vec<f64> = csr.all_rows().map(factor).collect();
            let scaled = ScaleFactors { left: Some(&factors), right: Some(&factors), factor: 0.5 };
            let mut largest: f64 = 0.0;
            for row in csr.all_rows() {
                let (columns, values) = csr.row(row);
                let most = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                assert_eq!(a.largest_in_row(row), most);
                for (&column, value) in columns.iter().zip(values) {
                    largest = largest.max((value * scaled.of(row, column as usize)).abs());
                }
            }
            assert!((a.largest(scaled) - largest).abs() <= 1e-14 * largest, "{name}");
        }
    }

    #[test]
    fn single_precision_is_used_where_it_is_exact_and_wrong_patterns_are_refused() {
        let mut a = "poisson2d:70".parse::<Problem>().unwrap().matrix().unwrap();
        let pattern = recognise(a.view()).unwrap();
        let exact = GridMatrix::from_csr(a.view(), &pattern).unwrap();
        assert!(matches!(exact.values(), GridValues::Single(_)));
        let middle = a.nnz() / 2;
        a.values_mut()[middle] = 0.1;
        let wide = GridMatrix::from_csr(a.view(), &pattern).unwrap();
        assert!(matches!(wide.values(), GridValues::ByDirection(_)));
        assert_eq!(wide.rows_to_csr(a.all_rows()), a);
        // Another grid with as many points.
        let other = GridPattern { grid: Grid::new([35, 1, 140]), ..pattern };
        for values in [a.values().to_vec(), vec![1.0; a.nnz()]] {
            a.values_mut().copy_from_slice(&values);
            assert!(matches!(
                GridMatrix::from_csr(a.view(), &other),
                Err(MatrixError::NewPattern { missing: false, .. })
            ));
        }
    }
}
