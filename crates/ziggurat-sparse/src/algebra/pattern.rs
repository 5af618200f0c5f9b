//! The pattern of a matrix, and a 64-bit mark by which a plan recognises the pattern it was made for.
//!
//! A numeric phase trusts the pattern that the symbolic phase saw. A matrix of the same size with other columns would
//! give wrong numbers without a word, so both phases mark the pattern, in one pass over the columns, and the marks are
//! compared. Two patterns that differ by accident have the same mark with probability 2^-64.

use std::ops::Range;

use rayon::prelude::*;

use crate::matrix::CsrRef;

/// Rows that one task marks.
const CHUNK: usize = 4096;

/// Where the entries of a matrix stand.
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

/// A round of the finaliser of splitmix64 (Steele, Lea & Flood, 2014). `place` keeps equal numbers in different places
/// apart; its factor is 2^64 over the golden ratio, whose multiples are spread evenly.
#[inline]
fn scramble(place: usize, number: u64) -> u64 {
    let x = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

impl<'a> Pattern<'a> {
    /// The columns of one row.
    #[inline]
    pub(super) fn row(self, row: usize) -> &'a [u32] {
        &self.columns[self.row_ptr[row]..self.row_ptr[row + 1]]
    }

    /// The mark of some rows, by one thread.
    pub(super) fn mark_of(self, rows: Range<usize>) -> u64 {
        let pointers = &self.row_ptr[rows.start..=rows.end];
        let begin = pointers[0];
        let columns = &self.columns[begin..pointers[rows.len()]];
        // Places of the row pointers count down from the top, so that they do not meet those of the columns.
        let of_pointers = pointers.iter().enumerate().fold(0u64, |sum, (place, &pointer)| {
            sum.wrapping_add(scramble(!place, (pointer - begin) as u64))
        });
        columns
            .iter()
            .enumerate()
            .fold(of_pointers, |sum, (place, &column)| sum.wrapping_add(scramble(place, u64::from(column))))
    }

    /// The mark of all rows.
    pub(super) fn mark(self) -> u64 {
        let rows = self.row_ptr.len() - 1;
        let chunk =
            |chunk: usize| scramble(chunk, self.mark_of(chunk * CHUNK..((chunk + 1) * CHUNK).min(rows)));
        // A sum of integers: the same in any order.
        (0..rows.div_ceil(CHUNK)).into_par_iter().map(chunk).reduce(|| 0, u64::wrapping_add)
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
        // The entry after row 10's last moves from row 11 to row 10: only a row pointer changes.
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
