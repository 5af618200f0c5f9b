//! The C library `libziggurat`: the solver for programs in C, C++, Fortran and anything that calls
//! C. The header `include/ziggurat.h` documents every function.
//!
//! - `functions` and `settings`: the functions of the header.
//! - `state`: the state of a handle.
//!
//! Handles, the caller's arrays, statuses and log events come from `ziggurat-ffi`, which the
//! library for MPI ranks uses, too.
//!
//! Any argument leads to a status, never to a crash, as long as pointers point to as many elements
//! as the header says. A handle that is in use is refused, so two threads cannot disturb each
//! other. No panic leaves a function. Nothing is printed.

#![allow(unsafe_code)]

mod functions;
mod settings;
mod state;

pub use functions::*;
pub use settings::*;
pub use state::ZigguratSolver;
pub use ziggurat_ffi::{LogFunction, MonitorFunction, Report, Status};

/// The allocator of the `ziggurat` command: setup makes many short-lived allocations. It serves
/// this library only, not the program that uses it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
