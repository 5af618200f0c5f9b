//! The pattern of a matrix, and its 64-bit hash, by which a plan recognises the pattern it was made
//! for.
//!
//! A numeric phase relies on the pattern that the symbolic phase saw. A matrix of the same size
//! with other columns would silently give wrong values, so both phases hash the pattern (its
//! *mark*), in one pass over the columns, and compare. Two different patterns have the same mark
//! with probability 2^-64.

use std::ops::Range;

use crate::matrix::CsrRef;
use crate::parallel::map_pieces;

/// Rows per task.
const CHUNK: usize = 4096;

/// The positions of the entries of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Pattern<'a> {
    /// Where each row begins, and where the last one ends.
    pub(super) row_ptr: &'a [usize],
    pub(super) columns: &'a [u32],
}

impl<'a, T> From<CsrRef<'a, T>> for Pattern<'a> {
    fn from(a: CsrRef<'a, T>) -> Self {
        Pattern { row_ptr: a.row_ptr(), columns: a.columns() }
    }
}

/// One step of the hash: a product of 64 x 64 bits, folded (the step of Wang Yi's wyhash, 2019). It
/// depends on all previous steps, so the same numbers in another order give another hash.
#[inline]
fn mix(hash: u64, x: u64, y: u64) -> u64 {
    let product = u128::from(hash ^ x) * u128::from(y ^ 0x9e37_79b9_7f4a_7c15);
    (product >> 64) as u64 ^ product as u64
}

#[inline]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl<'a> Pattern<'a> {
    /// The columns of one row.
    #[inline]
    pub(super) fn row(self, row: usize) -> &'a [u32] {
        &self.columns[self.row_ptr[row]..self.row_ptr[row + 1]]
    }

    /// The number of entries of a row.
    #[inline]
    pub(super) fn row_len(self, row: usize) -> usize {
        self.row_ptr[row + 1] - self.row_ptr[row]
    }

    /// The mark of some rows, computed by one thread.
    pub(super) fn mark_of(self, rows: Range<usize>) -> u64 {
        let pointers = &self.row_ptr[rows.start..=rows.end];
        let columns = &self.columns[pointers[0]..pointers[rows.len()]];
        let mut hash = mix(rows.len() as u64, columns.len() as u64, 0);
        for ends in pointers[1..].chunks(2) {
            hash = mix(hash, (ends[0] - pointers[0]) as u64, (ends[ends.len() - 1] - pointers[0]) as u64);
        }
        let mut quads = columns.chunks_exact(4);
        for quad in &mut quads {
            hash = mix(hash, pair(quad[0], quad[1]), pair(quad[2], quad[3]));
        }
        quads.remainder().iter().fold(hash, |hash, &column| mix(hash, u64::from(column), 0))
    }

    /// The mark of all rows.
    pub(super) fn mark(self) -> u64 {
        let rows = self.row_ptr.len() - 1;
        let of_chunk = |rows: Range<usize>| mix((rows.start / CHUNK) as u64, self.mark_of(rows), 0);
        map_pieces(0..rows, CHUNK, &of_chunk).into_iter().fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::testing::poisson3d;
    use crate::matrix::Csr;

    #[test]
    fn any_change_of_the_pattern_changes_the_mark() {
        let a = poisson3d(20);
        let (row_ptr, columns, values) = a.clone().into_parts();
        let mark = |a: &Csr<f64>| Pattern::from(a.view()).mark();
        let original = mark(&a);
        // The first entry of row 11 moves to row 10: only a row pointer changes.
        let mut moved = row_ptr.clone();
        moved[11] += 1;
        let moved = Csr::from_unsorted(a.rows(), a.cols(), moved, columns.clone(), values.clone()).unwrap();
        assert_ne!(mark(&moved), original);
        for entry in [0, 1, a.nnz() / 2, a.nnz() - 1] {
            let mut changed = columns.clone();
            changed[entry] ^= 4096;
            let changed =
                Csr::from_unsorted(a.rows(), 2 * a.cols(), row_ptr.clone(), changed, values.clone());
            assert_ne!(mark(&changed.unwrap()), original, "entry {entry}");
        }
        assert_eq!(Pattern::from(a.view().stored_as::<f32>().view()).mark(), original);
    }
}
