//! Reading matrices, vectors and dense matrices from files of every format.

use std::io::Read;
use std::path::Path;

use super::binary_fault::Located;
use super::content::{Content, Wanted};
use super::open::{object_in, open};
use super::start::{Start, look};
use super::{FileFormat, ReadError, hdf5, matrix_market, npy, npz, petsc, rutherford_boeing, text};
use crate::{Csr, Dense, MatrixError};

/// Reads a matrix from a file of any [format](super), plain or compressed with gzip. The format is
/// recognised by the content where possible, and otherwise by the name.
///
/// Symmetric files give both triangles; the entries of a pattern are 1. Duplicates are summed in
/// file order. Explicit zeros of a sparse format are kept; zeros of a dense one are dropped.
///
/// Errors name the offending line, byte or array. Memory use grows with the bytes actually read.
/// The only allocation whose size comes from a header is the array of row pointers, so a file with
/// `b` bytes (after decompression) may have at most 1024 `b` + 2^20 rows. Each array within an HDF5
/// file may have at most 1032 `b` + 2^23 bytes.
///
/// ```no_run
/// let a = ziggurat_sparse::io::read_matrix("thermal2.mtx.gz")?;
/// println!("{} rows, {} entries", a.rows(), a.nnz());
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_matrix(path: impl AsRef<Path>) -> Result<Csr<f64>, ReadError> {
    read_matrix_from(open(path.as_ref())?, path)
}

/// [`read_matrix`] from any reader; `name` replaces the file name.
///
/// ```
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4.0\n2 1 -1.5\n";
/// let a = ziggurat_sparse::io::read_matrix_from(text.as_bytes(), "text")?;
/// assert_eq!((a.nnz(), a.get(0, 1)), (3, Some(-1.5)));
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_matrix_from(reader: impl Read + Send, name: impl AsRef<Path>) -> Result<Csr<f64>, ReadError> {
    let (start, name) = (look(reader, name.as_ref()), name.as_ref());
    match start.format {
        // The reader of Matrix Market says what a sparse matrix looks like.
        FileFormat::MatrixMarket | FileFormat::Text => matrix_market::read_matrix(start.reader, name),
        _ => Content::read(start, name, Wanted::Matrix).map(Content::into_matrix),
    }
}

/// Reads a vector: a dense or a sparse matrix with one column, whose missing entries are zero. It
/// may be a list of numbers as plain text. In a PETSc file, matrices before the vector are skipped.
/// In an HDF5 file, the vector may also have the shape of a row. Of a file with several columns,
/// [`read_column`] reads one and [`read_dense`] all.
///
/// ```no_run
/// let b = ziggurat_sparse::io::read_vector("thermal2_b.mtx")?;
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_vector(path: impl AsRef<Path>) -> Result<Vec<f64>, ReadError> {
    read_vector_from(open(path.as_ref())?, path)
}

/// [`read_vector`] from any reader; `name` replaces the file name.
///
/// ```
/// let text = "%%MatrixMarket matrix array real general\n3 1\n1\n2.5\n-1e3\n";
/// let b = ziggurat_sparse::io::read_vector_from(text.as_bytes(), "text")?;
/// assert_eq!(b, [1.0, 2.5, -1000.0]);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_vector_from(reader: impl Read + Send, name: impl AsRef<Path>) -> Result<Vec<f64>, ReadError> {
    let (start, name) = (look(reader, name.as_ref()), name.as_ref());
    match start.format {
        FileFormat::MatrixMarket => matrix_market::read_vector(start.reader, name),
        _ => {
            let content = Content::read(start, name, Wanted::Vector)?;
            content.into_vector().map_err(|fault| fault.at(0).in_file(name))
        }
    }
}

/// Reads one column (from zero) of a dense or a sparse matrix, whose missing entries are zero.
///
/// ```no_run
/// let second = ziggurat_sparse::io::read_column("loads.npy", 1)?;
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_column(path: impl AsRef<Path>, column: usize) -> Result<Vec<f64>, ReadError> {
    read_column_from(open(path.as_ref())?, path, column)
}

