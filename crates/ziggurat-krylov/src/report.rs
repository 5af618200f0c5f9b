//! The report of a solve.

use std::fmt;

use serde::Serialize;

use crate::flat::recent_factor;
use crate::stop::StopReason;

/// Why a solve stopped, its residuals and its time. All residuals except those in `history` are
/// true ones: norms of b − A x, computed from x.
///
/// It can be serialised, with the names of the fields as keys and the
/// [name](StopReason::name) of the reason. JSON has no numbers for infinite values and NaN; they
/// become null.
///
/// ```
/// use ziggurat_krylov::{LinearProblem, Method, StopReason, Stopping, System, Work, solve};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, 3.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = Work::new(Method::Cg, &device, &system)?;
/// let (b, mut x) = (Vector::from(vec![3.0, 4.0]), Vector::from(vec![0.0; 2]));
/// let one_step = Stopping::default().max_iterations(1);
/// let problem = LinearProblem::new(&device, &system, &b).stopping(one_step);
/// let report = solve(problem, &mut x, &mut work)?;
/// assert_eq!((report.reason, report.iterations), (StopReason::MaxIterations, 1));
/// assert_eq!(report.initial_residual, 5.0);
/// assert!((report.relative_residual - report.residual / 5.0).abs() < 1e-15);
/// assert!(report.to_string().contains("raise it"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KrylovReport {
    /// Why the method stopped.
    pub reason: StopReason,
    /// The number of iterations.
    pub iterations: usize,
    /// ‖b − A x‖ of the returned solution.
    pub residual: f64,
    /// ‖b − A x‖ / ‖b‖; 0 for b = 0, whose solution is 0.
    pub relative_residual: f64,
    /// ‖N Nᵀ b‖ / ‖b‖ for a singular matrix with kernel N: the part of b that no x can reach. 0 for
    /// a nonsingular matrix.
    pub left_out: f64,
    /// ‖b − A x‖ of the initial guess.
    pub initial_residual: f64,
    /// The norm of b − A x to reach ([`Stopping::target`](crate::Stopping::target)).
    pub target: f64,
    /// ‖b‖.
    pub b_norm: f64,
    /// The residual norm of the method's recurrence after each iteration.
    pub history: Vec<f64>,
    /// True residual norms ‖b − A x‖, each with the number of iterations before it: of the initial
    /// guess, at restarts, every [`Stopping::verify_every`] iterations, and of the solution.
    ///
    /// [`Stopping::verify_every`]: crate::Stopping::verify_every
    pub verified: Vec<(usize, f64)>,
    /// Wall-clock time.
    pub seconds: f64,
}

impl KrylovReport {
    /// The factor per iteration by which the smallest residual norm of the recurrence fell at the
    /// end: in the last quarter of the iterations, or in the last sixteen. 1 if it stood still.
    /// `None` without iterations, or if no residual is positive and finite.
    ///
    /// ```
    /// use ziggurat_krylov::{LinearProblem, Method, System, Work, solve};
    /// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
    /// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![0.9, 1.1])?;
    /// let device = Cpu::new();
    /// let a = MatrixOperator::new(&device, a)?;
    /// let system = System::new(&a);
    /// let mut work = Work::new(Method::Richardson, &device, &system)?;
    /// let (b, mut x) = (Vector::from(vec![1.0, 1.0]), Vector::from(vec![0.0; 2]));
    /// let report = solve(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
    /// assert!((report.recent_factor().unwrap() - 0.1).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recent_factor(&self) -> Option<f64> {
        recent_factor(self.initial_residual, &self.history)
    }
}

impl fmt::Display for KrylovReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.iterations == 1 { "" } else { "s" };
        write!(
            f,
            "{} iteration{plural}, relative residual {:.2e}, {:.3} s: {}",
            self.iterations, self.relative_residual, self.seconds, self.reason
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_as_one_line() {
        let report = KrylovReport {
            reason: StopReason::Converged,
            iterations: 12,
            residual: 1e-3,
            relative_residual: 1e-9,
            left_out: 0.0,
            initial_residual: 1e6,
            target: 1e-2,
            b_norm: 1e6,
            history: Vec::new(),
            verified: Vec::new(),
            seconds: 0.25,
        };
        let text = report.to_string();
        assert!(text.starts_with("12 iterations, relative residual 1.00e-9, 0.250 s: converged"), "{text}");
        let text = KrylovReport { iterations: 1, ..report }.to_string();
        assert!(text.starts_with("1 iteration, "), "{text}");
    }
}
