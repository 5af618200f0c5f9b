//! What a sparse matrix is, and how fast it multiplies: the ground floor of the Ziggurat multigrid solver.
//!
//! - [`number`]: numbers in memory ([`Store`]) and in arithmetic ([`Real`]), and which reads which ([`Reads`]).
//! - [`matrix`]: [`Csr`] and its borrowed form [`CsrRef`], and the other formats.
//! - [`gallery`]: model problems by name and size, as in `poisson3d:100`.
//! - [`graph`]: permutations, reverse Cuthill–McKee, connected components.
//! - [`spectrum`]: bounds of the eigenvalues of D⁻¹A.
//! - [`hash`]: one deterministic hash of a global id, for ties, start vectors and shuffles.

#![deny(unsafe_code)]

pub mod device;
pub mod gallery;
pub mod graph;
pub mod hash;
pub mod matrix;
mod name;
pub mod number;
mod parallel;
pub mod spectrum;

pub use matrix::{Csr, CsrRef, MatrixError};
pub use name::UnknownName;
pub use number::{Facts, Kind, Reads, Real, Store, bf16, f16};
