//! Finds the grid of a matrix that is given in compressed rows.
//!
//! In natural order, the neighbours of a point are at fixed distances: ±1, ±n_x, ±n_x n_y and sums
//! of these. So the distances of all entries from the diagonal determine n_x and n_y, up to a few
//! candidates. A candidate is accepted if no entry leaves the box, that is, if no point at x = 0
//! has a neighbour at x − 1, and so on. Numberings with other neighbours are refused: shuffled
//! ones, grids with missing points, and several grids in one matrix. If no grid with one unknown
//! per point fits, periodic axes are tried, which are refused by name (`periodic.rs`), and then
//! several unknowns (`unknowns.rs`).
//!
//! Cost: two passes over the columns; for matrices with many diagonals a look at 256 rows. A
//! process that has only some of the rows ([`MatrixRows`]) makes the same two passes over these.

use std::ops::Range;

use super::Grid;
use super::pattern::{GridPattern, MOST_DIRECTIONS, NotAGrid, TASK, all_distances};
use super::periodic::periodic;
use super::unknowns::{MOST_UNKNOWNS, recognise_unknowns};
use crate::CsrRef;
use crate::matrix::dia::{offsets_of, positions};
use crate::parallel::first_in_pieces;

/// Finds the grid of a matrix.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{Grid, NotAGrid, recognise};
/// let a = "poisson3d27:12".parse::<Problem>()?.matrix()?;
/// let found = recognise(a.view())?;
/// assert_eq!((found.grid, found.stencil.len()), (Grid::new([12, 12, 12]), 27));
///
/// let a = "elasticity3d:4".parse::<Problem>()?.matrix()?;
/// let found = recognise(a.view())?;
/// assert_eq!((found.grid, found.unknowns), (Grid::new([4, 5, 5]), 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Why there is none.
pub fn recognise(a: CsrRef<'_, f64>) -> Result<GridPattern, NotAGrid> {
    if a.rows() != a.cols() || a.rows() == 0 {
        return Err(NotAGrid::NotSquare);
    }
    let one_unknown = || {
        let offsets = offsets_of(a).ok_or(NotAGrid::Diagonals)?;
        let (rows, mut reason) = (MatrixRows::all(a), NotAGrid::Distances);
        for pattern in GridPattern::candidates(a.rows(), a.nnz(), &offsets)? {
            match pattern.first_outside(&rows) {
                None => return Ok(pattern),
                Some((row, column)) => reason = NotAGrid::NotNeighbours { row, column },
            }
        }
        Err(reason)
    };
    // These also look like grids with several unknowns per point, where a point is a line or a
    // plane.
    let other = || with_missing_entries(a).or_else(|| periodic(a).map(Err));
    one_unknown().or_else(|reason| other().unwrap_or_else(|| recognise_unknowns(a).ok_or(reason)))
}

/// Consecutive rows of a matrix, all of them or the part of one process, by their numbers and
/// columns in the whole matrix.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{GridPattern, MatrixRows, recognise};
/// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
/// let ids: Vec<u64> = (0..81).collect();
/// let half = MatrixRows::new(a.view(), 0..40, 0, &ids);
/// let distances = half.distances().ok_or("too many diagonals")?;
/// assert_eq!(distances, [-9, -1, 0, 1, 9]);
/// let found = GridPattern::candidates(81, a.nnz(), &distances)?;
/// assert_eq!(found[0], recognise(a.view())?);
/// assert!(found[0].first_outside(&half).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MatrixRows<'a> {
    a: CsrRef<'a, f64>,
    /// The rows of `a`.
    rows: Range<usize>,
    /// The number of the first of them in the whole matrix.
    first: usize,
    /// The numbers of the columns of `a` in the whole matrix, if they are others there.
    ids: Option<&'a [u64]>,
}

impl<'a> MatrixRows<'a> {
    /// All rows.
    pub fn all(a: CsrRef<'a, f64>) -> Self {
        MatrixRows { a, rows: a.all_rows(), first: 0, ids: None }
    }

    /// The given rows of `a`, the first of which has the number `first`. Columns have the numbers
    /// `ids`, in the same order.
    pub fn new(a: CsrRef<'a, f64>, rows: Range<usize>, first: u64, ids: &'a [u64]) -> Self {
        MatrixRows { a, rows, first: first as usize, ids: Some(ids) }
    }

