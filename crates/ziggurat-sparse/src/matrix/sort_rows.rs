//! Sorts the entries within rows and sums duplicates.
//!
//! Each row is sorted in place by one thread with a stable sort on its columns. Duplicates are
//! summed in their original order, so the result is bitwise the same for any number of threads.
//! Rows that are already sorted take one pass. A second set of arrays is needed only if there are
//! duplicates.

use super::assemble::count_rows;
use super::csr::{Csr, check_layout};
use super::error::MatrixError;
use crate::number::Real;
use crate::parallel::over_entries;

impl<T: Real> Csr<T> {
    /// Takes arrays whose rows may be unsorted or contain duplicates: sorts each row and sums
    /// duplicates in their original order.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// let a = Csr::from_unsorted(1, 3, vec![0, 3], vec![2, 0, 2], vec![1.0, 5.0, 10.0])?;
    /// assert_eq!((a.columns(), a.values()), (&[0, 2][..], &[5.0, 11.0][..]));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn from_unsorted(
        rows: usize,
        cols: usize,
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, MatrixError> {
        check_layout(rows, cols, &row_ptr, &columns, values.len())?;
        Ok(sort_rows(rows, cols, row_ptr, columns, values))
    }
}

/// Builds a matrix from arrays that are valid except for the order of columns within rows and for
/// duplicates.
pub(crate) fn sort_rows<T: Real>(
    rows: usize,
    cols: usize,
    row_ptr: Vec<usize>,
    mut columns: Vec<u32>,
    mut values: Vec<T>,
) -> Csr<T> {
    over_entries(&row_ptr, 0..rows, &mut columns, &mut values, &|piece, columns, values| {
        let mut scratch = Vec::new();
        let offset = row_ptr[piece.start];
        for row in piece {
            let range = row_ptr[row] - offset..row_ptr[row + 1] - offset;
            sort_row(&mut columns[range.clone()], &mut values[range], &mut scratch);
        }
    });
    let unique = count_rows(
        0..rows,
        || (),
        |(), row| {
            let columns = &columns[row_ptr[row]..row_ptr[row + 1]];
            columns.windows(2).position(|pair| pair[0] >= pair[1]).map_or(columns.len(), |last| last + 1)
        },
    );
    if unique[rows] == columns.len() {
        return Csr::from_valid_parts(rows, cols, row_ptr, columns, values);
    }
    let mut kept_columns = vec![0; unique[rows]];
    let mut kept_values = vec![T::default(); unique[rows]];
    over_entries(&unique, 0..rows, &mut kept_columns, &mut kept_values, &|piece, out_columns, out_values| {
        let offset = unique[piece.start];
        for row in piece {
            let (from, to) = (row_ptr[row], unique[row] - offset..unique[row + 1] - offset);
            out_columns[to.clone()].copy_from_slice(&columns[from..from + to.len()]);
            out_values[to.clone()].copy_from_slice(&values[from..from + to.len()]);
        }
    });
    Csr::from_valid_parts(rows, cols, unique, kept_columns, kept_values)
}

/// Sorts one row. If duplicates were summed, the row becomes shorter, and the remaining slots
/// repeat the last column. This marks the end, since valid columns increase strictly.
fn sort_row<T: Real>(columns: &mut [u32], values: &mut [T], scratch: &mut Vec<(u32, T)>) {
    if columns.windows(2).all(|pair| pair[0] < pair[1]) {
        return;
    }
    scratch.clear();
    scratch.extend(columns.iter().copied().zip(values.iter().copied()));
    scratch.sort_by_key(|&(column, _)| column);
    scratch.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    for ((column, value), &sorted) in columns.iter_mut().zip(values).zip(scratch.iter()) {
        (*column, *value) = sorted;
    }
    if let Some(&(last, _)) = scratch.last() {
        columns[scratch.len()..].fill(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_anywhere_in_a_row_are_summed_once() {
        // Duplicates at the start, at the end, and everywhere in a row; a sorted row; an empty row.
        let row_ptr = vec![0, 3, 6, 9, 11, 11];
        let columns = vec![0, 0, 1, 1, 4, 4, 2, 2, 2, 0, 3];
        let values = (0..11).map(|k| f64::from(1 << k)).collect();
        let a = sort_rows(5, 5, row_ptr, columns, values);
        assert_eq!(a.row_ptr(), [0, 2, 4, 5, 7, 7]);
        assert_eq!(a.columns(), [0, 1, 1, 4, 2, 0, 3]);
        assert_eq!(a.values(), [3.0, 4.0, 8.0, 48.0, 448.0, 512.0, 1024.0]);
    }
}
