//! Ziggurat: an algebraic multigrid solver for large sparse linear systems.
//!
//! - [`solve`] solves A x = b with settings chosen for the matrix; [`Solver`] is set up once and
//!   solves any number of right-hand sides.
//! - [`SolverConfig`] holds all choices and parameters, in Rust, TOML or JSON. `config/decide.rs`
//!   is the table of automatic choices, each with its reason.
//! - [`Tuning`] tries configurations on a system and finds the fastest.
//! - [`mod@diagnose`] analyses a matrix and gives advice on solving with it. The part that decides
//!   how it is solved, [`diagnose::MatrixKind`], serves one process and MPI alike.
//! - [`Coordinates`] of nodes become rigid-body modes.
//! - [`Iteration`] is the outer iteration, with one process and with several.
//! - [`events`] are what setup and solve log through `tracing`.
//! - [`threads`] is the rule for their number, in every interface.
//!
//! # Matrices of other crates
//!
//! The features `faer`, `nalgebra-sparse` and `sprs` convert matrices of these crates, owned or
//! borrowed, by `From` and `TryFrom`. [`sparse::interop`] lists their types; `hdf5` reads and
//! writes HDF5 files.
//!
//! ```
//! # #[cfg(feature = "nalgebra-sparse")] {
//! use nalgebra_sparse::CsrMatrix;
//! use ziggurat::sparse::Csr;
//! let (row_ptr, columns) = (vec![0, 2, 4], vec![0, 1, 0, 1]);
//! let theirs = CsrMatrix::try_from_csr_data(2, 2, row_ptr, columns, vec![2.0, -1.0, -1.0, 2.0]).unwrap();
//! let x = ziggurat::solve(&Csr::try_from(&theirs)?, &[1.0, 1.0])?;
//! assert!((x[0] - 1.0).abs() < 1e-7);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Sparse factors
//!
//! The feature `direct` brings sparse Cholesky and LU factors (the crate faer): the method
//! `direct`, `auto` for saddle points, coarsest matrices that stay too large to invert, and the
//! last resort of a slow solve. Without it, matrices of up to 1000 rows are inverted where factors
//! are asked for, and larger ones are an error that names the feature; everything else is the same,
//! and a program compiles in less time.
//!
//! # Threads
//!
//! Setup and solve run in the rayon pool of the calling thread: the global pool, with one thread
//! per core or as many as `RAYON_NUM_THREADS` says, or your own. Results have the same bits on any
//! number of threads.
//!
//! ```
//! use ziggurat::Solver;
//! use ziggurat::sparse::gallery::Problem;
//! let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
//! let b = vec![1.0; a.rows()];
//! let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let (solver, x) = pool.install(|| {
//!     let solver = Solver::builder().build(&a)?;
//!     let x = solver.solve(&b)?.into_result()?.x;
//!     Ok::<_, ziggurat::SolveError>((solver, x))
//! })?;
//! assert_eq!(solver.solve(&b)?.x, x); // here, on all cores
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod config;
mod coordinates;
pub mod diagnose;
pub mod events;
mod solver;
pub mod threads;
mod tune;

pub use config::SolverConfig;
pub use coordinates::{ByNode, Coordinates, CoordinatesError};
pub use diagnose::{Advice, Diagnosis, diagnose};
pub use solver::{
    Fault, HostSystem, Iteration, Pace, Promotion, Raise, Solution, SolveError, SolveOptions, Solver,
    SolverBuilder, Stronger, Updated, solve,
};
pub use tune::{Trial, Tuned, Tuning};
pub use ziggurat_amg as amg;
pub use ziggurat_amg::Cancel;
pub use ziggurat_krylov as krylov;
pub use ziggurat_sparse as sparse;

/// Runs the examples of the README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