    /// The numbers of the rows.
    pub fn numbers(&self) -> Range<usize> {
        self.first..self.first + self.rows.len()
    }

    /// The columns and values of the row with this number.
    ///
    /// # Panics
    /// If it is not one of the rows.
    pub fn row(&self, number: usize) -> impl Iterator<Item = (usize, f64)> {
        let (columns, values) = self.a.row(self.rows.start + number - self.first);
        let id = |column: u32| self.ids.map_or(column as usize, |ids| ids[column as usize] as usize);
        columns.iter().map(move |&column| id(column)).zip(values.iter().copied())
    }

    /// The distances of all entries from the diagonal, increasing; `None` if no stencil has so
    /// many.
    pub fn distances(&self) -> Option<Vec<isize>> {
        all_distances(self.numbers(), &|rows, known| {
            for row in rows {
                let mut at = 0;
                for (column, _) in self.row(row) {
                    let distance = column as isize - row as isize;
                    while at < known.len() && known[at] < distance {
                        at += 1;
                    }
                    if known.get(at) != Some(&distance) {
                        known.insert(at, distance);
                    }
                }
                if known.len() > MOST_DIRECTIONS {
                    return false;
                }
            }
            true
        })
    }
}

/// The grid of a matrix, if entries may be missing, or that too many are. Lines of a few points are
/// rather the unknowns of one.
fn with_missing_entries(a: CsrRef<'_, f64>) -> Option<Result<GridPattern, NotAGrid>> {
    let rows = MatrixRows::all(a);
    let distances = rows.distances()?;
    let mut found = candidates(a.rows(), &distances).into_iter().filter(GridPattern::has_lines);
    let pattern = found.find(|pattern| pattern.first_outside(&rows).is_none())?;
    let grid = pattern.grid;
    Some(if is_filled(a.rows(), a.nnz(), &distances) {
        Ok(pattern)
    } else {
        Err(NotAGrid::MissingEntries { grid })
    })
}

/// Whether diagonals at these distances have entries at half of their places. Without columns, and
/// in 16 bits, they take no more memory then than compressed rows would.
fn is_filled(n: usize, nnz: usize, distances: &[isize]) -> bool {
    positions(n, n, distances) <= 2 * nnz
}

/// The grids in which all distances are distances between neighbours. Sizes that are themselves
/// distances come first: they are right for every stencil with neighbours along the axes.
fn candidates(n: usize, offsets: &[isize]) -> Vec<GridPattern> {
    let distances: Vec<usize> =
        offsets.iter().filter(|&&offset| offset > 0).map(|offset| offset.unsigned_abs()).collect();
    let near = |steps: Vec<isize>| {
        let distances = &distances;
        steps.into_iter().flat_map(move |step| {
            distances.iter().filter_map(move |distance| distance.checked_add_signed(step))
        })
    };
    let mut found = Vec::new();
    let mut consider = |points: [usize; 3]| {
        let grid = Grid::new(points);
        let stencil: Option<Vec<_>> = offsets.iter().map(|&offset| direction(&grid, offset)).collect();
        let pattern = stencil.map(|stencil| GridPattern::new(grid, stencil));
        found.extend(pattern.filter(|pattern| !found.contains(pattern) && pattern.uses_every_axis()));
    };
    consider([n, 1, 1]);
    for nx in near(vec![0, 1, -1]).filter(|&nx| nx >= 3 && n.is_multiple_of(nx)) {
        consider([nx, 1, n / nx]);
        let step = nx as isize;
        let steps = vec![0, 1, -1, step, -step, step + 1, step - 1, 1 - step, -1 - step];
        for plane in near(steps).filter(|&plane| plane >= 3 * nx && plane < n) {
            if plane.is_multiple_of(nx) && n.is_multiple_of(plane) {
                consider([nx, plane / nx, n / plane]);
            }
        }
    }
    found
}

/// The direction of a neighbour by its distance.
fn direction(grid: &Grid, offset: isize) -> Option<[i8; 3]> {
    const STEPS: [i8; 3] = [-1, 0, 1];
    let along = |axis: usize| if grid.points()[axis] > 1 { &STEPS[..] } else { &STEPS[1..2] };
    let planes = along(2).iter().flat_map(|&z| along(1).iter().map(move |&y| (y, z)));
    let mut all = planes.flat_map(|(y, z)| along(0).iter().map(move |&x| [x, y, z]));
    all.find(|&direction| grid.offset(direction) == offset)
}

