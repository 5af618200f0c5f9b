//! Algebraic multigrid: from a matrix to a hierarchy, and from a hierarchy to a cycle.
//!
//! Setup works level by level, in double precision, on the host: [`strength`] → [`coarsen`] →
//! [`interpolate`] → Galerkin product. Every step is row-local: it reads the rows it owns and a
//! [`halo`] of neighbouring rows and values. So MPI adds communication but no second algorithm.
//!
//! [Lowering](Multigrid::new) then moves the hierarchy to a device, each level in its own precision
//! and with its [`smoother`]. The result applies one [`Cycle`].
//!
//! The feature `direct` brings sparse factors, for a coarsest matrix that is too large to invert.
//!
//! # Modules
//!
//! In the order of the data:
//!
//! | module | contents |
//! |---|---|
//! | `cancel` | [`Cancel`]: time limits of setup and requests to stop, asked for between stages |
//! | [`halo`] | what a setup step knows of the rows of other processes, and how processes communicate; [`halo::Whole`] is one process |
//! | `empty_rows` | rows without entries, and the matrix with a diagonal entry in each of them |
//! | [`strength`] | which connections are strong |
//! | [`coarsen`] | which rows the next level keeps (PMIS, aggressive), or which rows it joins (MIS-2, pairs) |
//! | [`interpolate`] | prolongation: classical variants, tentative, smoothed, and with the least energy; approximate ideal restriction; test vectors and their least-squares interpolation |
//! | [`smoother`] | smoother data in `f64`: a diagonal and coefficients, an approximate inverse, or incomplete factors |
//! | `hierarchy` | the level loop (`build.rs`) over [`LevelMatrix`]; a file per coarsening with its parameters; the order and sign of the unknowns (`order.rs`); levels made on a device (`on_device`); saving and loading (`file.rs`), new values (`update.rs`) |
//! | `multigrid` | what a solve runs: cycles V, W and F (`cycle.rs`) and K (`k_cycle.rs`), levels and their operations, scratch vectors, the coarsest level's solver; it knows neither `hierarchy` nor `lower` |
//! | `lower` | makes a [`Multigrid`] from a hierarchy: the only module that knows both |
//!
//! Inside `lower`, `source` and `part` describe a level as input, `scaling` changes its variables,
//! `precision` and `format` choose numbers and formats, `damping` scales strong smoothers, `exact`
//! stores the finest matrix for the outer iteration, `level` and `coarse` make one level,
//! `assembly` makes all of them, and `hierarchy` and `transposed` are the entry points for a
//! hierarchy of one process. Under MPI, `ziggurat-mpi` passes [`LevelSource`]s to
//! [`Multigrid::new`] itself.

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
    Air, Bamg, Built, Cells, Classical, Coarsening, CoarseningStop, Coarser, Cpr, Descent, GridLevel,
    Hierarchy, HierarchyConfig, HierarchyFileError, KnownGrid, Level, LevelMatrix, MAX_LEVELS,
    MatrixProperties, Method, Pairwise, Restriction, Setup, SmoothedAggregation, Stage, Stages, WholeMatrix,
    WholeTransfer, cells, grid_of, is_ragged, negative,
};
pub use interpolate::Interpolation;
pub use lower::{
    COARSE_FALLBACK_SMOOTHER, Coarsest, ExactMatrix, Formats, InverseSource, LevelPrecision, LevelSource,
    Lowering, MAX_DENSE_ROWS, MAX_SPARSE_ROWS, OwnMatrix, Part, can_be_direct,
};
pub use multigrid::{
    Cycle, CycleKind, Cycling, FormatCandidates, InLevelOrder, LevelFormat, LevelSmoothing, Multigrid,
    StoredLevel, factor_entries,
};
pub use range::OutOfRange;
pub use spectral_radius::spectral_radius;

#[cfg(test)]
mod testing;
