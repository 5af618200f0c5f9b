//! Rows of a grid's matrix, with columns: between compressed rows and stencils.
//!
//! Processes that share a grid exchange rows. A process puts the rows of a few planes together as a
//! grid of its own ([`GridMatrix::from_rows`]), and returns what it made of them as rows
//! ([`GridMatrix::rows_to_csr`]). Cost: a pass over the entries.

use std::ops::Range;

use super::matrix::fill_pieces;
use super::pattern::MOST_DIRECTIONS;
use super::{Grid, GridMatrix, GridPattern};
use crate::exact_sum::ExactSum;
use crate::number::Store;
use crate::parallel::{map_pieces, zeros};
use crate::{Csr, MatrixError};

/// Rows per task.
const TASK: usize = 4 * 1024;

/// Rows whose values are collected at a time.
const PIECE: usize = 256;

/// Where the entries of a row belong in its stencil.
///
/// Two directions can have the same distance where a grid has fewer than three points along an
/// axis. Every point has only one of them.
#[derive(Clone, Debug)]
pub struct StencilPlaces {
    grid: Grid,
    /// Column minus row of each direction.
    distances: Vec<isize>,
    /// A bit per face of the box at which a point has no neighbour in a direction.
    faces: Vec<u8>,
}

impl GridPattern {
    /// Where the entries of rows belong.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::recognise;
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let places = recognise(a.view())?.places();
    /// let mut values = [0.0; 5];
    /// places.spread(0, [(0, 4.0), (1, -1.0), (9, -2.0)].into_iter(), &mut values).unwrap();
    /// assert_eq!(values, [0.0, 0.0, 4.0, -1.0, -2.0]); // -z, -x, the point itself, +x, +z
    /// assert_eq!(places.spread(8, [(9, 1.0)].into_iter(), &mut values), Err(9)); // on the next line
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn places(&self) -> StencilPlaces {
        let faces = |direction: &[i8; 3]| {
            let along = (0..3).map(|axis| match direction[axis] {
                -1 => 1 << (2 * axis),
                1 => 2 << (2 * axis),
                _ => 0,
            });
            along.sum()
        };
        StencilPlaces {
            grid: self.grid,
            distances: self.stencil.iter().map(|&direction| self.grid.offset(direction)).collect(),
            faces: self.stencil.iter().map(faces).collect(),
        }
    }
}

impl StencilPlaces {
    /// The faces of the box that a point lies on.
    pub(super) fn faces_at(&self, point: usize) -> u8 {
        let (at, points) = (self.grid.position(point), self.grid.points());
        let face = |axis: usize| {
            u8::from(at[axis] == 0) << (2 * axis) | u8::from(at[axis] + 1 == points[axis]) << (2 * axis + 1)
        };
        face(0) | face(1) | face(2)
    }

    /// The place of the direction with this distance, of a point with the given faces; `near` is
    /// looked at first.
    #[inline(always)]
    pub(super) fn find(&self, faces: u8, distance: isize, near: usize) -> Option<usize> {
        let is = |at: usize| self.distances[at] == distance && self.faces[at] & faces == 0;
        (near..self.distances.len()).find(|&at| is(at)).or_else(|| (0..near).find(|&at| is(at)))
    }

    /// Writes the entries of a row, in increasing order of columns, to the places of their
    /// directions, and zeros to the others.
    ///
    /// # Errors
    /// The column of an entry that is not zero and belongs to none of the directions.
    pub fn spread(
        &self,
        point: usize,
        entries: impl Iterator<Item = (usize, f64)>,
        values: &mut [f64],
    ) -> Result<(), usize> {
        let (faces, mut place) = (self.faces_at(point), 0);
        values.fill(0.0);
        for (column, value) in entries {
            let distance = column as isize - point as isize;
            let mut at = place;
            while at < self.distances.len() && (self.distances[at] != distance || self.faces[at] & faces != 0)
            {
                at += 1;
            }
            if at < self.distances.len() {
                values[at] = value;
                place = at + 1;
            } else if value != 0.0 {
                return Err(column);
            }
        }
        Ok(())
    }
}

