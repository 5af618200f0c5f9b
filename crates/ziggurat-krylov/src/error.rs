//! What makes a question to a Krylov method senseless. (Not converging is an answer: [`StopReason`](crate::StopReason).)

use thiserror::Error;
use ziggurat_sparse::device::DeviceError;

/// Why a method could not begin.
///
/// ```
/// use ziggurat_krylov::Stopping;
/// let error = Stopping::default().rtol(-1.0).validate().unwrap_err();
/// assert_eq!(error.to_string(), "`rtol` is -1; it must be finite and not negative");
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum KrylovError {
    /// A setting has a value that means nothing.
    #[error("`{name}` is {value}; it must be {must}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        must: &'static str,
    },
    /// The matrix is not square.
    #[error(
        "the matrix has {rows} rows and {cols} columns; only a square one can be solved with \
         (for least squares, solve Aᵀ A x = Aᵀ b)"
    )]
    NotSquare {
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
    },
    /// The preconditioner does not fit the matrix.
    #[error("the preconditioner is {rows} x {cols}, the matrix {n} x {n}; was it made from another matrix?")]
    Preconditioner {
        /// Rows of the preconditioner.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// Rows of the matrix.
        n: usize,
    },
    /// A vector does not fit the matrix.
    #[error("{what} has {found} entries, the matrix {expected} rows")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it must have.
        expected: usize,
    },
    /// The device could not provide the memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
