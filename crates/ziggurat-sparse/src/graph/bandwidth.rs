//! Bandwidth and profile of a matrix: the usual measures of an ordering.
//!
//! ```text
//! bandwidth = max |i - j|        profile = Σᵢ (i - min { j ≤ i })        over stored entries (i, j)
//! ```
//!
//! (A. George & J. Liu, *Computer Solution of Large Sparse Positive Definite Systems*, 1981.) The
//! bandwidth determines the working set of x in a product; the profile is the storage of an
//! envelope factorisation. Columns increase within rows, so only the ends of each row are read.
//! Explicit zeros count: they are stored and read like any entry.

use crate::CsrRef;
use crate::parallel::map_pieces;

/// Rows per task.
const GRAIN: usize = 4096;

/// The largest distance of a stored entry from the diagonal; 0 for a diagonal or empty matrix.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::bandwidth};
/// let a = Csr::try_new(3, 3, vec![0, 1, 2, 4], vec![0, 1, 0, 2], vec![1.0; 4])?;
/// assert_eq!(bandwidth(a.view()), 2); // row 2 reaches back to column 0
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn bandwidth<T: Sync>(a: CsrRef<'_, T>) -> usize {
    let reach = |row: usize| match *a.row(row).0 {
        [] => 0,
        [only] => row.abs_diff(only as usize),
        [first, .., last] => row.abs_diff(first as usize).max(row.abs_diff(last as usize)),
    };
    let reaches = map_pieces(a.all_rows(), GRAIN, &|rows| rows.map(reach).max().unwrap_or(0));
    reaches.into_iter().max().unwrap_or(0)
}

/// The number of positions between the first stored entry of each row and the diagonal: the size of
/// the envelope of the lower triangle, without the diagonal. A row that starts right of the
/// diagonal contributes nothing.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::profile};
/// let a = Csr::try_new(3, 3, vec![0, 1, 2, 4], vec![0, 1, 0, 2], vec![1.0; 4])?;
/// assert_eq!(profile(a.view()), 2); // places (2, 0) and (2, 1)
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn profile<T: Sync>(a: CsrRef<'_, T>) -> u64 {
    let places =
        |row: usize| a.row(row).0.first().map_or(0, |&first| row.saturating_sub(first as usize)) as u64;
    map_pieces(a.all_rows(), GRAIN, &|rows| rows.map(places).sum::<u64>()).into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::sample::{grid, scattered};
    use super::*;
    use crate::Csr;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(bandwidth(grid(7, 5).view()), 7);
        // Row i of the first line reaches back by 1 (row 0 by 0), every other row by 7.
        assert_eq!(profile(grid(7, 5).view()), 6 + 28 * 7);
        let empty = Csr::<f64>::try_new(2, 2, vec![0, 0, 0], vec![], vec![]).unwrap();
        assert_eq!((bandwidth(empty.view()), profile(empty.view())), (0, 0));
        let wide = Csr::try_new(1, 9, vec![0, 1], vec![8], vec![1.0]).unwrap();
        assert_eq!((bandwidth(wide.view()), profile(wide.view())), (8, 0));
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(n in 0usize..60, degree in 0usize..6, seed in any::<u64>()) {
            let a = scattered(n, degree, seed);
            let entries = (0..n).flat_map(|row| a.row(row).0.iter().map(move |&column| (row, column as usize)));
            let widest = entries.clone().map(|(row, column)| row.abs_diff(column)).max().unwrap_or(0);
            prop_assert_eq!(bandwidth(a.view()), widest);
            let envelope: usize = (0..n)
                .map(|row| entries.clone().filter(|&(r, c)| r == row && c < row).map(|(_, c)| row - c).max().unwrap_or(0))
                .sum();
            prop_assert_eq!(profile(a.view()), envelope as u64);
        }
    }
}