impl GridMatrix {
    /// The matrix of a grid whose row `i` has the entries `row(i)`: columns, increasing, and their
    /// values.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "jump3d:9".parse::<Problem>()?.matrix()?;
    /// let entries = |row| a.row(row).0.iter().map(|&column| column as usize).zip(a.row(row).1.iter().copied());
    /// let on_grid = GridMatrix::from_rows(&recognise(a.view())?, entries)?;
    /// assert_eq!(on_grid.rows_to_csr(0..a.rows()), a);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If an entry belongs to none of the directions.
    pub fn from_rows<I: Iterator<Item = (usize, f64)>>(
        pattern: &GridPattern,
        row: impl Fn(usize) -> I + Sync,
    ) -> Result<Self, MatrixError> {
        let (n, count, places) = (pattern.grid.len(), pattern.stencil.len(), pattern.places());
        let mut values = zeros(count * n);
        fill_pieces(&mut values, n, TASK, &|points, out| {
            let mut of_row = [0.0; MOST_DIRECTIONS];
            for point in points.clone() {
                let spread = places.spread(point, row(point), &mut of_row[..count]);
                spread.map_err(|column| (point, column))?;
                out.iter_mut().zip(of_row).for_each(|(out, value)| out[point - points.start] = value);
            }
            Ok(())
        })?;
        Ok(GridMatrix::by_direction(pattern.grid, pattern.stencil.clone(), values))
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
        let sums =
            axis_strengths(&self.pattern(), 0..self.grid().len(), |point, values| self.at(point, values));
        sums.map(|sum| sum.rounded() / samples(self.grid()).max(1) as f64)
    }

    /// Some rows of the matrix, without zeros.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn rows_to_csr(&self, rows: Range<usize>) -> Csr<f64> {
        let offsets: Vec<isize> = self.stencil().iter().map(|&d| self.grid().offset(d)).collect();
        let first = rows.start;
        csr_of_rows(rows.len(), self.grid().len(), &|rows, each| {
            let mut values = vec![[0.0; PIECE]; offsets.len()];
            for begin in rows.clone().step_by(PIECE) {
                let end = rows.end.min(begin + PIECE);
                for (s, values) in values.iter_mut().enumerate() {
                    self.copy(s, first + begin, &mut values[..end - begin]);
                }
                for row in begin..end {
                    // Neighbours in the order of the directions have increasing numbers.
                    for (values, offset) in values.iter().zip(&offsets) {
                        let value = values[row - begin];
                        if value != 0.0 {
                            each.push((first + row).wrapping_add_signed(*offset), value);
                        }
                    }
                    each.end_row();
                }
            }
        })
    }
}

/// Rows in the making.
pub(super) struct RowsOfTask<S> {
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<S>,
}

impl<S> RowsOfTask<S> {
    /// Appends an entry to the current row.
    pub(super) fn push(&mut self, column: usize, value: S) {
        self.columns.push(column as u32);
        self.values.push(value);
    }

    /// Ends the current row.
    pub(super) fn end_row(&mut self) {
        self.ends.push(self.columns.len());
    }
}

