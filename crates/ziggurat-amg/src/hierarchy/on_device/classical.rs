//! One step of classical coarsening on a device.

use ziggurat_sparse::device::{ClassicalStrength, DeviceError, SetupDevice, Sparse};

use super::{Interpolated, Kernel};
use crate::SetupError;
use crate::coarsen::Paths;
use crate::halo::Whole;
use crate::hierarchy::{Classical, CoarseningStop, Stages};
use crate::interpolate::{Interpolation, LongRange, Symmetry};
use crate::strength::{Filter, Measure};

impl Classical {
    /// The strength measure, if devices have it and the interpolation.
    pub(super) fn on_devices(&self) -> Result<ClassicalStrength, &'static str> {
        if self.check().is_err() {
            return Err("a parameter of classical coarsening is out of range");
        }
        let threshold = match (self.strength.measure, self.strength.filter) {
            (Measure::Classical, Filter::Threshold(threshold)) => threshold,
            _ => return Err("devices have only the classical strength measure with a threshold"),
        };
        if self.interpolation != Interpolation::ExtendedI {
            return Err("of the classical interpolations, devices have only `extended-i`");
        }
        if self.aggressive_levels > 0 && self.long_range != LongRange::TwoStage {
            return Err("devices have no `multipass` interpolation (`classical.long_range`)");
        }
        Ok(ClassicalStrength { threshold, max_row_sum: self.strength.max_row_sum })
    }

    /// Interpolation to a level from the next one, or why there is none.
    pub(super) fn interpolation_on(
        &self,
        device: &dyn SetupDevice,
        a: &Sparse,
        symmetry: Symmetry,
        stages: &mut Stages,
    ) -> Result<Result<Interpolated, CoarseningStop>, SetupError> {
        let (rows, level) = (a.rows(), stages.level());
        let (halo, truncation) = (Whole::new(rows), self.truncation);
        let is_symmetric = symmetry == Symmetry::Symmetric;
        let strength = self.on_devices().map_err(|reason| SetupError::NotOnDevice { reason })?;
        let strong = stages.run("strength", &halo, || device.dependences(a, &strength))?;
        let first = stages.run("coarsening", &halo, || device.coarse_rows(&strong, None))?;
        // The second pass, if there is one, and a matrix that selects the rows of the first.
        let second = match self.coarsens_again(level, first.cols() as u64, rows as u64) {
            false => None,
            true => Some(stages.run("coarsening", &halo, || {
                let least = match self.paths {
                    Paths::One => 1,
                    Paths::Two => 2,
                };
                let of_first = device.transpose(&first)?;
                let kept = device.coarse_rows(&device.paths(&strong, &first, least)?, Some(&of_first))?;
                Ok::<_, DeviceError>((device.product(&first, &kept)?, of_first))
            })?),
        };
        let coarse = second.as_ref().map_or(&first, |(second, _)| second).cols();
        if let Some(stop) = CoarseningStop::after(rows as u64, coarse as u64) {
            return Ok(Err(stop));
        }
        let p = stages.run("interpolation", &halo, || {
            let from = |coarse, to| device.extended_i(a, &strong, coarse, to, is_symmetric, truncation);
            let p1 = from(&first, None)?;
            let Some((second, of_first)) = &second else { return Ok(p1) };
            let p2 = device.product(of_first, &from(second, Some(&first))?)?;
            device.two_stage(&p1, &p2, &first, truncation)
        })?;
        Ok(Ok(Interpolated { p, kernel: Kernel::none(), radius: None }))
    }
}
