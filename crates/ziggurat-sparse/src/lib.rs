//! Sparse matrices, kernels and devices: the lowest layer of the Ziggurat multigrid solver.
//!
//! One method per file, named as in the literature.
//!
//! - [`number`]: numbers in memory ([`Store`]) and in arithmetic ([`Real`]).
//! - `simd`: instruction sets, selected at run time; widening of stored numbers, sixteen of them in
//!   registers. `number` and `simd` are the bottom: all other modules may use them.
//! - [`parallel`]: work for the threads of the caller, the only module that calls rayon.
//! - [`matrix`]: [`Csr`] and its borrowed form [`CsrRef`], the other formats, their validation and
//!   conversions.
//! - [`grid`]: structured grids: recognition in a CSR matrix, stencils of one or several unknowns
//!   per point, coarsening along an axis, transfers without indices.
//! - [`interop`]: conversions from and to faer, sprs and nalgebra-sparse (features).
//! - [`dense`]: inverses, eigenvalues and singular values of small dense matrices.
//! - [`algebra`]: transposes, products and triple products (in one pass, or symbolic and numeric),
//!   sums, scalings and truncation for multigrid setup.
//! - [`spectrum`]: bounds of the eigenvalues of D⁻¹A: Gershgorin, power iteration, Lanczos.
//! - [`graph`]: permutations, reverse Cuthill–McKee and breadth-first order, connected components.
//! - [`device`]: where vectors live and kernels run ([`device::Device`]): the fast [`device::Cpu`],
//!   the readable oracle [`device::Reference`], and the suite that every device must pass; which
//!   arithmetic reads which memory ([`Reads`]); sparse algebra, aggregation and classical
//!   coarsening for setup on a device.
//! - [`operator`]: linear operators, the interface that Krylov methods use, with their scratch
//!   memory; sums, products and conversions of operators.
//! - [`io`]: reading and writing files, plain and gzip: Matrix Market, NumPy, scipy, PETSc, HDF5,
//!   Rutherford–Boeing. One file per format; an output appears when it is complete.
//! - [`gallery`]: model problems by name and size, as in `poisson3d:100`, generated from one
//!   definition of a row.
//! - [`hash`]: a deterministic hash of a global id, for tie-breaking, start vectors and shuffles:
//!   the only source of pseudorandomness.
//! - [`Choice`] and `choice!`: enums with names, aliases and descriptions; [`UnknownName`]: the
//!   error for another name, with the closest known one.
//! - [`ExactSum`]: sums that do not depend on the order of addition.
//! - [`trace`]: `tracing` spans of setup and solve, for timelines, which cost one atomic load if
//!   nobody listens.
//! - [`words`]: counts and numbers in messages.

#![deny(unsafe_code)]

pub mod algebra;
mod choice;
pub mod dense;
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
