//! Matrices and vectors in files.

mod matrix_market;

pub use matrix_market::{
    Fault, MatrixPart, ReadError, StoredSymmetry, WriteError, WriteOptions, WriteSymmetry, read_dense,
    read_dense_from, read_matrix, read_matrix_from, read_matrix_part, read_matrix_part_from, read_vector,
    read_vector_from, read_vector_part, read_vector_part_from, read_vector_rows, write_dense, write_dense_to,
    write_matrix, write_matrix_to, write_vector, write_vector_to,
};
