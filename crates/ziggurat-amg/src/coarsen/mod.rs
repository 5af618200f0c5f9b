//! Coarsening: which rows the next level keeps, or which rows it joins.
//!
//! | method | gives | rows per coarse row | use it |
//! |---|---|---|---|
//! | [`pmis`] | a [`Splitting`] | about 3 on a 7-point grid | with classical interpolation |
//! | [`aggressive`] | a [`Splitting`] | 12 or 16 on a 7-point grid | on the finest level, with two-stage or multipass interpolation |
//! | [`mis2`] | [`Aggregates`] | 8 on a 7-point grid, about 30 with diagonals | with smoothed aggregation |
//! | [`pairwise`], [`pairwise_passes`] | [`Aggregates`] | 2 per pass | without smoothing, or where aggregates must stay small |
//!
//! Nodes of several unknowns are aggregated by their [`node_matrix`].

mod aggregates;
mod aggressive;
mod coarse_rows;
mod mis2;
mod node_matrix;
mod pairwise;
mod pmis;
mod splitting;
mod undirected;

pub use aggregates::{Aggregates, AggregatesError, NO_ROOT};
pub use aggressive::{Paths, aggressive, coarsen_again};
pub use coarse_rows::CoarseRows;
pub use mis2::mis2;
pub use node_matrix::node_matrix;
pub(crate) use pairwise::sum_by_aggregate;
pub use pairwise::{MATCHING_ROUNDS, pairwise, pairwise_passes};
pub use pmis::pmis;
pub(crate) use splitting::FINE;
pub use splitting::{Point, Splitting};
