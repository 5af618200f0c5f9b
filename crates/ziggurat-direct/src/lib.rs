//! Sparse factors of square matrices in `f64`, by faer, and the size that they will have.
//!
//! - [`SymbolicSize`]: entries and multiplications of the factors, from the pattern alone.
//! - [`Factors`]: A = L Lᵀ or P A Q = L U, which solve in place.
//!
//! A matrix is given by compressed rows of its *transpose*, [`Rows`], because faer takes columns.
//! No function here is generic, so faer is compiled in this crate alone and its machine code is not
//! made again by callers. faer runs without its thread pool, so results do not depend on threads.
//!
//! ```
//! use ziggurat_direct::{Factors, Rows};
//! // [ 4 1 ]
//! // [ 2 3 ], whose transpose has the rows (4, 2) and (1, 3)
//! let transpose = Rows { row_ptr: &[0, 2, 4], columns: &[0, 1, 0, 1], values: &[4.0, 2.0, 1.0, 3.0] };
//! let factors = Factors::lu(transpose)?;
//! let mut x = [5.0, 5.0];
//! factors.solve_in_place(&mut x);
//! assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-15));
//! # Ok::<(), ziggurat_direct::DirectError>(())
//! ```

#![forbid(unsafe_code)]

mod factors;
mod size;

use faer::sparse::SymbolicSparseColMat;
use thiserror::Error;

pub use factors::Factors;
pub use size::SymbolicSize;

/// Why a matrix has no factors.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DirectError {
    /// The arrays are not those of a square matrix in compressed rows.
    #[error("row {row}: {reason}")]
    Invalid {
        /// The first row at fault.
        row: usize,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// A pivot of Cholesky's factorisation is not positive.
    #[error("it is not positive definite")]
    NotPositiveDefinite,
    /// No order of the rows puts entries on the whole diagonal.
    #[error("it is singular: some rows share too few columns")]
    StructurallySingular,
    /// faer ran out of memory or of indices.
    #[error("faer: {0}")]
    Faer(String),
}

/// The rows of a square matrix: the columns of the matrix that is factorised.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Where each row begins in the two other arrays, and where the last one ends.
    pub row_ptr: &'a [usize],
    /// The column of every entry; those of a row increase.
    pub columns: &'a [u32],
    /// The value of every entry. A pattern needs none.
    pub values: &'a [f64],
}

impl Rows<'_> {
    /// The pattern as faer has it.
    fn pattern(&self) -> Result<SymbolicSparseColMat<usize>, DirectError> {
        let fault = |row, reason| Err(DirectError::Invalid { row, reason });
        let Some(n) = self.row_ptr.len().checked_sub(1) else { return fault(0, "there are no row pointers") };
        if self.row_ptr[0] != 0 || self.row_ptr[n] != self.columns.len() {
            return fault(0, "the row pointers do not begin at zero, or do not end at the number of entries");
        }
        for (row, ends) in self.row_ptr.windows(2).enumerate() {
            let Some(columns) = self.columns.get(ends[0]..ends[1]) else {
                return fault(row, "its row pointers decrease, or exceed the number of entries");
            };
            if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
                return fault(row, "its columns do not increase");
            }
            if columns.last().is_some_and(|&last| last as usize >= n) {
                return fault(row, "a column is outside the matrix");
            }
        }
        let indices = self.columns.iter().map(|&column| column as usize).collect();
        Ok(SymbolicSparseColMat::new_checked(n, n, self.row_ptr.to_vec(), None, indices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_errors() {
        let row_of =
            |row_ptr: &[usize], columns: &[u32]| match (Rows { row_ptr, columns, values: &[] }).pattern() {
                Err(DirectError::Invalid { row, .. }) => Some(row),
                _ => None,
            };
        assert_eq!(row_of(&[], &[]), Some(0));
        assert_eq!(row_of(&[0], &[]), None);
        assert_eq!(row_of(&[0, 1, 2], &[0, 1]), None);
        assert_eq!(row_of(&[0, 1, 2], &[0, 2]), Some(1));
        assert_eq!(row_of(&[0, 2, 2], &[1, 0]), Some(0));
        assert_eq!(row_of(&[0, 1, 3], &[0, 1]), Some(0));
        assert_eq!(row_of(&[0, 3, 2], &[0, 1]), Some(0));
        assert_eq!(row_of(&[0, 2, 1, 2], &[0, 1]), Some(1));
    }
}
