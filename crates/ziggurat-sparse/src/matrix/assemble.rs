//! Building a matrix row by row, in parallel: count all rows, then fill all rows.
//!
//! The callbacks run twice per row, which costs less than growing one vector per thread and joining
//! them: the second pass writes directly into the final arrays. Products, sums, permutations, model
//! problems and interpolation are built this way.

use std::ops::Range;

use super::csr::check_extents;
use super::{Csr, CsrRef, MatrixError};
use crate::number::Store;
use crate::parallel::{counts_to_starts, over_chunks, over_entries, zeros};

/// Rows that share one scratch value during counting.
const COUNT_CHUNK: usize = 1024;

impl<T: Store> Csr<T> {
    /// Builds the rows `rows` of a matrix with `cols` columns. `count` returns the number of
    /// entries of a row; `fill` writes exactly that many, with increasing columns. Both receive the
    /// row index from `rows` (row `rows.start` becomes row 0 of the result) and a scratch value,
    /// created by `scratch` once per task.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// // Rows 0, 1 and 2 of a bidiagonal matrix.
    /// let a = Csr::build(0..3, 4, || (), |_, _| 2, |_, row, columns, values| {
    ///     columns.copy_from_slice(&[row as u32, row as u32 + 1]);
    ///     values.copy_from_slice(&[1.0, -1.0]);
    /// })?;
    /// assert_eq!(a.row(2), (&[2, 3][..], &[1.0, -1.0][..]));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn build<Scratch>(
        rows: Range<usize>,
        cols: usize,
        scratch: impl Fn() -> Scratch + Sync,
        count: impl Fn(&mut Scratch, usize) -> usize + Sync,
        fill: impl Fn(&mut Scratch, usize, &mut [u32], &mut [T]) + Sync,
    ) -> Result<Csr<T>, MatrixError> {
        check_extents(rows.len(), cols)?;
        let parts = assemble_parts(rows.clone(), scratch, count, fill);
        let (row_ptr, columns, values) = parts;
        CsrRef::try_new(rows.len(), cols, &row_ptr, &columns, &values)?;
        Ok(Csr::from_valid_parts(rows.len(), cols, row_ptr, columns, values))
    }

    /// [`Csr::build`] without validation, for callbacks in this crate that fill rows correctly by
    /// construction.
    pub(crate) fn assemble<Scratch>(
        rows: Range<usize>,
        cols: usize,
        scratch: impl Fn() -> Scratch + Sync,
        count: impl Fn(&mut Scratch, usize) -> usize + Sync,
        fill: impl Fn(&mut Scratch, usize, &mut [u32], &mut [T]) + Sync,
    ) -> Csr<T> {
        let extent = rows.len();
        let (row_ptr, columns, values) = assemble_parts(rows, scratch, count, fill);
        Csr::from_valid_parts(extent, cols, row_ptr, columns, values)
    }
}

fn assemble_parts<T: Store, Scratch>(
    rows: Range<usize>,
    scratch: impl Fn() -> Scratch + Sync,
    count: impl Fn(&mut Scratch, usize) -> usize + Sync,
    fill: impl Fn(&mut Scratch, usize, &mut [u32], &mut [T]) + Sync,
) -> (Vec<usize>, Vec<u32>, Vec<T>) {
    let row_ptr = count_rows(rows.clone(), &scratch, count);
    let nnz = row_ptr[rows.len()];
    let (mut columns, mut values) = (zeros(nnz), zeros(nnz));
    let first = rows.start;
    over_entries(&row_ptr, rows, &mut columns, &mut values, &|piece, columns, values| {
        let mut scratch = scratch();
        let offset = row_ptr[piece.start - first];
        for row in piece {
            let range = row_ptr[row - first] - offset..row_ptr[row - first + 1] - offset;
            fill(&mut scratch, row, &mut columns[range.clone()], &mut values[range]);
        }
    });
    (row_ptr, columns, values)
}

/// Row pointers from a count per row: the symbolic phase of [`Csr::build`].
pub(crate) fn count_rows<Scratch>(
    rows: Range<usize>,
    scratch: impl Fn() -> Scratch + Sync,
    count: impl Fn(&mut Scratch, usize) -> usize + Sync,
) -> Vec<usize> {
    let mut row_ptr = vec![0; rows.len() + 1];
    over_chunks(&mut row_ptr[..rows.len()], COUNT_CHUNK, &|chunk, counts| {
        let mut scratch = scratch();
        for (local, slot) in counts.iter_mut().enumerate() {
            *slot = count(&mut scratch, rows.start + chunk * COUNT_CHUNK + local);
        }
    });
    counts_to_starts(&mut row_ptr);
    row_ptr
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_rows_becomes_rows_from_zero() {
        let a = Csr::build(
            5..8,
            10,
            || (),
            |_, row| row - 5,
            |_, row, columns, values| {
                for (k, (column, value)) in columns.iter_mut().zip(values).enumerate() {
                    (*column, *value) = (k as u32, row as f64);
                }
            },
        )
        .unwrap();
        assert_eq!(a.row_ptr(), [0, 0, 1, 3]);
        assert_eq!(a.row(2), (&[0, 1][..], &[7.0, 7.0][..]));
    }

    #[test]
    fn a_wrong_fill_is_refused() {
        let error = Csr::build(0..1, 1, || (), |_, _| 1, |_, _, columns, _: &mut [f64]| columns[0] = 9);
        assert_eq!(error, Err(MatrixError::ColumnOutOfRange { row: 0, entry: 0, column: 9, columns: 1 }));
    }
}
