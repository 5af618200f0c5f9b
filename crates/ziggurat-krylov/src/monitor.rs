//! The judge of every method: counts, looks at the clock, asks the observer, and believes only true residuals.
//!
//! A method reports its recurrence's residual norm after each iteration ([`Monitor::record`]). When that norm promises
//! convergence, or the method starts anew for another reason, it computes b − A x and asks for a verdict
//! ([`Monitor::verify`]): converged, go on from the true residual, or stagnated. A run from one start to the next is
//! fruitless when it did not bring the true residual below the best so far, by half of the decrease that the recurrence
//! promised. Two fruitless runs one after the other are a stagnation.

use std::time::Instant;

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

use crate::error::KrylovError;
use crate::observer::{Observer, Progress};
use crate::report::KrylovReport;
use crate::stop::{StopReason, Stopping};
use crate::system::{Problem, Residual};

/// Iterations for whose history room is made beforehand (half a megabyte at most). Beyond, it doubles now and then.
const MOST_HISTORY: usize = 1 << 16;

/// The same for starts anew, where nobody asks for more true residuals.
const MOST_VERIFIED: usize = 1 << 10;

/// A relative decrease of the true residual from one start to the next that counts as none.
const NOTHING: f64 = 1e-8;

/// What to do after an iteration.
#[derive(Debug)]
pub(crate) enum Step {
    /// The next one.
    Continue,
    /// The recurrence promises convergence: compute the true residual and [`verify`](Monitor::verify).
    Verify,
    /// Stop.
    Stop(StopReason),
}

pub(crate) struct Monitor<'a, 'o, D> {
    device: &'a D,
    stopping: &'a Stopping,
    observer: Option<&'a mut Observer<'o>>,
    start: Instant,
    b_norm: f64,
    target: f64,
    initial_residual: f64,
    history: Vec<f64>,
    /// True residuals with the number of iterations before them.
    verified: Vec<(usize, f64)>,
    /// The smallest true residual so far.
    best: f64,
    /// The true residual that the present run started from.
    last: f64,
    /// Fruitless runs one after the other.
    fruitless: u32,
    /// The true residual of x, when x has not changed since it was computed.
    current: Option<f64>,
    /// Decided before the first iteration.
    decided: Option<StopReason>,
}

impl<'a, 'o, D: Device> Monitor<'a, 'o, D> {
    /// r ← b − A x, and the first verdict on it. For b = 0 the solution is x = 0 at once.
    pub(crate) fn begin<C: Real>(
        problem: &mut Problem<'a, D, C>,
        x: &mut D::Vector<C>,
        r: &mut D::Vector<C>,
        stopping: &'a Stopping,
        observer: Option<&'a mut Observer<'o>>,
    ) -> Result<(Self, Residual), KrylovError> {
        let start = Instant::now();
        stopping.validate()?;
        let device = problem.device;
        let b_norm = device.norm(problem.b);
        let b_is_zero = b_norm == 0.0 && device.norm_max(problem.b) == 0.0;
        if b_is_zero {
            device.fill(C::zero(), x);
            device.fill(C::zero(), r);
        }
        let residual =
            if b_is_zero { Residual { whole: 0.0, projected: 0.0 } } else { problem.residual(x, r) };
        let most_verified = if stopping.verify_every > 0 { MOST_HISTORY } else { MOST_VERIFIED };
        let mut monitor = Monitor {
            device,
            stopping,
            observer,
            start,
            b_norm,
            target: stopping.target(b_norm),
            initial_residual: residual.whole,
            history: Vec::with_capacity(stopping.max_iterations.min(MOST_HISTORY)),
            verified: Vec::with_capacity(stopping.max_iterations.min(most_verified) + 2),
            best: residual.whole,
            last: residual.whole,
            fruitless: 0,
            current: Some(residual.whole),
            decided: None,
        };
        monitor.verified.push((0, residual.whole));
        let b_vanished = b_norm == 0.0 && !b_is_zero; // its square underflowed
        monitor.decided = if b_vanished { Some(StopReason::NotFinite) } else { monitor.settled(residual) };
        Ok((monitor, residual))
    }

