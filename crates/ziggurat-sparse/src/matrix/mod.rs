//! Matrices: what they are, how they are checked, how one becomes another.

mod assemble;
mod bsr;
mod coo;
mod counting_sort;
mod csr;
mod error;
mod sort_rows;

pub(crate) use assemble::count_rows;
pub use bsr::{Bsr, BsrRef, MAX_BLOCK};
pub use coo::Coo;
pub use csr::{Csr, CsrRef};
pub use error::MatrixError;
