//! The errors of a solver.

use thiserror::Error;
use ziggurat_amg::SetupError;
use ziggurat_krylov::{KrylovError, KrylovReport};
use ziggurat_sparse::MatrixError;
use ziggurat_sparse::device::DeviceError;

use crate::CoordinatesError;
use crate::config::ConfigError;

/// Why a system could not be solved. For [`Solver`](crate::Solver), a solve that does not converge
/// is not an error: see [`KrylovReport::reason`].
///
/// ```
/// use ziggurat::{SolveError, solve};
/// let a = ziggurat_sparse::Csr::identity(3)?;
/// assert!(matches!(solve(&a, &[1.0]), Err(SolveError::Krylov(_))));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The coordinates do not fit the matrix.
    #[error(transparent)]
    Coordinates(#[from] CoordinatesError),
    /// The hierarchy could not be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The iteration could not be started.
    #[error(transparent)]
    Krylov(#[from] KrylovError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The iteration could not be started on another process that shares the system.
    #[error("another process could not start the iteration; its error says why")]
    OtherProcess,
    /// The iteration did not converge.
    #[error("not converged: {}", .0.reason)]
    NotConverged(Box<KrylovReport>),
}
