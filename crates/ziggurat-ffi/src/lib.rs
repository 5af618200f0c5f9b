//! Common parts of the C libraries: `libziggurat` for one process and `libziggurat_mpi` for MPI
//! ranks. It exports no function of C itself.
//!
//! - [`Handle`]: a solver as C sees it, with its state and the sentence of its last failure.
//! - [`Status`], [`Failure`]: the result of a call.
//! - [`Settings`]: options and what is known about the unknowns.
//! - `arrays`: the caller's arrays, checked and copied. No pointer is kept.
//! - `log`: log events for the caller's function.
//! - [`Report`]: how a solve went.
//! - [`start_threads`]: the threads of the process.
//!
//! Any argument leads to a status, never to a crash, as long as pointers point to as many elements
//! as the headers say. No panic leaves a function. Nothing is printed.

#![allow(unsafe_code)]

mod arrays;
mod handle;
mod log;
mod report;
mod settings;
mod status;
mod threads;

pub use arrays::{Index, Rows, array, array_mut, count, disjoint, ordered, text, write_text};
pub use handle::{Handle, destroy};
pub use log::{Log, LogFunction, logged};
pub use report::Report;
pub use settings::{Monitor, MonitorFunction, Settings};
pub use status::{Failure, Status};
pub use threads::{start_threads, thread_count};
