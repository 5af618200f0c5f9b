//! A narrow cycle that is compared with the same cycle in single precision.
//!
//! The cycle M and the one in single precision, M₃₂, are applied to the current residual r of the
//! iteration. What counts is the energy that the best step along the correction z removes:
//!
//! ```text
//! q(z) = (r, z)² / (z, A z)        rounding slows M if q(M r) < 0.8 q(M₃₂ r)
//! ```
//!
//! Cost: one conversion of the hierarchy, one cycle and two products.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError};
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use super::iteration::on_all_processes;
use super::{Iteration, Raise, SolveError, Stronger};

/// The fraction of the energy decrease in single precision from which on a narrow cycle is as good.
const AS_GOOD: f64 = 0.8;

/// The narrow cycle, which compares itself with the same cycle in single precision once it is asked
/// to.
pub(super) struct Compared<'a, D: Device, W> {
    iteration: &'a Iteration<D>,
    raise: &'a W,
    /// Whether the next application compares.
    is_due: AtomicBool,
    verdict: Mutex<Option<Result<Verdict, SolveError>>>,
}

/// Whether rounding is what slows convergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    RoundingSlows,
    RoundingDoesNot,
}

impl<'a, D: Device, W: Raise<D>> Compared<'a, D, W> {
    pub(super) fn new(iteration: &'a Iteration<D>, raise: &'a W) -> Self {
        Compared { iteration, raise, is_due: AtomicBool::new(false), verdict: Mutex::new(None) }
    }

    /// Lets the next application compare.
    pub(super) fn compare_next(&self) {
        self.is_due.store(true, Ordering::Relaxed);
    }

    /// Compares z = M r with the cycle in single precision, which is kept if it is better.
    fn compare(&self, r: &D::Vector<f64>, z: &D::Vector<f64>) -> Result<Verdict, SolveError> {
        let Iteration { device, matrix, single, .. } = self.iteration;
        let wide = on_all_processes(device, (self.raise)(Stronger::Levels(Kind::F32)))?;
        let Some(wide) = wide else { return Ok(Verdict::RoundingDoesNot) };
        let vector = || device.zeros(device.len(z));
        let memory = vector()
            .and_then(|other| Ok((other, vector()?, LinearOperator::<D, f64>::workspace(&wide, device)?)));
        let (mut other, mut product, mut work) = on_all_processes(device, memory)?;
        wide.apply(device, r, &mut other, &mut work);
        let mut work = on_all_processes(device, matrix.workspace(device))?;
        let mut decrease = |z: &D::Vector<f64>| {
            matrix.apply(device, z, &mut product, &mut work);
            device.dot(r, z).powi(2) / device.dot(z, &product)
        };
        // Also false if a decrease is not a number: the method fails in that case, and says so.
        let is_worse = decrease(z) < AS_GOOD * decrease(&other);
        device.finish()?;
        if is_worse {
            // If another thread was faster, its cycle is identical.
            let _ = single.set(wide);
            return Ok(Verdict::RoundingSlows);
        }
        Ok(Verdict::RoundingDoesNot)
    }

    /// The verdict, if there is one.
    pub(super) fn verdict(&self) -> Option<Result<Verdict, SolveError>> {
        self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<D: Device, W: Raise<D>> LinearOperator<D, f64> for Compared<'_, D, W> {
    fn shape(&self) -> (usize, usize) {
        LinearOperator::<D, f64>::shape(&self.iteration.multigrid)
    }

    fn workspace(&self, device: &D) -> Result<Workspace, DeviceError> {
        LinearOperator::<D, f64>::workspace(&self.iteration.multigrid, device)
    }

    fn apply(&self, device: &D, r: &D::Vector<f64>, z: &mut D::Vector<f64>, work: &mut Workspace) {
        self.iteration.multigrid.apply(device, r, z, work);
        if self.is_due.swap(false, Ordering::Relaxed) {
            *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.compare(r, z));
        }
    }
}
