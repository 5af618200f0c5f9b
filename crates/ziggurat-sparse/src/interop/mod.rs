//! Matrices of other crates, converted both ways by `From` and `TryFrom`, each behind the feature of its name.
//!
//! Ours is [`Csr`] with `usize` row pointers and 32-bit columns. Owned arrays move where the types agree; where a crate
//! has wider columns, or columns instead of rows, they are copied. What does not fit 32 bits is a
//! [`MatrixError`](crate::MatrixError), never cut off.

#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "nalgebra-sparse")]
pub mod nalgebra_sparse;
#[cfg(feature = "sprs")]
pub mod sprs;

#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
mod csc {
    use crate::matrix::check_extents;
    use crate::{Coo, Csr, MatrixError, Real};

    /// A foreign column as ours. One that does not fit becomes `u32::MAX`, which no matrix has: validation refuses it.
    pub(super) fn narrow(column: usize) -> u32 {
        u32::try_from(column).unwrap_or(u32::MAX)
    }

    /// The matrix whose compressed columns are given: compressed rows of its transpose.
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

    /// The transpose: compressed columns, read as rows.
    pub(super) fn flip<T: Real>(a: Csr<T>) -> Csr<T> {
        let (rows, cols) = (a.rows(), a.cols());
        let (entry_rows, columns, values) = Coo::from(a).into_parts();
        Coo::from_valid_parts(cols, rows, columns, entry_rows, values).into_csr()
    }
}

#[cfg(all(test, any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs")))]
mod samples {
    use crate::{Csr, Real};

    /// Square, wide, tall, with empty rows and columns, without rows, without columns, without anything.
    pub(super) fn samples<T: Real>() -> Vec<Csr<T>> {
        let value = |k: u32| T::narrow(f64::from(k) + 0.5);
        let make = |rows, cols, row_ptr: &[usize], columns: &[u32]| {
            let values = (0..columns.len() as u32).map(value).collect();
            Csr::try_new(rows, cols, row_ptr.to_vec(), columns.to_vec(), values).unwrap()
        };
        vec![
            make(3, 3, &[0, 2, 3, 6], &[0, 2, 1, 0, 1, 2]),
            make(2, 5, &[0, 3, 4], &[1, 3, 4, 0]),
            make(5, 2, &[0, 0, 2, 2, 3, 3], &[0, 1, 1]),
            make(0, 4, &[0], &[]),
            make(4, 0, &[0; 5], &[]),
            make(0, 0, &[0], &[]),
        ]
    }
}
