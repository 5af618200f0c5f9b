//! Matrices and vectors in files.
//!
//! | format | read | written | recognised by |
//! |---|---|---|---|
//! | Matrix Market | matrices, vectors, dense | all three; any other name | `%%MatrixMarket` |
//! | NumPy `.npy` | vectors, dense | vectors, dense; `.npy` | its first bytes |
//! | scipy `.npz` | matrices | matrices; `.npz` | its first bytes |
//! | PETSc binary | matrices, vectors, dense | all three; `.petsc` | its first bytes |
//! | HDF5 (feature `hdf5`) | matrices, vectors, dense | | its first bytes |
//! | tables as text, CSV | vectors, dense | | numbers only in the first line |
//! | Rutherford–Boeing, Harwell–Boeing | matrices | matrices; `.rb` | its header, or `.rb`, `.hb`, `.rua`, … |
//!
//! Each may be compressed with gzip, whatever its name. A dense matrix is accepted where a sparse
//! one is expected, and a sparse matrix with one column where a vector is expected.
//!
//! Files are regular files or the pipes of a shell; others are [refused](check_file). A new file
//! [appears under its name](OutputFile) when it is complete.
//!
//! HDF5 files have the layout of MATLAB 7.3 (`save -v7.3`), which PETSc reads too: a sparse matrix
//! is a group with the attribute `MATLAB_sparse`, its number of rows, and the datasets `data`, `ir`
//! and `jc` (compressed columns); vectors and dense matrices are datasets. If MATLAB wrote a dense
//! matrix, which the attribute `MATLAB_class` shows, its columns are the rows of the dataset, and
//! otherwise the dataset is read as it is. `system.h5:Problem/A` names an object of a file. Without
//! a name, it is `A`, `b`, `rhs` or `coord` in any group, or the only object of the wanted kind.
//!
//! ```
//! use ziggurat_sparse::{Csr, io};
//! let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
//! let folder = std::env::temp_dir();
//! for suffix in ["mtx", "mtx.gz", "npz", "petsc", "rb"] {
//!     let path = folder.join(format!("ziggurat-io-{}.{suffix}", std::process::id()));
//!     io::write_matrix(&path, a.view(), &io::WriteOptions::default())?;
//!     assert_eq!(io::read_matrix(&path)?, a);
//! #   std::fs::remove_file(path)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod binary_fault;
mod compressed;
mod content;
mod error;
mod fault;
mod format;
mod hdf5;
mod limits;
mod matrix_market;
mod npy;
mod npz;
mod open;
mod output_file;
mod part;
mod petsc;
mod read;
mod rutherford_boeing;
mod start;
mod text;
mod vector_writer;
mod write;

pub use binary_fault::{BinaryFault, Position};
pub use error::{ReadError, WriteError};
pub use fault::Fault;
pub use format::FileFormat;
pub use matrix_market::StoredSymmetry;
pub use open::{check_file, file_of};
pub use output_file::OutputFile;
pub use part::{
    MatrixPart, read_matrix_part, read_matrix_part_from, read_vector_part, read_vector_part_from,
    read_vector_rows,
};
pub use read::{
    read_column, read_column_from, read_dense, read_dense_from, read_matrix, read_matrix_from, read_vector,
    read_vector_from,
};
pub use vector_writer::VectorWriter;
pub use write::{
    WriteOptions, WriteSymmetry, write_dense, write_dense_to, write_matrix, write_matrix_as, write_matrix_to,
    write_vector, write_vector_as, write_vector_to,
};
