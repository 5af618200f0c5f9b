//! Sparse matrices, kernels and devices: the lowest layer of the Ziggurat multigrid solver.
//!
//! - [`number`]: numbers in memory ([`Store`]) and in arithmetic ([`Real`]).
//! - [`matrix`]: [`Csr`] and its borrowed form [`CsrRef`], and the other formats.
//! - [`operator`]: linear operators, the interface that Krylov methods use.
//! - [`gallery`]: model problems by name and size, as in `poisson3d:100`.
//! - [`graph`]: permutations, reverse Cuthill–McKee, connected components.
//! - [`spectrum`]: bounds of the eigenvalues of D⁻¹A.
//! - [`hash`]: a deterministic hash of a global id, for tie-breaking, start vectors and shuffles.
//! - [`device`]: where vectors live and kernels run: [`device::Cpu`] and the readable oracle
//!   [`device::Reference`], and which arithmetic reads which memory ([`Reads`]).
//! - [`algebra`]: transposes, products, sums, scalings and truncation for multigrid setup.
//! - [`io`]: reading and writing files: Matrix Market, NumPy, scipy, PETSc, HDF5,
//!   Rutherford–Boeing.
//! - [`parallel`]: work for the threads of the caller, the only module that calls rayon.
//! - [`trace`]: `tracing` spans of setup and solve, for timelines.
//! - [`words`]: counts and numbers in messages.

#![deny(unsafe_code)]

pub mod algebra;
mod choice;
pub mod device;
mod exact_sum;
pub mod gallery;
pub mod graph;
pub mod grid;
pub mod hash;
pub mod interop;
pub mod io;
pub mod matrix;
mod name;
pub mod number;
pub mod operator;
pub mod parallel;
mod simd;
pub mod spectrum;
pub mod trace;
pub mod words;

pub use choice::Choice;
pub use device::Reads;
pub use exact_sum::ExactSum;
pub use matrix::{Bsr, BsrRef, Coo, Csr, CsrRef, DeltaSell, Dense, Dia, DiaSection, MatrixError, Tiles};
pub use name::UnknownName;
pub use number::{Kind, NumberFacts, Real, Store, bf16, f16};
