//! Matrix Market: the text format that everyone's test matrices come in, plain and gzip.
//!
//! From R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935,
//! 1996. Reading and writing are threaded; what is read, and what is written, does not depend on the number of threads.

mod blocks;
mod cursor;
mod error;
mod header;
mod input;
mod read;
mod write;

pub use error::{Fault, ReadError, WriteError};
pub use read::{read_dense, read_dense_from, read_matrix, read_matrix_from, read_vector, read_vector_from};
pub use write::{
    WriteOptions, WriteSymmetry, write_dense, write_dense_to, write_matrix, write_matrix_to, write_vector,
    write_vector_to,
};
