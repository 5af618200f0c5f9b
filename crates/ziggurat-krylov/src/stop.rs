//! When to stop, and why a method did.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::KrylovError;

/// When to stop.
///
/// Converged means ‖b − A x‖ ≤ max(rtol ‖b‖, atol), for the true residual. With both tolerances zero a method runs until
/// another limit stops it.
///
/// ```
/// use ziggurat_krylov::Stopping;
/// let stopping = Stopping::default().rtol(1e-10).max_iterations(200).max_seconds(60.0);
/// assert!(stopping.validate().is_ok());
/// assert!(Stopping::default().atol(f64::NAN).validate().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default, deny_unknown_fields)]
pub struct Stopping {
    /// Tolerance relative to ‖b‖: 1e-8 by default.
    pub rtol: f64,
    /// Absolute tolerance: 0 by default.
    pub atol: f64,
    /// Iterations at most: 1000 by default.
    pub max_iterations: usize,
    /// Seconds at most: no limit by default. A method looks at the clock once per iteration.
    pub max_seconds: Option<f64>,
    /// Compute the true residual after every so many iterations, to be looked at ([`KrylovReport::verified`]). With 0, the
    /// default, only when it decides something. It costs a product with A each time, and changes nothing else. GMRES and FGMRES,
    /// which have no x between restarts, do not.
    ///
    /// [`KrylovReport::verified`]: crate::KrylovReport::verified
    pub verify_every: usize,
}

impl Default for Stopping {
    fn default() -> Self {
        Stopping { rtol: 1e-8, atol: 0.0, max_iterations: 1000, max_seconds: None, verify_every: 0 }
    }
}

impl Stopping {
    /// With this tolerance relative to ‖b‖.
    #[must_use]
    pub fn rtol(self, rtol: f64) -> Self {
        Stopping { rtol, ..self }
    }

    /// With this absolute tolerance.
    #[must_use]
    pub fn atol(self, atol: f64) -> Self {
        Stopping { atol, ..self }
    }

    /// With at most this many iterations.
    #[must_use]
    pub fn max_iterations(self, max_iterations: usize) -> Self {
        Stopping { max_iterations, ..self }
    }

    /// With at most this many seconds.
    #[must_use]
    pub fn max_seconds(self, max_seconds: f64) -> Self {
        Stopping { max_seconds: Some(max_seconds), ..self }
    }

    /// With the true residual computed after every so many iterations.
    #[must_use]
    pub fn verify_every(self, verify_every: usize) -> Self {
        Stopping { verify_every, ..self }
    }

    /// Checks that every number means something. Each solve does this first.
    pub fn validate(&self) -> Result<(), KrylovError> {
        let settings =
            [("rtol", self.rtol), ("atol", self.atol), ("max_seconds", self.max_seconds.unwrap_or(0.0))];
        for (name, value) in settings {
            if !(value.is_finite() && value >= 0.0) {
                return Err(KrylovError::Setting { name, value, must: "finite and not negative" });
            }
        }
        Ok(())
    }

    /// The residual norm to reach: max(rtol ‖b‖, atol).
    ///
    /// ```
    /// use ziggurat_krylov::Stopping;
    /// let stopping = Stopping::default().rtol(1e-3).atol(1e-2);
    /// assert_eq!((stopping.target(1.0), stopping.target(100.0)), (1e-2, 1e-1));
    /// ```
    pub fn target(&self, b_norm: f64) -> f64 {
        (self.rtol * b_norm).max(self.atol)
    }
}

