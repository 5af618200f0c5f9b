//! Permutes the rows, or the rows and columns, of a matrix.
//!
//! ```text
//! PA: row i is row new_to_old[i] of A        PAPᵀ: and column j of A is column old_to_new[j]
//! ```
//!
//! Rows are built in parallel, each from one row of A; permuted columns are sorted within the row.
//! The cost is reading and writing the matrix once, with rows read in random order.

use super::Permutation;
use crate::number::Store;
use crate::{Csr, CsrRef, MatrixError};

/// Rows of at most this many entries are sorted by insertion, which is faster for them.
const SHORT: usize = 32;

/// PAPᵀ: permutes rows and columns alike.
///
/// The matrix must have one row per element of the permutation. Columns beyond that (a halo,
/// numbered by other processes) are unchanged.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::{Permutation, permute_symmetric}};
/// // [ 1 2 . ]                     [ 4 . 3 ]
/// // [ . . . ]    row 2 first:     [ . 1 2 ]    (from 0, 1, 2 to 2, 0, 1)
/// // [ . 3 4 ]                     [ . . . ]
/// let a = Csr::try_new(3, 3, vec![0, 2, 2, 4], vec![0, 1, 1, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// let b = permute_symmetric(a.view(), &Permutation::from_new_to_old(vec![2, 0, 1])?)?;
/// assert_eq!(b.row(0), (&[0, 2][..], &[4.0, 3.0][..]));
/// assert_eq!(b.row(1), (&[1, 2][..], &[1.0, 2.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn permute_symmetric<T: Store>(a: CsrRef<'_, T>, p: &Permutation) -> Result<Csr<T>, MatrixError> {
    check_rows(a, p)?;
    if a.cols() < p.len() {
        let what = "columns to permute";
        return Err(MatrixError::Mismatch { what, expected: p.len(), found: a.cols() });
    }
    let (new_to_old, old_to_new) = (p.new_to_old(), p.old_to_new());
    let renumbered = |&column: &u32| old_to_new.get(column as usize).copied().unwrap_or(column);
    Ok(Csr::assemble(
        0..p.len(),
        a.cols(),
        Vec::new,
        |_, row| a.row(new_to_old[row] as usize).0.len(),
        |sorted: &mut Vec<(u32, T)>, row, columns, values| {
            let (old_columns, old_values) = a.row(new_to_old[row] as usize);
            let entries = old_columns.iter().map(renumbered).zip(old_values.iter().copied());
            if old_columns.len() <= SHORT {
                insert_sorted(entries, columns, values);
                return;
            }
            sorted.clear();
            sorted.extend(entries);
            sorted.sort_unstable_by_key(|&(column, _)| column); // columns are distinct, so there are no ties
            for ((column, value), entry) in columns.iter_mut().zip(values).zip(sorted.iter()) {
                (*column, *value) = *entry;
            }
        },
    ))
}

/// Sorts the entries of a row into place, one by one.
fn insert_sorted<T: Copy>(entries: impl Iterator<Item = (u32, T)>, columns: &mut [u32], values: &mut [T]) {
    for (count, (column, value)) in entries.enumerate() {
        let mut place = count;
        while place > 0 && columns[place - 1] > column {
            (columns[place], values[place]) = (columns[place - 1], values[place - 1]);
            place -= 1;
        }
        (columns[place], values[place]) = (column, value);
    }
}

/// PA: permutes the rows only.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::{Permutation, permute_rows}};
/// let a = Csr::try_new(2, 3, vec![0, 1, 2], vec![2, 0], vec![5.0, 7.0])?;
/// let b = permute_rows(a.view(), &Permutation::from_new_to_old(vec![1, 0])?)?;
/// assert_eq!((b.get(0, 0), b.get(1, 2)), (Some(7.0), Some(5.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn permute_rows<T: Store>(a: CsrRef<'_, T>, p: &Permutation) -> Result<Csr<T>, MatrixError> {
    check_rows(a, p)?;
    let new_to_old = p.new_to_old();
    Ok(Csr::assemble(
        0..p.len(),
        a.cols(),
        || (),
        |(), row| a.row(new_to_old[row] as usize).0.len(),
        |(), row, columns, values| {
            let (old_columns, old_values) = a.row(new_to_old[row] as usize);
            columns.copy_from_slice(old_columns);
            values.copy_from_slice(old_values);
        },
    ))
}

fn check_rows<T>(a: CsrRef<'_, T>, p: &Permutation) -> Result<(), MatrixError> {
    if a.rows() == p.len() {
        return Ok(());
    }
    Err(MatrixError::Mismatch { what: "rows to permute", expected: p.len(), found: a.rows() })
}

#[cfg(test)]
mod tests {
    use super::super::sample::{grid, on_threads, scattered, shuffle};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halo_columns_keep_their_numbers() {
        let a =
            Csr::try_new(2, 4, vec![0, 3, 5], vec![0, 1, 3, 1, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let b = permute_symmetric(a.view(), &Permutation::from_new_to_old(vec![1, 0]).unwrap()).unwrap();
        assert_eq!(b.row(0), (&[0, 2][..], &[4.0, 5.0][..]));
        assert_eq!(b.row(1), (&[0, 1, 3][..], &[2.0, 1.0, 3.0][..]));
    }

    #[test]
    fn sizes_must_agree() {
        let a = Csr::try_new(2, 1, vec![0, 1, 1], vec![0], vec![1.0]).unwrap();
        let what = "rows to permute";
        let wrong_rows = Err(MatrixError::Mismatch { what, expected: 3, found: 2 });
        assert_eq!(permute_rows(a.view(), &shuffle(3, 0)), wrong_rows);
        assert_eq!(permute_symmetric(a.view(), &shuffle(3, 0)), wrong_rows);
        let wrong_columns = MatrixError::Mismatch { what: "columns to permute", expected: 2, found: 1 };
        assert_eq!(permute_symmetric(a.view(), &shuffle(2, 0)), Err(wrong_columns));
        assert!(permute_rows(a.view(), &shuffle(2, 0)).is_ok());
    }

    #[test]
    fn same_bits_for_any_number_of_threads() {
        let (a, p) = (grid(200, 200), shuffle(40_000, 3));
        let permute = || permute_symmetric(a.view(), &p).unwrap();
        assert_eq!(on_threads(1, permute), on_threads(2, permute));
    }

    proptest! {
        #[test]
        fn every_entry_moves_to_its_new_place_and_back(n in 0usize..80, degree in 0usize..8, seed in any::<u64>()) {
            let (a, p) = (scattered(n, degree, seed), shuffle(n, seed));
            let (b, c) = (permute_symmetric(a.view(), &p).unwrap(), permute_rows(a.view(), &p).unwrap());
            prop_assert_eq!((b.nnz(), c.nnz()), (a.nnz(), a.nnz()));
            for row in 0..n {
                let (columns, values) = a.row(row);
                let new_row = p.old_to_new()[row] as usize;
                prop_assert_eq!(c.row(new_row), a.row(row));
                for (&column, &value) in columns.iter().zip(values) {
                    prop_assert_eq!(b.get(new_row, p.old_to_new()[column as usize] as usize), Some(value));
                }
            }
            prop_assert_eq!(&permute_symmetric(b.view(), &p.inverse()).unwrap(), &a);
            prop_assert_eq!(&permute_rows(c.view(), &p.inverse()).unwrap(), &a);
        }
    }
}