    /// Whether a true residual leaves anything to do.
    fn settled(&self, residual: Residual) -> Option<StopReason> {
        if !(self.b_norm.is_finite() && residual.whole.is_finite()) {
            Some(StopReason::NotFinite)
        } else if residual.whole <= self.target {
            Some(StopReason::Converged)
        } else if residual.projected <= self.target {
            Some(StopReason::Stagnated) // what is left lies in the kernel, where A cannot reach
        } else {
            None
        }
    }

    /// Residual norm to reach.
    pub(crate) fn target(&self) -> f64 {
        self.target
    }

    /// Asked before each iteration: is there a reason not to begin it?
    pub(crate) fn reason_to_stop(&self) -> Option<StopReason> {
        if self.decided.is_some() {
            return self.decided;
        }
        if self.history.len() >= self.stopping.max_iterations {
            return Some(StopReason::MaxIterations);
        }
        let limit = self.stopping.max_seconds?;
        self.device.any(self.seconds() >= limit).then_some(StopReason::TimeLimit)
    }

    /// Notes an iteration and the residual norm that the recurrence has after it.
    pub(crate) fn record(&mut self, residual: f64) -> Step {
        self.current = None;
        self.history.push(residual);
        let seconds = self.seconds();
        if let Some(observer) = &mut self.observer {
            let progress = Progress {
                iteration: self.history.len(),
                residual,
                relative_residual: residual / self.b_norm,
                target: self.target,
                seconds,
            };
            if self.device.any(observer(&progress).is_break()) {
                return Step::Stop(StopReason::Interrupted);
            }
        }
        if !residual.is_finite() {
            Step::Stop(StopReason::NotFinite)
        } else if residual <= self.target {
            Step::Verify
        } else {
            Step::Continue
        }
    }

    /// Whether somebody wants to see the true residual after this iteration, although nothing hangs on it.
    pub(crate) fn is_watched(&self) -> bool {
        let every = self.stopping.verify_every;
        every > 0 && self.history.len().is_multiple_of(every)
    }

    /// Notes the true residual of x as it is now.
    pub(crate) fn note(&mut self, residual: Residual) {
        self.current = Some(residual.whole);
        self.verified.push((self.history.len(), residual.whole));
    }

    /// Judges a true residual, of which the recurrence had promised that it would be `promised`. `None`: start anew from
    /// it. With an infinite promise, when a method starts anew because it must, nobody counts.
    pub(crate) fn verify(&mut self, promised: f64, residual: Residual) -> Option<StopReason> {
        self.note(residual);
        if let Some(reason) = self.settled(residual) {
            return Some(reason);
        }
        if promised.is_finite() {
            let (gained, expected) = (self.best - residual.whole, self.last - promised);
            let fruitful = gained > 0.5 * expected && gained > NOTHING * self.best;
            self.fruitless = if fruitful { 0 } else { self.fruitless + 1 };
        }
        self.best = self.best.min(residual.whole);
        self.last = residual.whole;
        (self.fruitless >= 2).then_some(StopReason::Stagnated)
    }

    /// The report on x. Computes the true residual, in `r`, unless that is known.
    pub(crate) fn finish<C: Real>(
        mut self,
        mut reason: StopReason,
        problem: &mut Problem<'_, D, C>,
        x: &D::Vector<C>,
        r: &mut D::Vector<C>,
    ) -> KrylovReport {
        if self.current.is_none() {
            self.note(problem.residual(x, r));
        }
        let residual = self.current.unwrap_or(f64::NAN);
        // The last iteration allowed may have been the last one needed. Whoever interrupts wants to hear of it, though.
        if residual <= self.target && reason != StopReason::Interrupted && self.decided.is_none() {
            reason = StopReason::Converged;
        }
        KrylovReport {
            reason,
            iterations: self.history.len(),
            residual,
            relative_residual: if self.b_norm == 0.0 { residual } else { residual / self.b_norm },
            initial_residual: self.initial_residual,
            b_norm: self.b_norm,
            seconds: self.seconds(),
            history: self.history,
            verified: self.verified,
        }
    }

    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}
