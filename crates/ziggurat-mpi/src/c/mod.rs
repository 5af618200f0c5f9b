//! The C library `libziggurat_mpi`: the solver on the ranks of a caller's communicator, for
//! programs in C, C++, Fortran and anything that calls C. The header `include/ziggurat_mpi.h`
//! documents every function.
//!
//! - `functions`, `files` and `settings`: the functions of a handle.
//! - `state`: the state of a handle, and how ranks agree on the result of a call.
//! - `one_call`: setup and solve in one call.
//! - `threads`: the threads of a rank.
//!
//! MPI is neither initialised nor finalised, and no panic crosses the language boundary: on several
//! ranks a panic aborts the job, see [`Comm::abort`](crate::Comm::abort).

#![allow(unsafe_code)]

mod files;
mod functions;
mod one_call;
mod settings;
mod state;
mod threads;

pub use files::*;
pub use functions::*;
pub use one_call::{ZigguratMpiReport, ziggurat_mpi_solve, ziggurat_mpi_solve_f};
pub use settings::*;
pub use state::ZigguratMpiSolver;
