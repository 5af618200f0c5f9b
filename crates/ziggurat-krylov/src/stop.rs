//! Stopping criteria, and the reasons why a method stopped.

use std::fmt;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::choice;

use crate::error::KrylovError;

choice! {
    /// How several tolerances combine.
    ///
    /// ```
    /// use ziggurat_krylov::Combine;
    /// assert_eq!("and".parse(), Ok(Combine::All));
    /// ```
    Combine, "combination":
    /// The residual must be within one of the tolerances, so the largest counts.
    Any = "any" | "or",
    /// The residual must be within all tolerances, so the smallest counts.
    All = "all" | "and",
}

/// Stopping criteria.
///
/// A method has converged if the true residual is within the tolerances: relative to ‖b‖, absolute,
/// and relative to the residual of the initial guess, as far as they are not zero, either one of
/// them or all ([`Combine`]):
///
/// ```text
/// any:  ‖b − A x‖ ≤ max(rtol ‖b‖, atol, reduction ‖b − A x₀‖)
/// all:  ‖b − A x‖ ≤ min of those that are not zero
/// ```
///
/// If all tolerances are zero, it runs until another limit is reached. Whatever else should end a
/// solve is a closure, the [observer](crate::Observer). A solve that it ends is
/// [interrupted](StopReason::Interrupted); one that ends at a limit of iterations or time has not
/// converged, either.
///
/// ```
/// use ziggurat_krylov::{Combine, Stopping};
/// let stopping = Stopping::default().rtol(1e-10).max_iterations(200).max_seconds(60.0);
/// assert!(stopping.validate().is_ok());
/// assert!(Stopping::default().atol(f64::NAN).validate().is_err());
/// // Three digits better than the guess, but no more digits than the data have.
/// let step = Stopping::default().rtol(1e-10).reduction(1e-3);
/// assert_eq!(step.target(1.0, 1e-2), 1e-5);
/// assert_eq!(step.combine(Combine::All).target(1.0, 1e-2), 1e-10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default, deny_unknown_fields)]
pub struct Stopping {
    /// Tolerance relative to ‖b‖; default 1e-8.
    pub rtol: f64,
    /// Absolute tolerance; default 0.
    pub atol: f64,
    /// Tolerance relative to the residual of the initial guess; default 0.
    pub reduction: f64,
    /// Whether one of the tolerances has to be reached or all; default one.
    pub combine: Combine,
    /// Maximum number of iterations; default 1000.
    pub max_iterations: usize,
    /// Time limit in seconds, checked once per iteration; default none.
    pub max_seconds: Option<f64>,
    /// Also compute the true residual every `verify_every` iterations, for
    /// [`KrylovReport::verified`]. Each costs a product with A and affects nothing else. With 0,
    /// the default, it is computed only where a decision depends on it. GMRES and FGMRES ignore
    /// this setting, because they have no x between restarts.
    ///
    /// [`KrylovReport::verified`]: crate::KrylovReport::verified
    pub verify_every: usize,
    /// Accept the least-squares solution if A is singular and b is not in its range: b is replaced
    /// by its projection onto the range, and the tolerance applies to that. The report states the
    /// size of what was [left out](crate::KrylovReport::left_out). Without it, the default, such a
    /// system is reported as [inconsistent](StopReason::Inconsistent).
    pub project_rhs: bool,
}

impl Default for Stopping {
    fn default() -> Self {
        Stopping {
            rtol: 1e-8,
            atol: 0.0,
            reduction: 0.0,
            combine: Combine::Any,
            max_iterations: 1000,
            max_seconds: None,
            verify_every: 0,
            project_rhs: false,
        }
    }
}

impl Stopping {
    /// Sets the tolerance relative to ‖b‖.
    #[must_use]
    pub fn rtol(self, rtol: f64) -> Self {
        Stopping { rtol, ..self }
    }

    /// Sets the absolute tolerance.
    #[must_use]
    pub fn atol(self, atol: f64) -> Self {
        Stopping { atol, ..self }
    }

    /// Sets the tolerance relative to the residual of the initial guess.
    #[must_use]
    pub fn reduction(self, reduction: f64) -> Self {
        Stopping { reduction, ..self }
    }

    /// Sets whether one of the tolerances has to be reached or all.
    #[must_use]
    pub fn combine(self, combine: Combine) -> Self {
        Stopping { combine, ..self }
    }

