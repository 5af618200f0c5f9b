//! Errors of distributed setup and solve, and how all ranks learn of them.
//!
//! An error on one rank must not leave the others waiting for a message. So every step that may
//! fail on one rank alone is followed by [`agree`]: one all-reduce, after which all ranks continue
//! or all ranks return an error. Public functions run [`together`]: an error that was not agreed on
//! meets the next agreement of the other ranks. If one of them waits for a message instead, the job
//! is aborted, with the message of the rank that failed. So it is after a panic.

use std::any::Any;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use thiserror::Error;
use ziggurat::SolveError;
use ziggurat_amg::SetupError;
use ziggurat_amg::interpolate::NearKernelError;
use ziggurat_sparse::MatrixError;
use ziggurat_sparse::words::counted;

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
    /// The part of the system on this rank could not be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// There are more rows than 64 bits can count.
    #[error("more than 2^64 rows")]
    TooManyRows,
    /// An entry lies outside the matrix.
    #[error(
        "entry ({row}, {column}) lies outside a matrix of {} and {}",
        counted(*rows, "row"),
        counted(*columns, "column")
    )]
    OutOfRange {
        /// Its row.
        row: u64,
        /// Its column.
        column: u64,
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        columns: u64,
    },
    /// A node of several unknowns is divided between ranks.
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
    /// The columns of a row do not increase.
    #[error("row {row}: column {column} follows column {previous}; columns must increase within each row")]
    ColumnsNotIncreasing {
        /// The row.
        row: u64,
        /// The column found.
        column: u64,
        /// The column before it.
        previous: u64,
    },
    /// An argument that all ranks must give alike differs.
    #[error("its {what} differs from that of rank 0; give the same on every rank")]
    Differs {
        /// The argument.
        what: &'static str,
    },
    /// Another rank failed with this message.
    #[error("rank {rank}: {message}")]
    Elsewhere {
        /// The rank.
        rank: usize,
        /// Its error.
        message: String,
    },
    /// The configuration requires something that is not available on several ranks.
    #[error("{what} is not available on several ranks; {instead}")]
    NotDistributed {
        /// The requested feature.
        what: &'static str,
        /// The alternative.
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

/// Setup runs code of `ziggurat-amg`, which has its own error type.
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

/// Whether all ranks have succeeded. If not, the successful ranks return the error of the lowest
/// rank that failed. Collective.
///
/// ```
/// use ziggurat_mpi::{Alone, DistributedError, agree};
/// let read: Result<u32, DistributedError> = Ok(7); // a step that may fail on one rank alone
/// assert_eq!(agree(&Alone, read)?, 7);
/// # Ok::<(), DistributedError>(())
/// ```
///
/// # Errors
/// The error of this rank or of another one.
pub fn agree<T, E: Into<DistributedError>>(
    comm: &dyn Comm,
    result: Result<T, E>,
) -> Result<T, DistributedError> {
    agree_as(comm, result.map_err(E::into))
}

/// As [`agree`], for another error type: this rank keeps its own error, and an error of another
/// rank is converted.
///
/// ```
/// use ziggurat_mpi::{Alone, InputError, agree_as};
/// let read: Result<u32, InputError> = Ok(7);
/// assert_eq!(agree_as(&Alone, read)?, 7);
/// # Ok::<(), InputError>(())
/// ```
///
/// # Errors
/// The error of this rank or of another one.
pub fn agree_as<T, E: fmt::Display + From<DistributedError>>(
    comm: &dyn Comm,
    result: Result<T, E>,
) -> Result<T, E> {
    let own = result.as_ref().err().map(ToString::to_string);
    match comm.failure(own.as_deref()) {
        None => result,
        Some((rank, message)) => result.and(Err(DistributedError::Elsewhere { rank, message }.into())),
    }
}

/// Runs a part of the program in which ranks communicate. If it fails on one rank, it fails on all
/// of them; a panic [aborts](Comm::abort) all ranks. See the documentation of this crate.
/// Collective.
///
/// ```
/// use ziggurat_mpi::{Alone, DistributedError, together};
/// let sum = together(&Alone, || Ok::<_, DistributedError>(1 + 2))?;
/// assert_eq!(sum, 3);
/// # Ok::<(), DistributedError>(())
/// ```
///
/// # Errors
/// The error of this rank or of another one.
pub fn together<T, E: fmt::Display + From<DistributedError>>(
    comm: &dyn Comm,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    match catch_unwind(AssertUnwindSafe(work)) {
        // All ranks know of the failure.
        Ok(Err(error)) if comm.has_failed() => Err(error),
        Ok(result) => agree_as(comm, result),
        Err(payload) => {
            comm.abort(&format!("panicked: {}", panic_message(&*payload)));
            resume_unwind(payload)
        }
    }
}

/// The message of a panic, if it has one.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

/// Refuses arguments that differ between ranks: `value` is compared with the value of rank 0.
/// Collective.
pub(crate) fn check_same(comm: &dyn Comm, what: &'static str, value: &str) -> Result<(), DistributedError> {
    let mut hash = DefaultHasher::new();
    value.hash(&mut hash);
    let own = vec![hash.finish()];
    let mut first = own.clone();
    comm.broadcast(0, &mut first);
    let same = if own == first { Ok(()) } else { Err(DistributedError::Differs { what }) };
    agree(comm, same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    #[test]
    fn a_single_rank_keeps_its_result() {
        assert_eq!(agree::<_, DistributedError>(&Alone, Ok(5)), Ok(5));
        assert_eq!(
            agree::<(), _>(&Alone, Err(DistributedError::TooManyRows)),
            Err(DistributedError::TooManyRows)
        );
    }
}
