//! What one solve may do otherwise than the others of its solver.

use ziggurat_krylov::{DEFAULT_RESTART, Stopping};

use crate::config::{Krylov, SolverConfig};

/// How to iterate: what may change from solve to solve without another setup.
///
/// ```
/// use ziggurat::{SolveOptions, SolverConfig};
/// let options = SolveOptions::from(&SolverConfig::default());
/// assert_eq!((options.restart, options.stopping.rtol), (30, 1e-8));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SolveOptions {
    /// The outer iteration; `auto` is what the solver has chosen for its matrix.
    pub krylov: Krylov,
    /// Steps before GMRES and FGMRES start anew.
    pub restart: usize,
    /// When to stop.
    pub stopping: Stopping,
}

impl Default for SolveOptions {
    fn default() -> Self {
        SolveOptions { krylov: Krylov::Auto, restart: DEFAULT_RESTART, stopping: Stopping::default() }
    }
}

impl From<&SolverConfig> for SolveOptions {
    fn from(config: &SolverConfig) -> Self {
        let SolverConfig { krylov, restart, stopping, .. } = *config;
        SolveOptions { krylov, restart, stopping }
    }
}

impl SolveOptions {
    /// The method they mean for a solver of this configuration.
    pub(super) fn method(&self, config: &SolverConfig) -> ziggurat_krylov::Method {
        let krylov = if self.krylov == Krylov::Auto { config.krylov } else { self.krylov };
        SolverConfig { krylov, restart: self.restart, ..config.clone() }.krylov_method()
    }
}
