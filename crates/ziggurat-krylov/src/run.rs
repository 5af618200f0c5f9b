//! A solve in progress: applies A and M, counts iterations, and decides when to stop.
//!
//! A method passes the residual norm of its recurrence to [`Run::record`] after each iteration.
//! When that norm is within the tolerance, or has fallen by more than the precision of the numbers
//! since the last true residual, or the method must restart for another reason, it calls
//! [`Run::verify`], which computes b − A x: the method has converged, stagnated, or continues from
//! the true residual. Only true residuals decide about convergence ([`Goal`]).
//!
//! A restart was useless if the true residual fell below its previous minimum by less than half of
//! the decrease that the recurrence promised, or not at all. Two useless restarts in a row are
//! reported as stagnation. So are restarts that keep promises of next to nothing, and a solve whose
//! residual was flat when it reached the limit of iterations ([`flat`](crate::flat)).

use std::time::Instant;

use tracing::field::Empty;
use tracing::span::EnteredSpan;
use tracing::trace_span;
use ziggurat_sparse::device::{Device, DeviceExt, Vector};
use ziggurat_sparse::trace::{self, TARGET};

use crate::error::KrylovError;
use crate::flat::{self, Restarts};
use crate::goal::{Goal, Residual};
use crate::observer::Progress;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::stop::StopReason;
use crate::system::OperatorWork;

/// Iterations for which the history is allocated in advance (at most half a megabyte). A longer
/// history reallocates.
const MAX_PREALLOCATED_HISTORY: usize = 1 << 16;

/// The same for true residuals, where they are computed at restarts only.
const MAX_PREALLOCATED_RESTARTS: usize = 1 << 10;

/// The relative decrease of the true residual between restarts that counts as none.
const NO_DECREASE: f64 = 1e-8;

/// The action after an iteration.
#[derive(Debug)]
pub(crate) enum Step {
    /// Do the next one.
    Continue,
    /// The recurrence promises convergence: [`verify`](Run::verify) it.
    Verify,
    /// Stop.
    Stop(StopReason),
}

/// A solve in progress.
pub(crate) struct Run<'a, 'w> {
    problem: LinearProblem<'a>,
    work: &'w mut OperatorWork,
    start: Instant,
    goal: Goal,
    initial_residual: f64,
    history: Vec<f64>,
    /// True residual norms, each with the number of iterations before it.
    verified: Vec<(usize, f64)>,
    /// The smallest projected residual norm so far.
    best: f64,
    /// The projected residual norm at the last restart.
    last: f64,
    /// The recurrence is verified when it promises a residual of this fraction of the last true
    /// one.
    verify_below: f64,
    /// Consecutive useless restarts.
    useless: u32,
    /// Restarts that gain next to nothing.
    restarts: Restarts,
    /// The true residual norms of x, unless x has changed since they were computed.
    current: Option<Residual>,
    /// A decision made before the first iteration.
    decided: Option<StopReason>,
    /// The number of the present iteration and its span, if someone listens.
    span: Option<(usize, EnteredSpan)>,
}

impl<'a, 'w> Run<'a, 'w> {
    /// Validates the problem, computes r ← b − A x and decides whether there is anything to do.
    /// If b is zero or in the kernel, the solution is x = 0.
    pub(crate) fn start(
        problem: LinearProblem<'a>,
        work: &'w mut OperatorWork,
        x: &mut Vector,
        r: &mut Vector,
    ) -> Result<(Self, Residual), KrylovError> {
        let start = Instant::now();
        let (device, number, stopping) = (problem.device, problem.system.number, problem.stopping);
        problem.validate(x, r)?;
        let goal = Goal::of(&problem, r);
        let max_verified =
            if stopping.verify_every > 0 { MAX_PREALLOCATED_HISTORY } else { MAX_PREALLOCATED_RESTARTS };
        let mut run = Run {
            problem,
            work,
            start,
            goal,
            initial_residual: 0.0,
            history: Vec::with_capacity(stopping.max_iterations.min(MAX_PREALLOCATED_HISTORY)),
            verified: Vec::with_capacity(stopping.max_iterations.min(max_verified) + 2),
            best: 0.0,
            last: 0.0,
            verify_below: number.facts().unit_roundoff,
            useless: 0,
            restarts: Restarts::default(),
            current: None,
            decided: None,
            span: None,
        };
        let residual = if goal.is_zero {
            device.fill(0.0, x);
            device.fill(0.0, r);
            Residual { whole: goal.b_norm, projected: 0.0 }
        } else {
            run.residual(x, r)
        };
        run.note(residual);
        run.initial_residual = residual.whole;
        (run.best, run.last) = (residual.projected, residual.projected);
        run.restarts = Restarts::from(residual.projected);
        run.goal = goal.aimed(&stopping, residual);
        run.decided = run.goal.settled(residual);
        Ok((run, residual))
    }