    /// Sets the maximum number of iterations.
    #[must_use]
    pub fn max_iterations(self, max_iterations: usize) -> Self {
        Stopping { max_iterations, ..self }
    }

    /// Sets the time limit in seconds.
    #[must_use]
    pub fn max_seconds(self, max_seconds: f64) -> Self {
        Stopping { max_seconds: Some(max_seconds), ..self }
    }

    /// Sets the interval, in iterations, at which true residuals are reported.
    #[must_use]
    pub fn verify_every(self, verify_every: usize) -> Self {
        Stopping { verify_every, ..self }
    }

    /// Sets whether a right-hand side outside the range of a singular matrix is projected onto it.
    #[must_use]
    pub fn project_rhs(self, project_rhs: bool) -> Self {
        Stopping { project_rhs, ..self }
    }

    /// Checks that all values are valid. Every solve calls it first.
    pub fn validate(&self) -> Result<(), KrylovError> {
        let settings = [
            ("rtol", self.rtol),
            ("atol", self.atol),
            ("reduction", self.reduction),
            ("max_seconds", self.max_seconds.unwrap_or(0.0)),
        ];
        for (name, value) in settings {
            if !(value.is_finite() && value >= 0.0) {
                return Err(KrylovError::Setting { name, value, must: "finite and not negative" });
            }
        }
        Ok(())
    }

    /// The residual norm to reach, from ‖b‖ and the residual norm of the initial guess.
    ///
    /// ```
    /// use ziggurat_krylov::Stopping;
    /// let stopping = Stopping::default().rtol(1e-3).atol(1e-2);
    /// assert_eq!((stopping.target(1.0, 1.0), stopping.target(100.0, 1.0)), (1e-2, 1e-1));
    /// ```
    pub fn target(&self, b_norm: f64, initial_residual: f64) -> f64 {
        // A tolerance of zero is none; without this, zero times infinity would be one.
        let relative = |tolerance: f64, norm: f64| if tolerance == 0.0 { 0.0 } else { tolerance * norm };
        let norms = [relative(self.rtol, b_norm), self.atol, relative(self.reduction, initial_residual)];
        match self.combine {
            Combine::Any => norms.into_iter().fold(0.0, f64::max),
            Combine::All => norms.into_iter().filter(|&norm| norm > 0.0).reduce(f64::min).unwrap_or(0.0),
        }
    }

    /// The same criteria with the target as an absolute tolerance, for a solve that continues
    /// another one: that one's initial residual counts.
    ///
    /// ```
    /// use ziggurat_krylov::Stopping;
    /// let continued = Stopping::default().reduction(1e-3).with_target(0.5);
    /// assert_eq!(continued.target(1.0, 1e-9), 0.5);
    /// ```
    #[must_use]
    pub fn with_target(self, target: f64) -> Self {
        Stopping { rtol: 0.0, atol: target, reduction: 0.0, ..self }
    }

    /// Whether the target depends on the initial residual.
    pub fn is_relative_to_guess(&self) -> bool {
        self.reduction > 0.0
    }
}

/// Why a method stopped. Its text explains the reason and what to try. Serialised, it is its name.
///
/// ```
/// use ziggurat_krylov::StopReason;
/// assert_eq!(StopReason::MaxIterations.name(), "max_iterations");
/// assert!(StopReason::NotPositiveMatrix.to_string().contains("gmres"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The true residual is within the tolerance.
    Converged,
    /// The iteration limit was reached.
    MaxIterations,
    /// The time limit was reached.
    TimeLimit,
    /// Restarts from the true residual no longer reduce it, the residual stood still before the
    /// limit of iterations, or Richardson's iteration diverges.
    Stagnated,
    /// A is singular and b is not in its range: x minimises the residual, but solves nothing.
    Inconsistent,
    /// The method would have to divide by zero.
    Breakdown,
    /// p·A p ≤ 0 for some p: the matrix is not positive definite.
    NotPositiveMatrix,
    /// r·M r ≤ 0 for some r: the preconditioner is not positive definite.
    NotPositivePreconditioner,
    /// A value became infinite or NaN, or its square underflowed.
    NotFinite,
    /// The observer asked to stop.
    Interrupted,
}

impl StopReason {
    /// All reasons.
    pub const ALL: [StopReason; 10] = [
        StopReason::Converged,
        StopReason::MaxIterations,
        StopReason::TimeLimit,
        StopReason::Stagnated,
        StopReason::Inconsistent,
        StopReason::Breakdown,
        StopReason::NotPositiveMatrix,
        StopReason::NotPositivePreconditioner,
        StopReason::NotFinite,
        StopReason::Interrupted,
    ];

