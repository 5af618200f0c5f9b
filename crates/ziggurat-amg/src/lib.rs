//! Algebraic multigrid: from a matrix to a hierarchy, and from a hierarchy to a cycle.
//!
//! Setup works level by level, in double precision, on the host: [`strength`] → [`coarsen`] →
//! [`interpolate`] → Galerkin product. Every step is row-local: it reads the rows it owns and a
//! [`halo`] of neighbouring rows and values. So MPI adds communication but no second algorithm.
//!
//! [Lowering](Multigrid::new) then moves the hierarchy to a device, each level in its own precision
//! and with its [`smoother`]. The result applies one [`Cycle`].

#![forbid(unsafe_code)]

mod cancel;
pub mod coarsen;
mod empty_rows;
mod error;
pub mod halo;
mod hierarchy;
pub mod interpolate;
mod lower;
mod multigrid;
mod power_of_two;
mod range;
mod rank;
pub mod smoother;
mod spectral_radius;
pub mod strength;

pub use cancel::Cancel;
pub use empty_rows::empty_rows;
pub use error::SetupError;
pub use hierarchy::{
    Air, Bamg, Built, Cells, Classical, Coarsening, CoarseningStop, Coarser, Cpr, Descent, Hierarchy,
    HierarchyConfig, HierarchyFileError, Interpolation, KnownGrid, Level, LevelMatrix, MAX_LEVELS,
    MatrixProperties, Method, Pairwise, Restriction, Setup, SmoothedAggregation, Stage, Stages, WholeMatrix,
    WholeTransfer, cells, grid_of, is_ragged, negative,
};
pub use lower::{
    COARSE_FALLBACK_SMOOTHER, Coarsest, ExactMatrix, Formats, InverseSource, LevelPrecision, LevelSource,
    Lowering, MAX_DENSE_ROWS, MAX_SPARSE_ROWS, OwnMatrix, Part,
};
pub use multigrid::{
    Considered, Cycle, CycleKind, Cycling, InLevelOrder, LevelFormat, LevelSmoothing, Multigrid, StoredLevel,
    factor_entries,
};
pub use range::OutOfRange;
pub use spectral_radius::spectral_radius;

#[cfg(test)]
mod testing;