impl GridPattern {
    /// The grids with `n` points in which neighbours have these distances, increasing, for a matrix
    /// with `nnz` entries. The likeliest come first.
    ///
    /// # Errors
    /// If there are too many distances, or the diagonals are badly filled.
    pub fn candidates(n: usize, nnz: usize, distances: &[isize]) -> Result<Vec<Self>, NotAGrid> {
        if distances.len() > MOST_DIRECTIONS || !is_filled(n, nnz, distances) {
            return Err(NotAGrid::Diagonals);
        }
        let mut found = candidates(n, distances);
        if 2 * positions(n, n, distances) > 3 * nnz {
            found.retain(Self::has_lines);
        }
        Ok(found)
    }

    /// Whether lines have so many points that they cannot be the unknowns of one.
    fn has_lines(&self) -> bool {
        self.grid.points()[0] > MOST_UNKNOWNS
    }

    /// The grids with `n` points in which neighbours have these distances, increasing.
    pub(super) fn with_distances(n: usize, distances: &[isize]) -> Vec<Self> {
        candidates(n, distances)
    }

    /// Whether there are neighbours along every axis with more than one point.
    fn uses_every_axis(&self) -> bool {
        let used = |axis: usize| self.stencil.iter().any(|direction| direction[axis] != 0);
        (0..3).all(|axis| self.grid.points()[axis] == 1 || used(axis))
    }

    /// An entry that is not zero and connects a point to one outside the box: the numbers of both.
    pub fn first_outside(&self, rows: &MatrixRows<'_>) -> Option<(usize, usize)> {
        let (points, places, numbers) = (self.grid.points(), self.places(), rows.numbers());
        let line = points[0];
        let in_line = |line_number: usize| {
            let first = line_number * line;
            let [_, y, z] = self.grid.position(first);
            let is_inner = |at: usize, axis: usize| at > 0 && at + 1 < points[axis] || points[axis] == 1;
            let inner = is_inner(y, 1) && is_inner(z, 2);
            let mut values = [0.0; MOST_DIRECTIONS];
            (first.max(numbers.start)..(first + line).min(numbers.end)).find_map(|row| {
                if inner && row > first && row + 1 < first + line {
                    return None;
                }
                let outside = places.spread(row, rows.row(row), &mut values[..self.stencil.len()]);
                outside.err().map(|column| (row, column))
            })
        };
        let lines = numbers.start / line..numbers.end.div_ceil(line);
        let has_some = |line_number: &usize| in_line(*line_number).is_some();
        first_in_pieces(lines, TASK.div_ceil(line), &|mut lines| lines.find(has_some)).and_then(in_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Problem;
    use crate::{Coo, Csr};

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    /// Neighbours in a box, without those that `keep` rejects.
    fn of_box(points: [usize; 3], keep: impl Fn([i8; 3]) -> bool) -> Csr<f64> {
        let grid = Grid::new(points);
        let mut a = Coo::new(grid.len(), grid.len()).unwrap();
        let steps = || [-1i8, 0, 1].into_iter();
        for point in 0..grid.len() {
            let position = grid.position(point);
            for d in steps().flat_map(|z| steps().flat_map(move |y| steps().map(move |x| [x, y, z]))) {
                let to: Option<Vec<usize>> = (0..3)
                    .map(|axis| {
                        position[axis].checked_add_signed(d[axis].into()).filter(|&at| at < points[axis])
                    })
                    .collect();
                if let Some(to) = to.filter(|_| keep(d)) {
                    a.push(point, to[0] + points[0] * (to[1] + points[1] * to[2]), 1.0).unwrap();
                }
            }
        }
        a.to_csr()
    }

    #[test]
    fn boxes_are_recognised_by_every_stencil() {
        let sum = |d: [i8; 3]| d.iter().map(|d| d.abs()).sum::<i8>();
        for points in [[7, 9, 5], [10, 9, 8], [4, 4, 4], [3, 5, 7], [12, 1, 11], [9, 1, 10], [40, 1, 1]] {
            for (stencil, keep) in [
                ("7", Box::new(move |d| sum(d) <= 1) as Box<dyn Fn([i8; 3]) -> bool>),
                ("15", Box::new(move |d| sum(d) <= 1 || sum(d) == 3)),
                ("19", Box::new(move |d| sum(d) <= 2)),
                ("27", Box::new(|_| true)),
            ] {
                let found = recognise(of_box(points, keep).view());
                assert_eq!(
                    found.map(|found| found.grid),
                    Ok(Grid::new(points)),
                    "{points:?}, {stencil} points"
                );
            }
        }
    }

    #[test]
    fn model_problems_are_recognised() {
        for (name, points) in [
            ("poisson2d:30", [30, 1, 30]),
            ("poisson3d:12", [12; 3]),
            ("poisson3d27:12", [12; 3]),
            ("anisotropic3d:12", [12; 3]),
            ("jump3d:20", [20; 3]),
            ("convection3d:10", [10; 3]),
            ("neumann3d:9", [9; 3]),
        ] {
            let found = recognise(matrix(name).view()).unwrap();
            assert_eq!(found.grid.points(), points, "{name}");
        }
    }

    /// Three unknowns, of which one depends on none of the others, are not lines of three points.
    #[test]
    fn unknowns_are_not_points() {
        let of_points = of_box([10, 1, 12], |_| true);
        let mut a = Coo::new(360, 360).unwrap();
        for point in of_points.all_rows() {
            for &other in of_points.row(point).0 {
                for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)] {
                    a.push(3 * point + i, 3 * other as usize + j, 1.0).unwrap();
                }
            }
        }
        let found = recognise(a.to_csr().view()).unwrap();
        assert_eq!((found.grid, found.unknowns), (Grid::new([10, 1, 12]), 3));
    }

