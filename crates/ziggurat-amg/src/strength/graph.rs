//! The strong connections of a matrix: a pattern without values and without the diagonal.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use ziggurat_sparse::matrix::{Entries, check_pattern, collect_pattern};
use ziggurat_sparse::{MatrixError, parallel};

/// Number of rows per task.
const ROWS: usize = 8 * 1024;

/// For each row, the columns that it depends on strongly, in increasing order and without the row
/// itself.
///
/// ```
/// use ziggurat_amg::strength::StrongGraph;
/// let graph = StrongGraph::try_new(2, vec![0, 1, 2], vec![1, 0])?;
/// assert_eq!(graph.row(0), [1]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrongGraph {
    cols: usize,
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
}

impl StrongGraph {
    /// Builds a graph from a pattern, after validating it.
    ///
    /// # Errors
    /// Returns an error if the arrays do not form a valid pattern.
    pub fn try_new(cols: usize, row_ptr: Vec<usize>, columns: Vec<u32>) -> Result<Self, MatrixError> {
        check_pattern(cols, &row_ptr, &columns)?;
        Ok(StrongGraph { cols, row_ptr, columns })
    }

    /// Collects the rows `rows` of a graph; see [`collect_pattern`].
    pub(crate) fn collect<Scratch: Send>(
        work: &[usize],
        rows: Range<usize>,
        cols: usize,
        scratch: impl Fn() -> Scratch + Sync,
        collect: impl Fn(&mut Scratch, usize, &mut Entries<()>) + Sync,
    ) -> Result<Self, MatrixError> {
        let (row_ptr, columns) = collect_pattern(work, rows, cols, scratch, collect)?;
        Ok(StrongGraph { cols, row_ptr, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Number of columns: local rows, halo included.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of strong connections.
    pub fn connections(&self) -> usize {
        self.columns.len()
    }

    /// Offsets of the rows in `columns`, one more than there are rows.
    pub fn row_ptr(&self) -> &[usize] {
        &self.row_ptr
    }

    /// The columns that the rows depend on, row by row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The columns that `row` depends on strongly.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.row_ptr[row]..self.row_ptr[row + 1]]
    }

    /// The transpose: for each column, the rows that depend on it strongly, i.e. those that it
    /// *influences*.
    ///
    /// Threads fill the positions within a row in any order, and then every row is sorted, so the
    /// result does not depend on the threads. Cost: two passes over the connections.
    ///
    /// ```
    /// use ziggurat_amg::strength::StrongGraph;
    /// // Rows 0 and 2 depend on row 1.
    /// let graph = StrongGraph::try_new(3, vec![0, 1, 1, 2], vec![1, 1])?;
    /// assert_eq!(graph.transpose().row(1), [0, 2]);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn transpose(&self) -> StrongGraph {
        let next: Vec<AtomicUsize> = parallel::zeros(self.cols).into_iter().map(AtomicUsize::new).collect();
        parallel::over_range(0..self.columns.len(), parallel::PIECE, &|piece| {
            for &column in &self.columns[piece] {
                next[column as usize].fetch_add(1, Relaxed);
            }
        });
        let mut row_ptr = Vec::with_capacity(self.cols + 1);
        let mut start = 0;
        for slot in &next {
            row_ptr.push(start);
            start += slot.swap(start, Relaxed);
        }
        row_ptr.push(start);
        let places: Vec<AtomicU32> = parallel::zeros(start).into_iter().map(AtomicU32::new).collect();
        parallel::over_range(0..self.rows(), ROWS, &|rows| {
            for row in rows {
                for &column in self.row(row) {
                    let place = next[column as usize].fetch_add(1, Relaxed);
                    places[place].store(row as u32, Relaxed);
                }
            }
        });
        let mut columns: Vec<u32> = places.into_iter().map(AtomicU32::into_inner).collect();
        parallel::over_values(&row_ptr, 0..self.cols, &mut columns, &|rows, columns| {
            let first = row_ptr[rows.start];
            rows.for_each(|row| columns[row_ptr[row] - first..row_ptr[row + 1] - first].sort_unstable());
        });
        StrongGraph { cols: self.rows(), row_ptr, columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arbitrary() -> impl Strategy<Value = StrongGraph> {
        (0..12usize, 1..12u32).prop_flat_map(|(rows, cols)| {
            prop::collection::vec(prop::collection::btree_set(0..cols, 0..6), rows).prop_map(move |sets| {
                let mut row_ptr = vec![0];
                let mut columns = Vec::new();
                for set in sets {
                    columns.extend(set);
                    row_ptr.push(columns.len());
                }
                StrongGraph::try_new(cols as usize, row_ptr, columns).unwrap()
            })
        })
    }

    proptest! {
        #[test]
        fn the_transpose_turns_every_connection_round(graph in arbitrary()) {
            let transpose = graph.transpose();
            prop_assert_eq!((transpose.rows(), transpose.cols()), (graph.cols(), graph.rows()));
            prop_assert_eq!(transpose.connections(), graph.connections());
            for row in 0..graph.rows() {
                for &column in graph.row(row) {
                    prop_assert!(transpose.row(column as usize).contains(&(row as u32)));
                }
            }
            prop_assert_eq!(transpose.transpose(), graph);
        }
    }

    #[test]
    fn a_large_transpose_is_sorted_on_any_number_of_threads() {
        let rows = 3 * ROWS;
        // Every row depends on one of seven rows, and on a second row.
        let columns = (0..rows as u32).flat_map(|row| [row % 7, row.max(7)]).collect();
        let graph = StrongGraph::try_new(rows, (0..=rows).map(|row| 2 * row).collect(), columns).unwrap();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| graph.transpose())
        };
        assert_eq!(on(1), on(3));
        check_pattern(rows, on(2).row_ptr(), on(2).columns()).unwrap();
        assert_eq!(on(2).row(3)[..2], [3, 10]);
    }

    #[test]
    fn arrays_that_make_no_pattern_are_refused() {
        assert_eq!(
            StrongGraph::try_new(1, vec![], vec![]),
            Err(MatrixError::RowPointerCount { rows: 0, found: 0 })
        );
        assert!(StrongGraph::try_new(2, vec![0, 1], vec![2]).is_err());
        assert!(StrongGraph::try_new(2, vec![0, 2], vec![1, 0]).is_err());
    }
}
