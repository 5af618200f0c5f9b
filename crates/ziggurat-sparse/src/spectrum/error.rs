//! Why a spectrum could not be bounded.

use thiserror::Error;

use crate::MatrixError;

/// Why a spectrum could not be bounded.
///
/// ```
/// use ziggurat_sparse::spectrum::{LANCZOS_STEPS, SpectrumError, lanczos_jacobi};
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, -3.0])?;
/// let error = lanczos_jacobi(a.view(), LANCZOS_STEPS).unwrap_err();
/// assert_eq!(error, SpectrumError::NegativeDiagonal { row: 1, value: -3.0 });
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SpectrumError {
    /// The matrix is at fault.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// Lanczos needs the inner product that the diagonal defines, so the diagonal must be positive.
    #[error(
        "row {row}: the diagonal entry is {value}, but Lanczos needs a positive diagonal; \
         power iteration and Gershgorin's bound do not"
    )]
    NegativeDiagonal {
        /// The row.
        row: usize,
        /// Its diagonal entry.
        value: f64,
    },
    /// The operator or the inner product returned something that is not a finite number.
    #[error(
        "step {step}: the norm of the vector is {norm}; the operator or the inner product overflows, holds a NaN, \
         or the inner product is not positive"
    )]
    NotFinite {
        /// The step, counted from 1; 0 is the start vector.
        step: usize,
        /// The norm found there.
        norm: f64,
    },
}
