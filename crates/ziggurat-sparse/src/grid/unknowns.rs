//! Finds the grid of a matrix with several unknowns per point, and reads such a matrix.
//!
//! The unknowns of a point follow one another, or the rows hold the first unknown of all points,
//! then the second, and so on. For each number of unknowns and both orders, the distances between
//! *points* must match a grid, as in [`recognise`](super::recognise).
//!
//! Cost: a look at 256 rows for each number of unknowns and order; for those that are not refused
//! then, two passes over the columns.

use std::ops::Range;

use super::pattern::{GridPattern, MOST_DIRECTIONS, TASK, UnknownOrder, all_distances};
use super::rows::StencilPlaces;
use crate::CsrRef;
use crate::graph::Permutation;
use crate::parallel::map_pieces;

/// The most unknowns of a point.
pub(super) const MOST_UNKNOWNS: usize = 8;

impl GridPattern {
    /// Stencils of a matrix with this pattern, point by point, summed over the unknowns.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridSystem, recognise};
    /// let a = "radiation3t:8".parse::<Problem>()?.matrix()?;
    /// let pattern = recognise(a.view())?;
    /// let (mut one, mut other) = ([0.0; 7], [0.0; 7]);
    /// pattern.sums_of(a.view()).at(77, &mut one);
    /// GridSystem::from_csr(a.view(), &pattern)?.sum().at(77, &mut other);
    /// assert!(one.iter().zip(other).all(|(one, other)| (one - other).abs() <= 1e-14 * other.abs()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sums_of<'a>(&self, a: CsrRef<'a, f64>) -> StencilSums<'a> {
        StencilSums { rows: NumberedPoints::new(a, self) }
    }

    /// The order of the rows in which the unknowns of one kind follow one another; `None` if they
    /// do already.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::recognise;
    /// let a = "radiation3t:8".parse::<Problem>()?.matrix()?; // three temperatures
    /// let order = recognise(a.view())?.by_unknown().ok_or("in that order")?;
    /// assert_eq!(order.new_to_old()[..3], [0, 3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_unknown(&self) -> Option<Permutation> {
        let (m, n) = (self.unknowns, self.grid.len());
        let is_other = m > 1 && self.order == UnknownOrder::ByPoint;
        let new_to_old = || (0..m).flat_map(|i| (0..n).map(move |point| (m * point + i) as u32)).collect();
        is_other.then(|| Permutation::from_new_to_old(new_to_old()).ok()).flatten()
    }
}

/// Stencils by points, made by [`GridPattern::sums_of`].
#[derive(Clone, Debug)]
pub struct StencilSums<'a> {
    rows: NumberedPoints<'a>,
}

impl StencilSums<'_> {
    /// Writes the values of all directions at a point.
    ///
    /// # Panics
    /// If there is no such point, or there are fewer places than directions.
    pub fn at(&self, point: usize, values: &mut [f64]) {
        values.fill(0.0);
        let _neighbours = self.rows.for_each_row(point..point + 1, |_, places, of_row| {
            for (&place, &value) in places.iter().zip(of_row) {
                if place != u32::MAX {
                    values[place as usize % MOST_DIRECTIONS] += value;
                }
            }
        });
    }
}

/// The rows of a matrix by the points and unknowns of a grid.
#[derive(Clone, Debug)]
pub(super) struct NumberedPoints<'a> {
    a: CsrRef<'a, f64>,
    points: usize,
    unknowns: usize,
    order: UnknownOrder,
    places: StencilPlaces,
}

/// The points of rows or columns, and which of their unknowns they are.
#[derive(Clone, Copy)]
struct Numbering {
    points: usize,
    unknowns: usize,
    order: UnknownOrder,
}

impl Numbering {
    /// The point and the unknown of a row.
    #[inline(always)]
    fn of(self, row: usize) -> (usize, usize) {
        match self.order {
            UnknownOrder::ByPoint => (row / self.unknowns, row % self.unknowns),
            UnknownOrder::ByUnknown => (row % self.points, row / self.points),
        }
    }

    /// The row of an unknown of a point.
    #[inline(always)]
    fn row(self, point: usize, unknown: usize) -> usize {
        match self.order {
            UnknownOrder::ByPoint => point * self.unknowns + unknown,
            UnknownOrder::ByUnknown => unknown * self.points + point,
        }
    }

    /// The distance between the rows of an unknown at neighbouring points.
    fn step(self) -> u32 {
        match self.order {
            UnknownOrder::ByPoint => self.unknowns as u32,
            UnknownOrder::ByUnknown => 1,
        }
    }

