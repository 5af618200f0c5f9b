//! The preconditioners that a solve may change to: the levels with a stronger smoother, and sparse
//! factors of the matrix. `watch.rs` decides when.

use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::{
    Cancel, Hierarchy, HierarchyConfig, MatrixProperties, Multigrid, SetupError, can_be_direct,
};
use ziggurat_sparse::Kind;

use super::{Iteration, SolveError, Solver, Stronger, limits};
use crate::config::{Precision, SmootherKind, SolverConfig};

/// Moves the levels of a hierarchy to the device, in the precisions of a configuration.
type Lower<'a> = dyn Fn(&Hierarchy, &SolverConfig) -> Result<Multigrid, SolveError> + 'a;

impl Solver {
    /// The hierarchy of the cycle that the next solve starts with: the one that was set up, unless
    /// a solve has changed to a smoother that needs another one.
    ///
    /// ```
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// assert_eq!(solver.hierarchy_in_use().levels().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hierarchy_in_use(&self) -> &Hierarchy {
        let other = self.other_hierarchy.get();
        other.filter(|_| self.iteration.smoother_in_use().is_some()).unwrap_or(&self.hierarchy)
    }

    /// A stronger preconditioner of an iteration, if there is one; a smoother in the number type
    /// `kind` if that is given. `lower` moves levels to the device, as they are or transposed. An
    /// error if it is cancelled.
    pub(super) fn stronger(
        &self,
        iteration: &Iteration,
        to: Stronger,
        kind: Option<Kind>,
        cancel: &Cancel,
        lower: &Lower<'_>,
    ) -> Result<Option<Multigrid>, SolveError> {
        match to {
            Stronger::Levels(kind) => lower(&self.hierarchy, &self.config().in_precision(kind)).map(Some),
            Stronger::Smoother(smoother) => self.smoothed_by(iteration, smoother, kind, cancel, lower),
            Stronger::Factors => self.factors(cancel, lower),
        }
    }

    /// The levels with a stronger smoother; `None` if it cannot be set up.
    fn smoothed_by(
        &self,
        iteration: &Iteration,
        smoother: SmootherKind,
        kind: Option<Kind>,
        cancel: &Cancel,
        lower: &Lower<'_>,
    ) -> Result<Option<Multigrid>, SolveError> {
        let config = iteration.config_in_use().with_stronger_smoother();
        let config = kind.map_or_else(|| config.clone(), |kind| config.in_precision(kind));
        if config.check_for(self.kind.facts(self.device())).is_err() {
            return Ok(None);
        }
        let lowered = if smoother == SmootherKind::Fsai {
            lower(&self.hierarchy, &config)
        } else {
            self.other_hierarchy(&config, cancel).and_then(|levels| lower(levels, &config))
        };
        match lowered {
            Ok(cycle) => Ok(Some(cycle)),
            Err(SolveError::Setup(error)) if !error.is_cancelled() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The levels of another configuration for the same matrix.
    fn other_hierarchy(&self, config: &SolverConfig, cancel: &Cancel) -> Result<&Hierarchy, SolveError> {
        if let Some(made) = self.other_hierarchy.get() {
            return Ok(made);
        }
        let a = self.hierarchy.levels()[0].matrix().clone();
        let near_kernel = NearKernel::constants(a.rows(), self.hierarchy.levels()[0].block());
        let near_kernel = near_kernel.map_err(SetupError::from)?;
        let properties = MatrixProperties { near_kernel, symmetry: Symmetry::General, grid: None };
        // The matrix of the finest level is in its order already.
        let config = HierarchyConfig { reorder: false, ..config.hierarchy_config() };
        let made = Hierarchy::with_properties_until(a, properties, &config, cancel)?;
        let made = made.in_order_of(&self.hierarchy);
        // If another thread was faster, its hierarchy is identical.
        Ok(self.other_hierarchy.get_or_init(|| made))
    }

    /// Sparse factors of the matrix as a preconditioner; `None` if they do not fit into memory or
    /// are not compiled in, or if the matrix is singular.
    fn factors(&self, cancel: &Cancel, lower: &Lower<'_>) -> Result<Option<Multigrid>, SolveError> {
        if !can_be_direct(self.hierarchy.levels()[0].matrix().rows()) {
            return Ok(None);
        }
        let config = SolverConfig { precision: Precision::F64, ..self.config().by_factors() };
        limits::before("factors", cancel)?;
        let a = self.hierarchy.levels()[0].matrix().clone();
        let near_kernel = NearKernel::constants(a.rows(), 1).map_err(SetupError::from)?;
        let properties = MatrixProperties { near_kernel, symmetry: Symmetry::General, grid: None };
        let whole = Hierarchy::with_properties(a, properties, &config.hierarchy_config())?;
        let whole = whole.in_order_of(&self.hierarchy);
        match lower(&whole, &config) {
            Ok(factors) => Ok(Some(factors)),
            Err(SolveError::Setup(error)) if matches!(error.cause(), SetupError::CoarseSolve { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
