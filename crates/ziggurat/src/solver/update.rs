//! New values for the matrix of a solver, as in time stepping.
//!
//! Coarsening, interpolation and the symbolic phases of all products are reused; the numeric
//! phases, the smoothers and the coarsest factorisation are recomputed. The number of iterations
//! grows as the matrix departs from the one that was coarsened. The maximum over the solves since
//! the last update is therefore compared with the maximum over the solves right after the last full
//! setup. Maxima do not depend on the order in which threads finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use ziggurat_sparse::{Csr, MatrixError};

use super::analysis::analyse;
use super::transposed::Transposing;
use super::{SolveError, Solver, limits, lower};
use crate::config::{Krylov, Rebuild, Reorder, SolverConfig, Update};

/// Outcome of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Updated {
    /// The hierarchy was kept and its values were recomputed.
    Values,
    /// The hierarchy was rebuilt.
    Rebuilt,
}

/// Iteration counts of the solves, by which a solver decides whether an update of the values
/// rebuilds the hierarchy.
///
/// ```
/// use ziggurat::{Pace, config::Rebuild, config::Update};
/// let mut pace = Pace::default();
/// pace.note(10); // a solve after setup
/// pace.values_changed(); // new values
/// pace.note(16);
/// let beyond = |factor| Update { rebuild: Rebuild::WhenSlower, factor };
/// assert!(pace.asks_for_rebuild(beyond(1.5)) && !pace.asks_for_rebuild(beyond(2.0)));
/// ```
#[derive(Debug, Default)]
pub struct Pace {
    /// The maximum since the matrix last changed; zero before the first solve.
    recent: AtomicUsize,
    /// The maximum between the last full setup and the first update after it.
    after_setup: Option<usize>,
    updated: bool,
}

impl Pace {
    /// Takes note of a solve.
    pub fn note(&self, iterations: usize) {
        self.recent.fetch_max(iterations, Ordering::Relaxed);
    }

    /// Whether an update rebuilds the hierarchy, by this policy.
    pub fn asks_for_rebuild(&self, policy: Update) -> bool {
        match policy.rebuild {
            Rebuild::Always => true,
            Rebuild::Never => false,
            Rebuild::WhenSlower => self.is_slower(policy.factor),
        }
    }

    /// Whether the iteration count has grown by more than this factor since the last full setup.
    fn is_slower(&self, factor: f64) -> bool {
        let recent = self.recent.load(Ordering::Relaxed) as f64;
        self.updated && self.after_setup.is_some_and(|before| recent > factor * before as f64)
    }

    /// Starts a new period; called when the values change.
    pub fn values_changed(&mut self) {
        let recent = std::mem::take(self.recent.get_mut());
        if !self.updated {
            self.after_setup = (recent > 0).then_some(recent);
            self.updated = true;
        }
    }
}

impl Solver {
    /// Replaces the values of the matrix; the pattern must be the same. The cost is a fraction of a
    /// full setup.
    ///
    /// The policy in [`Update`] determines when the hierarchy is rebuilt, as by [`Solver::new`]:
    ///
    /// - `when-slower` (default): if a solve since the last update took more than `factor` times
    ///   the iterations of the solves right after the last full setup;
    /// - `always`: at every update;
    /// - `never`: not at all.
    ///
    /// With any policy, the hierarchy is rebuilt if `auto` resolves differently for the new matrix,
    /// for example because it is no longer symmetric.
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
    /// If the pattern differs or a value is not finite, or at the time limit, as in setup. The
    /// solver then keeps its old matrix.
    pub fn update_values(&mut self, a: impl Into<Arc<Csr<f64>>>) -> Result<Updated, SolveError> {
        self.update(a.into())
    }

