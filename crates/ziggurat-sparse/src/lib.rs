//! What a sparse matrix is, and how fast it multiplies: the ground floor of the Ziggurat multigrid solver.
//!
//! - [`number`]: numbers in memory ([`Store`]) and in arithmetic ([`Real`]), and which reads which ([`Reads`]).
//! - [`matrix`]: [`Csr`] and its borrowed form [`CsrRef`], and the other formats.
//! - [`gallery`]: model problems by name and size, as in `poisson3d:100`.

#![deny(unsafe_code)]

pub mod device;
pub mod gallery;
pub mod matrix;
mod name;
pub mod number;
mod parallel;

pub use matrix::{Csr, CsrRef, MatrixError};
pub use name::UnknownName;
pub use number::{Facts, Kind, Reads, Real, Store, bf16, f16};
