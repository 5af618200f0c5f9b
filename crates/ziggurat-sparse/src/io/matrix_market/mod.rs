//! Matrix Market: the standard text exchange format for test matrices, plain or gzip-compressed.
//!
//! From R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market Exchange Formats: Initial
//! Design", NISTIR 5935, 1996. Reading and writing are multithreaded; the result does not depend on
//! the number of threads. Several processes can share the reading of a file, each reading one part.

mod blocks;
mod cursor;
mod error;
mod header;
mod input;
mod line_filter;
mod part;
mod place;
mod read;
mod vector_part;
mod write;

pub use error::{Fault, ReadError, WriteError};
pub use header::StoredSymmetry;
pub use part::{MatrixPart, read_matrix_part, read_matrix_part_from};
pub use read::{read_dense, read_dense_from, read_matrix, read_matrix_from, read_vector, read_vector_from};
pub use vector_part::{read_vector_part, read_vector_part_from, read_vector_rows};
pub use write::{
    WriteOptions, WriteSymmetry, write_dense, write_dense_to, write_matrix, write_matrix_to, write_vector,
    write_vector_to,
};
