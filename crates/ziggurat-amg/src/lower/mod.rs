//! Lowering: from a full-precision hierarchy on the host to a [`Multigrid`](crate::Multigrid) on a
//! device.
//!
//! For each level it chooses the storage precision, the working precision, the format and the
//! smoother's data, and moves everything to the device. It is the only step that depends on both
//! the hierarchy and the solve phase.

mod accurate_residual;
mod assembly;
mod coarse;
mod damping;
mod exact;
mod format;
mod hierarchy;
mod level;
mod on_device;
mod part;
mod precision;
mod scaling;
mod source;
mod transposed;

pub use coarse::{COARSE_FALLBACK_SMOOTHER, MAX_DENSE_ROWS, MAX_SPARSE_ROWS, can_be_direct};
pub use exact::ExactMatrix;
pub use format::{Coarsest, Formats, Lowering};
pub use part::{OwnMatrix, Part};
pub use precision::LevelPrecision;
pub use source::{InverseSource, LevelSource};

#[cfg(test)]
mod tests;
