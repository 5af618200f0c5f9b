//! Another setup in place of an automatic choice that fails: multigrid instead of factors that do
//! not fit, and fewer levels for MINRES if the coarse ones are negative somewhere.

use ziggurat_amg::{Hierarchy, SetupError};

use super::SolveError;
use crate::config::{Coarsest, ConfigError, Krylov, MatrixFacts, Method, SolverConfig};
use crate::diagnose::MatrixKind;

impl SolverConfig {
    /// The number of levels whose V-cycle is positive, if that is fewer than there are, for a
    /// resolved configuration. `is_negative` states of a level whether its diagonal has a negative
    /// entry, on any process; it is asked only if the configuration needs a positive cycle, and on
    /// every process then.
    ///
    /// MINRES needs one. With l1 smoothers on every level and on the coarsest, it is positive for
    /// every symmetric matrix, positive or not, because Σ_j |a_ij| bounds both A and −A; but their
    /// steps have the sign of the diagonal entry, which may be negative on coarse levels of a
    /// saddle point.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, diagnose::MatrixKind};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:6".parse::<Problem>()?.matrix()?;
    /// let kind = MatrixKind::of_whole(&a.into())?;
    /// // It is no saddle point.
    /// assert_eq!(SolverConfig::default().positive_levels(&kind, 3, |_| true), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn positive_levels(
        &self,
        kind: &MatrixKind,
        levels: usize,
        is_negative: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let needs_positive = self.krylov == Krylov::Minres && self.hierarchy.coarsest == Coarsest::Smoothed;
        if !needs_positive || !kind.saddle_point {
            return None;
        }
        // If the finest level is negative somewhere, fewer levels do not help.
        (0..levels).position(is_negative).filter(|&levels| levels > 0)
    }
}

/// The number of levels of a hierarchy whose V-cycle is positive, likewise.
pub(super) fn positive_levels(
    hierarchy: &Hierarchy,
    config: &SolverConfig,
    kind: &MatrixKind,
) -> Option<usize> {
    let levels = hierarchy.levels();
    config.positive_levels(kind, levels.len(), |level| {
        let a = levels[level].matrix();
        a.view().diagonal(a.all_rows()).iter().any(|&entry| entry < 0.0)
    })
}

/// The error for levels that are to be made on a device that is none.
pub(super) fn no_device() -> SolveError {
    let reason = "`device` needs a GPU; choose one as the device of the solver, or leave it at host";
    ConfigError::Value { path: "setup".into(), reason: reason.into() }.into()
}

/// The configuration that takes the place of factors that `config` chose for `asked`; none if the
/// method was given.
pub(super) fn multigrid_instead(
    asked: &SolverConfig,
    config: &SolverConfig,
    facts: MatrixFacts,
) -> Option<SolverConfig> {
    let is_chosen = asked.method == Method::Auto && config.method == Method::Direct;
    is_chosen.then(|| asked.by_multigrid(facts))
}

/// Whether setup has failed because factors do not fit, or because the matrix is singular.
pub(super) fn has_no_factors(error: &SetupError) -> bool {
    matches!(error.cause(), SetupError::CoarseSolve { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_amg::WholeMatrix;
    use ziggurat_sparse::Csr;
    use ziggurat_sparse::device::Cpu;

    /// A chain of unknowns, of which every fourth is tied to its neighbour by a multiplier.
    fn saddle(n: usize) -> Csr<f64> {
        let mut a = ziggurat_sparse::Coo::new(n + n / 4, n + n / 4).unwrap();
        for row in 0..n {
            a.push(row, row, 2.0).unwrap();
            if row + 1 < n {
                a.push(row, row + 1, -1.0).unwrap();
                a.push(row + 1, row, -1.0).unwrap();
            }
        }
        for tie in 0..n / 4 {
            for (column, value) in [(4 * tie, 1.0), (4 * tie + 1, -1.0)] {
                a.push(n + tie, column, value).unwrap();
                a.push(column, n + tie, value).unwrap();
            }
        }
        a.to_csr()
    }

    #[test]
    fn factors_that_do_not_fit_give_way_to_multigrid() {
        let kind = MatrixKind::of_whole(&saddle(40).into()).unwrap();
        assert!(kind.saddle_point && kind.factors);
        let facts = kind.facts(&Cpu::new());
        let asked = SolverConfig::default();
        let config = asked.resolve(facts);
        assert_eq!(config.method, Method::Direct);
        let too_large = SetupError::CoarseSolve { rows: 50, reason: "its factors are too large".into() };
        assert!(has_no_factors(&too_large) && !has_no_factors(&SetupError::NoCells));
        let instead = multigrid_instead(&asked, &config, facts).unwrap().resolve(facts);
        assert_eq!((instead.method, instead.krylov), (Method::Classical, Krylov::Minres));
        assert_eq!(instead.hierarchy.coarsest, Coarsest::Smoothed);
        // The caller's choices are not replaced.
        let chosen = SolverConfig { method: Method::Direct, ..SolverConfig::default() };
        assert_eq!(multigrid_instead(&chosen, &chosen.resolve(facts), facts), None);
        // Ranks do not factorise.
        let on_ranks = MatrixKind::of(&WholeMatrix::new(saddle(40).into(), 1)).unwrap();
        assert_eq!(
            asked.resolve(on_ranks.facts(&Cpu::new())),
            SolverConfig { method: Method::Classical, ..instead }
        );
    }
}
