//! Lowering: from a full-precision hierarchy on the host to what the solve phase runs on a device.
//!
//! Per level it decides the storage number, the working number, the format and the smoother's data, and moves everything to the
//! device; nowhere else are these decided. The result is a [`Multigrid`]: a linear operator that applies one cycle.

mod entry;
pub(crate) mod format;
pub(crate) mod level;
mod multigrid;
pub(crate) mod part;
mod precision;
pub(crate) mod scaling;
pub(crate) mod vectors;

pub use format::{Considered, ExactMatrix, Formats, Lowering};
pub use level::StoredLevel;
pub use multigrid::{Cycling, LevelSource, Multigrid};
pub use part::Part;
pub use precision::LevelPrecision;

#[cfg(test)]
mod tests;
