//! Tests of the solver through its public interface.

#![allow(clippy::unwrap_used, clippy::panic)] // helper functions are not marked #[test]

mod air;
mod any_device;
mod auto_precision;
mod bamg;
mod configurations;
mod cpr;
mod edge_of_doubles;
mod empty_rows;
mod fallback;
mod far;
mod fields;
mod hostile_numbers;
mod limits;
mod negative;
mod never_wrong;
mod order;
mod other_crates;
mod refinement;
mod reports;
mod saddle_points;
mod shared_matrices;
mod smoothers;
mod solve;
mod structured;
mod systems;
mod transposed;
mod update_values;