    /// As [`Solver::update_values`], with the values alone, in the order of the matrix that was
    /// set up ([`Csr::values`]): row by row with increasing columns.
    ///
    /// ```
    /// use ziggurat::{Solver, Updated};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let mut solver = Solver::builder().build(&a)?;
    /// let twice: Vec<f64> = a.values().iter().map(|value| 2.0 * value).collect();
    /// assert_eq!(solver.update_values_from(&twice)?, Updated::Values);
    /// let error = solver.update_values_from(&twice[1..]).unwrap_err().to_string();
    /// assert_eq!(error, "values, one per entry of the matrix: expected 11232, found 11231");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there are not as many values as entries, or a value is not finite. The solver then keeps
    /// its old matrix.
    pub fn update_values_from(&mut self, values: &[f64]) -> Result<Updated, SolveError> {
        let mut a = Arc::unwrap_or_clone(self.hierarchy.matrix()?);
        if values.len() != a.nnz() {
            let (expected, found) = (a.nnz(), values.len());
            let what = "values, one per entry of the matrix";
            return Err(MatrixError::Mismatch { what, expected, found }.into());
        }
        a.values_mut().copy_from_slice(values);
        self.update_values(a)
    }

    /// [`Solver::update_values`], compiled once.
    fn update(&mut self, a: Arc<Csr<f64>>) -> Result<Updated, SolveError> {
        // Checked before a possible rebuild, which would accept any matrix.
        self.hierarchy.check_pattern(&a)?;
        let until = limits::of_setup(&self.cancel, self.config());
        let block = self.hierarchy.levels()[0].block();
        let mut kind = analyse(&a, block, self.near_kernel.as_ref())?.kind;
        // The pattern is the same, so its order is as good as before.
        kind.scattered = self.config().reorder == Reorder::On;
        let same_kind = self.iteration.asked.resolve(kind.facts(self.device())) == *self.config()
            && kind.negated == self.kind.negated;
        let wanted = self.pace.asks_for_rebuild(self.config().update);
        let is_factorised = self.iteration.is_factorised();
        let smoother = self.iteration.smoother_in_use();
        if wanted || !same_kind || is_factorised || smoother.is_some() {
            let mut asked = self.iteration.asked.clone();
            if is_factorised {
                // Multigrid has failed for this matrix before.
                asked = SolverConfig { krylov: Krylov::Auto, ..asked.by_factors() };
            } else if smoother.is_some() {
                let stronger = self.config().with_stronger_smoother();
                (asked.method, asked.smoother) = (stronger.method, stronger.smoother);
            }
            let (near_kernel, cancel) = (self.near_kernel.clone(), self.cancel.clone());
            *self = Solver::set_up(self.device(), &a, near_kernel, asked, cancel)?;
            return Ok(Updated::Rebuilt);
        }
        limits::before("update", &until)?;
        let old = self.hierarchy.levels()[0].distributed_matrix().clone();
        let updated = self.hierarchy.update_values(a).map_err(SolveError::from);
        // A raised precision stays raised.
        let config = self.iteration.config_in_use();
        let device = self.device();
        let moved = updated.and_then(|()| {
            let finest = self.hierarchy.finest(config.lowering().formats);
            let (finest_matrix, order) = self.hierarchy.finest_matrix();
            let kernel = kind.null_space(device, &finest_matrix, order.map(|order| &**order))?;
            Ok((lower(device, &self.hierarchy, &finest, &config, &until)?, finest, kernel))
        });
        match moved {
            Ok(((matrix, multigrid), finest, kernel)) => {
                self.iteration.replace(matrix, multigrid, kernel);
                self.hierarchy.release();
                (self.finest, self.kind) = (finest, kind);
                self.transposing = Transposing::default();
            }
            Err(error) => {
                // This cannot fail: the old values have been through setup before.
                let _ = self.hierarchy.in_given_order(&old).map(|old| self.hierarchy.update_values(old));
                return Err(error);
            }
        }
        self.pace.values_changed();
        Ok(Updated::Values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdown_is_relative_to_the_last_setup() {
        let mut pace = Pace::default();
        pace.note(10);
        assert!(!pace.is_slower(1.5), "no reference yet");
        pace.values_changed();
        for iterations in [12, 15, 9] {
            pace.note(iterations);
            assert!(!pace.is_slower(1.5));
        }
        pace.values_changed();
        pace.note(16);
        pace.note(3);
        assert!(pace.is_slower(1.5));
        pace.values_changed();
        assert!(!pace.is_slower(1.5), "no solve since");
    }

    #[test]
    fn without_a_solve_after_setup_there_is_no_reference() {
        let mut pace = Pace::default();
        pace.values_changed();
        pace.note(100);
        pace.values_changed();
        pace.note(1000);
        assert!(!pace.is_slower(1.5));
    }
}
