//! Tests under a real mpirun: the result is the same on any number of ranks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod assembly;
mod c_program;
mod edges;
mod failures;
mod launch;
mod same_hierarchy;
