//! How many rows a file may declare, and how large its arrays may be.
//!
//! A few bytes of a file can declare billions of empty rows, for which a matrix needs row pointers.
//! So the number of rows that is accepted depends on the number of bytes that the file has. The
//! same is true of arrays that a library decompresses.

use super::BinaryFault;
use crate::MatrixError;

/// Rows accepted per byte, and rows always accepted (8 MiB of row pointers).
const ROWS_PER_BYTE: u64 = 1024;
const ROWS_GRANTED: u64 = 1 << 20;

/// The most rows accepted for a file with this many bytes, after decompression.
pub(super) fn most_rows(bytes: u64) -> u64 {
    bytes.saturating_mul(ROWS_PER_BYTE).saturating_add(ROWS_GRANTED)
}

/// How many bytes deflate, the compression within HDF5 files, makes of one at most.
#[cfg(feature = "hdf5")]
const EXPANSION: u64 = 1032;

/// The most bytes accepted for an array within a file with this many bytes.
#[cfg(feature = "hdf5")]
pub(super) fn most_bytes(bytes: u64) -> u64 {
    bytes.saturating_mul(EXPANSION).saturating_add(8 * ROWS_GRANTED)
}

/// Rejects dimensions that local indices cannot address, and more rows than is plausible for a file
/// with this many bytes.
pub(super) fn check_size(rows: u64, cols: u64, bytes: usize) -> Result<(usize, usize), BinaryFault> {
    for (what, extent) in [("rows", rows), ("columns", cols)] {
        if extent > u64::from(u32::MAX) {
            let extent = usize::try_from(extent).unwrap_or(usize::MAX);
            return Err(BinaryFault::TooLarge(MatrixError::TooLarge { what, extent }));
        }
    }
    let limit = most_rows(bytes as u64);
    if rows > limit {
        return Err(BinaryFault::TooManyRows { rows, bytes: bytes as u64, limit });
    }
    Ok((rows as usize, cols as usize)) // at most 32 bits
}
