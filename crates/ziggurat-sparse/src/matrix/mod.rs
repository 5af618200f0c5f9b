//! Matrix formats, their validation, and conversions between them.

mod assemble;
mod bsr;
mod collect;
mod convert;
mod coo;
mod counting_sort;
mod csr;
pub(crate) mod delta_sell;
mod dense;
pub(crate) mod dia;
mod error;
pub(crate) mod format;
mod scale_factors;
mod sort_rows;
mod storage;
pub(crate) mod tiles;

pub(crate) use assemble::count_rows;
pub use bsr::{Bsr, BsrRef, MAX_BLOCK};
pub(crate) use collect::CollectedRows;
pub use collect::{Entries, check_pattern, collect_pattern};
pub use convert::{block_fill, detect_block_size, in_full_blocks};
pub use coo::Coo;
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
pub(crate) use csr::check_extents;
pub(crate) use csr::rounded;
pub use csr::{Csr, CsrRef};
pub use delta_sell::{DeltaSell, DeltaSellParts, DeltaSellPlan};
pub use dense::Dense;
pub use dia::{Dia, DiaSection};
pub use error::MatrixError;
pub use format::FormatPlan;
pub use scale_factors::ScaleFactors;
pub use tiles::{Tiles, has_dense_tiles};
