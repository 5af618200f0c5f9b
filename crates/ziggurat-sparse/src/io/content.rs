//! The contents of a file that is read as a whole: every format but Matrix Market.

use super::BinaryFault;
use crate::{Csr, Dense};

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
