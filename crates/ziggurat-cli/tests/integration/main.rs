//! The `ziggurat` command, run as a user does.

// Clippy takes only functions marked `#[test]` for tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod advice;
mod command;
mod compare;
mod devices;
mod errors;
mod file_formats;
mod generate;
mod hostile;
mod inspect;
#[cfg(unix)]
mod interrupt;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(feature = "mpi")]
mod mpirun;
#[cfg(unix)]
mod outputs;
#[cfg(feature = "mpi")]
mod ranks;
mod report;
mod solve;
#[cfg(unix)]
mod special_files;
mod trace;
mod vectors;
