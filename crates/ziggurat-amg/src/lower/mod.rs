//! Lowering: from a full-precision hierarchy on the host to what the solve phase runs on a device.
//!
//! Per level it decides the storage number, the working number and the smoother's data, and moves everything to the
//! device; nowhere else are these decided. The result is a [`Multigrid`]: a linear operator that applies one cycle.

mod entry;
mod format;
pub(crate) mod level;
mod multigrid;
pub(crate) mod scaling;
pub(crate) mod vectors;

pub use format::{host_matrix, matrix_format};
pub use multigrid::{Cycling, LevelPrecision, LevelSource, Multigrid};

#[cfg(test)]
mod tests;
