//! The contents of a file that is read as a whole: every format but Matrix Market.

use std::io::Read;
use std::path::Path;

use super::binary_fault::Located;
use super::format::Start;
use super::{BinaryFault, FileFormat, ReadError, hdf5, npy, npz, petsc, rutherford_boeing, text};
use crate::{Csr, Dense, MatrixError};

/// The object that a caller wants from a file. PETSc and HDF5 files may hold several objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Matrix,
    Vector,
    Dense,
}

/// The contents of a file. All values are finite. A vector is a dense matrix with one column.
#[derive(Debug, PartialEq)]
pub(super) enum Content {
    Sparse(Csr<f64>),
    Dense(Dense<f64>),
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
                let object = hdf5::object_in(name).map(|(_, object)| object);
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

    /// The contents as a sparse matrix, without the zeros of a dense one.
    pub(super) fn into_matrix(self) -> Csr<f64> {
        match self {
            Content::Sparse(a) => a,
            Content::Dense(dense) => dense.to_csr(),
        }
    }

    /// The number of columns.
    pub(super) fn columns(&self) -> usize {
        match self {
            Content::Sparse(a) => a.cols(),
            Content::Dense(dense) => dense.cols(),
        }
    }

    /// One column, if it exists.
    pub(super) fn column(&self, column: usize) -> Option<Vec<f64>> {
        (column < self.columns()).then(|| match self {
            Content::Sparse(a) => (0..a.rows()).map(|row| a.get(row, column).unwrap_or(0.0)).collect(),
            Content::Dense(dense) => dense.column(column).to_vec(),
        })
    }

    /// The contents as a vector.
    pub(super) fn into_vector(self) -> Result<Vec<f64>, BinaryFault> {
        match self {
            Content::Dense(dense) if dense.cols() == 1 => Ok(dense.into_values()),
            content if content.columns() == 1 => Ok(content.column(0).unwrap_or_default()),
            content => Err(BinaryFault::NotAVector { columns: content.columns() as u64 }),
        }
    }

    /// The contents as a dense matrix.
    pub(super) fn into_dense(self) -> Result<Dense<f64>, BinaryFault> {
        match self {
            Content::Sparse(_) => Err(BinaryFault::NotDense),
            Content::Dense(dense) => Ok(dense),
        }
    }
}