/// A matrix whose rows are made in tasks: `make` appends a range of rows.
pub(super) fn csr_of_rows<S: Store>(
    rows: usize,
    cols: usize,
    make: &(dyn Fn(Range<usize>, &mut RowsOfTask<S>) + Sync),
) -> Csr<S> {
    let tasks = map_pieces(0..rows, TASK, &|rows| {
        let (columns, values) = (Vec::with_capacity(4 * TASK), Vec::with_capacity(4 * TASK));
        let mut made = RowsOfTask { ends: Vec::with_capacity(TASK), columns, values };
        make(rows, &mut made);
        made
    });
    let nnz = tasks.iter().map(|task| task.columns.len()).sum();
    let mut row_ptr = Vec::with_capacity(rows + 1);
    let (mut columns, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
    row_ptr.push(0);
    for task in tasks {
        row_ptr.extend(task.ends.iter().map(|end| columns.len() + end));
        columns.extend(task.columns);
        values.extend(task.values);
    }
    Csr::from_valid_parts(rows, cols, row_ptr, columns, values)
}

/// How strongly points are connected along each axis, relative to the axis of their strongest
/// connection: the sum of it over the sampled ones of `points`. `values` writes the values of the
/// directions at a point. Divided by [`samples`], the sums over all points are means.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{GridMatrix, axis_strengths, recognise, samples};
/// let a = "anisotropic3d:8".parse::<Problem>()?.matrix()?;
/// let pattern = recognise(a.view())?;
/// let a = GridMatrix::from_csr(a.view(), &pattern)?;
/// let sums = axis_strengths(&pattern, 0..512, |point, values| a.at(point, values));
/// assert_eq!(sums.map(|sum| sum.rounded() / samples(pattern.grid) as f64), a.axis_strengths());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn axis_strengths(
    pattern: &GridPattern,
    points: Range<usize>,
    values: impl Fn(usize, &mut [f64]),
) -> [ExactSum; 3] {
    let (step, mut sums) = (sampling(pattern.grid.len()), [(); 3].map(|()| ExactSum::default()));
    let mut of_point = [0.0; MOST_DIRECTIONS];
    let of_point = &mut of_point[..pattern.stencil.len()];
    for point in (points.start.next_multiple_of(step)..points.end).step_by(step) {
        values(point, of_point);
        let mut strengths = [0.0; 3];
        for (direction, value) in pattern.stencil.iter().zip(&*of_point) {
            for (strength, &step) in strengths.iter_mut().zip(direction) {
                if step != 0 {
                    *strength -= value;
                }
            }
        }
        let strongest = strengths.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if strongest > 0.0 {
            sums.iter_mut().zip(strengths).for_each(|(sum, x)| sum.add(x.max(0.0) / strongest));
        }
    }
    sums
}

/// The number of points that [`axis_strengths`] samples.
pub fn samples(grid: Grid) -> usize {
    grid.len().div_ceil(sampling(grid.len()))
}

/// Every how many points are sampled: a step without a common divisor with the sizes of usual
/// grids.
fn sampling(n: usize) -> usize {
    (n / 4096).max(1) | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Problem;
    use crate::grid::recognise;

    #[test]
    fn planes_of_a_grid_are_a_grid_and_come_back_as_rows() {
        for name in ["jump3d:9", "poisson3d27:7", "convection3d:8", "poisson2d:30"] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            let pattern = recognise(a.view()).unwrap();
            let plane = pattern.grid.stride(2);
            // Planes 2 to 5, without the entries that leave them.
            let (first, mut points) = (2 * plane, pattern.grid.points());
            points[2] = 4;
            let slab = GridPattern::new(Grid::new(points), pattern.stencil.clone());
            let row = |row: usize| {
                let (columns, values) = a.row(first + row);
                let columns = columns.iter().map(move |&column| (column as usize).wrapping_sub(first));
                columns.zip(values.iter().copied()).filter(|&(column, _)| column < 4 * plane)
            };
            let slab = GridMatrix::from_rows(&slab, row).unwrap();
            let inner = slab.rows_to_csr(plane..3 * plane);
            assert_eq!((inner.rows(), inner.cols()), (2 * plane, 4 * plane));
            for point in 0..2 * plane {
                let (columns, values) = inner.row(point);
                let expected = a.row(first + plane + point);
                assert_eq!(values, expected.1, "{name}");
                assert!(
                    columns
                        .iter()
                        .zip(expected.0)
                        .all(|(one, other)| *one as usize + first == *other as usize)
                );
            }
        }
    }

    #[test]
    fn directions_at_the_same_distance_are_told_apart() {
        // Two points along x: the next point along x and the one before it on the next line.
        let stencil = vec![[-1, 0, -1], [-1, 0, 0], [0, 0, 0], [1, 0, 0], [-1, 0, 1], [1, 0, 1]];
        let pattern = GridPattern::new(Grid::new([2, 1, 5]), stencil);
        let mut values = [0.0; 6];
        pattern.places().spread(2, [(3, 7.0)].into_iter(), &mut values).unwrap();
        assert_eq!(values, [0.0, 0.0, 0.0, 7.0, 0.0, 0.0]);
        pattern.places().spread(3, [(2, 5.0), (4, 7.0)].into_iter(), &mut values).unwrap();
        assert_eq!(values, [0.0, 5.0, 0.0, 0.0, 7.0, 0.0]);
    }
}
