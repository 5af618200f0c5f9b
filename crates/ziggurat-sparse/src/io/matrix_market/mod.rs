//! Matrix Market: the standard text exchange format for test matrices, plain or gzip-compressed.
//!
//! From R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market Exchange Formats: Initial
//! Design", NISTIR 5935, 1996. Reading and writing are multithreaded; the result does not depend on
//! the number of threads. Several processes can share the reading of a file, each reading one part.

mod blocks;
mod cursor;
mod header;
mod input;
mod line_filter;
mod part;
mod place;
mod read;
mod vector_part;
mod write;

pub use header::StoredSymmetry;
pub(super) use part::read_matrix_part;
pub(super) use read::{read_dense, read_matrix, read_vector};
pub(super) use vector_part::{read_vector_part, read_vector_rows};
pub(super) use write::{array_text, matrix_text, push_value};
