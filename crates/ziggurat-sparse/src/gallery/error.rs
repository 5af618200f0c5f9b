//! Errors in naming or generating a model problem.

use thiserror::Error;

use super::Problem;
use crate::{MatrixError, UnknownName};

/// Why a problem name is invalid, or the problem cannot be generated.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// assert_eq!(
///     "poisson3d:0".parse::<Problem>().unwrap_err().to_string(),
///     "`poisson3d:0`: expected NAME:SIZE, such as `poisson3d:50`; for poisson3d, SIZE is a whole number \
///      from 1 to 100000"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// No problem has this name.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// The size is missing, not a number, zero or too large.
    #[error(
        "`{found}`: expected NAME:SIZE, such as `{name}:50`; for {name}, SIZE is a whole number from 1 to \
         {largest}"
    )]
    Size {
        /// The problem's name.
        name: &'static str,
        /// The text that was given.
        found: String,
        /// The largest size.
        largest: u32,
    },
    /// More rows than one process can index.
    #[error("{problem}: {source}")]
    TooLarge {
        /// The problem.
        problem: Problem,
        /// The number of rows, as an error.
        source: MatrixError,
    },
    /// The memory for the problem cannot be allocated.
    #[error(
        "{problem} needs {:.1} GiB, which cannot be allocated; use a smaller SIZE or distribute the matrix",
        *bytes as f64 / f64::from(1 << 30)
    )]
    Memory {
        /// The problem.
        problem: Problem,
        /// Bytes needed.
        bytes: u64,
    },
}
