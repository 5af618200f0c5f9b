//! The goal of a solve, for right-hand sides inside and outside the range of A.
//!
//! If A is singular with kernel N (and AᵀN = 0), no x makes the residual smaller than the component
//! of b in the kernel:
//!
//! ```text
//! b = b_R + b_N,   b_N = N Nᵀ b,   ‖b − A x‖² = ‖b_R − A x‖² + ‖b_N‖²
//! ```
//!
//! - If ‖b_N‖ leaves room in the tolerance, the system is consistent, and the method has converged
//!   if ‖b − A x‖ is within the tolerance as well.
//! - Otherwise no x solves the system to the tolerance. The method minimises ‖b − A x‖, that is, it
//!   solves A x = b_R, and reports [`StopReason::Inconsistent`], or convergence if the caller has
//!   asked for the projection of b ([`Stopping::project_rhs`](crate::Stopping::project_rhs)).
//!
//! [`Stopping`](crate::Stopping) defines "within the tolerance"; it may depend on the
//! residual of the initial guess, so a goal is aimed at when that is known.
//!
//! Cost: nothing for a nonsingular matrix; a copy, a projection and a norm otherwise.

use ziggurat_sparse::device::{DeviceExt, Vector};

use crate::problem::LinearProblem;
use crate::stop::{StopReason, Stopping};

/// If a projection reduces the norm of b below this fraction, the rest is rounding.
const ROUNDING: f64 = 1e-13;

/// If the tolerance of b_R − A x would be below this fraction of the tolerance of b − A x, because
/// b_N takes up more than 99.5 % of that, the system counts as inconsistent.
const LEAST_SHARE: f64 = 0.1;

/// Norms below this one are inaccurate, because their squares underflow.
const SMALLEST_NORM: f64 = 1e-140;

/// The goal of a solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// ‖b‖.
    pub(crate) b_norm: f64,
    /// ‖b_N‖ / ‖b‖.
    pub(crate) left_out: f64,
    /// ‖b_R‖ and ‖b_N‖, if A is singular.
    parts: Option<(f64, f64)>,
    /// The tolerance of ‖b_R − A x‖.
    pub(crate) target: f64,
    /// The tolerance of ‖b − A x‖ as the caller gave it.
    pub(crate) tolerance: f64,
    /// The norm of b − A x beyond which A x has a component in the kernel, by rounding.
    limit: f64,
    /// The reason that is reported if only b_R − A x is within its tolerance.
    projected: StopReason,
    /// b_R = 0: the solution is zero.
    pub(crate) is_zero: bool,
    /// ‖b‖ cannot be computed.
    out_of_range: bool,
}

/// Norms of b − A x and of its projection b_R − A x.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residual {
    pub(crate) whole: f64,
    pub(crate) projected: f64,
}

impl Goal {
    /// Splits b; `scratch` is overwritten. Then the goal has to be [aimed at](Self::aimed).
    pub(crate) fn of(problem: &LinearProblem<'_>, scratch: &mut Vector) -> Self {
        let &LinearProblem { device, system, b, .. } = problem;
        let b_norm = device.norm(b);
        let is_zero = b_norm == 0.0 && device.norm_max(b) == 0.0;
        let goal = Goal {
            b_norm,
            left_out: 0.0,
            parts: None,
            target: 0.0,
            tolerance: 0.0,
            limit: 0.0,
            projected: StopReason::Stagnated,
            is_zero,
            out_of_range: !(is_zero || b_norm >= SMALLEST_NORM && b_norm.is_finite()),
        };
        if system.kernel.is_empty() || is_zero || goal.out_of_range {
            return goal;
        }
        device.copy(b, scratch);
        let outside = system.project(device, scratch);
        let inside = device.norm(scratch);
        let parts = Some((inside, outside));
        Goal { left_out: outside / b_norm, parts, is_zero: inside <= ROUNDING * b_norm, ..goal }
    }

    /// The goal for these criteria and the residual of the initial guess.
    pub(crate) fn aimed(self, stopping: &Stopping, initial: Residual) -> Self {
        let tolerance = stopping.target(self.b_norm, initial.whole);
        let goal = Goal { target: tolerance, tolerance, limit: tolerance, ..self };
        let Some((inside, outside)) = self.parts else { return goal };
        let taken = if outside == 0.0 { 0.0 } else { outside / tolerance };
        let share = (1.0 - taken.powi(2)).max(0.0).sqrt();
        if share >= LEAST_SHARE {
            return Goal { target: tolerance * share, ..goal };
        }
        let projected = if stopping.project_rhs { StopReason::Converged } else { StopReason::Inconsistent };
        let target = if outside <= tolerance {
            tolerance * LEAST_SHARE
        } else {
            stopping.target(inside, initial.projected)
        };
        let limit = outside + target + ROUNDING * self.b_norm;
        Goal { target, limit, projected, ..goal }
    }

    /// Whether a residual ends the solve.
    pub(crate) fn settled(&self, residual: Residual) -> Option<StopReason> {
        if self.out_of_range || !residual.whole.is_finite() {
            Some(StopReason::NotFinite)
        } else if residual.projected > self.target {
            None
        } else if residual.whole <= self.tolerance {
            Some(StopReason::Converged)
        } else if residual.whole <= self.limit {
            Some(self.projected)
        } else {
            Some(StopReason::Stagnated)
        }
    }

    /// The reason to report for this residual, where the method stopped for another one.
    pub(crate) fn reached_by(&self, residual: Residual) -> Option<StopReason> {
        let reached = [StopReason::Converged, StopReason::Inconsistent];
        self.settled(residual).filter(|reason| reached.contains(reason))
    }
}
