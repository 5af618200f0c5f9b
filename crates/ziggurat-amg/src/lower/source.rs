//! One level of a hierarchy as lowering reads it.

use std::borrow::Cow;

use ziggurat_sparse::MatrixError;
use ziggurat_sparse::device::Device;

use super::exact::ExactMatrix;
use super::part::{OwnMatrix, Part};
use crate::SetupError;
use crate::halo::Whole;
use crate::smoother::{Smoother, SmootherData};

/// One level of a hierarchy, as lowering reads it. Every process has the same number of levels;
/// some may be empty.
#[derive(Clone, Copy, Debug)]
pub struct LevelSource<'a> {
    /// Where this level's vectors live. The level's operations run there, the transfer to the next
    /// level included.
    pub device: &'a dyn Device,
    /// The level's matrix.
    pub a: Part<'a>,
    /// The size of its blocks; 1 for a scalar matrix.
    pub block: usize,
    /// The same matrix as the outer iteration stores it, if there is one.
    pub host: Option<&'a ExactMatrix>,
    /// ρ(D⁻¹A), if it is already known.
    pub radius: Option<f64>,
    /// The own rows that the next level keeps, if it keeps rows.
    pub points: Option<&'a [u32]>,
    /// The smoother's data, if it has already been computed. A level with remote columns needs it,
    /// because smoothers read whole rows. On the coarsest level, this is the data of
    /// [`COARSE_FALLBACK_SMOOTHER`](crate::COARSE_FALLBACK_SMOOTHER).
    pub smoother: Option<&'a SmootherData>,
    /// The factors of an approximate inverse, if it is the smoother of a level with remote columns.
    pub inverse: Option<InverseSource<'a>>,
    /// The number of the first own row among the rows of all processes.
    pub first_row: u64,
    /// Restriction and prolongation to the next level; `None` on the coarsest. Columns of the
    /// prolongation belong to vectors of the next level's device, all other columns to vectors of
    /// this level's device.
    pub transfer: Option<(Part<'a>, Part<'a>)>,
}

/// An approximate inverse whose factors are distributed: x ← x + ω F₂ F₁ (b − A x).
#[derive(Clone, Copy, Debug)]
pub struct InverseSource<'a> {
    /// F₁
    pub first: Part<'a>,
    /// F₂, if there are two factors.
    pub second: Option<Part<'a>>,
    /// ω, if it is given.
    pub omega: Option<f64>,
}

impl<'a> LevelSource<'a> {
    /// Checks that the parts fit together.
    pub(super) fn check(&self) -> Result<(), SetupError> {
        let transfer = self.transfer.iter().flat_map(|(r, p)| [r, p]);
        let inverse = self.inverse.iter().flat_map(|inverse| [Some(&inverse.first), inverse.second.as_ref()]);
        std::iter::once(&self.a).chain(transfer).chain(inverse.flatten()).try_for_each(Part::check)?;
        let expected = self.a.rows();
        let found = self.smoother.map(|data| match data {
            SmootherData::Diagonal { diagonal, .. } | SmootherData::FineCoarse(diagonal) => diagonal.len(),
            SmootherData::Inverse(inverse) => inverse.factor.rows(),
            SmootherData::Factors(factors) => factors.pivots.len(),
        });
        let least = self.points.iter().copied().flatten().max().map_or(0, |&point| point as usize + 1);
        let mismatch = match found {
            Some(found) if found != expected => ("rows of a smoother's data", found),
            _ if least > expected => ("rows, of which the next level keeps some", least),
            _ => return Ok(()),
        };
        Err(MatrixError::Mismatch { what: mismatch.0, expected, found: mismatch.1 }.into())
    }

    /// The smoother's data, given or computed from the matrix.
    pub(super) fn smoother_data(&self, smoother: &Smoother) -> Result<Cow<'a, SmootherData>, SetupError> {
        match self.smoother {
            Some(data) => Ok(Cow::Borrowed(data)),
            None if self.a.remote.is_some() => {
                let what = "rows of the smoother's data, which a level with remote columns needs";
                Err(MatrixError::Mismatch { what, expected: self.a.rows(), found: 0 }.into())
            }
            None => {
                if let OwnMatrix::Grid(a) = self.a.own
                    && let Some(data) = smoother.data_on_grid(a)?
                {
                    return Ok(Cow::Owned(data));
                }
                let a = self.a.own.csr();
                Ok(Cow::Owned(smoother.data(a.view(), &Whole::new(a.rows()), self.radius)?))
            }
        }
    }
}
