//! What a sparse matrix is, and how fast it multiplies: the ground floor of the Ziggurat multigrid solver.
//!
//! - [`number`]: numbers in memory ([`Store`]) and in arithmetic ([`Real`]), and which reads which ([`Reads`]).
//! - [`matrix`]: [`Csr`] and its borrowed form [`CsrRef`], and the other formats.

#![deny(unsafe_code)]

pub mod device;
pub mod interop;
pub mod matrix;
mod name;
pub mod number;
mod parallel;

pub use matrix::{Bsr, BsrRef, Coo, Csr, CsrRef, Dense, MatrixError};
pub use name::UnknownName;
pub use number::{Facts, Kind, Reads, Real, Store, bf16, f16};
