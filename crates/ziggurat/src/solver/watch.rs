//! Monitors an automatically chosen precision, and raises it if rounding slows the convergence.
//!
//! After 16, 32, 64 and 128 iterations the convergence factor is checked. If eight digits would
//! take more than 80 iterations, the cycle is much worse than usual for multigrid. (Up to twice the
//! usual number is no loss: an iteration in 16 bits takes half the time of one in 64 bits, or
//! less.) Rounding to 16 bits is one possible cause, a hard problem is another. So the cycle is
//! compared with the same cycle in single precision on the current residual (`compared.rs`). It is
//! compared again at the later checks, because rounding may affect only the error components that
//! dominate later. The comparison does not disturb the iteration, which goes on with its search
//! directions if rounding is not the cause. Otherwise it continues from the current iterate in
//! single precision. If an iteration fails for any reason, it continues in double precision. `auto`
//! therefore converges whenever `f64` does, unless the limit of iterations comes first, and a fast
//! solve costs nothing.
//!
//! A comparison costs about as much as two iterations, the first one also a conversion of the
//! levels. It is only made if at least as many iterations are expected as are done.
//!
//! A solve that fails in the highest precision, that would take a hundred iterations more at a
//! check from the 32nd on, or that stands still (`watch/standstill.rs`), continues with a stronger
//! smoother, if the configuration leaves it open: its setup costs as much as some fifty iterations.
//! A solve that still fails or stands still, that would exceed the limit of iterations, or that has
//! used half of them for less than half of its digits, continues with sparse factors of the matrix
//! as the preconditioner, if they fit into memory. Both only if the configuration allows it
//! (`fallback`). Later solves start with what the last one ended with; with another smoother or
//! factors only if that one had the options of the configuration.

mod standstill;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use ziggurat_krylov::{KrylovReport, Observer, Progress, StopReason, Stopping};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{DeviceExt, Vector};
use ziggurat_sparse::operator::LinearOperator;

use self::standstill::Recent;
use super::compared::{Compared, Verdict};
use super::iteration::on_all_processes;
use super::{Fault, Iteration, Promotion, Raise, SolveError, SolveOptions, Stronger};
use crate::config::{Krylov, Method, Precision, SmootherKind, SolverConfig};

/// The numbers of iterations after which convergence is checked.
const CHECK_AFTER: [usize; 4] = [16, 32, 64, 128];

/// A solve with a smaller limit is not checked for being hopeless.
const MIN_HOPELESS: usize = 16;

/// Average residual factor per iteration above which a solve is slow: 10⁻⁸ in 80 iterations.
const SLOW: f64 = 0.794;

/// Relative residual from which on rounding errors are the likely reason of stagnation, so that
/// factors would not help.
const ROUNDING_LIMIT: f64 = 1e-10;

/// The number of iterations from which on, at every check, a stronger smoother may be worth its
/// setup.
const SMOOTHER_AFTER: usize = 32;

/// Further iterations from which on it is.
const SMOOTHER_FROM: f64 = 96.0;

/// The number of iterations after which a solve is given up that would exceed the limit. Only for
/// methods that minimise the residual: with others it may grow before it falls.
const HOPELESS_AFTER: usize = 128;

/// The average residual factor per iteration, and the number of iterations that are left at that
/// rate.
fn expected(progress: &Progress) -> (f64, f64) {
    let rate = progress.relative_residual.powf((progress.iteration as f64).recip());
    let target = progress.target / progress.residual;
    (rate, if rate < 1.0 { target.ln() / rate.ln() } else { f64::INFINITY })
}

/// Whether a stronger smoother pays. Returns the average residual factor per iteration.
fn sluggish(progress: &Progress) -> Option<f64> {
    let (rate, left) = expected(progress);
    let is_due = progress.iteration >= SMOOTHER_AFTER && CHECK_AFTER.contains(&progress.iteration);
    (is_due && left >= SMOOTHER_FROM).then_some(rate)
}

