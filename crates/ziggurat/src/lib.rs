//! The front door of Ziggurat, an algebraic multigrid solver for large sparse linear systems.
//!
//! - [`mod@diagnose`]: what kind of matrix is this, and what follows for solving with it?

#![forbid(unsafe_code)]

pub mod diagnose;

pub use diagnose::{Advice, Diagnosis, diagnose};
