//! The coarsest level, solved directly.
//!
//! A small matrix is inverted once, and every solve is a product with the inverse: the same kernel as everything else, on
//! whatever device. A singular one gets its pseudo-inverse, which solves in the least-squares sense and leaves the kernel
//! alone. A matrix too large for that (coarsening has stalled) is factorised as a sparse matrix on the host. Both by
//! faer.

mod dense;
mod sparse;

use ziggurat_sparse::device::{Device, DeviceError, HostMatrix};
use ziggurat_sparse::{Csr, CsrRef};

use crate::SetupError;

/// Rows up to which the inverse is formed: 8 MB of numbers at the most.
pub const MAX_DENSE_ROWS: usize = 1000;

/// A direct solver for the coarsest level. Vectors are in double precision.
pub(crate) enum CoarseSolver<D: Device> {
    /// x = A⁺ b with the (pseudo-)inverse on the device.
    Inverse(D::Matrix<f64>),
    /// Factors on the host.
    Sparse(sparse::Factors),
}

/// The result of the host's part of the work, before it is moved to a device.
pub(crate) enum CoarseData {
    /// The (pseudo-)inverse.
    Inverse(Csr<f64>),
    /// The matrix itself, to be factorised sparse.
    Sparse(Csr<f64>),
}

impl CoarseData {
    /// Inverts a small matrix, keeps a large one.
    pub(crate) fn new(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        if a.rows() <= MAX_DENSE_ROWS {
            Ok(CoarseData::Inverse(dense::inverse(a)?))
        } else {
            Ok(CoarseData::Sparse(a.to_owned()))
        }
    }

    /// Moves the solver to a device.
    pub(crate) fn lower<D: Device>(&self, device: &D) -> Result<CoarseSolver<D>, SetupError> {
        Ok(match self {
            CoarseData::Inverse(inverse) => {
                CoarseSolver::Inverse(device.upload_matrix(HostMatrix::from(inverse.clone()))?)
            }
            CoarseData::Sparse(a) => CoarseSolver::Sparse(sparse::Factors::new(a.view())?),
        })
    }
}

/// Host copies for a sparse factorisation; nothing for an inverse.
#[derive(Debug, Default)]
pub(crate) struct CoarseScratch {
    host: Vec<f64>,
}

impl<D: Device> CoarseSolver<D> {
    /// Makes the scratch memory.
    pub(crate) fn scratch(&self, rows: usize) -> CoarseScratch {
        match self {
            CoarseSolver::Inverse(_) => CoarseScratch::default(),
            CoarseSolver::Sparse(_) => CoarseScratch { host: vec![0.0; rows] },
        }
    }

    /// x ← A⁺ b
    pub(crate) fn solve(
        &self,
        device: &D,
        b: &D::Vector<f64>,
        x: &mut D::Vector<f64>,
        scratch: &mut CoarseScratch,
    ) -> Result<(), DeviceError> {
        match self {
            CoarseSolver::Inverse(inverse) => device.spmv(1.0, inverse, b, 0.0, x),
            CoarseSolver::Sparse(factors) => {
                device.download(b, &mut scratch.host)?;
                factors.solve_in_place(&mut scratch.host);
                device.write(&scratch.host, x)?;
            }
        }
        Ok(())
    }
}