/// Whether more than the allowed iterations are left, or half of these have reached less than half
/// of the digits. `is_minimal` states that the method minimises the residual. Returns the average
/// residual factor per iteration.
fn hopeless(progress: &Progress, stopping: &Stopping, is_minimal: bool) -> Option<f64> {
    let (rate, left) = expected(progress);
    if is_minimal && progress.iteration == HOPELESS_AFTER && left > stopping.max_iterations as f64 {
        return Some(rate);
    }
    if progress.iteration != stopping.max_iterations / 2 || progress.iteration < MIN_HOPELESS {
        return None;
    }
    let target = progress.target / progress.residual * progress.relative_residual;
    (progress.relative_residual.powi(2) > target).then_some(rate)
}

/// The relative residual at the last check, from which the rate since then follows.
struct LastCheck {
    iteration: usize,
    relative_residual: f64,
}

impl LastCheck {
    /// The beginning of a solve from zero.
    const BEGINNING: LastCheck = LastCheck { iteration: 0, relative_residual: 1.0 };

    /// At every check: the residual factor per iteration, on average or since the last check, if it
    /// is so large that at least as many iterations are expected as are done.
    fn slow(&mut self, progress: &Progress) -> Option<f64> {
        let Progress { iteration, residual, relative_residual, target, .. } = *progress;
        if !CHECK_AFTER.contains(&iteration) {
            return None;
        }
        let since = |start: &LastCheck| {
            let factor = relative_residual / start.relative_residual;
            factor.powf(((iteration - start.iteration) as f64).recip())
        };
        let rate = since(&LastCheck::BEGINNING).max(since(self));
        *self = LastCheck { iteration, relative_residual };
        let expected = if rate < 1.0 { (target / residual).ln() / rate.ln() } else { f64::INFINITY };
        (rate > SLOW && expected >= iteration as f64).then_some(rate) // the Krylov method detects NaN
    }
}

/// The preconditioner in use, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rung {
    /// As configured.
    Configured,
    /// Levels in single precision.
    Single,
    /// Levels in double precision.
    Double,
    /// A stronger smoother.
    Smoother,
    /// Sparse factors.
    Factors,
}

/// The changes that a solve may make, apart from wider numbers.
#[derive(Clone, Copy, Debug)]
struct Allowed {
    smoother: bool,
    factors: bool,
}

impl Allowed {
    const ALL: Allowed = Allowed { smoother: true, factors: true };
}

