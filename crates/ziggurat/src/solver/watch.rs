//! Monitors an automatically chosen precision: if convergence is slow, the levels are switched to
//! double precision.
//!
//! Every 16 iterations the average convergence factor is checked. If eight digits would take more
//! than 40 iterations, the cycle is much worse than usual for multigrid. Rounding to 16 bits is a
//! possible cause, since it perturbs the smallest eigenvalues of an ill-conditioned matrix. The
//! hierarchy is then lowered again in double precision and the iteration continues from the current
//! iterate. Later solves start in double precision. The same happens if an iteration fails for any
//! reason. `auto` therefore converges whenever `f64` does, and the check costs nothing in a fast
//! solve.

use std::fmt;
use std::ops::ControlFlow;

use ziggurat_amg::Multigrid;
use ziggurat_krylov::{KrylovReport, Observer, Progress, StopReason};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::Device;

use super::{Iteration, SolveError, SolveOptions};
use crate::config::Precision;

/// Iterations between two checks.
const LOOK_EVERY: usize = 16;

/// Average residual factor per iteration above which a solve is slow: 10⁻⁸ in 40 iterations.
const SLOW: f64 = 0.631;

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
    /// The precision after: `f64`, or `f32` on a device without `f64`.
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
    /// Convergence was slow: the average factor of the residual per iteration.
    Slow(f64),
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
            Fault::Slow(rate) => write!(f, "converges too slowly (residual factor {rate:.2} per iteration)"),
            Fault::Failed(reason) => write!(f, "the iteration stopped ({})", reason.name()),
        }
    }
}

/// At every check: the average residual factor per iteration, if it is too large.
fn slow(progress: &Progress) -> Option<Fault> {
    if !progress.iteration.is_multiple_of(LOOK_EVERY) {
        return None;
    }
    let rate = progress.relative_residual.powf((progress.iteration as f64).recip());
    (rate > SLOW).then_some(Fault::Slow(rate)) // the Krylov method detects NaN itself
}

impl<D: Device> Iteration<D> {
    /// Iterates with the levels as they are and, if needed, again in double precision.
    pub(super) fn solve_watched(
        &self,
        b: &D::Vector<f64>,
        x: &mut D::Vector<f64>,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
        widen: impl FnOnce() -> Result<Multigrid<D>, SolveError>,
    ) -> Result<(KrylovReport, Option<Promotion>), SolveError> {
        if let Some(wide) = self.wide.get() {
            return Ok((self.run(wide, b, x, options, observer)?, None));
        }
        if !self.is_watched() {
            return Ok((self.run(&self.multigrid, b, x, options, observer)?, None));
        }
        let (mut asked_to_stop, mut fault) = (false, None);
        let mut watching = |progress: &Progress| {
            asked_to_stop = observer.as_mut().is_some_and(|observer| observer(progress).is_break());
            fault = slow(progress);
            if asked_to_stop || fault.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let narrow = self.run(&self.multigrid, b, x, options, Some(&mut watching))?;
        // Residuals, and therefore the fault, are equal on every process. Requests to stop are not.
        if narrow.reason == StopReason::Interrupted && self.device.any(asked_to_stop) {
            return Ok((narrow, None));
        }
        let why = match (fault, narrow.reason) {
            (_, reason) if reason.is_converged() => return Ok((narrow, None)),
            (Some(fault), _) => fault,
            // Neither the limits and requests of the caller nor its right-hand side are faults.
            (
                None,
                StopReason::Interrupted
                | StopReason::TimeLimit
                | StopReason::MaxIterations
                | StopReason::Inconsistent,
            ) => return Ok((narrow, None)),
            (None, reason) => Fault::Failed(reason),
        };
        let device = &self.device;
        if !device.norm_max(x).is_finite() {
            device.fill(0.0, x);
        }
        let mut rest = options.clone();
        let stopping = &mut rest.stopping;
        stopping.max_iterations -= narrow.iterations.min(stopping.max_iterations);
        stopping.max_seconds = stopping.max_seconds.map(|seconds| (seconds - narrow.seconds).max(0.0));
        let mut from_there = |progress: &Progress| {
            let mut progress = *progress;
            progress.iteration += narrow.iterations;
            observer.as_mut().map_or(ControlFlow::Continue(()), |observer| observer(&progress))
        };
        let wide = widen()?;
        // If another thread was faster, its cycle is identical.
        let wide = self.wide.get_or_init(|| wide);
        let report = self.run(wide, b, x, &rest, Some(&mut from_there))?;
        let to = if device.computes_in(Kind::F64) { Kind::F64 } else { Kind::F32 };
        let promotion = Promotion { from: self.config.precision.clone(), to, after: narrow.iterations, why };
        Ok((joined(narrow, report), Some(promotion)))
    }

    /// Whether the precision was chosen automatically and can be raised. On a device without `f64`,
    /// `f32` is the highest.
    fn is_watched(&self) -> bool {
        let widest = [Precision::F64, Precision::F32].contains(&self.config.precision);
        self.asked.precision == Precision::Auto && !widest
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