    /// Whether the solution is within the tolerance.
    pub const fn is_converged(self) -> bool {
        matches!(self, StopReason::Converged)
    }

    /// A short name for use in files: `converged`, `max_iterations` …
    pub const fn name(self) -> &'static str {
        match self {
            StopReason::Converged => "converged",
            StopReason::MaxIterations => "max_iterations",
            StopReason::TimeLimit => "time_limit",
            StopReason::Stagnated => "stagnated",
            StopReason::Inconsistent => "inconsistent",
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
                "not converged: the iteration limit was reached; raise it if the residual still falls, or try a \
                 stronger preconditioner (sparse factors, method direct, are the strongest)"
            }
            StopReason::TimeLimit => {
                "not converged: the time limit was reached; raise it, or try a stronger preconditioner"
            }
            StopReason::Stagnated => {
                "stagnated: the true residual no longer decreases; rounding errors prevent a smaller one \
                 (loosen the tolerance), or the preconditioner or the restart is too weak (try sparse factors, \
                 method direct, or minres for a symmetric indefinite matrix)"
            }
            StopReason::Inconsistent => {
                "inconsistent: the matrix is singular, and the right-hand side has a component that no \
                 solution can reach; correct the right-hand side, or accept the least-squares solution \
                 with project_rhs (--project-rhs)"
            }
            StopReason::Breakdown => {
                "breakdown: the next step would divide by zero; try gmres (with a longer restart) or \
                 another initial guess, and check that the matrix is nonsingular"
            }
            StopReason::NotPositiveMatrix => {
                "the matrix is not positive definite (p·Ap ≤ 0), as this method requires; try gmres or \
                 bicgstab, check the signs of the matrix entries, and, if the matrix is singular, that \
                 every part of it has a solution (`ziggurat inspect` lists floating parts)"
            }
            StopReason::NotPositivePreconditioner => {
                "the preconditioner is not positive definite (r·Mr ≤ 0), as this method requires, which is \
                 usual if the matrix is indefinite; try fgmres, or use a symmetric smoother if the matrix \
                 is positive definite"
            }
            StopReason::NotFinite => {
                "a value became infinite or NaN, or its square underflowed; check the matrix, right-hand \
                 side and initial guess for NaN, and scale the system if its values are very large or \
                 very small"
            }
            StopReason::Interrupted => "interrupted on request; the solution is the last iterate",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_rejected_by_name() {
        for (stopping, name) in [
            (Stopping::default().rtol(-1e-9), "rtol"),
            (Stopping::default().rtol(f64::INFINITY), "rtol"),
            (Stopping::default().atol(f64::NAN), "atol"),
            (Stopping::default().reduction(-1.0), "reduction"),
            (Stopping::default().max_seconds(-1.0), "max_seconds"),
        ] {
            assert!(stopping.validate().unwrap_err().to_string().contains(name));
        }
        assert!(Stopping::default().rtol(0.0).max_iterations(0).max_seconds(0.0).validate().is_ok());
    }

    #[test]
    fn tolerances_combine() {
        let all_three = Stopping::default().rtol(1e-2).atol(1e-4).reduction(1e-3);
        assert_eq!(all_three.target(1.0, 1.0), 1e-2);
        assert_eq!(all_three.target(1.0, 100.0), 0.1);
        let all_three = all_three.combine(Combine::All);
        assert_eq!(all_three.target(1.0, 1.0), 1e-4);
        assert_eq!(all_three.target(1.0, 1e-2), 1e-5);
        // A tolerance of zero is not given.
        assert_eq!(all_three.atol(0.0).target(1.0, 1.0), 1e-3);
        for combine in [Combine::Any, Combine::All] {
            let none = Stopping::default().rtol(0.0).combine(combine);
            assert_eq!((none.target(1.0, 1.0), none.target(f64::INFINITY, f64::INFINITY)), (0.0, 0.0));
        }
    }

    #[test]
    fn names_are_unique_and_every_reason_is_explained() {
        for (i, reason) in StopReason::ALL.into_iter().enumerate() {
            assert!(StopReason::ALL[..i].iter().all(|other| other.name() != reason.name()));
            assert!(reason.to_string().len() > 40);
        }
    }
}
