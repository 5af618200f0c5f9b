//! Coarsening: which rows the next level keeps, or which rows it joins.

mod aggressive;
mod pmis;
mod splitting;

pub use aggressive::{Paths, aggressive};
pub use pmis::pmis;
pub(crate) use splitting::FINE;
pub use splitting::{Point, Splitting};
