//! The coarsest level, solved directly.
//!
//! - A small matrix is inverted once, and every solve is a product with the inverse, by the same
//!   kernel as all other products, on any device. A singular matrix gets a generalised inverse,
//!   which solves consistent systems.
//! - A larger matrix is factorised as a sparse matrix on the host, by faer (feature `direct`).
//! - A level that is too large to factorise, or distributed over processes, is smoothed instead.

mod dense;
mod equilibrate;
#[cfg(not(feature = "direct"))]
mod no_factors;
#[cfg(feature = "direct")]
mod sparse;

use ziggurat_sparse::device::{Device, DeviceError, DeviceExt, Matrix, Vector};

use super::level::{CycleLevel, Scratch};
use super::operation::Sweeps;
use super::stored::{FormatCandidates, LevelFormat};

pub(crate) use dense::inverse;
#[cfg(not(feature = "direct"))]
pub(crate) use no_factors::Factors;
#[cfg(not(feature = "direct"))]
pub use no_factors::factor_entries;
#[cfg(feature = "direct")]
pub(crate) use sparse::Factors;
#[cfg(feature = "direct")]
pub use sparse::factor_entries;

/// A solver for the coarsest level. Vectors are in double precision.
pub(crate) enum CoarseSolver {
    /// x = A⁻¹ b with the (generalised) inverse on the device, and the bytes of the inverse.
    Inverse(Matrix, usize),
    /// Factors on the host, and the bytes of the matrix.
    Sparse(Factors, usize),
    /// A level like the others but without a next one, and why it is not factorised.
    Smoothed(Box<CycleLevel>, &'static str),
    /// There is no coarsest level: the last one is smoothed like the others.
    None,
}

/// The scratch memory of a coarse solve.
pub(crate) enum CoarseScratch {
    /// For an inverse, which needs none.
    None,
    /// A copy on the host, for sparse factors.
    Host(Vec<f64>),
    /// The scratch vectors of a smoothed level.
    Level(Scratch),
}

impl CoarseSolver {
    /// The format and bytes. For factors these are the bytes of the matrix, because the
    /// size of the factors is not known.
    pub(crate) fn stored(&self) -> FormatCandidates {
        match self {
            CoarseSolver::None => FormatCandidates::default(),
            CoarseSolver::Inverse(_, bytes) => {
                FormatCandidates::only(LevelFormat::Inverse, *bytes, "small enough to be inverted")
            }
            CoarseSolver::Sparse(_, bytes) => {
                FormatCandidates::only(LevelFormat::Factors, *bytes, "small enough to be factorised")
            }
            CoarseSolver::Smoothed(level, why) => {
                let format = &level.stored.format;
                FormatCandidates::only(format.format(), format.bytes(), why)
            }
        }
    }

    /// Allocates the scratch memory.
    pub(crate) fn scratch(&self, device: &dyn Device, rows: usize) -> Result<CoarseScratch, DeviceError> {
        Ok(match self {
            CoarseSolver::Inverse(..) | CoarseSolver::None => CoarseScratch::None,
            CoarseSolver::Sparse(..) => CoarseScratch::Host(vec![0.0; rows]),
            CoarseSolver::Smoothed(level, _) => CoarseScratch::Level(level.scratch(device)?),
        })
    }

    /// x ← A⁻¹ b, or an approximation of it where the level is smoothed.
    pub(crate) fn solve(
        &self,
        device: &dyn Device,
        b: &Vector,
        x: &mut Vector,
        scratch: &mut CoarseScratch,
    ) -> Result<(), DeviceError> {
        match (self, scratch) {
            (CoarseSolver::Inverse(inverse, _), _) => device.spmv(1.0, inverse, b, 0.0, x),
            (CoarseSolver::Sparse(factors, _), CoarseScratch::Host(host)) => {
                device.copy_to(b, host)?;
                factors.solve_in_place(host);
                device.overwrite(host, x)?;
            }
            (CoarseSolver::Smoothed(level, _), CoarseScratch::Level(scratch)) => {
                let once = Sweeps { count: 1, from_zero: true, post: false };
                level.smooth(device, b, x, scratch, once);
            }
            _ => {} // unreachable: `scratch` allocates what this solver needs
        }
        Ok(())
    }
}
