//! The coarsest level, solved directly.
//!
//! A small matrix is inverted once, and every solve is a product with the inverse: the same kernel as everything else, on
//! whatever device. A singular one gets its pseudo-inverse, which solves in the least-squares sense and leaves the kernel
//! alone. A matrix too large for that (coarsening has stalled) is factorised as a sparse matrix on the host. Both by
//! faer. Where even that would take too long (hardly any row was strongly connected to another, or coarsening stalled
//! early), the level is smoothed some more instead: factors of a matrix from a grid in space grow like n^(4/3). So is a level
//! that several processes share.

mod dense;
mod sparse;

use std::borrow::Cow;

use ziggurat_sparse::Kind;
use ziggurat_sparse::algebra::scale_symmetric;
use ziggurat_sparse::device::{Device, DeviceError, HostMatrix};

use crate::SetupError;
use crate::lower::level::{LevelOps, LevelParts, Scratch, Smoothing, level};
use crate::lower::scaling::{Scaling, scaled_matrix, scaled_smoother};
use crate::lower::vectors::{WorkMut, WorkRef};
use crate::lower::{Formats, LevelSource};
use crate::smoother::{ChebyshevBase, Smoother};

/// Rows up to which the inverse is formed: 8 MB of numbers at the most.
pub const MAX_DENSE_ROWS: usize = 1000;

/// Rows up to which a sparse matrix is factorised: some seconds, and some hundred megabytes.
pub const MAX_SPARSE_ROWS: usize = 10_000;

/// What takes the place of a direct solve beyond that, or where several processes share the level: symmetric and positive
/// wherever the matrix is.
///
/// ```
/// use ziggurat_amg::INSTEAD_OF_DIRECT;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
/// let data = INSTEAD_OF_DIRECT.data(a.view(), a.all_rows(), None)?; // needs no estimate of the spectrum
/// assert_eq!(data.diagonal.len(), 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const INSTEAD_OF_DIRECT: Smoother =
    Smoother::Chebyshev { degree: 6, base: ChebyshevBase::L1Jacobi, ratio: 20.0 };

/// A solver for the coarsest level. Vectors are in double precision.
pub(crate) enum CoarseSolver<D: Device> {
    /// x = A⁺ b with the (pseudo-)inverse on the device, of so many bytes.
    Inverse(D::Matrix<f64>, usize),
    /// Factors on the host, of a matrix of so many bytes.
    Sparse(sparse::Factors, usize),
    /// A level like the others, without a next one, and why it is that.
    Smoothed(Box<dyn LevelOps<D>>, &'static str),
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
    /// Inverts a small matrix, factorises a larger one, smooths a large one and one that others have a part of.
    ///
    /// Where the level is scaled, so are its vectors. What is dropped as singular does not depend on that: the inverse of the
    /// matrix as it is, is scaled.
    pub(crate) fn new(source: &LevelSource<'_, D>, scaling: Option<&Scaling>) -> Result<Self, SetupError> {
        let (device, a, shared) = (source.device, source.a.own, source.a.remote.is_some());
        if a.rows() <= MAX_DENSE_ROWS && !shared {
            let mut inverse = dense::inverse(a.view())?;
            if let Some(scaling) = scaling {
                scale_symmetric(&mut inverse, &scaling.factors)?;
            }
            let inverse = HostMatrix::from(inverse);
            let bytes = inverse.bytes();
            return Ok(CoarseSolver::Inverse(device.upload_matrix(inverse)?, bytes));
        }
        let in_own_variables = || match scaling {
            Some(scaling) => scaled_matrix(a, scaling).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&**a)),
        };
        if a.rows() <= MAX_SPARSE_ROWS && !shared {
            let a = in_own_variables()?;
            return Ok(CoarseSolver::Sparse(sparse::Factors::new(a.view())?, a.bytes()));
        }
        let smoother = if shared || source.smoother.is_some() {
            scaled_smoother(source.smoother_data(&INSTEAD_OF_DIRECT)?, scaling)
        } else {
            let a = in_own_variables()?;
            Cow::Owned(INSTEAD_OF_DIRECT.data(a.view(), a.all_rows(), None)?)
        };
        let parts = LevelParts {
            a: source.a,
            factors: Scaling::of_matrix(scaling),
            block: source.block,
            host: None,
            formats: Formats::default(),
            transfer: None,
            smoother: &smoother,
        };
        let why =
            if shared { "shared by processes: smoothed" } else { "too large to be factorised: smoothed" };
        Ok(CoarseSolver::Smoothed(level(device, &parts, Kind::F64, Kind::F64)?, why))
    }

    /// Its format, its bytes (of factors, which do not tell theirs, those of the matrix), and why it is that.
    pub(crate) fn stored(&self) -> (&'static str, usize, &'static str) {
        match self {
            CoarseSolver::Inverse(_, bytes) => ("inverse", *bytes, "small enough to be inverted"),
            CoarseSolver::Sparse(_, bytes) => ("factors", *bytes, "small enough to be factorised"),
            CoarseSolver::Smoothed(level, why) => {
                let format = &level.stored().format;
                (format.format(), format.bytes(), why)
            }
        }
    }

    /// Makes the scratch memory.
    pub(crate) fn scratch(&self, device: &D, rows: usize) -> Result<CoarseScratch<D>, DeviceError> {
        Ok(match self {
            CoarseSolver::Inverse(..) => CoarseScratch::None,
            CoarseSolver::Sparse(..) => CoarseScratch::Host(vec![0.0; rows]),
            CoarseSolver::Smoothed(level, _) => CoarseScratch::Level(level.scratch(device)?),
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
            (CoarseSolver::Smoothed(level, _), CoarseScratch::Level(scratch)) => {
                let once = Smoothing { sweeps: 1, from_zero: true, post: false };
                level.smooth(device, WorkRef::F64(b), WorkMut::F64(x), scratch, once);
            }
            _ => {} // `scratch` makes the one that belongs to the solver
        }
        Ok(())
    }
}