/// Why a method stopped. Its text says what it means and what to try.
///
/// ```
/// use ziggurat_krylov::StopReason;
/// assert_eq!(StopReason::MaxIterations.name(), "max_iterations");
/// assert!(StopReason::NotPositiveMatrix.to_string().contains("gmres"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The true residual is small enough.
    Converged,
    /// The limit of iterations is reached.
    MaxIterations,
    /// The limit of time is reached.
    TimeLimit,
    /// Starting again from the true residual no longer makes it smaller.
    Stagnated,
    /// The method would have to divide by zero.
    Breakdown,
    /// p·A p ≤ 0 for some p: the matrix is not positive definite.
    NotPositiveMatrix,
    /// r·M r ≤ 0 for some r: the preconditioner is not positive definite.
    NotPositivePreconditioner,
    /// A number became infinite or NaN, or its square fell to zero.
    NotFinite,
    /// The observer asked to stop.
    Interrupted,
}

impl StopReason {
    /// All of them.
    pub const ALL: [StopReason; 9] = [
        StopReason::Converged,
        StopReason::MaxIterations,
        StopReason::TimeLimit,
        StopReason::Stagnated,
        StopReason::Breakdown,
        StopReason::NotPositiveMatrix,
        StopReason::NotPositivePreconditioner,
        StopReason::NotFinite,
        StopReason::Interrupted,
    ];

    /// Whether the solution is as good as was asked for.
    pub const fn is_converged(self) -> bool {
        matches!(self, StopReason::Converged)
    }

    /// A short name for files: `converged`, `max_iterations` …
    pub const fn name(self) -> &'static str {
        match self {
            StopReason::Converged => "converged",
            StopReason::MaxIterations => "max_iterations",
            StopReason::TimeLimit => "time_limit",
            StopReason::Stagnated => "stagnated",
            StopReason::Breakdown => "breakdown",
            StopReason::NotPositiveMatrix => "not_positive_matrix",
            StopReason::NotPositivePreconditioner => "not_positive_preconditioner",
            StopReason::NotFinite => "not_finite",
            StopReason::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Converged => "converged: the true residual is within the tolerance",
            StopReason::MaxIterations => {
                "not converged: the limit of iterations was reached; allow more, or try a stronger preconditioner"
            }
            StopReason::TimeLimit => {
                "not converged: the limit of time was reached; allow more, or try a stronger preconditioner"
            }
            StopReason::Stagnated => {
                "stagnated: the true residual no longer decreases; ask for a looser tolerance, compute in a wider \
                 number, use fcg or fgmres if the preconditioner is not the same in every step, raise the restart of \
                 gmres, and if the matrix is singular make sure that the right-hand side is in its range"
            }
            StopReason::Breakdown => {
                "breakdown: the method cannot take another step; try gmres (with a longer restart) or another \
                 initial guess, and check that the matrix is not singular"
            }
            StopReason::NotPositiveMatrix => {
                "the matrix is not positive definite (p·Ap ≤ 0), which this method needs; try gmres or bicgstab, and \
                 check the signs of the matrix"
            }
            StopReason::NotPositivePreconditioner => {
                "the preconditioner is not positive definite (r·Mr ≤ 0), which this method needs; use a symmetric \
                 smoother in it, or try gmres or fgmres"
            }
            StopReason::NotFinite => {
                "a number became infinite or NaN, or too small to square; check matrix, right-hand side and initial \
                 guess for NaN, and scale the system if its numbers are very large or very small"
            }
            StopReason::Interrupted => "interrupted on request; the solution is the last iterate",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_checked_and_named() {
        for (stopping, name) in [
            (Stopping::default().rtol(-1e-9), "rtol"),
            (Stopping::default().rtol(f64::INFINITY), "rtol"),
            (Stopping::default().atol(f64::NAN), "atol"),
            (Stopping::default().max_seconds(-1.0), "max_seconds"),
        ] {
            assert!(stopping.validate().unwrap_err().to_string().contains(name));
        }
        assert!(Stopping::default().rtol(0.0).max_iterations(0).max_seconds(0.0).validate().is_ok());
    }

    #[test]
    fn names_are_different_and_every_failure_says_more() {
        for (i, reason) in StopReason::ALL.into_iter().enumerate() {
            assert!(StopReason::ALL[..i].iter().all(|other| other.name() != reason.name()));
            assert!(reason.to_string().len() > 40);
        }
    }
}