/// [`read_column`] from any reader; `name` replaces the file name.
///
/// ```
/// use ziggurat_sparse::io::read_column_from;
/// let text = "1 10\n2 20\n";
/// assert_eq!(read_column_from(text.as_bytes(), "text", 1)?, [10.0, 20.0]);
/// let error = read_column_from(text.as_bytes(), "text", 2).unwrap_err();
/// assert_eq!(error.to_string(), "text has no column 2 (from 0); it has 2 columns");
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_column_from(
    reader: impl Read + Send,
    name: impl AsRef<Path>,
    column: usize,
) -> Result<Vec<f64>, ReadError> {
    let (start, name) = (look(reader, name.as_ref()), name.as_ref());
    let content = match start.format {
        FileFormat::MatrixMarket => Content::Sparse(matrix_market::read_matrix(start.reader, name)?),
        _ => Content::read(start, name, Wanted::Vector)?,
    };
    let columns = content.columns();
    content.column(column).ok_or_else(|| ReadError::NoSuchColumn { path: name.to_owned(), column, columns })
}

/// Reads a dense matrix: right-hand sides, node coordinates, near-null-space vectors. It is a
/// Matrix Market `array`, a NumPy array with one or two axes, a dense matrix or a vector of PETSc,
/// a dataset of HDF5, or a table as plain text, one row per line.
///
/// ```no_run
/// let modes = ziggurat_sparse::io::read_dense("beam_rbm.mtx.gz")?;
/// println!("{} modes", modes.cols());
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_dense(path: impl AsRef<Path>) -> Result<Dense<f64>, ReadError> {
    read_dense_from(open(path.as_ref())?, path)
}

/// [`read_dense`] from any reader; `name` replaces the file name.
///
/// ```
/// let text = "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n";
/// let dense = ziggurat_sparse::io::read_dense_from(text.as_bytes(), "text")?;
/// assert_eq!(dense.column(1), [3.0, 4.0]);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_dense_from(reader: impl Read + Send, name: impl AsRef<Path>) -> Result<Dense<f64>, ReadError> {
    let (start, name) = (look(reader, name.as_ref()), name.as_ref());
    match start.format {
        FileFormat::MatrixMarket => matrix_market::read_dense(start.reader, name),
        _ => {
            let content = Content::read(start, name, Wanted::Dense)?;
            content.into_dense().map_err(|fault| fault.at(0).in_file(name))
        }
    }
}

impl Content {
    /// Reads a file that is not Matrix Market.
    pub(super) fn read(start: Start<impl Read>, name: &Path, wanted: Wanted) -> Result<Self, ReadError> {
        let format = start.format;
        let bytes = start.bytes().map_err(ReadError::io(name))?;
        let at = |located: Located| located.in_file(name);
        let content = match format {
            FileFormat::Npy => Content::Dense(npy::read(&bytes).map_err(at)?),
            FileFormat::Npz => Content::Sparse(npz::read(&bytes).map_err(at)?),
            FileFormat::Petsc => petsc::read(&bytes, wanted).map_err(at)?,
            FileFormat::Hdf5 => {
                let object = object_in(name).map(|(_, object)| object);
                hdf5::read(bytes, object, wanted).map_err(at)?
            }
            FileFormat::Text => Content::Dense(text::read(&bytes, name)?),
            FileFormat::RutherfordBoeing | FileFormat::MatrixMarket => {
                Content::Sparse(rutherford_boeing::read(&bytes, name)?)
            }
        };
        content.checked().map_err(|fault| ReadError::Matrix { path: name.to_owned(), fault })
    }

    /// Duplicate entries may sum to infinity.
    fn checked(self) -> Result<Self, MatrixError> {
        if let Content::Sparse(a) = &self {
            a.view().check_finite()?;
        }
        Ok(self)
    }
}
