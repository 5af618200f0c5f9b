//! A matrix in host memory, in any format: the input of a device upload.

use std::fmt;
use std::sync::Arc;

use crate::matrix::{Bsr, Csr, DeltaSell};
use crate::number::Store;

/// The format of a [`HostMatrix`].
///
/// ```
/// assert_eq!(ziggurat_sparse::device::MatrixFormat::DeltaSell.to_string(), "delta-sell");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatrixFormat {
    /// Compressed sparse rows.
    Csr,
    /// Small dense blocks in compressed rows.
    Bsr,
    /// Sliced rows with compressed column indices.
    DeltaSell,
}

impl MatrixFormat {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            MatrixFormat::Csr => "csr",
            MatrixFormat::Bsr => "bsr",
            MatrixFormat::DeltaSell => "delta-sell",
        }
    }
}

impl fmt::Display for MatrixFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A matrix in one of the formats that every device supports. It is reference-counted: a device
/// that uses host memory copies nothing.
///
/// ```
/// use ziggurat_sparse::{Csr, device::{HostMatrix, MatrixFormat}};
/// let a: HostMatrix<f64> = Csr::identity(3)?.into();
/// assert_eq!((a.format(), a.rows(), a.nnz()), (MatrixFormat::Csr, 3, 3));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostMatrix<S: 'static> {
    /// Compressed sparse rows.
    Csr(Arc<Csr<S>>),
    /// Small dense blocks in compressed rows.
    Bsr(Arc<Bsr<S>>),
    /// Sliced rows with compressed column indices.
    DeltaSell(Arc<DeltaSell<S>>),
}

impl<S> From<Csr<S>> for HostMatrix<S> {
    fn from(a: Csr<S>) -> Self {
        HostMatrix::Csr(Arc::new(a))
    }
}

impl<S> From<Arc<Csr<S>>> for HostMatrix<S> {
    fn from(a: Arc<Csr<S>>) -> Self {
        HostMatrix::Csr(a)
    }
}

impl<S> From<Bsr<S>> for HostMatrix<S> {
    fn from(a: Bsr<S>) -> Self {
        HostMatrix::Bsr(Arc::new(a))
    }
}

impl<S> From<DeltaSell<S>> for HostMatrix<S> {
    fn from(a: DeltaSell<S>) -> Self {
        HostMatrix::DeltaSell(Arc::new(a))
    }
}

impl<S: Store> HostMatrix<S> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            HostMatrix::Csr(a) => a.rows(),
            HostMatrix::Bsr(a) => a.rows(),
            HostMatrix::DeltaSell(a) => a.rows(),
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            HostMatrix::Csr(a) => a.cols(),
            HostMatrix::Bsr(a) => a.cols(),
            HostMatrix::DeltaSell(a) => a.cols(),
        }
    }

    /// Number of stored values, including the zeros that fill blocks.
    pub fn nnz(&self) -> usize {
        match self {
            HostMatrix::Csr(a) => a.nnz(),
            HostMatrix::Bsr(a) => a.nnz(),
            HostMatrix::DeltaSell(a) => a.nnz(),
        }
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            HostMatrix::Csr(a) => a.bytes(),
            HostMatrix::Bsr(a) => a.bytes(),
            HostMatrix::DeltaSell(a) => a.bytes(),
        }
    }

    /// Its format.
    pub fn format(&self) -> MatrixFormat {
        match self {
            HostMatrix::Csr(_) => MatrixFormat::Csr,
            HostMatrix::Bsr(_) => MatrixFormat::Bsr,
            HostMatrix::DeltaSell(_) => MatrixFormat::DeltaSell,
        }
    }
}
