//! Matrices: what they are, how they are checked, how one becomes another.

mod assemble;
mod bsr;
mod csr;
mod error;

pub(crate) use assemble::count_rows;
pub use bsr::{Bsr, BsrRef, MAX_BLOCK};
pub use csr::{Csr, CsrRef};
pub use error::MatrixError;
