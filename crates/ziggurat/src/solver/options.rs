//! Per-solve overrides.

use ziggurat_krylov::{Basis, DEFAULT_RESTART, Stopping};

use crate::config::{Krylov, SolverConfig};

/// Options of the iteration that can differ between solves without another setup.
///
/// ```
/// use ziggurat::{SolveOptions, SolverConfig};
/// let options = SolveOptions::from(&SolverConfig::default());
/// assert_eq!((options.restart, options.stopping.rtol), (30, 1e-8));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SolveOptions {
    /// The Krylov method; `auto` means the method that the solver has chosen for its matrix.
    pub krylov: Krylov,
    /// Iterations between restarts of GMRES and FGMRES.
    pub restart: usize,
    /// How GMRES and FGMRES store their basis.
    pub basis: Basis,
    /// The stopping criteria.
    pub stopping: Stopping,
}

impl Default for SolveOptions {
    fn default() -> Self {
        SolveOptions {
            krylov: Krylov::Auto,
            restart: DEFAULT_RESTART,
            basis: Basis::default(),
            stopping: Stopping::default(),
        }
    }
}

impl From<&SolverConfig> for SolveOptions {
    fn from(config: &SolverConfig) -> Self {
        let SolverConfig { krylov, restart, basis, stopping, .. } = *config;
        SolveOptions { krylov, restart, basis, stopping }
    }
}

impl SolveOptions {
    /// The Krylov method of these options, for a solver with this configuration.
    pub(super) fn method(&self, config: &SolverConfig) -> ziggurat_krylov::Method {
        let krylov = if self.krylov == Krylov::Auto { config.krylov } else { self.krylov };
        SolverConfig { krylov, restart: self.restart, ..config.clone() }.krylov_method()
    }
}
