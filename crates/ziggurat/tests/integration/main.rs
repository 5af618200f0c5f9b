//! The solver through its public interface.

#![allow(clippy::unwrap_used)] // functions that tests call

mod any_device;
mod auto_precision;
mod far;
mod shared_matrices;
mod solve;
mod update_values;
