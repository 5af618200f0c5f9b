//! Monitors an automatically chosen precision, and raises it if rounding slows the convergence.
//!
//! Every 16 iterations the average convergence factor is checked. If eight digits would take more
//! than 40 iterations, the cycle is much worse than usual for multigrid. Rounding to 16 bits is one
//! possible cause, a hard problem is another. So the next application of the cycle M to the current
//! residual r is compared with the same cycle M₃₂ in single precision, by the energy that the best
//! step along the correction z removes:
//!
//! ```text
//! q(z) = (r, z)² / (z, A z)        leave 16 bits if q(M r) < 0.8 q(M₃₂ r)
//! ```
//!
//! The comparison takes one conversion of the hierarchy and two products, once per solver. It does
//! not disturb the iteration, which goes on with its search directions if rounding is not the
//! cause. Otherwise it continues from the current iterate in single precision. If an iteration
//! fails for any reason, it continues in double precision. Later solves start with the precision
//! that the last one ended with. `auto` therefore converges whenever `f64` does, and a fast solve
//! costs nothing.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ziggurat_amg::Multigrid;
use ziggurat_krylov::{KrylovReport, Observer, Progress, StopReason};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError};
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use super::iteration::on_all_processes;
use super::{Iteration, SolveError, SolveOptions};
use crate::config::Precision;

/// Iterations between two checks.
const LOOK_EVERY: usize = 16;

/// Average residual factor per iteration above which a solve is slow: 10⁻⁸ in 40 iterations.
const SLOW: f64 = 0.631;

/// The fraction of the energy decrease in single precision from which on a narrow cycle is as good.
const AS_GOOD: f64 = 0.8;

/// A change to a higher precision during a solve, and its cause.
///
/// ```
/// use ziggurat::{Solver, SolverConfig};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
/// let solution = Solver::new(&a, SolverConfig::default())?.solve(&vec![1.0; a.rows()])?;
/// assert_eq!(solution.promotion, None); // nothing was wrong
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Promotion {
    /// The precision before.
    pub from: Precision,
    /// The precision after: `f32` if rounding was slow, `f64` after a failure (`f32` on a device
    /// without `f64`).
    pub to: Kind,
    /// Number of iterations before the change.
    pub after: usize,
    /// The cause.
    pub why: Fault,
}

/// Why the precision was raised.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// Convergence was slow, and the same cycle in single precision reduces the error by more: the
    /// average factor of the residual per iteration.
    RoundingSlows(f64),
    /// The iteration stopped without converging.
    Failed(StopReason),
}

impl fmt::Display for Promotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.after == 1 { "" } else { "s" };
        write!(
            f,
            "levels changed from {} to {} after {} iteration{plural}: ",
            self.from, self.to, self.after
        )?;
        match self.why {
            Fault::RoundingSlows(rate) => {
                write!(f, "rounding slows convergence (residual factor {rate:.2} per iteration)")
            }
            Fault::Failed(reason) => write!(f, "the iteration stopped ({})", reason.name()),
        }
    }
}

/// At every check: the average residual factor per iteration, if it is too large.
fn slow(progress: &Progress) -> Option<f64> {
    if !progress.iteration.is_multiple_of(LOOK_EVERY) {
        return None;
    }
    let rate = progress.relative_residual.powf((progress.iteration as f64).recip());
    (rate > SLOW).then_some(rate) // the Krylov method detects NaN itself
}

/// The narrow cycle, which compares itself with the same cycle in single precision once it is asked
/// to.
struct Compared<'a, D: Device, W> {
    iteration: &'a Iteration<D>,
    /// Lowers the hierarchy in a given precision.
    widen: &'a W,
    /// Whether the next application compares.
    is_due: AtomicBool,
    verdict: Mutex<Option<Result<Verdict, SolveError>>>,
}

/// Whether rounding is what slows convergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    RoundingSlows,
    RoundingDoesNot,
}

