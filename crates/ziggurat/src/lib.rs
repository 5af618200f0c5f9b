//! The front door of Ziggurat, an algebraic multigrid solver for large sparse linear systems.
//!
//! - [`solve`]: the solution of A x = b, everything chosen by the matrix; [`Solver`]: set up once, solve often.
//! - [`SolverConfig`]: every choice and parameter, in Rust, TOML or JSON.
//! - [`mod@diagnose`]: what kind of matrix is this, and what follows for solving with it?
//! - [`events`]: what setup and solve log through `tracing`.

#![forbid(unsafe_code)]

pub mod config;
pub mod diagnose;
pub mod events;
mod solver;

pub use config::SolverConfig;
pub use diagnose::{Advice, Diagnosis, diagnose};
pub use solver::{
    Fault, Iteration, Promotion, Solution, SolveError, SolveOptions, Solver, SolverBuilder, Updated, solve,
};
pub use ziggurat_amg as amg;
pub use ziggurat_krylov as krylov;
pub use ziggurat_sparse as sparse;

/// The README's examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
