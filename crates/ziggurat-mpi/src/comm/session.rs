//! The lifetime of MPI in a process.

#![allow(unsafe_code)]

use mpi::ffi;
use thiserror::Error;

/// Why a communicator could not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MpiError {
    /// `MPI_Init` has not been called.
    #[error("MPI is not initialised; call MPI_Init first, or start a Session")]
    NotInitialised,
    /// `MPI_Init` or `MPI_Finalize` has already been called.
    #[error("MPI was already initialised; use Mpi::world() or the caller's communicator")]
    AlreadyInitialised,
    /// The communicator is `MPI_COMM_NULL`.
    #[error("the communicator is MPI_COMM_NULL; only members of a communicator may call")]
    NullCommunicator,
    /// The communicator connects two groups of ranks, or is not a communicator.
    #[error("the communicator is not a valid intracommunicator; pass MPI_COMM_WORLD or a part of it")]
    NotIntra,
    /// MPI could not duplicate the communicator.
    #[error("MPI could not duplicate the communicator; free communicators that are no longer used")]
    NotDuplicated,
}

/// Whether MPI can be called.
pub(super) fn check_initialised() -> Result<(), MpiError> {
    let (mut initialised, mut finalised) = (0, 0);
    // SAFETY: these two functions may be called at any time.
    unsafe {
        ffi::MPI_Initialized(&mut initialised);
        ffi::MPI_Finalized(&mut finalised);
    }
    if initialised != 0 && finalised == 0 { Ok(()) } else { Err(MpiError::NotInitialised) }
}

/// An MPI session: initialises MPI, and finalises it when dropped. A library called by an MPI
/// program does not need it: see [`Mpi::from_c`](crate::Mpi::from_c).
///
/// If it is dropped because of a panic, all ranks are aborted, because the others wait for messages
/// of this one.
#[derive(Debug)]
pub struct Session {
    _universe: Universe,
}

struct Universe(#[allow(dead_code)] mpi::environment::Universe);

impl std::fmt::Debug for Universe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Universe")
    }
}

impl Session {
    /// Initialises MPI for calls from this thread.
    ///
    /// # Errors
    /// If MPI has already been initialised.
    pub fn start() -> Result<Self, MpiError> {
        let universe = mpi::initialize_with_threading(mpi::Threading::Funneled);
        universe
            .map(|(universe, _)| Session { _universe: Universe(universe) })
            .ok_or(MpiError::AlreadyInitialised)
    }

    /// Aborts all ranks, for a program that cannot continue.
    pub fn abort(&self, code: i32) -> ! {
        // SAFETY: MPI is initialised while a session exists.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
        std::process::exit(code)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The panic hook has reported the panic. 101 is the exit code of a Rust program that
        // panics.
        if std::thread::panicking() {
            self.abort(101);
        }
    }
}
