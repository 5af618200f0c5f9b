//! New values for the matrix of a solver, as in time stepping: what can be kept is kept.
//!
//! Coarsening, interpolation and the symbolic phases of all products stay; the numeric phases, the smoothers and the
//! coarsest factorisation are computed anew. As the matrix moves away from the one that was coarsened, iterations grow. So
//! the largest number of iterations of any solve since the last change is compared with that of the solves right after the
//! last full setup. It is a largest number because that does not depend on the order in which threads finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_amg::WholeMatrix;
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::Device;

use super::{SolveError, Solver, lower};
use crate::config::{Rebuild, Update};
use crate::diagnose::MatrixKind;

/// What an update came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// New values on the old hierarchy.
    Values,
    /// A new hierarchy.
    Rebuilt,
}

/// How many iterations solves take.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The most since the matrix last changed; zero before the first solve.
    recent: AtomicUsize,
    /// The most between the last full setup and the update that followed it.
    after_setup: Option<usize>,
    updated: bool,
}

impl Pace {
    pub(super) fn note(&self, iterations: usize) {
        self.recent.fetch_max(iterations, Ordering::Relaxed);
    }

    /// Whether solves have become slower by more than this factor since the last full setup.
    fn is_slower(&self, factor: f64) -> bool {
        let recent = self.recent.load(Ordering::Relaxed) as f64;
        self.updated && self.after_setup.is_some_and(|before| recent > factor * before as f64)
    }

    /// The values are about to change.
    fn next(&mut self) {
        let recent = std::mem::take(self.recent.get_mut());
        if !self.updated {
            self.after_setup = (recent > 0).then_some(recent);
            self.updated = true;
        }
    }
}

impl<D: Device> Solver<D> {
    /// Puts new values on the same pattern. It costs a fraction of a full setup.
    ///
    /// The hierarchy is built anew, as [`Solver::new`] would, by the policy in [`Update`]:
    ///
    /// - `when-slower`, the default: if a solve since the last update took more than `factor` times the iterations of the
    ///   solves right after the last full setup;
    /// - `always`;
    /// - `never`.
    ///
    /// And whatever the policy, if the matrix has become one for which `auto` means something else, such as one that is no
    /// longer symmetric.
    ///
    /// ```
    /// use ziggurat::{Solver, SolverConfig, Updated};
    /// use ziggurat_sparse::gallery::Problem;
    /// let mut a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let mut solver = Solver::new(&a, SolverConfig::default())?;
    /// a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    /// assert_eq!(solver.update_values(&a)?, Updated::Values);
    /// assert!(solver.solve(&vec![1.0; a.rows()])?.report.reason.is_converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the pattern is another or a value is not finite. The solver then keeps its old matrix.
    pub fn update_values(&mut self, a: impl Into<Arc<Csr<f64>>>) -> Result<Updated, SolveError> {
        let a = a.into();
        // Before anything is built anew: another system is no update.
        self.hierarchy.check_pattern(&a)?;
        let Update { rebuild, factor } = self.config().update;
        let block = self.hierarchy.levels()[0].block();
        let kind = MatrixKind::of(&WholeMatrix::new(a.clone(), block))?;
        let same_kind = self.iteration.asked.resolve(kind.facts(self.device())) == *self.config();
        let wanted = match rebuild {
            Rebuild::Always => true,
            Rebuild::Never => false,
            Rebuild::WhenSlower => self.pace.is_slower(factor),
        };
        if wanted || !same_kind {
            let (device, asked) = (self.device().clone(), self.iteration.asked.clone());
            *self = Solver::set_up(device, &a, self.near_kernel.clone(), asked)?;
            return Ok(Updated::Rebuilt);
        }
        let old = self.hierarchy.levels()[0].matrix().clone();
        let updated = self.hierarchy.update_values(a).map_err(SolveError::from);
        // What had to become wide stays so.
        let config = if self.iteration.is_wide() {
            self.config().in_double_precision()
        } else {
            self.config().clone()
        };
        let (device, rows) = (self.device(), old.rows());
        let kernel = kind.null_space(device, rows);
        let moved = updated.and_then(|()| {
            let finest = self.hierarchy.finest(config.lowering().formats);
            Ok((lower(device, &self.hierarchy, &finest, &config)?, finest, kernel?))
        });
        match moved {
            Ok(((matrix, multigrid), finest, kernel)) => {
                self.iteration.replace(matrix, multigrid, kernel);
                self.finest = finest;
            }
            Err(error) => {
                // They made a hierarchy before, and will again.
                let _ = self.hierarchy.update_values(old);
                return Err(error);
            }
        }
        self.pace.next();
        Ok(Updated::Values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_is_measured_against_the_last_setup() {
        let mut pace = Pace::default();
        pace.note(10);
        assert!(!pace.is_slower(1.5), "nothing to compare with");
        pace.next();
        for iterations in [12, 15, 9] {
            pace.note(iterations);
            assert!(!pace.is_slower(1.5));
        }
        pace.next();
        pace.note(16);
        pace.note(3);
        assert!(pace.is_slower(1.5));
        pace.next();
        assert!(!pace.is_slower(1.5), "no solve since");
    }

    #[test]
    fn without_a_solve_after_setup_there_is_no_measure() {
        let mut pace = Pace::default();
        pace.next();
        pace.note(100);
        pace.next();
        pace.note(1000);
        assert!(!pace.is_slower(1.5));
    }
}
