//! A narrow cycle that is compared with the same cycle in single precision.
//!
//! The cycle M and the one in single precision, M₃₂, are applied to the current residual r of the
//! iteration. What counts is the energy that the best step along the correction z removes, and the
//! energy of the residual in the norm of the cycle:
//!
//! ```text
//! q(z) = (r, z)² / (z, A z)        rounding slows M if q(M r) < 0.95 q(M₃₂ r)
//! p(z) = (r, z)                    or if p(M r) and p(M₃₂ r) differ by more than 5 %
//! ```
//!
//! On slow solves of real matrices that take the same iterations in 16 and in 32 bits, both agree
//! to 0.1 %. Where 16 bits take more iterations, they differ by 10 % and more at some residual.
//!
//! A narrow precision that someone has chosen is compared for the report only, for which 1 % is
//! enough. After a change to a stronger smoother, M and M₃₂ are cycles with it: rounding acts in
//! its factors as well. On slow solves of real matrices, both agree to 0.02 % where 16 bits take
//! the same iterations, and differ by 1.1 % (`bcsstk28`) to 99 % at some residual where they take
//! more.
//!
//! Cost: one cycle and two products, and one conversion of the hierarchy for all comparisons of a
//! solve, with the setup of the stronger smoother if that is in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ziggurat_amg::Multigrid;
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, DeviceExt, Vector};
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use super::iteration::on_all_processes;
use super::{Iteration, Raise, SolveError, Solver, Stronger};

/// The relative difference up to which a narrow cycle is as good as one in single precision.
const TOLERATED: f64 = 0.05;

/// The same for a report: nothing is changed if it exceeds that by little.
const REPORTED: f64 = 0.01;

/// A preconditioner that, where it is asked to, compares the narrow cycle with the same cycle in
/// single precision.
pub(super) struct Compared<'a> {
    iteration: &'a Iteration,
    raise: &'a Raise<'a>,
    /// The preconditioner: the narrow cycle, with the first smoother or a stronger one.
    applied: &'a Multigrid,
    /// The same in single precision.
    against: Stronger,
    /// Whether a better cycle is kept for later solves.
    keeps: bool,
    /// Whether the next application compares.
    is_due: AtomicBool,
    /// The cycle in single precision, once it was needed.
    wide: Mutex<Option<Multigrid>>,
    verdict: Mutex<Option<Result<Verdict, SolveError>>>,
}

/// Whether rounding is what slows convergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    RoundingSlows,
    RoundingDoesNot,
}

impl<'a> Compared<'a> {
    /// `keeps` states whether later solves use the cycle in single precision if it is better.
    pub(super) fn new(
        iteration: &'a Iteration,
        raise: &'a Raise<'a>,
        applied: &'a Multigrid,
        against: Stronger,
        keeps: bool,
    ) -> Self {
        let is_due = AtomicBool::new(false);
        Compared {
            iteration,
            raise,
            applied,
            against,
            keeps,
            is_due,
            wide: Mutex::new(None),
            verdict: Mutex::new(None),
        }
    }

    /// Lets the next application compare.
    pub(super) fn compare_next(&self) {
        self.is_due.store(true, Ordering::Relaxed);
    }

    /// Compares z = M r with the cycle in single precision.
    fn compare(&self, r: &Vector, z: &Vector) -> Result<Verdict, SolveError> {
        let Iteration { matrix, single, .. } = self.iteration;
        let device = &*self.iteration.device;
        let mut kept = self.wide.lock().unwrap_or_else(PoisonError::into_inner);
        let wide = match kept.take() {
            Some(wide) => wide,
            None => match on_all_processes(device, (self.raise)(self.against, Some(Kind::F32)))? {
                Some(wide) => wide,
                None => return Ok(Verdict::RoundingDoesNot),
            },
        };
        let vector = || device.zeros(Kind::F64, z.len());
        let work = || wide.in_level_order().workspace(device, Kind::F64);
        let memory = vector().and_then(|other| Ok((other, vector()?, work()?)));
        let (mut other, mut product, mut work) = on_all_processes(device, memory)?;
        wide.in_level_order().apply(device, r, &mut other, &mut work);
        let mut work = on_all_processes(device, matrix.workspace(device, Kind::F64))?;
        let mut energies = |z: &Vector| {
            matrix.apply(device, z, &mut product, &mut work);
            let energy = device.dot(r, z);
            (energy, energy.powi(2) / device.dot(z, &product))
        };
        let ((narrow, narrow_decrease), (wide_energy, wide_decrease)) = (energies(z), energies(&other));
        // Also false if one is not a number: the method fails in that case, and says so.
        let tolerated = if self.keeps { TOLERATED } else { REPORTED };
        let is_worse = narrow_decrease < (1.0 - tolerated) * wide_decrease
            || (narrow - wide_energy).abs() > tolerated * wide_energy.abs();
        device.finish()?;
        if is_worse && self.keeps {
            // If another thread was faster, its cycle is identical.
            let _ = single.set(wide);
            return Ok(Verdict::RoundingSlows);
        }
        *kept = Some(wide);
        Ok(if is_worse { Verdict::RoundingSlows } else { Verdict::RoundingDoesNot })
    }

    /// The last verdict, if there is one.
    pub(super) fn verdict(&self) -> Option<Result<Verdict, SolveError>> {
        self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Solver {
    /// Whether a slow solve has found that rounding to the precision that was asked for slows it:
    /// the same cycle in single precision reduces the error by more. The solve keeps the precision.
    ///
    /// ```
    /// use ziggurat::config::Precision;
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let solver = ziggurat::Solver::builder().precision(Precision::F16).build(&a)?;
    /// solver.solve(&vec![1.0; a.rows()])?;
    /// assert!(!solver.rounding_slows()); // it was not slow
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rounding_slows(&self) -> bool {
        self.iteration.rounding_slows()
    }
}

impl LinearOperator for Compared<'_> {
    fn shape(&self) -> (usize, usize) {
        self.iteration.multigrid.shape()
    }

    fn workspace(&self, device: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        self.applied.in_level_order().workspace(device, number)
    }

    fn apply(&self, device: &dyn Device, r: &Vector, z: &mut Vector, work: &mut Workspace) {
        self.applied.in_level_order().apply(device, r, z, work);
        if self.is_due.swap(false, Ordering::Relaxed) {
            let verdict = self.compare(r, z);
            *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
        }
    }
}