    /// The device of the vectors.
    pub(crate) fn device(&self) -> &'a dyn Device {
        self.problem.device
    }

    /// The unit roundoff of the iteration.
    pub(crate) fn unit_roundoff(&self) -> f64 {
        self.problem.system.number.facts().unit_roundoff
    }

    /// Declares how much of the last true residual the rounding errors of the recurrence are, if
    /// that is more than the numbers' own precision.
    pub(crate) fn verify_below(&mut self, unit_roundoff: f64) {
        self.verify_below = unit_roundoff;
    }

    // ---- operators

    /// y ← A x
    pub(crate) fn apply(&mut self, x: &Vector, y: &mut Vector) {
        let LinearProblem { device, system, .. } = self.problem;
        let rows = y.len();
        let span = || (trace_span!(target: TARGET, "product", rows), 0);
        trace::in_span(device, span, || system.matrix.apply(device, x, y, &mut self.work.matrix));
    }

    /// z ← M r, with its kernel component projected out.
    pub(crate) fn precondition(&mut self, r: &Vector, z: &mut Vector) {
        let LinearProblem { device, system, .. } = self.problem;
        match system.preconditioner {
            Some(preconditioner) => preconditioner.apply(device, r, z, &mut self.work.preconditioner),
            None => device.copy(r, z),
        }
        system.project(device, z);
    }

    /// r ← b − A x, with its kernel component projected out.
    pub(crate) fn residual(&mut self, x: &Vector, r: &mut Vector) -> Residual {
        let LinearProblem { device, system, b, .. } = self.problem;
        let rows = b.len();
        let span = || (trace_span!(target: TARGET, "residual", rows), 0);
        trace::in_span(device, span, || system.matrix.residual(device, x, b, r, &mut self.work.matrix));
        let whole = device.norm(r);
        if system.kernel.is_empty() {
            return Residual { whole, projected: whole };
        }
        system.project(device, r);
        Residual { whole, projected: device.norm(r) }
    }

    // ---- decisions

    /// The residual norm to reach.
    pub(crate) fn target(&self) -> f64 {
        self.goal.target
    }

    /// Whether to stop before the next iteration, and why. Otherwise the iteration begins.
    pub(crate) fn reason_to_stop(&mut self) -> Option<StopReason> {
        let reason = self.reason_before_iteration();
        match reason {
            Some(_) => self.span = None,
            None if trace::is_enabled() => self.trace_iteration(),
            None => {}
        }
        reason
    }

    fn reason_before_iteration(&self) -> Option<StopReason> {
        if self.decided.is_some() {
            return self.decided;
        }
        let stopping = &self.problem.stopping;
        if self.history.len() >= stopping.max_iterations {
            return Some(StopReason::MaxIterations);
        }
        let limit = stopping.max_seconds?;
        self.problem.device.any(self.seconds() >= limit).then_some(StopReason::TimeLimit)
    }

    /// Records an iteration and the residual norm of the recurrence after it.
    pub(crate) fn record(&mut self, residual: f64) -> Step {
        self.current = None;
        self.history.push(residual);
        if let Some((_, span)) = &self.span {
            span.record("relative_residual", residual / self.goal.b_norm);
        }
        let seconds = self.seconds();
        if let Some(observer) = &mut self.problem.observer {
            let progress = Progress {
                iteration: self.history.len(),
                residual,
                relative_residual: residual / self.goal.b_norm,
                target: self.goal.target,
                seconds,
            };
            if self.problem.device.any(observer(&progress).is_break()) {
                return Step::Stop(StopReason::Interrupted);
            }
        }
        if !residual.is_finite() {
            Step::Stop(StopReason::NotFinite)
        } else if residual <= self.goal.target.max(self.verify_below * self.last) {
            Step::Verify
        } else {
            Step::Continue
        }
    }

    /// Whether the report asks for the true residual after this iteration, although no decision
    /// depends on it.
    pub(crate) fn is_watched(&self) -> bool {
        let every = self.problem.stopping.verify_every;
        every > 0 && self.history.len().is_multiple_of(every)
    }

    /// Computes the true residual of x, in `r`, for the report.
    pub(crate) fn watch(&mut self, x: &Vector, r: &mut Vector) {
        let residual = self.residual(x, r);
        self.note(residual);
    }

    /// Computes the true residual r ← b − A x, for which the recurrence promised the norm
    /// `promised`, and decides whether to restart from it or to stop. An infinite promise marks a
    /// restart that the method cannot avoid: it does not count for stagnation.
    pub(crate) fn verify(
        &mut self,
        promised: f64,
        x: &Vector,
        r: &mut Vector,
    ) -> Result<Residual, StopReason> {
        let residual = self.residual(x, r);
        self.note(residual);
        if let Some(reason) = self.goal.settled(residual) {
            return Err(reason);
        }
        let mut stands_still = false;
        if promised.is_finite() {
            stands_still = self.restarts.stand_still(self.history.len(), residual.projected);
            let (gained, expected) = (self.best - residual.projected, self.last - promised);
            let useful = gained > 0.5 * expected && gained > NO_DECREASE * self.best;
            self.useless = if useful { 0 } else { self.useless + 1 };
        }
        self.best = self.best.min(residual.projected);
        self.last = residual.projected;
        if self.useless >= 2 || stands_still { Err(StopReason::Stagnated) } else { Ok(residual) }
    }

    /// Stores the true residual of the present x.
    fn note(&mut self, residual: Residual) {
        self.current = Some(residual);
        self.verified.push((self.history.len(), residual.whole));
    }

    /// The report on x. Computes the true residual, in `r`, unless it is known.
    pub(crate) fn finish(mut self, mut reason: StopReason, x: &Vector, r: &mut Vector) -> KrylovReport {
        if self.current.is_none() {
            self.watch(x, r);
        }
        // Without a tolerance, the limit is where the solve was to end.
        let is_flat = || self.goal.target > 0.0 && flat::stood_still(self.initial_residual, &self.history);
        if reason == StopReason::MaxIterations && is_flat() {
            reason = StopReason::Stagnated;
        }
        let Goal { b_norm, left_out, tolerance, .. } = self.goal;
        let nan = Residual { whole: f64::NAN, projected: f64::NAN };
        let residual = self.current.unwrap_or(nan);
        // The last permitted iteration may have reached the tolerance. An interrupt is still
        // reported as one.
        if reason != StopReason::Interrupted && self.decided.is_none() {
            reason = self.goal.reached_by(residual).unwrap_or(reason);
        }
        let residual = residual.whole;
        KrylovReport {
            reason,
            iterations: self.history.len(),
            residual,
            relative_residual: if b_norm == 0.0 { residual } else { residual / b_norm },
            left_out,
            initial_residual: self.initial_residual,
            target: tolerance,
            b_norm,
            seconds: self.seconds(),
            history: self.history,
            verified: self.verified,
        }
    }

    /// Begins the span of the next iteration, unless a restart has begun it. It ends with the next
    /// one or with the solve.
    fn trace_iteration(&mut self) {
        let number = self.history.len() + 1;
        if self.span.as_ref().is_some_and(|(begun, _)| *begun == number) {
            return;
        }
        self.span = None;
        let span = trace_span!(target: TARGET, "iteration", iteration = number, relative_residual = Empty);
        self.span = Some((number, span.entered()));
    }

    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}