impl<D: Device, W: Fn(Kind) -> Result<Multigrid<D>, SolveError> + Sync> Compared<'_, D, W> {
    /// Compares z = M r with the cycle in single precision, which is kept if it is better.
    fn compare(&self, r: &D::Vector<f64>, z: &D::Vector<f64>) -> Result<Verdict, SolveError> {
        let Iteration { device, matrix, single, .. } = self.iteration;
        let wide = (self.widen)(Kind::F32)?;
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
    fn verdict(&self) -> Option<Result<Verdict, SolveError>> {
        self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<D: Device, W: Fn(Kind) -> Result<Multigrid<D>, SolveError> + Sync> LinearOperator<D, f64>
    for Compared<'_, D, W>
{
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

/// The precision of the levels in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    /// As configured.
    Configured,
    /// Raised to single precision.
    Single,
    /// Raised to double precision.
    Double,
}

impl<D: Device> Iteration<D> {
    /// Iterates with the levels as they are, and continues in a higher precision if needed.
    pub(super) fn solve_watched(
        &self,
        b: &D::Vector<f64>,
        x: &mut D::Vector<f64>,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
        widen: impl Fn(Kind) -> Result<Multigrid<D>, SolveError> + Sync,
    ) -> Result<(KrylovReport, Option<Promotion>), SolveError> {
        let device = &self.device;
        let mut rest = options.clone();
        let mut rung = match self.raised_to() {
            Some(Kind::F64) => Rung::Double,
            Some(_) => Rung::Single,
            None => Rung::Configured,
        };
        let mut done: Option<KrylovReport> = None;
        let mut promotion: Option<Promotion> = None;
        loop {
            let before = done.as_ref().map_or(0, |done| done.iterations);
            let mut from_there = observer.as_mut().map(|observer| {
                move |progress: &Progress| {
                    let mut progress = *progress;
                    progress.iteration += before;
                    observer(&progress)
                }
            });
            let observing = from_there.as_mut().map(|observer| observer as &mut Observer<'_>);
            let (report, fault) = self.run_watched(rung, b, x, &rest, observing, &widen)?;
            let stopping = &mut rest.stopping;
            stopping.max_iterations -= report.iterations.min(stopping.max_iterations);
            stopping.max_seconds = stopping.max_seconds.map(|seconds| (seconds - report.seconds).max(0.0));
            let report = match done.take() {
                Some(done) => joined(done, report),
                None => report,
            };
            let next = match fault {
                Some(Fault::RoundingSlows(_)) => Rung::Single,
                Some(_) if device.computes_in(Kind::F64) => Rung::Double,
                Some(_) => Rung::Single,
                None => rung,
            };
            let Some(why) = fault.filter(|_| next != rung) else { return Ok((report, promotion)) };
            if !device.norm_max(x).is_finite() {
                device.fill(0.0, x);
            }
            let (cycle, to) = match next {
                Rung::Double => (&self.double, Kind::F64),
                _ => (&self.single, Kind::F32),
            };
            if cycle.get().is_none() {
                let raised = widen(to)?;
                cycle.get_or_init(|| raised);
            }
            let (from, after) = match promotion {
                Some(first) => (first.from, first.after),
                None => (self.config.precision.clone(), report.iterations),
            };
            promotion = Some(Promotion { from, to, after, why });
            (rung, done) = (next, Some(report));
        }
    }

    /// Iterates in one precision. Returns the report, and the fault for which a higher precision
    /// may help.
    fn run_watched(
        &self,
        rung: Rung,
        b: &D::Vector<f64>,
        x: &mut D::Vector<f64>,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
        widen: &(impl Fn(Kind) -> Result<Multigrid<D>, SolveError> + Sync),
    ) -> Result<(KrylovReport, Option<Fault>), SolveError> {
        let cycle = self.preconditioner();
        let is_watched = self.asked.precision == Precision::Auto
            && match rung {
                Rung::Configured => ![Precision::F64, Precision::F32].contains(&self.config.precision),
                Rung::Single => self.device.computes_in(Kind::F64),
                Rung::Double => false,
            };
        if !is_watched {
            return Ok((self.run(cycle, b, x, options, observer)?, None));
        }
        let compared =
            Compared { iteration: self, widen, is_due: AtomicBool::new(false), verdict: Mutex::new(None) };
        let is_narrow = rung == Rung::Configured;
        let mut asked_to_stop = false;
        let mut rate = None;
        let mut watching = |progress: &Progress| {
            asked_to_stop = observer.as_mut().is_some_and(|observer| observer(progress).is_break());
            let verdict = compared.verdict();
            if rate.is_none() && is_narrow && !self.is_cleared.load(Ordering::Relaxed) {
                rate = slow(progress);
                compared.is_due.store(rate.is_some(), Ordering::Relaxed);
            }
            let leave = !matches!(verdict, None | Some(Ok(Verdict::RoundingDoesNot)));
            if asked_to_stop || leave { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let cycle: &dyn LinearOperator<D, f64> = if is_narrow { &compared } else { cycle };
        let report = self.run(cycle, b, x, options, Some(&mut watching))?;
        let verdict = compared.verdict().transpose()?;
        if verdict == Some(Verdict::RoundingDoesNot) {
            self.is_cleared.store(true, Ordering::Relaxed);
        }
        // Residuals, and therefore the verdict, are equal on every process. Requests to stop are
        // not.
        if report.reason == StopReason::Interrupted && self.device.any(asked_to_stop) {
            return Ok((report, None));
        }
        let fault = match (verdict, rate, report.reason) {
            (_, _, reason) if reason.is_converged() => None,
            (Some(Verdict::RoundingSlows), Some(rate), _) => Some(Fault::RoundingSlows(rate)),
            // Neither the limits and requests of the caller nor its right-hand side are faults.
            (
                _,
                _,
                StopReason::Interrupted
                | StopReason::TimeLimit
                | StopReason::MaxIterations
                | StopReason::Inconsistent,
            ) => None,
            (_, _, reason) => Some(Fault::Failed(reason)),
        };
        Ok((report, fault))
    }
}

/// Combines the reports of two runs, where the second continues the first.
fn joined(first: KrylovReport, second: KrylovReport) -> KrylovReport {
    let mut report = second;
    report.iterations += first.iterations;
    report.initial_residual = first.initial_residual;
    report.seconds += first.seconds;
    report.history.splice(0..0, first.history);
    // The first entry of the second run repeats the last one of the first run.
    let second =
        report.verified.drain(..).skip(1).map(|(iteration, norm)| (first.iterations + iteration, norm));
    report.verified = first.verified.into_iter().chain(second).collect();
    report
}
