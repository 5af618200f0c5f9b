//! A precision that was chosen by itself is watched: where it does worse than it should, levels become wide again.
//!
//! Every sixteen iterations the average decrease of the residual is looked at. Where it is so slow that eight digits take more
//! than forty iterations, the cycle is far from what multigrid should be, and rounding to 16 bits may be among the reasons: it
//! moves the smallest eigenvalues of a badly conditioned matrix. The hierarchy is then lowered anew in double precision,
//! the iteration goes on from where it was, and later solves begin so. The same happens to an iteration that fails in any
//! way. So `auto` converges wherever `f64` does. A fast solve pays nothing for it.

use std::fmt;
use std::ops::ControlFlow;

use ziggurat_amg::Multigrid;
use ziggurat_krylov::{KrylovReport, Observer, Progress, StopReason};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::Device;

use super::{Iteration, SolveError, SolveOptions};
use crate::config::Precision;

/// Iterations between two looks.
const LOOK_EVERY: usize = 16;

/// An average factor per iteration beyond which a solve is slow: 10⁻⁸ in forty iterations.
const SLOW: f64 = 0.631;

/// Levels that became wider during a solve, and why.
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
    /// What levels were stored in.
    pub from: Precision,
    /// What they are stored in now: `f64`, or `f32` on a device that does not compute in `f64`.
    pub to: Kind,
    /// Iterations until then.
    pub after: usize,
    /// What was wrong.
    pub why: Fault,
}

/// Why levels became wider.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The average residual factor per iteration is too large.
    Slow(f64),
    /// The iteration stopped without a solution.
    Failed(StopReason),
}

impl fmt::Display for Promotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "levels went from {} to {} after {} iterations: ", self.from, self.to, self.after)?;
        match self.why {
            Fault::Slow(rate) => {
                write!(f, "converges too slowly (residual factor {rate:.2} per iteration)")
            }
            Fault::Failed(reason) => write!(f, "stopped ({})", reason.name()),
        }
    }
}

/// The average factor per iteration, if it is time to look and it is a slow one.
fn slow(progress: &Progress) -> Option<Fault> {
    if !progress.iteration.is_multiple_of(LOOK_EVERY) {
        return None;
    }
    let rate = progress.relative_residual.powf((progress.iteration as f64).recip());
    (rate > SLOW).then_some(Fault::Slow(rate)) // NaN is for the method itself to notice
}

impl<D: Device> Iteration<D> {
    /// Iterates with the levels as they are, and with wide ones if that is what it takes.
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
        // Residuals are the same on every process, and so is the fault; users are not.
        if narrow.reason == StopReason::Interrupted && self.device.any(asked_to_stop) {
            return Ok((narrow, None));
        }
        let why = match (fault, narrow.reason) {
            (_, reason) if reason.is_converged() => return Ok((narrow, None)),
            (Some(fault), _) => fault,
            // The caller's own will is no fault.
            (None, StopReason::Interrupted | StopReason::TimeLimit | StopReason::MaxIterations) => {
                return Ok((narrow, None));
            }
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
        // If another thread was faster, its cycle is the same.
        let wide = self.wide.get_or_init(|| wide);
        let report = self.run(wide, b, x, &rest, Some(&mut from_there))?;
        let to = if device.computes_in(Kind::F64) { Kind::F64 } else { Kind::F32 };
        let promotion = Promotion { from: self.config.precision.clone(), to, after: narrow.iterations, why };
        tracing::warn!(target: "ziggurat::solve", "{promotion}");
        Ok((joined(narrow, report), Some(promotion)))
    }

    /// Whether the precision was chosen by itself, and there is a wider one: on a device without `f64`, none is wider than `f32`.
    fn is_watched(&self) -> bool {
        let widest = [Precision::F64, Precision::F32].contains(&self.config.precision);
        self.asked.precision == Precision::Auto && !widest
    }
}

/// One report of two runs, the second from where the first stopped.
fn joined(first: KrylovReport, second: KrylovReport) -> KrylovReport {
    let mut report = second;
    report.iterations += first.iterations;
    report.initial_residual = first.initial_residual;
    report.seconds += first.seconds;
    report.history.splice(0..0, first.history);
    // The second begins where the first ended, and says so again.
    let second =
        report.verified.drain(..).skip(1).map(|(iteration, norm)| (first.iterations + iteration, norm));
    report.verified = first.verified.into_iter().chain(second).collect();
    report
}
