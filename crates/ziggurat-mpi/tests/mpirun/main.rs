//! Tests under a real mpirun: the result is the same on any number of ranks, and a failure of one
//! rank ends all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod abilities;
mod assembly;
mod c_program;
mod devices;
mod edges;
mod failures;
mod faults;
mod faulty;
mod files;
mod launch;
mod saddle_points;
mod same_hierarchy;
mod threads;
mod updates;

/// Allocations fail where a test asks for it.
#[global_allocator]
static MEMORY: faulty::Memory = faulty::Memory;