    /// Adds the distances between the points of entries; false if no stencil has so many.
    fn add_distances(self, a: CsrRef<'_, f64>, points: Range<usize>, known: &mut Vec<isize>) -> bool {
        let mut last = vec![&[][..]; self.unknowns];
        for (point, unknown) in points.flat_map(|point| (0..self.unknowns).map(move |i| (point, i))) {
            let (columns, _) = a.row(self.row(point, unknown));
            if is_shifted(last[unknown], columns, self.step()) {
                last[unknown] = columns;
                continue;
            }
            last[unknown] = columns;
            for &column in columns {
                let distance = self.of(column as usize).0 as isize - point as isize;
                if let Err(place) = known.binary_search(&distance) {
                    known.insert(place, distance);
                    if known.len() > MOST_DIRECTIONS {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The distances between the points of all entries, increasing.
    fn distances(self, a: CsrRef<'_, f64>) -> Option<Vec<isize>> {
        all_distances(0..self.points, &|points, known| self.add_distances(a, points, known))
    }

    /// Whether some points have few enough distances, and those are the distances of a grid.
    fn is_possible(self, a: CsrRef<'_, f64>) -> bool {
        const SAMPLE: usize = 16;
        // Multiples of the golden ratio, so that not all places are at a face of a grid.
        let place = |k: usize| (self.points as f64 * (0.618_033_988_75 * k as f64).fract()) as usize;
        let mut known = Vec::new();
        let mut samples = (0..SAMPLE).map(place);
        samples.all(|first| self.add_distances(a, first..(first + SAMPLE).min(self.points), &mut known))
            && !GridPattern::with_distances(self.points, &known).is_empty()
    }
}

/// The grid of a matrix with several unknowns per point, in two or three dimensions. In one, such a
/// matrix is banded, and sparse factors solve it best.
pub(super) fn recognise_unknowns(a: CsrRef<'_, f64>) -> Option<GridPattern> {
    let orders = [UnknownOrder::ByPoint, UnknownOrder::ByUnknown];
    let numbers = (2..=MOST_UNKNOWNS).filter(|&unknowns| a.rows().is_multiple_of(unknowns));
    let numberings = orders.into_iter().flat_map(move |order| {
        numbers.clone().map(move |unknowns| Numbering { points: a.rows() / unknowns, unknowns, order })
    });
    numberings.filter(|numbering| numbering.is_possible(a)).find_map(|numbering| {
        let distances = numbering.distances(a)?;
        GridPattern::with_distances(numbering.points, &distances).into_iter().find_map(|pattern| {
            let Numbering { unknowns, order, .. } = numbering;
            let pattern = GridPattern { unknowns, order, ..pattern };
            let axes = pattern.grid.points().iter().filter(|&&along| along > 1).count();
            (axes > 1).then_some(())?;
            let used = NumberedPoints::new(a, &pattern).directions_of_blocks().ok()?;
            let stored =
                used.iter().map(|used| used.count_ones() as usize).sum::<usize>() * pattern.grid.len();
            (stored <= 2 * a.nnz()).then_some(pattern)
        })
    })
}

impl<'a> NumberedPoints<'a> {
    pub(super) fn new(a: CsrRef<'a, f64>, pattern: &GridPattern) -> Self {
        let GridPattern { grid, unknowns, order, .. } = *pattern;
        NumberedPoints { a, points: grid.len(), unknowns, order, places: pattern.places() }
    }

    fn numbering(&self) -> Numbering {
        Numbering { points: self.points, unknowns: self.unknowns, order: self.order }
    }

    /// Calls `each` with a point, and with the [places](place) and values of the entries of one of
    /// its rows, for all rows of some points. Entries of zero may have none, which is `u32::MAX`.
    ///
    /// Most rows have the columns of the point before, moved by one point, and so the same places.
    ///
    /// # Errors
    /// The row and column of the first entry that is not zero and connects points which are not
    /// neighbours.
    #[inline(always)]
    pub(super) fn for_each_row(
        &self,
        points: Range<usize>,
        mut each: impl FnMut(usize, &[u32], &[f64]),
    ) -> Result<(), (usize, usize)> {
        let numbering = self.numbering();
        let no_row = LastRow { columns: &[], faces: 0, places: Vec::new(), may_repeat: false };
        let mut last = vec![no_row; self.unknowns];
        for point in points {
            let faces = self.places.faces_at(point);
            for (i, last) in last.iter_mut().enumerate() {
                let row = numbering.row(point, i);
                let (columns, values) = self.a.row(row);
                let repeats = last.may_repeat && last.faces == faces;
                if !(repeats && is_shifted(last.columns, columns, numbering.step())) {
                    last.places.clear();
                    (last.may_repeat, last.faces) = (true, faces);
                    let mut near = 0;
                    for (&column, &value) in columns.iter().zip(values) {
                        let (to, j) = numbering.of(column as usize);
                        match self.places.find(faces, to as isize - point as isize, near) {
                            Some(s) => {
                                near = s;
                                last.places.push(place(i * self.unknowns + j, s));
                            }
                            None if value == 0.0 => {
                                last.may_repeat = false;
                                last.places.push(u32::MAX);
                            }
                            None => return Err((row, column as usize)),
                        }
                    }
                }
                last.columns = columns;
                each(point, &last.places, values);
            }
        }
        Ok(())
    }

    /// The directions in which each block has entries that are not zero: a bit for each.
    ///
    /// # Errors
    /// As [`for_each_row`](Self::for_each_row).
    pub(super) fn directions_of_blocks(&self) -> Result<Vec<u32>, (usize, usize)> {
        let places = self.unknowns * self.unknowns * MOST_DIRECTIONS;
        let tasks = map_pieces(0..self.points, TASK, &|points| {
            let mut used = vec![false; places];
            let checked = self.for_each_row(points, |_, places, values| {
                for (&place, &value) in places.iter().zip(values) {
                    if let Some(used) = used.get_mut(place as usize) {
                        *used |= value != 0.0;
                    }
                }
            });
            checked.map(|()| used)
        });
        let mut used = vec![false; places];
        for of_task in tasks {
            used.iter_mut().zip(of_task?).for_each(|(all, used)| *all |= used);
        }
        let bits = |used: &[bool]| used.iter().rev().fold(0, |bits, &used| bits << 1 | u32::from(used));
        Ok(used.chunks(MOST_DIRECTIONS).map(bits).collect())
    }
}

/// The place of a direction of a block in a list.
pub(super) fn place(block: usize, s: usize) -> u32 {
    (block * MOST_DIRECTIONS + s) as u32
}

/// The row of an unknown at the point before.
#[derive(Clone)]
struct LastRow<'a> {
    columns: &'a [u32],
    faces: u8,
    places: Vec<u32>,
    /// Whether the same columns always have the same places.
    may_repeat: bool,
}

/// Whether the columns are the columns of another row, all moved by a distance.
fn is_shifted(other: &[u32], columns: &[u32], distance: u32) -> bool {
    // A fold without an early exit is vectorised.
    other.len() == columns.len()
        && other
            .iter()
            .zip(columns)
            .fold(true, |all, (&other, &column)| all & (other.wrapping_add(distance) == column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::{Problem, shuffle};
    use crate::grid::recognise;
    use crate::{Coo, Csr};

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    #[test]
    fn unknowns_of_a_point_are_found_with_their_grid() {
        for (name, points, directions) in
            [("radiation3t:9", [9, 9, 9], 7), ("solid3d:5", [5; 3], 27), ("elasticity3d:6", [6, 7, 7], 27)]
        {
            let found = recognise(matrix(name).view()).unwrap();
            assert_eq!((found.grid.points(), found.stencil.len()), (points, directions), "{name}");
            assert_eq!((found.unknowns, found.order), (3, UnknownOrder::ByPoint), "{name}");
        }
        // One unknown per point stays that, also with an even number of points.
        assert_eq!(recognise(matrix("poisson3d27:8").view()).unwrap().unknowns, 1);
    }

    #[test]
    fn other_matrices_are_not_taken_for_several_unknowns() {
        let shuffled = |name: &str, block| {
            let a = matrix(name);
            shuffle(a.view(), block, a.rows().try_into().unwrap()).unwrap().0
        };
        assert!(recognise(shuffled("poisson2d:30", 1).view()).is_err());
        assert!(recognise(shuffled("elasticity3d:6", 3).view()).is_err());
        // Two connections along a line: banded, and not a grid of pairs.
        let mut banded = Coo::new(600, 600).unwrap();
        for row in 0..600usize {
            for column in row.saturating_sub(2)..(row + 3).min(600) {
                banded.push(row, column, if row == column { 4.0 } else { -1.0 }).unwrap();
            }
        }
        assert!(recognise(banded.to_csr().view()).is_err());
        // An entry that connects points which are not neighbours.
        let a = matrix("radiation3t:9");
        let mut other = Coo::new(a.rows(), a.rows()).unwrap();
        for row in a.all_rows() {
            a.row(row)
                .0
                .iter()
                .zip(a.row(row).1)
                .for_each(|(&c, &x)| other.push(row, c as usize, x).unwrap());
        }
        other.push(3 * 8, 3 * 9, 1.0).unwrap(); // the last point of a line, and the first of the next
        assert!(recognise(other.to_csr().view()).is_err());
    }
}