    /// Lines of 35 points are not seven points with five unknowns each.
    #[test]
    fn a_grid_that_is_mostly_empty_is_refused_as_one() {
        let (full, points) =
            (of_box([35, 11, 13], |d| d.iter().filter(|d| **d != 0).count() <= 1), 35 * 11 * 13);
        let is_active = |point: usize| (point / 35 % 11 + point / 385).is_multiple_of(3);
        let mut some = Coo::new(points, points).unwrap();
        for row in full.all_rows() {
            for &column in full.row(row).0 {
                if row == column as usize || is_active(row) && is_active(column as usize) {
                    some.push(row, column as usize, 1.0).unwrap();
                }
            }
        }
        // The ends of the other directions.
        for (row, column) in [(0, 35), (0, 385)] {
            some.push(row, column, 1.0).unwrap();
            some.push(column, row, 1.0).unwrap();
        }
        let found = recognise(some.to_csr().view());
        assert_eq!(found, Err(NotAGrid::MissingEntries { grid: Grid::new([35, 11, 13]) }));
    }

    #[test]
    fn other_numberings_are_not_mistaken_for_grids() {
        let refused = |a: Csr<f64>| recognise(a.view()).unwrap_err();
        // Five diagonals of a numbering in one dimension.
        let mut band = Coo::new(90, 90).unwrap();
        for row in 0..90_usize {
            for column in row.saturating_sub(2)..(row + 3).min(90) {
                band.push(row, column, 1.0).unwrap();
            }
        }
        assert!(matches!(refused(band.to_csr()), NotAGrid::Distances | NotAGrid::NotNeighbours { .. }));
        // A periodic direction, a missing point, and two grids.
        let a = matrix("poisson2d:12");
        let mut periodic = Coo::new(144, 144).unwrap();
        let mut missing = Coo::new(143, 143).unwrap();
        let mut both = Coo::new(144 + 100, 244).unwrap();
        let other = matrix("poisson2d:10");
        for row in a.all_rows() {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                let column = column as usize;
                periodic.push(row, column, value).unwrap();
                both.push(row, column, value).unwrap();
                let number = |point: usize| if point > 70 { point - 1 } else { point };
                if row != 70 && column != 70 {
                    missing.push(number(row), number(column), value).unwrap();
                }
            }
            if row % 12 == 0 {
                periodic.push(row, row + 11, -1.0).unwrap();
                periodic.push(row + 11, row, -1.0).unwrap();
            }
        }
        for row in other.all_rows() {
            for (&column, &value) in other.row(row).0.iter().zip(other.row(row).1) {
                both.push(144 + row, 144 + column as usize, value).unwrap();
            }
        }
        for a in [periodic, missing, both] {
            assert!(recognise(a.to_csr().view()).is_err());
        }
    }
}