impl Iteration {
    /// Iterates with the preconditioner as it is, and continues with a stronger one if needed.
    pub(super) fn solve_watched(
        &self,
        b: &Vector,
        x: &mut Vector,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
        raise: &Raise<'_>,
    ) -> Result<(KrylovReport, Option<Promotion>), SolveError> {
        let device = &*self.device;
        let mut rest = options.clone();
        let mut rung = self.rung();
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
            match rung {
                // The factors of an indefinite matrix are not positive.
                Rung::Factors => rest.krylov = Krylov::Fgmres,
                // Nor are those of its smoother; CG stays where FSAI keeps the cycle symmetric.
                Rung::Smoother if self.config.stronger_smoother() != SmootherKind::Fsai => {
                    rest.krylov = Krylov::Fgmres;
                }
                _ => {}
            }
            let (report, fault) = self.run_watched(rung, b, x, &rest, observing, raise)?;
            let stopping = &mut rest.stopping;
            // The next run continues this solve, whose own initial residual counts.
            if stopping.is_relative_to_guess() {
                *stopping = stopping.with_target(report.target);
            }
            stopping.max_iterations -= report.iterations.min(stopping.max_iterations);
            stopping.max_seconds = stopping.max_seconds.map(|seconds| (seconds - report.seconds).max(0.0));
            let report = match done.take() {
                Some(done) => joined(done, report),
                None => report,
            };
            let Some((why, allowed)) = fault else { return Ok((report, promotion)) };
            // The factors of the matrix have rounding errors, too, and an initial guess that is not
            // finite is not a fault of the preconditioner.
            let bad_guess = !report.initial_residual.is_finite();
            let may_help = !(report.relative_residual <= ROUNDING_LIMIT || bad_guess);
            let allowed =
                Allowed { smoother: allowed.smoother && may_help, factors: allowed.factors && may_help };
            let Some(next) = self.raised(rung, why, allowed, raise)? else {
                return Ok((report, promotion));
            };
            // Other options than the configured ones may be what failed.
            if *options == SolveOptions::from(&self.config) {
                match next {
                    Rung::Smoother => self.keeps_smoothed.store(true, Ordering::Relaxed),
                    Rung::Factors => self.keeps_factors.store(true, Ordering::Relaxed),
                    _ => {}
                }
            }
            if !device.norm_max(x).is_finite() {
                device.fill(0.0, x);
            }
            let from = match rung {
                Rung::Single => Precision::F32,
                Rung::Double => Precision::F64,
                _ => self.config.precision.clone(),
            };
            let to = match next {
                Rung::Factors => Stronger::Factors,
                Rung::Smoother => Stronger::Smoother(self.config.stronger_smoother()),
                Rung::Double => Stronger::Levels(Kind::F64),
                _ => Stronger::Levels(Kind::F32),
            };
            let (after, earlier) = (report.iterations, promotion.take().map(Box::new));
            promotion = Some(Promotion { from, to, after, why, earlier });
            (rung, done) = (next, Some(report));
        }
    }

    fn rung(&self) -> Rung {
        match (self.double.get(), self.single.get()) {
            _ if self.is_factorised() => Rung::Factors,
            _ if self.keeps_smoothed.load(Ordering::Relaxed) => Rung::Smoother,
            (Some(_), _) => Rung::Double,
            (_, Some(_)) => Rung::Single,
            _ => Rung::Configured,
        }
    }

    /// Makes the next stronger preconditioner that is allowed. `None` if there is none. A smoother
    /// that cannot be set up is passed over.
    fn raised(
        &self,
        rung: Rung,
        why: Fault,
        allowed: Allowed,
        raise: &Raise<'_>,
    ) -> Result<Option<Rung>, SolveError> {
        let narrow = self.is_narrow(rung);
        let levels = match why {
            Fault::RoundingSlows(_) => Some((&self.single, Kind::F32, Rung::Single)),
            Fault::Failed(_) if narrow && self.device.computes_in(Kind::F64) => {
                Some((&self.double, Kind::F64, Rung::Double))
            }
            Fault::Failed(_) if narrow => Some((&self.single, Kind::F32, Rung::Single)),
            _ => None,
        };
        let (cycle, to, next) = match levels {
            Some((cycle, kind, next)) => (cycle, Stronger::Levels(kind), next),
            None if allowed.smoother && self.may_smooth(rung) => {
                let to = Stronger::Smoother(self.config.stronger_smoother());
                (&self.smoothed, to, Rung::Smoother)
            }
            None if allowed.factors && rung < Rung::Factors && self.may_factorise() => {
                (&self.factors, Stronger::Factors, Rung::Factors)
            }
            None => return Ok(None),
        };
        if cycle.get().is_none() {
            let Some(made) = on_all_processes(&*self.device, raise(to, None))? else {
                return match next {
                    Rung::Smoother => self.raised(next, why, allowed, raise),
                    _ => Ok(None),
                };
            };
            // If another thread was faster, its cycle is identical.
            cycle.get_or_init(|| made);
        }
        Ok(Some(next))
    }

    /// Whether the precision of the levels was chosen automatically and can be raised.
    fn is_narrow(&self, rung: Rung) -> bool {
        let can_be_raised = match rung {
            Rung::Configured => ![Precision::F64, Precision::F32].contains(&self.config.precision),
            Rung::Single => self.device.computes_in(Kind::F64),
            Rung::Double | Rung::Smoother | Rung::Factors => false,
        };
        self.asked.precision == Precision::Auto && can_be_raised
    }

    /// Whether a precision below single was asked for, and a comparison means something: it is one
    /// of energies, as of a positive matrix.
    fn is_given_narrow(&self) -> bool {
        let has_energy = matches!(self.config.krylov, Krylov::Cg | Krylov::Fcg);
        self.asked.precision != Precision::Auto
            && has_energy
            && self.config.method != Method::Direct
            && ![Precision::F64, Precision::F32].contains(&self.config.precision)
    }

    /// Whether a solve that fails may continue with a stronger smoother.
    fn may_smooth(&self, rung: Rung) -> bool {
        let SolverConfig { fallback, method, smoother, .. } = &self.config;
        rung < Rung::Smoother
            && *fallback
            && self.asked.smoother.kind == SmootherKind::Auto
            && self.asked.levels.is_empty()
            && ![Method::Direct, Method::None, Method::Cpr].contains(method)
            && smoother.kind != self.config.stronger_smoother()
    }

    /// Whether a solve that fails may continue with factors.
    fn may_factorise(&self) -> bool {
        self.config.fallback && self.config.method != Method::Direct && self.kernel.is_empty()
    }

    /// Iterates with one preconditioner. Returns the report, and the fault for which a stronger one
    /// may help, with what may.
    fn run_watched(
        &self,
        rung: Rung,
        b: &Vector,
        x: &mut Vector,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
        raise: &Raise<'_>,
    ) -> Result<(KrylovReport, Option<(Fault, Allowed)>), SolveError> {
        if let (Rung::Factors, Some(factors)) = (rung, self.factors.get()) {
            return Ok((self.run(&factors.in_level_order(), b, x, options, observer)?, None));
        }
        let cycle = match rung {
            Rung::Smoother => self.smoothed.get().unwrap_or_else(|| self.levels()),
            _ => self.levels(),
        };
        let compares = rung == Rung::Configured && self.is_narrow(rung);
        // A precision that was given stays, but its cost is reported.
        let observes = [Rung::Configured, Rung::Smoother].contains(&rung) && self.is_given_narrow();
        let against = match rung {
            Rung::Smoother => Stronger::Smoother(self.config.stronger_smoother()),
            _ => Stronger::Levels(Kind::F32),
        };
        let compared = Compared::new(self, raise, cycle, against, compares);
        let cleared = self.cleared_until.load(Ordering::Relaxed);
        let (mut last_check, mut compared_after) = (LastCheck::BEGINNING, 0);
        let (may_smooth, may_factorise) = (self.may_smooth(rung), self.may_factorise());
        let is_minimal = options.method(&self.config).minimises_residual();
        let (mut asked_to_stop, mut slow_rate, mut lost) = (false, None, None);
        // The rate of a solve that stands still, until it is known whether rounding is the cause.
        let (mut recent, mut standing, mut exhausted) = (Recent::BEGINNING, None, false);
        let mut failed = None;
        let mut watching = |progress: &Progress| {
            asked_to_stop = observer.as_mut().is_some_and(|observer| observer(progress).is_break());
            let verdict = compared.verdict();
            // One residual that shows it is enough: others may have little of what rounding slows.
            let is_known = self.rounding_slows() || matches!(verdict, Some(Ok(Verdict::RoundingSlows)));
            if observes && last_check.slow(progress).is_some() && !is_known {
                compared.compare_next();
            }
            if compares
                && let Some(rate) = last_check.slow(progress)
                && progress.iteration > cleared
            {
                (slow_rate, compared_after) = (Some(rate), progress.iteration);
                compared.compare_next();
            }
            if let Some(rate) = recent.stands_still(progress, &options.stopping, is_minimal) {
                standing = Some(rate);
                if compares && verdict.is_none() {
                    (slow_rate, compared_after) = (Some(rate), progress.iteration);
                    compared.compare_next();
                }
            }
            // Rounding is examined first: the same smoother in wider numbers costs less.
            let is_cleared = !compares || matches!(verdict, Some(Ok(Verdict::RoundingDoesNot)));
            let sluggish = sluggish(progress).filter(|_| may_smooth && is_cleared);
            let hopeless = hopeless(progress, &options.stopping, is_minimal).filter(|_| may_factorise);
            let stands =
                standing.take_if(|_| is_cleared).filter(|_| (may_smooth || may_factorise) && !exhausted);
            let may_help = progress.relative_residual > ROUNDING_LIMIT;
            if let Some(rate) = stands.or(sluggish).or(hopeless).filter(|_| may_help) {
                // Before the iteration is interrupted, it must be clear that there is something
                // stronger: factors have to fit.
                let allowed = Allowed {
                    smoother: stands.or(sluggish).is_some(),
                    factors: stands.or(hopeless).is_some(),
                };
                match self.raised(rung, Fault::TooSlow(rate), allowed, raise) {
                    Ok(Some(_)) => lost = Some((Fault::TooSlow(rate), allowed)),
                    // Nor will there be at the next check.
                    Ok(None) => exhausted = stands.is_some(),
                    Err(error) => failed = Some(error),
                }
            }
            let leaves = compares && !matches!(verdict, None | Some(Ok(Verdict::RoundingDoesNot)));
            let stops = asked_to_stop || leaves || lost.is_some() || failed.is_some();
            if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let cycle = cycle.in_level_order();
        let watched: &dyn LinearOperator = if compares || observes { &compared } else { &cycle };
        // An observer costs a message per iteration among processes.
        let report = if compares || observes || may_smooth || may_factorise {
            self.run(watched, b, x, options, Some(&mut watching))?
        } else {
            self.run(watched, b, x, options, observer)?
        };
        if let Some(error) = failed {
            return Err(error);
        }
        if observes {
            // Without memory for a comparison there is nothing to report.
            if let Some(Ok(Verdict::RoundingSlows)) = compared.verdict() {
                self.rounding_slows.store(true, Ordering::Relaxed);
            }
        }
        let verdict = if compares { compared.verdict().transpose()? } else { None };
        if verdict == Some(Verdict::RoundingDoesNot) {
            self.cleared_until.fetch_max(compared_after, Ordering::Relaxed);
        }
        // Residuals, and therefore the verdict, are equal on every process. Requests to stop are
        // not.
        if report.reason == StopReason::Interrupted && self.device.any(asked_to_stop) {
            return Ok((report, None));
        }
        let fault = match (verdict, slow_rate, report.reason) {
            (_, _, reason) if reason.is_converged() => None,
            (Some(Verdict::RoundingSlows), Some(rate), _) => Some((Fault::RoundingSlows(rate), Allowed::ALL)),
            _ if lost.is_some() => lost,
            // There is nothing left to continue with.
            (_, _, StopReason::Stagnated) if report.iterations >= options.stopping.max_iterations => None,
            // Neither the limits and requests of the caller nor its right-hand side are faults.
            (
                _,
                _,
                StopReason::Interrupted
                | StopReason::TimeLimit
                | StopReason::MaxIterations
                | StopReason::Inconsistent,
            ) => None,
            (_, _, reason) => Some((Fault::Failed(reason), Allowed::ALL)),
        };
        Ok((report, fault))
    }
}

/// Combines the reports of two runs, where the second continues the first.
pub(super) fn joined(first: KrylovReport, second: KrylovReport) -> KrylovReport {
    let mut report = second;
    report.iterations += first.iterations;
    (report.initial_residual, report.target) = (first.initial_residual, first.target);
    report.seconds += first.seconds;
    report.history.splice(0..0, first.history);
    // The first entry of the second run repeats the last one of the first run.
    let second =
        report.verified.drain(..).skip(1).map(|(iteration, norm)| (first.iterations + iteration, norm));
    report.verified = first.verified.into_iter().chain(second).collect();
    report
}
