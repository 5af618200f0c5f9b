//! hypre with its default parameters, through the drivers and the files of the race: for `cargo
//! xtask bench collection` conjugate gradients or GMRES with BoomerAMG, for `cargo xtask bench
//! smoothers` conjugate gradients with FSAI or ILU(0).

use ziggurat_sparse::Csr;

use super::super::BenchError;
use super::peers::{Contestant, hypre, hypre_smoothers};
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
        let system = write(a, b, &self.files)?;
        let setting = if cg { "defaults cg" } else { "defaults gmres" };
        let run = run_once(&self.contestant, &system, setting, &self.files, threads)?;
        Ok(run.ok().map(|run| (run.total(), run.relative_residual)))
    }
}

/// The smoothers of hypre on one system.
pub(in crate::bench) struct HypreSmoothers {
    contestant: Contestant,
    files: Files,
    system: RaceSystem,
}

impl HypreSmoothers {
    /// Compiles the driver if necessary; otherwise says how to install hypre.
    pub(in crate::bench) fn new(a: &Csr<f64>, b: &[f64], quick: bool) -> Result<Self, BenchError> {
        let contestant = hypre_smoothers(quick).map_err(BenchError::Competitor)?;
        let files = Files::new()?;
        let system = write(a, b, &files)?;
        Ok(HypreSmoothers { contestant, files, system })
    }

    /// The names of the smoothers.
    pub(in crate::bench) fn names(&self) -> &'static [&'static str] {
        self.contestant.settings(&self.system)
    }

    /// Seconds of setup, and iterations; or why the system is not solved.
    pub(in crate::bench) fn solve(
        &self,
        smoother: &str,
        processes: usize,
    ) -> Result<Result<(f64, usize), String>, BenchError> {
        let run = run_once(&self.contestant, &self.system, smoother, &self.files, processes)?;
        Ok(run.map(|run| (run.setup_seconds, run.iterations)))
    }
}

/// Writes the file that the driver reads. No near-null space is given.
fn write(a: &Csr<f64>, b: &[f64], files: &Files) -> Result<RaceSystem, BenchError> {
    let (a, b, modes) = (a.clone(), b.to_vec(), Vec::new());
    let system = RaceSystem { a, b, block: 1, singular: false, modes };
    let failed = |source| BenchError::Write { path: files.system.clone(), source };
    system.write(&files.system).map_err(failed)?;
    Ok(system)
}
