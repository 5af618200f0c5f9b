//! Sparse matrices of scipy: `.npz` files, as `scipy.sparse.save_npz` writes them.
//!
//! An archive (ZIP, stored or deflated) of NumPy arrays:
//!
//! ```text
//! format.npy  "csr", "csc", "coo", "bsr" or "dia"        shape.npy  rows, columns
//! csr, csc    data (entries), indices (columns, rows), indptr
//! bsr         data (blocks × rows × columns of a block), indices, indptr, both of blocks
//! coo         data, row, col
//! dia         data (diagonals × columns), offsets: data[k, j] is the entry (j - offsets[k], j)
//! ```
//!
//! From `scipy/sparse/_matrix_io.py`. Duplicates are summed, as scipy does, and indices need not be
//! sorted. Of `dia`, zeros are dropped. Matrices are written as `csr`, deflated, with 32-bit
//! indices unless there are too many entries for them.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// Whether a file starts like an archive, which may be empty.
pub(super) fn is_npz(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}
