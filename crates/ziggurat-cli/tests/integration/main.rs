//! The `ziggurat` command, run as a user does.

// Clippy takes only functions marked `#[test]` for tests.
#![allow(clippy::unwrap_used, clippy::panic)]

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
#[cfg(feature = "mpi")]
mod mpirun;
mod report;
mod solve;
mod trace;
