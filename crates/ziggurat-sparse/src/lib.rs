//! What a sparse matrix is, and how fast it multiplies: the ground floor of the Ziggurat multigrid solver.
//!
//! - [`number`]: numbers in memory ([`Store`]) and in arithmetic ([`Real`]), and which reads which ([`Reads`]).
//! - [`matrix`]: [`Csr`] and its borrowed form [`CsrRef`], and the other formats.
//! - [`algebra`]: transposes, products, sums, scalings and truncation, for the setup of multigrid.

#![deny(unsafe_code)]

pub mod algebra;
pub mod device;
pub mod matrix;
mod name;
pub mod number;
mod parallel;

pub use matrix::{Csr, CsrRef, MatrixError};
pub use name::UnknownName;
pub use number::{Facts, Kind, Reads, Real, Store, bf16, f16};
