//! Algebraic multigrid: from a matrix to a hierarchy, and from a hierarchy to a cycle.
//!
//! Setup works level by level, in double precision, on the host: [`strength`] → [`coarsen`] → [`interpolate`] → Galerkin
//! product. Every step is row-local: it reads the rows it owns and a [`halo`] of rows and values of neighbours, so that
//! MPI adds communication and not a second algorithm.
//!
//! [Lowering](Multigrid::new) then moves the hierarchy to a device, each level in numbers of its own, with its
//! [`smoother`]; the result applies one [`Cycle`].

#![forbid(unsafe_code)]

mod coarse;
pub mod coarsen;
mod cycle;
mod error;
pub mod halo;
mod hierarchy;
pub mod interpolate;
mod lower;
mod rank;
pub mod smoother;
mod spectral_radius;
pub mod strength;

pub use coarse::{INSTEAD_OF_DIRECT, MAX_DENSE_ROWS, MAX_SPARSE_ROWS};
pub use cycle::Cycle;
pub use error::SetupError;
pub use hierarchy::{
    Classical, Coarsening, CoarseningStop, Hierarchy, HierarchyConfig, HierarchyFileError, Interpolation,
    Known, Level, Pairwise, SmoothedAggregation,
};
pub use lower::{
    Considered, Cycling, ExactMatrix, Formats, LevelPrecision, LevelSource, Lowering, Multigrid, Part,
    StoredLevel,
};
pub use spectral_radius::spectral_radius_of_parts;

#[cfg(test)]
mod testing;
