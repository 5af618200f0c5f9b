//! The coarsest level, solved directly.
//!
//! A small matrix is inverted once, and every solve is a product with the inverse: the same kernel as everything else, on
//! whatever device. A singular one gets its pseudo-inverse, which solves in the least-squares sense and leaves the kernel
//! alone. A matrix too large for that (coarsening has stalled) is factorised as a sparse matrix on the host. Both by
//! faer. Where even that would take too long (hardly any row was strongly connected to another, or coarsening stalled
//! early), the level is smoothed some more instead: factors of a matrix from a grid in space grow like n^(4/3).

mod dense;
mod sparse;

use std::sync::Arc;

use ziggurat_sparse::algebra::scale_symmetric;
use ziggurat_sparse::device::{Device, DeviceError, HostMatrix};
use ziggurat_sparse::{Csr, Kind};

use crate::SetupError;
use crate::lower::Formats;
use crate::lower::format::Factors;
use crate::lower::level::{LevelOps, LevelParts, Scratch, Smoothing, level};
use crate::lower::scaling::{Scaling, scaled_matrix};
use crate::lower::vectors::{WorkMut, WorkRef};
use crate::smoother::{ChebyshevBase, Smoother};

/// Rows up to which the inverse is formed: 8 MB of numbers at the most.
pub const MAX_DENSE_ROWS: usize = 1000;

/// Rows up to which a sparse matrix is factorised: some seconds, and some hundred megabytes.
pub const MAX_SPARSE_ROWS: usize = 10_000;

/// What takes the place of a direct solve beyond that: symmetric and positive wherever the matrix is.
const INSTEAD: Smoother = Smoother::Chebyshev { degree: 6, base: ChebyshevBase::L1Jacobi, ratio: 20.0 };

/// A solver for the coarsest level. Vectors are in double precision.
pub(crate) enum CoarseSolver<D: Device> {
    /// x = A⁺ b with the (pseudo-)inverse on the device, of so many bytes.
    Inverse(D::Matrix<f64>, usize),
    /// Factors on the host, of a matrix of so many bytes.
    Sparse(sparse::Factors, usize),
    /// A level like the others, without a next one.
    Smoothed(Box<dyn LevelOps<D>>),
}

/// What a solve scribbles on.
pub(crate) enum CoarseScratch<D: Device> {
    /// An inverse needs nothing.
    None,
    /// A copy on the host, for sparse factors.
    Host(Vec<f64>),
    /// A level's vectors.
    Level(Scratch<D>),
}

impl<D: Device> CoarseSolver<D> {
    /// Inverts a small matrix, factorises a larger one, smooths a large one; `block` is the size of its blocks.
    ///
    /// Where the level is scaled, so are its vectors. What is dropped as singular does not depend on that: the inverse of the
    /// matrix as it is, is scaled.
    pub(crate) fn new(
        device: &D,
        a: &Arc<Csr<f64>>,
        block: usize,
        scaling: Option<&Scaling>,
    ) -> Result<Self, SetupError> {
        if a.rows() <= MAX_DENSE_ROWS {
            let mut inverse = dense::inverse(a.view())?;
            if let Some(scaling) = scaling {
                scale_symmetric(&mut inverse, &scaling.factors)?;
            }
            let inverse = HostMatrix::from(inverse);
            let bytes = inverse.bytes();
            return Ok(CoarseSolver::Inverse(device.upload_matrix(inverse)?, bytes));
        }
        let a = match scaling {
            Some(scaling) => &Arc::new(scaled_matrix(a, scaling)?),
            None => a,
        };
        Ok(if a.rows() <= MAX_SPARSE_ROWS {
            CoarseSolver::Sparse(sparse::Factors::new(a.view())?, a.bytes())
        } else {
            let smoother = &INSTEAD.data(a.view(), None)?;
            let formats = Formats::default();
            let factors = Factors::ONE;
            let parts = LevelParts { a, factors, block, host: None, formats, transfer: None, smoother };
            CoarseSolver::Smoothed(level(device, &parts, Kind::F64, Kind::F64)?)
        })
    }

    /// Its format, its bytes (of factors, which do not tell theirs, those of the matrix), and why it is that.
    pub(crate) fn stored(&self) -> (&'static str, usize, &'static str) {
        match self {
            CoarseSolver::Inverse(_, bytes) => ("inverse", *bytes, "small enough to be inverted"),
            CoarseSolver::Sparse(_, bytes) => ("factors", *bytes, "small enough to be factorised"),
            CoarseSolver::Smoothed(level) => {
                let format = &level.stored().format;
                (format.format(), format.bytes(), "too large to be factorised: smoothed")
            }
        }
    }

    /// Makes the scratch memory.
    pub(crate) fn scratch(&self, device: &D, rows: usize) -> Result<CoarseScratch<D>, DeviceError> {
        Ok(match self {
            CoarseSolver::Inverse(..) => CoarseScratch::None,
            CoarseSolver::Sparse(..) => CoarseScratch::Host(vec![0.0; rows]),
            CoarseSolver::Smoothed(level) => CoarseScratch::Level(level.scratch(device)?),
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
        match (self, scratch) {
            (CoarseSolver::Inverse(inverse, _), _) => device.spmv(1.0, inverse, b, 0.0, x),
            (CoarseSolver::Sparse(factors, _), CoarseScratch::Host(host)) => {
                device.download(b, host)?;
                factors.solve_in_place(host);
                device.write(host, x)?;
            }
            (CoarseSolver::Smoothed(level), CoarseScratch::Level(scratch)) => {
                let once = Smoothing { sweeps: 1, from_zero: true, post: false };
                level.smooth(device, WorkRef::F64(b), WorkMut::F64(x), scratch, once);
            }
            _ => {} // `scratch` makes the one that belongs to the solver
        }
        Ok(())
    }
}
