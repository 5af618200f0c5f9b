//! The C library `libziggurat`: the solver for programs in C, C++, Fortran and anything that calls
//! C. The header `include/ziggurat.h` documents every function.
//!
//! - `functions` and `settings`: the functions of the header.
//! - `arrays`: the caller's arrays, checked and copied. No pointer is kept.
//! - `state`: what a handle holds.
//! - `log`: log events for the caller's function.
//! - `status`: the status and the sentence that a failing call ends with.
//!
//! Any argument leads to a status, never to a crash, as long as pointers point to as many elements
//! as the header says. A handle that is in use is refused, so two threads cannot disturb each
//! other. No panic leaves a function. Nothing is printed.

#![allow(unsafe_code)]

mod arrays;
mod functions;
mod log;
mod settings;
mod state;
mod status;

pub use functions::*;
pub use log::LogFunction;
pub use settings::*;
pub use state::{MonitorFunction, ZigguratSolver};
pub use status::Status;

/// The allocator of the `ziggurat` command: setup makes many short-lived allocations. It serves
/// this library only, not the program that uses it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
