//! Which rows the next level keeps: the splitting into coarse and fine rows of classical multigrid.
//!
//! Coarse rows are numbered along the fine ones. Neighbours stay neighbours, so that the next level's matrix is as
//! local as this one's, and columns of interpolation increase with the rows they stand for.

/// Whether a row is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The next level keeps it.
    Coarse,
    /// It is interpolated from coarse ones, or left to the smoother.
    Fine,
}

/// Stands where a fine row has no number on the next level. No level has so many rows.
const FINE: u32 = u32::MAX;

/// Every local row coarse or fine, and the number of each coarse one on the next level.
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
    /// From what each of `rows` rows is.
    ///
    /// # Panics
    /// If there are more rows than 32 bits can number.
    pub fn new(rows: usize, point: impl Fn(usize) -> Point) -> Self {
        assert!(rows <= FINE as usize, "a matrix has at most 2^32 - 1 rows");
        let mut coarse = 0;
        let number = |row| match point(row) {
            Point::Fine => FINE,
            Point::Coarse => {
                coarse += 1;
                coarse - 1
            }
        };
        let index = (0..rows).map(number).collect();
        Splitting { index, coarse: coarse as usize }
    }

    /// Number of rows: a process's own and those of its halo.
    pub fn rows(&self) -> usize {
        self.index.len()
    }

    /// Number of coarse rows among them.
    pub fn coarse_rows(&self) -> usize {
        self.coarse
    }

    /// What a row is.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn point(&self, row: usize) -> Point {
        if self.index[row] == FINE { Point::Fine } else { Point::Coarse }
    }

    /// The number of a coarse row on the next level; `None` for a fine one.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn coarse_index(&self, row: usize) -> Option<u32> {
        let index = self.index[row];
        (index != FINE).then_some(index)
    }

    /// The rows that are coarse, in order.
    pub fn coarse_points(&self) -> Vec<u32> {
        let mut points = Vec::with_capacity(self.coarse);
        points.extend((0..self.rows() as u32).filter(|&row| self.index[row as usize] != FINE));
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
        assert_eq!(Splitting::new(0, |_| Point::Coarse).coarse_rows(), 0);
    }
}
