//! Ziggurat: an algebraic multigrid solver for large sparse linear systems.
//!
//! - [`solve`] solves A x = b with settings chosen for the matrix; [`Solver`] is set up once and
//!   solves any number of right-hand sides.
//! - [`SolverConfig`] holds all choices and parameters, in Rust, TOML or JSON.
//! - [`Tuning`] tries configurations on a system and finds the fastest.
//! - [`mod@diagnose`] analyses a matrix and gives advice on solving with it.
//! - [`events`] are what setup and solve log through `tracing`.

#![forbid(unsafe_code)]

pub mod config;
mod coordinates;
pub mod diagnose;
pub mod events;
mod solver;
mod tune;

pub use config::SolverConfig;
pub use coordinates::{ByNode, Coordinates, CoordinatesError};
pub use diagnose::{Advice, Diagnosis, diagnose};
pub use solver::{
    Fault, Iteration, Pace, Promotion, Raise, Solution, SolveError, SolveOptions, Solver, SolverBuilder,
    Stronger, Updated, certified, solve,
};
pub use tune::{Trial, Tuned, Tuning};
pub use ziggurat_amg as amg;
pub use ziggurat_krylov as krylov;
pub use ziggurat_sparse as sparse;

/// Runs the examples of the README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
