//! The coarsest level, solved directly.
//!
//! A small matrix is inverted once, and every solve is a product with the inverse: the same kernel as everything else, on
//! whatever device. A singular one gets its pseudo-inverse, which solves in the least-squares sense and leaves the kernel
//! alone. A matrix too large for that (coarsening has stalled) is factorised as a sparse matrix on the host. Both by
//! faer. Where even that would take too long (hardly any row was strongly connected to another, or coarsening stalled
//! early), the level is smoothed some more instead: factors of a matrix from a grid in space grow like n^(4/3).

mod dense;
mod sparse;

use ziggurat_sparse::device::{Device, DeviceError, HostMatrix};
use ziggurat_sparse::{Csr, CsrRef};

use crate::SetupError;
use crate::smoother::{ChebyshevBase, Smoother, SmootherData, SmootherKind};

/// Rows up to which the inverse is formed: 8 MB of numbers at the most.
pub const MAX_DENSE_ROWS: usize = 1000;

/// Rows up to which a sparse matrix is factorised: some seconds, and some hundred megabytes.
pub const MAX_SPARSE_ROWS: usize = 10_000;

/// What takes the place of a direct solve beyond that: symmetric and positive wherever the matrix is.
const INSTEAD: Smoother = Smoother::Chebyshev { degree: 6, base: ChebyshevBase::L1Jacobi, ratio: 20.0 };

/// A solver for the coarsest level. Vectors are in double precision.
pub(crate) enum CoarseSolver<D: Device> {
    /// x = A⁺ b with the (pseudo-)inverse on the device.
    Inverse(D::Matrix<f64>),
    /// Factors on the host.
    Sparse(sparse::Factors),
    /// Steps (ω, β) of a smoother, with its diagonal.
    Smoothed {
        /// The matrix.
        a: D::Matrix<f64>,
        /// What residuals are multiplied by.
        diagonal: D::Vector<f64>,
        /// The steps of the recurrence.
        steps: Vec<(f64, f64)>,
    },
}

/// The result of the host's part of the work, before it is moved to a device.
pub(crate) enum CoarseData {
    /// The (pseudo-)inverse.
    Inverse(Csr<f64>),
    /// The matrix itself, to be factorised sparse.
    Sparse(Csr<f64>),
    /// The matrix itself, to be smoothed.
    Smoothed(Csr<f64>, SmootherData),
}

impl CoarseData {
    /// Inverts a small matrix, keeps a large one.
    pub(crate) fn new(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        if a.rows() <= MAX_DENSE_ROWS {
            Ok(CoarseData::Inverse(dense::inverse(a)?))
        } else if a.rows() <= MAX_SPARSE_ROWS {
            Ok(CoarseData::Sparse(a.to_owned()))
        } else {
            Ok(CoarseData::Smoothed(a.to_owned(), INSTEAD.data(a, None)?))
        }
    }

    /// Moves the solver to a device.
    pub(crate) fn lower<D: Device>(&self, device: &D) -> Result<CoarseSolver<D>, SetupError> {
        Ok(match self {
            CoarseData::Inverse(inverse) => {
                CoarseSolver::Inverse(device.upload_matrix(HostMatrix::from(inverse.clone()))?)
            }
            CoarseData::Sparse(a) => CoarseSolver::Sparse(sparse::Factors::new(a.view())?),
            CoarseData::Smoothed(a, data) => CoarseSolver::Smoothed {
                a: device.upload_matrix(HostMatrix::from(a.clone()))?,
                diagonal: device.upload(&data.diagonal)?,
                steps: match &data.kind {
                    SmootherKind::Recurrence(steps) => steps.clone(),
                    SmootherKind::GaussSeidel { .. } => Vec::new(), // not what INSTEAD is
                },
            },
        })
    }
}

/// What a solve scribbles on: a copy on the host for sparse factors, a vector for a smoother, nothing for an inverse.
pub(crate) struct CoarseScratch<D: Device> {
    host: Vec<f64>,
    other: Option<D::Vector<f64>>,
}

impl<D: Device> CoarseSolver<D> {
    /// Makes the scratch memory.
    pub(crate) fn scratch(&self, device: &D, rows: usize) -> Result<CoarseScratch<D>, DeviceError> {
        Ok(match self {
            CoarseSolver::Inverse(_) => CoarseScratch { host: Vec::new(), other: None },
            CoarseSolver::Sparse(_) => CoarseScratch { host: vec![0.0; rows], other: None },
            CoarseSolver::Smoothed { .. } => {
                CoarseScratch { host: Vec::new(), other: Some(device.zeros(rows)?) }
            }
        })
    }

    /// x ← A⁺ b, or near it
    pub(crate) fn solve(
        &self,
        device: &D,
        b: &D::Vector<f64>,
        x: &mut D::Vector<f64>,
        scratch: &mut CoarseScratch<D>,
    ) -> Result<(), DeviceError> {
        match (self, &mut scratch.other) {
            (CoarseSolver::Inverse(inverse), _) => device.spmv(1.0, inverse, b, 0.0, x),
            (CoarseSolver::Smoothed { a, diagonal, steps }, Some(other)) => {
                device.fill(0.0, x);
                device.fill(0.0, other);
                for &(omega, beta) in steps {
                    // `other` holds the iterate before x and receives the one after it.
                    device.sweep(a, omega, diagonal, b, x, beta, other);
                    std::mem::swap(x, other);
                }
            }
            (CoarseSolver::Sparse(factors), _) => {
                device.download(b, &mut scratch.host)?;
                factors.solve_in_place(&mut scratch.host);
                device.write(&scratch.host, x)?;
            }
            (CoarseSolver::Smoothed { .. }, None) => {} // `scratch` makes one
        }
        Ok(())
    }
}
