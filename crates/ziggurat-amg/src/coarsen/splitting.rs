//! The splitting into coarse and fine rows of classical multigrid: which rows the next level keeps.
//!
//! Coarse rows are numbered in the order of the fine ones. This preserves the locality of the
//! matrix on the next level, and the columns of interpolation have the same order as the rows they
//! represent.

use std::ops::Range;

use ziggurat_sparse::parallel;

use crate::halo::Halo;

/// Number of rows that one task numbers.
const CHUNK: usize = 16 * 1024;

/// Whether a row is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The next level keeps it.
    Coarse,
    /// It is interpolated from coarse rows, or left to the smoother.
    Fine,
}

/// Marks a fine row, which has no index on the next level. It is never a valid index.
pub(crate) const FINE: u32 = u32::MAX;

/// Whether each local row is coarse or fine, and the index of each coarse row on the next level.
///
/// ```
/// use ziggurat_amg::coarsen::{Point, Splitting};
/// let splitting = Splitting::new(4, |row| if row % 2 == 0 { Point::Fine } else { Point::Coarse });
/// assert_eq!((splitting.rows(), splitting.coarse_rows()), (4, 2));
/// assert_eq!((splitting.coarse_index(2), splitting.coarse_index(3)), (None, Some(1)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splitting {
    index: Vec<u32>,
    coarse: usize,
}

impl Splitting {
    /// Builds a splitting of `rows` rows from the kind of each.
    ///
    /// # Panics
    /// If there are more rows than a 32-bit index can represent.
    pub fn new(rows: usize, point: impl Fn(usize) -> Point + Sync) -> Self {
        assert!(rows <= FINE as usize, "a matrix has at most 2^32 - 1 rows");
        let is_coarse = |row| point(row) == Point::Coarse;
        let count = |rows: Range<usize>| rows.map(|row| u32::from(is_coarse(row))).sum();
        let mut starts: Vec<u32> = parallel::map_pieces(0..rows, CHUNK, &count);
        let mut coarse = 0;
        for start in &mut starts {
            coarse += std::mem::replace(start, coarse);
        }
        let mut index = vec![FINE; rows];
        parallel::over_chunks(&mut index, CHUNK, &|chunk, index| {
            let mut next = starts[chunk];
            for (slot, row) in index.iter_mut().zip(chunk * CHUNK..) {
                // Whether a row is coarse cannot be predicted, so this is branch-free.
                let kept = is_coarse(row);
                *slot = if kept { next } else { FINE };
                next += u32::from(kept);
            }
        });
        Splitting { index, coarse: coarse as usize }
    }

    /// Number of local rows, halo included.
    pub fn rows(&self) -> usize {
        self.index.len()
    }

    /// Number of coarse rows among the local rows.
    pub fn coarse_rows(&self) -> usize {
        self.coarse
    }

    /// Whether a row is coarse or fine.
    ///
    /// # Panics
    /// If the row is out of range.
    #[inline]
    pub fn point(&self, row: usize) -> Point {
        if self.index[row] == FINE { Point::Fine } else { Point::Coarse }
    }

    /// The index of a coarse row on the next level; `None` for a fine row.
    ///
    /// # Panics
    /// If the row is out of range.
    #[inline]
    pub fn coarse_index(&self, row: usize) -> Option<u32> {
        let index = self.index[row];
        (index != FINE).then_some(index)
    }

    /// The index of a coarse row on the next level; [`FINE`] for a fine row.
    #[inline]
    pub(crate) fn index(&self, row: usize) -> u32 {
        self.index[row]
    }

    /// The coarse rows among `rows`, in increasing order.
    pub(crate) fn coarse_among(&self, rows: Range<usize>) -> impl Iterator<Item = usize> {
        rows.filter(|&row| self.index[row] != FINE)
    }

    /// Coarse rows and all rows, over all processes.
    pub(crate) fn totals<H: Halo>(&self, halo: &H) -> [u64; 2] {
        let mut totals = [self.coarse_among(halo.owned()).count() as u64, halo.owned().len() as u64];
        halo.sum(&mut totals);
        totals
    }

    /// The coarse rows, in increasing order.
    pub fn coarse_points(&self) -> Vec<u32> {
        // One entry longer, because fine rows are also written after the last coarse one and then
        // overwritten.
        let mut points = vec![0; self.coarse + 1];
        let mut next = 0;
        for (row, &index) in self.index.iter().enumerate() {
            points[next] = row as u32;
            next += usize::from(index != FINE);
        }
        points.truncate(self.coarse);
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_rows() {
        let kept = [1, 4, 5];
        let splitting =
            Splitting::new(7, |row| if kept.contains(&row) { Point::Coarse } else { Point::Fine });
        assert_eq!(splitting.coarse_points(), [1, 4, 5]);
        assert_eq!(splitting.coarse_rows(), 3);
        for (number, row) in kept.into_iter().enumerate() {
            assert_eq!(splitting.coarse_index(row), Some(number as u32));
            assert_eq!(splitting.point(row), Point::Coarse);
        }
        assert_eq!((splitting.point(0), splitting.coarse_index(0)), (Point::Fine, None));
        let many =
            Splitting::new(5 * CHUNK / 2, |row| if row % 3 == 1 { Point::Coarse } else { Point::Fine });
        let points = many.coarse_points();
        assert_eq!(points.len(), many.coarse_rows());
        for (number, row) in (1..many.rows()).step_by(3).enumerate() {
            assert_eq!((points[number], many.coarse_index(row)), (row as u32, Some(number as u32)));
        }
        assert_eq!(Splitting::new(0, |_| Point::Coarse).coarse_rows(), 0);
    }
}
