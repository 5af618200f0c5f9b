//! Errors of spectral bounds.

use thiserror::Error;

use crate::MatrixError;
use crate::words::number;

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
    /// The matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The Lanczos method uses the inner product defined by the diagonal, which must be positive.
    #[error(
        "row {row}: the diagonal entry is {}, but Lanczos requires a positive diagonal; \
         power iteration and the Gershgorin bound do not",
        number(*value)
    )]
    NegativeDiagonal {
        /// The row.
        row: usize,
        /// Its diagonal entry.
        value: f64,
    },
    /// The operator or the inner product returned a value that is not finite.
    #[error(
        "step {step}: the vector norm is {}; the operator or the inner product overflows or returns NaN, \
         or the inner product is not positive",
        number(*norm)
    )]
    NotFinite {
        /// The step, counted from 1; 0 is the start vector.
        step: usize,
        /// The norm at that step.
        norm: f64,
    },
}
