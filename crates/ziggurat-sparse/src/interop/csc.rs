//! Compressed sparse columns, used by other crates: the compressed rows of the transpose.

use crate::matrix::check_extents;
use crate::{Coo, Csr, MatrixError, Real};

/// Converts a column index of another crate. One that does not fit becomes `u32::MAX`, which
/// validation always rejects.
pub(super) fn narrow(column: usize) -> u32 {
    u32::try_from(column).unwrap_or(u32::MAX)
}

/// Builds a matrix from compressed columns, which are the compressed rows of its transpose.
pub(super) fn from_columns<T: Real>(
    rows: usize,
    cols: usize,
    column_ptr: Vec<usize>,
    entry_rows: Vec<u32>,
    values: Vec<T>,
) -> Result<Csr<T>, MatrixError> {
    check_extents(rows, cols)?;
    Ok(flip(Csr::from_unsorted(cols, rows, column_ptr, entry_rows, values)?))
}

/// The transpose: its rows are the columns of `a`.
pub(super) fn flip<T: Real>(a: Csr<T>) -> Csr<T> {
    let (rows, cols) = (a.rows(), a.cols());
    let (entry_rows, columns, values) = Coo::from(a).into_parts();
    Coo::from_valid_parts(cols, rows, columns, entry_rows, values).into_csr()
}
