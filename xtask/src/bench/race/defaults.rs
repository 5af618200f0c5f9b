//! hypre as its own defaults have it, for `cargo xtask bench collection`: conjugate gradients or
//! GMRES with BoomerAMG, through the driver and the files of the race.

use ziggurat_sparse::Csr;

use super::super::BenchError;
use super::peers::{Contestant, hypre};
use super::system::RaceSystem;
use super::{Files, run_once};

/// hypre with its defaults.
pub(in crate::bench) struct HypreDefaults {
    contestant: Contestant,
    files: Files,
}

impl HypreDefaults {
    /// Compiles the driver if necessary; otherwise says how to install hypre.
    pub(in crate::bench) fn new(quick: bool) -> Result<Self, BenchError> {
        let contestant = hypre(quick).map_err(BenchError::Competitor)?;
        Ok(HypreDefaults { contestant, files: Files::new()? })
    }

    /// Seconds of setup and solve, and the true residual; `None` if the system is not solved. `cg`
    /// says whether conjugate gradients apply, otherwise GMRES is used.
    pub(in crate::bench) fn solve(
        &self,
        a: &Csr<f64>,
        b: &[f64],
        cg: bool,
        threads: usize,
    ) -> Result<Option<(f64, f64)>, BenchError> {
        let (a, b, modes) = (a.clone(), b.to_vec(), Vec::new());
        let system = RaceSystem { a, b, block: 1, singular: false, modes };
        let failed = |source| BenchError::Write { path: self.files.system.clone(), source };
        system.write(&self.files.system).map_err(failed)?;
        let setting = if cg { "defaults cg" } else { "defaults gmres" };
        let run = run_once(&self.contestant, &system, setting, &self.files, threads)?;
        Ok(run.ok().map(|run| (run.total(), run.relative_residual)))
    }
}
