//! Conversions for matrices of the crate [`nalgebra-sparse`](https://docs.rs/nalgebra-sparse).
//!
//! | | from | to |
//! |---|---|---|
//! | `CsrMatrix<T>` | `TryFrom` | `From` |
//! | `CscMatrix<T>` | `TryFrom` | `From` |
//!
//! for `T` = `f64` or `f32`, owned or borrowed. Its column indices are `usize`, so they are copied.
//!
//! ```
//! use nalgebra_sparse::CsrMatrix;
//! use ziggurat_sparse::Csr;
//! let theirs = CsrMatrix::try_from_csr_data(2, 2, vec![0, 1, 2], vec![1, 0], vec![3.0, 4.0]).unwrap();
//! let ours = Csr::try_from(&theirs)?;
//! assert_eq!(ours.get(0, 1), Some(3.0));
//! assert_eq!(CsrMatrix::from(&ours), theirs);
//! # Ok::<(), ziggurat_sparse::MatrixError>(())
//! ```

use nalgebra_sparse::pattern::SparsityPattern;
use nalgebra_sparse::{CscMatrix, CsrMatrix};

use super::csc::{flip, from_columns, narrow};
use crate::{Csr, MatrixError, Real};

impl<T: Real> TryFrom<CsrMatrix<T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: CsrMatrix<T>) -> Result<Self, MatrixError> {
        let (rows, cols) = (a.nrows(), a.ncols());
        let (row_ptr, columns, values) = a.disassemble();
        Csr::try_new(rows, cols, row_ptr, columns.into_iter().map(narrow).collect(), values)
    }
}

impl<T: Real> TryFrom<CscMatrix<T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: CscMatrix<T>) -> Result<Self, MatrixError> {
        let (rows, cols) = (a.nrows(), a.ncols());
        let (column_ptr, entry_rows, values) = a.disassemble();
        from_columns(rows, cols, column_ptr, entry_rows.into_iter().map(narrow).collect(), values)
    }
}

impl<T: Real> TryFrom<&CsrMatrix<T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: &CsrMatrix<T>) -> Result<Self, MatrixError> {
        let columns = a.col_indices().iter().copied().map(narrow).collect();
        Csr::try_new(a.nrows(), a.ncols(), a.row_offsets().to_vec(), columns, a.values().to_vec())
    }
}

impl<T: Real> TryFrom<&CscMatrix<T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: &CscMatrix<T>) -> Result<Self, MatrixError> {
        let entry_rows = a.row_indices().iter().copied().map(narrow).collect();
        from_columns(a.nrows(), a.ncols(), a.col_offsets().to_vec(), entry_rows, a.values().to_vec())
    }
}

/// Pattern and values of `a`, with its rows as the "lanes" of nalgebra-sparse.
fn into_lanes<T: Real>(a: Csr<T>) -> (SparsityPattern, Vec<T>) {
    let (rows, cols) = (a.rows(), a.cols());
    let (row_ptr, columns, values) = a.into_parts();
    let columns = columns.into_iter().map(|column| column as usize).collect();
    #[expect(
        clippy::expect_used,
        reason = "a Csr is valid by construction, by the rules that are checked here"
    )]
    let pattern = SparsityPattern::try_from_offsets_and_indices(rows, cols, row_ptr, columns)
        .expect("a Csr is valid by construction");
    (pattern, values)
}

impl<T: Real> From<Csr<T>> for CsrMatrix<T> {
    fn from(a: Csr<T>) -> Self {
        let (pattern, values) = into_lanes(a);
        #[expect(clippy::expect_used, reason = "the pattern has as many entries as the Csr had values")]
        CsrMatrix::try_from_pattern_and_values(pattern, values).expect("one value per entry")
    }
}

impl<T: Real> From<Csr<T>> for CscMatrix<T> {
    fn from(a: Csr<T>) -> Self {
        let (pattern, values) = into_lanes(flip(a));
        #[expect(clippy::expect_used, reason = "the pattern has as many entries as the Csr had values")]
        CscMatrix::try_from_pattern_and_values(pattern, values).expect("one value per entry")
    }
}

impl<T: Real> From<&Csr<T>> for CsrMatrix<T> {
    fn from(a: &Csr<T>) -> Self {
        a.clone().into()
    }
}

impl<T: Real> From<&Csr<T>> for CscMatrix<T> {
    fn from(a: &Csr<T>) -> Self {
        a.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::samples;
    use super::*;
    use nalgebra_sparse::SparseEntry;

    /// To nalgebra-sparse: same entries by its own access. Back: the same matrix.
    fn round_trips<T: Real + num_traits::Zero>() {
        let stored = |entry: Option<SparseEntry<'_, T>>| match entry {
            Some(SparseEntry::NonZero(&value)) => Some(value),
            _ => None,
        };
        for a in samples::<T>() {
            let (rows, columns) = (CsrMatrix::from(a.clone()), CscMatrix::from(a.clone()));
            for row in a.all_rows() {
                for column in 0..a.cols() {
                    assert_eq!(stored(rows.get_entry(row, column)), a.get(row, column));
                    assert_eq!(stored(columns.get_entry(row, column)), a.get(row, column));
                }
            }
            assert_eq!((columns.nrows(), columns.ncols()), (a.rows(), a.cols()));
            assert_eq!(Csr::try_from(&rows).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(&columns).as_ref(), Ok(&a));
            assert_eq!((CsrMatrix::from(&a), CscMatrix::from(&a)), (rows.clone(), columns.clone()));
            assert_eq!(Csr::try_from(rows).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(columns).as_ref(), Ok(&a));
        }
    }

    #[test]
    fn both_ways() {
        round_trips::<f64>();
        round_trips::<f32>();
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let wide = CsrMatrix::<f64>::zeros(1, 1 << 32);
        assert!(Csr::try_from(&wide).is_err());
        assert_eq!(Csr::try_from(wide), Err(MatrixError::TooLarge { what: "columns", extent: 1 << 32 }));
        let tall = CscMatrix::<f64>::zeros(1 << 32, 1);
        assert_eq!(Csr::try_from(tall), Err(MatrixError::TooLarge { what: "rows", extent: 1 << 32 }));
    }
}
