//! The steps of pointwise smoothers for a matrix on a device, computed there.
//!
//! Each smoother has the formula of its own file; the device computes it row by row
//! ([`SetupDevice::steps`]).

use ziggurat_sparse::device::{RowStep, SetupDevice, Sparse, Vector};

use super::on_grid::one_step;
use super::spai0::PROVED;
use super::{ChebyshevBase, Relaxation, Smoother, chebyshev, jacobi};
use crate::SetupError;
use crate::spectral_radius::spectral_radius_on_device;

/// The steps of a smoother on a device.
pub(crate) struct DeviceSteps {
    /// One for every row, to be multiplied by `factor`.
    pub(crate) steps: Vector,
    pub(crate) factor: f64,
    pub(crate) relaxation: Relaxation,
}

impl Smoother {
    /// Whether the data of the smoother are steps that a device computes.
    pub(crate) fn has_steps_on_device(&self) -> bool {
        use Smoother::{Chebyshev, Jacobi, L1Jacobi, Spai0};
        matches!(self, Jacobi { .. } | L1Jacobi | Spai0 | Chebyshev { .. })
    }

    /// The steps of the smoother for a matrix; `None` if a device does not compute them, or a row
    /// has none. `radius` is ρ(D⁻¹A), if it is known.
    pub(crate) fn steps_on_device(
        &self,
        device: &dyn SetupDevice,
        a: &Sparse,
        radius: Option<f64>,
    ) -> Result<Option<DeviceSteps>, SetupError> {
        if matches!(self, Smoother::Jacobi { omega: None })
            && radius.is_none()
            && let Some(steps) = device.steps(a, RowStep::ProvedSpai0(PROVED))?
        {
            return Ok(Some(DeviceSteps { steps, factor: 1.0, relaxation: one_step() }));
        }
        let radius = match radius {
            None if self.needs_radius() => Some(spectral_radius_on_device(device, a)?),
            radius => radius,
        };
        // As on the host: the radius of an empty matrix is zero.
        let radius = radius.filter(|&radius| radius > 0.0).unwrap_or(1.0);
        let (step, factor, relaxation) = match *self {
            Smoother::Jacobi { omega } => {
                (RowStep::Jacobi, omega.unwrap_or(jacobi::DAMPING / radius), one_step())
            }
            Smoother::L1Jacobi => (RowStep::L1, 1.0, one_step()),
            Smoother::Spai0 => (RowStep::Spai0, 1.0, one_step()),
            Smoother::Chebyshev { degree, base, ratio } => {
                let (step, upper) = match base {
                    ChebyshevBase::Jacobi => (RowStep::Jacobi, chebyshev::SAFETY * radius),
                    ChebyshevBase::L1Jacobi => (RowStep::L1, 1.0),
                };
                let steps = chebyshev::coefficients(degree, upper / ratio, upper);
                (step, 1.0, Relaxation::Recurrence(steps))
            }
            _ => return Ok(None),
        };
        Ok(device.steps(a, step)?.map(|steps| DeviceSteps { steps, factor, relaxation }))
    }
}
