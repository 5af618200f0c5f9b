//! What can go wrong when several ranks solve one system, and how all of them learn of it.
//!
//! A fault on one rank must not leave the others waiting for a message. So what may fail on one rank alone is followed by [`agree`]: one
//! all-reduce, after which every rank goes on or every rank returns an error.

use std::fmt;

use thiserror::Error;
use ziggurat::SolveError;
use ziggurat_amg::SetupError;
use ziggurat_amg::interpolate::NearKernelError;
use ziggurat_sparse::MatrixError;

use crate::comm::Comm;

/// Why a distributed system could not be set up or solved.
///
/// ```
/// use ziggurat_mpi::DistributedError;
/// let error = DistributedError::Elsewhere { rank: 3, message: "row 7: the diagonal entry is 0".into() };
/// assert_eq!(error.to_string(), "rank 3: row 7: the diagonal entry is 0");
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DistributedError {
    /// This rank's part of the system could not be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// More rows than 64 bits can count.
    #[error("more than 2^64 rows")]
    TooManyRows,
    /// An entry outside the matrix.
    #[error("entry ({row}, {column}) lies outside a matrix of {rows} rows and {columns} columns")]
    OutOfRange {
        /// Its row.
        row: u64,
        /// Its column.
        column: u64,
        /// Rows there are.
        rows: u64,
        /// Columns there are.
        columns: u64,
    },
    /// Nodes of several unknowns that are cut apart by ranks.
    #[error(
        "rank {rank} owns the rows from {begin} on, which is not the first unknown of a node of {block}; \
         give every rank whole nodes"
    )]
    CutNode {
        /// The rank.
        rank: usize,
        /// Its first row.
        begin: u64,
        /// Unknowns per node.
        block: usize,
    },
    /// A rank has given up; this is what it said.
    #[error("rank {rank}: {message}")]
    Elsewhere {
        /// The rank.
        rank: usize,
        /// Its error.
        message: String,
    },
    /// The configuration asks for what is not there for several ranks.
    #[error("{what} cannot be done on several ranks; {instead}")]
    NotDistributed {
        /// What was asked for.
        what: &'static str,
        /// What to ask for.
        instead: &'static str,
    },
}

impl From<SetupError> for DistributedError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Elsewhere { rank, message } => DistributedError::Elsewhere { rank, message },
            error => DistributedError::Solve(error.into()),
        }
    }
}

/// Setup runs the code of one process, which knows its own errors.
impl From<DistributedError> for SetupError {
    fn from(error: DistributedError) -> Self {
        match error {
            DistributedError::Solve(SolveError::Setup(error)) => error,
            DistributedError::Solve(SolveError::Matrix(error)) => error.into(),
            DistributedError::Elsewhere { rank, message } => SetupError::Elsewhere { rank, message },
            error => SetupError::Distribution { reason: error.to_string() },
        }
    }
}

impl From<MatrixError> for DistributedError {
    fn from(error: MatrixError) -> Self {
        SolveError::from(error).into()
    }
}

impl From<NearKernelError> for DistributedError {
    fn from(error: NearKernelError) -> Self {
        SetupError::from(error).into()
    }
}

/// Whether all ranks have succeeded. If not, those that have return the error of the lowest that has not. All ranks call it.
///
/// ```
/// use ziggurat_mpi::{Alone, DistributedError, agree};
/// let read: Result<u32, DistributedError> = Ok(7); // what may fail on one rank alone
/// assert_eq!(agree(&Alone, read)?, 7);
/// # Ok::<(), DistributedError>(())
/// ```
///
/// # Errors
/// This rank's own, or another's.
pub fn agree<T, E: Into<DistributedError>>(
    comm: &dyn Comm,
    result: Result<T, E>,
) -> Result<T, DistributedError> {
    agree_as(comm, result.map_err(E::into))
}

/// As [`agree`], for errors of another kind: this rank keeps its own, and another's becomes one of that kind.
///
/// ```
/// use ziggurat_mpi::{Alone, InputError, agree_as};
/// let read: Result<u32, InputError> = Ok(7);
/// assert_eq!(agree_as(&Alone, read)?, 7);
/// # Ok::<(), InputError>(())
/// ```
///
/// # Errors
/// This rank's own, or another's.
pub fn agree_as<T, E: fmt::Display + From<DistributedError>>(
    comm: &dyn Comm,
    result: Result<T, E>,
) -> Result<T, E> {
    let Some(rank) = comm.lowest(result.is_err()) else { return result };
    let own = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let message = comm.announce(rank, &own);
    result.and(Err(DistributedError::Elsewhere { rank, message }.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    #[test]
    fn alone_one_gets_what_one_had() {
        assert_eq!(agree::<_, DistributedError>(&Alone, Ok(5)), Ok(5));
        assert_eq!(
            agree::<(), _>(&Alone, Err(DistributedError::TooManyRows)),
            Err(DistributedError::TooManyRows)
        );
    }
}
