//! Matrices: what they are, how they are checked, how one becomes another.

mod assemble;
mod bsr;
mod collect;
mod csr;
mod error;

pub(crate) use assemble::count_rows;
pub use bsr::{Bsr, BsrRef, MAX_BLOCK};
pub use collect::{Entries, check_pattern, collect_pattern};
pub use csr::{Csr, CsrRef};
pub use error::MatrixError;
