//! Coarsening: selects the rows that the next level keeps, or groups rows into aggregates.
//!
//! | method | result | rows per coarse row | use |
//! |---|---|---|---|
//! | [`pmis`] | a [`Splitting`] | about 3 on a 7-point grid | with classical interpolation |
//! | [`aggressive`] | a [`Splitting`] | 12 or 16 on a 7-point grid | on the finest level, with two-stage or multipass interpolation |
//! | [`mis2`] | [`Aggregates`] | 8 on a 7-point grid, about 30 on a 27-point grid | with smoothed aggregation |
//! | [`pairwise`], [`pairwise_passes`] | [`Aggregates`] | 2 per pass | with unsmoothed aggregation, or where aggregates must stay small |
//!
//! Nodes with several unknowns are aggregated by their [`node_matrix`].

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
pub use node_matrix::{node_matrix, node_matrix_of};
pub(crate) use pairwise::sum_by_aggregate;
pub use pairwise::{MATCHING_ROUNDS, pairwise, pairwise_passes};
pub use pmis::pmis;
pub(crate) use splitting::FINE;
pub use splitting::{Point, Splitting};
