//! Matrices: what they are, how they are checked, how one becomes another.

mod assemble;
mod csr;
mod error;

pub(crate) use assemble::count_rows;
pub use csr::{Csr, CsrRef};
pub use error::MatrixError;
