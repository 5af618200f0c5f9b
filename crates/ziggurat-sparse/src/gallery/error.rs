//! What can be wrong with the name of a model problem, or with making it here.

use thiserror::Error;

use super::Problem;
use crate::{MatrixError, UnknownName};

/// Why a problem cannot be named, or not be made.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// assert_eq!(
///     "poisson3d:0".parse::<Problem>().unwrap_err().to_string(),
///     "`poisson3d:0`: a problem is written NAME:SIZE, as in `poisson3d:50`, and for poisson3d SIZE is a whole number \
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
        "`{found}`: a problem is written NAME:SIZE, as in `{name}:50`, and for {name} SIZE is a whole number from 1 to \
         {largest}"
    )]
    Size {
        /// The problem's name.
        name: &'static str,
        /// What was given.
        found: String,
        /// The largest size.
        largest: u32,
    },
    /// More rows than one process can index.
    #[error("{problem}: {source}")]
    TooLarge {
        /// The problem.
        problem: Problem,
        /// How many rows there are.
        source: MatrixError,
    },
    /// More memory than there is.
    #[error(
        "{problem} needs {:.1} GiB, more than this machine gives; try a smaller SIZE, or distribute the matrix",
        *bytes as f64 / f64::from(1 << 30)
    )]
    Memory {
        /// The problem.
        problem: Problem,
        /// Bytes needed.
        bytes: u64,
    },
}
