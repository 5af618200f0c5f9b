//! How a solve went: what is told as JSON, whose keys are a contract, and what text and pictures are made of.

use serde::Serialize;
use ziggurat::config::Krylov;
use ziggurat::sparse::device::{self, Device};
use ziggurat::{Solution, SolveOptions, Solver, SolverConfig};

use crate::chart::{Curve, CurveKind};
use crate::level::{Level, levels};

/// How a solve went. The field names are the keys of `ziggurat solve --json`: programs read them, so they stay.
///
/// ```
/// use ziggurat::{Solver, sparse::gallery::Problem};
/// use ziggurat_report::Outcome;
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let solver = Solver::builder().build(&a)?;
/// let solution = solver.solve(&vec![1.0; a.rows()])?;
/// let outcome = Outcome::of(&solver, &solution, (0.01, 0.002));
/// assert!(outcome.converged && outcome.rows == 512);
/// assert_eq!(serde_json::to_value(&outcome)?["stop_reason"], "converged");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// Whether the solution is as good as was asked for.
    pub converged: bool,
    /// Why the iteration stopped, by a short name.
    pub stop_reason: String,
    /// Iterations done.
    pub iterations: usize,
    /// ‖b − A x‖ / ‖b‖, computed afresh in double precision.
    pub relative_residual: f64,
    /// Of everything before the iteration.
    pub setup_seconds: f64,
    /// Of the iteration.
    pub solve_seconds: f64,
    /// Unknowns.
    pub rows: usize,
    /// Entries of the matrix.
    pub nnz: usize,
    /// Entries of all levels over those of the finest.
    pub operator_complexity: f64,
    /// Rows of all levels over those of the finest.
    pub grid_complexity: f64,
    /// The hierarchy, finest first.
    pub levels: Vec<Level>,
    /// Where it was iterated.
    pub device: String,
    /// What went to and from it in the solve, where its memory is not the host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// The most memory that the process held (of several ranks: that which held most); `None` where the system does not tell.
    pub peak_bytes: Option<u64>,
    /// The ranks that solved it, under MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// The configuration that was really used, nothing left to be chosen.
    pub config: SolverConfig,
    /// How the hierarchy was built.
    pub method: String,
    /// The outer iteration.
    pub krylov: String,
    /// What the hierarchy is stored in.
    pub precision: String,
    /// Why levels became wider on the way, if they did.
    pub promotion: Option<String>,
    /// What the time was spent on, in seconds, in order: parts of setup.
    pub stages: Vec<(String, f64)>,
    /// The residual by the method's recurrence after each iteration, relative to ‖b‖.
    pub residuals: Vec<f64>,
    /// Iterations after which ‖b − A x‖ / ‖b‖ was computed, and what it was.
    pub true_residuals: Vec<(usize, f64)>,
    /// Of this library.
    pub version: &'static str,
    /// Why the iteration stopped, in words that say what to try.
    #[serde(skip)]
    pub stop_text: String,
}

impl Outcome {
    /// From a solver of one process and what it found; `timing` has the seconds of setup and of the solve.
    ///
    /// The memory is that of this process so far, so ask soon after the solve.
    pub fn of<D: Device>(solver: &Solver<D>, solution: &Solution, timing: (f64, f64)) -> Self {
        let levels = levels(solver);
        let device = solver.device().name();
        let stages = solver.stages().iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
        let outcome = Outcome::new(solution, solver.config(), levels, device, timing, peak_bytes(), None);
        Outcome { stages, ..outcome }
    }

    /// From what any solver gives, on one process or on many; `timing` has the seconds of setup and of the solve.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::Csr};
    /// use ziggurat_report::{Level, Outcome};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let solution = solver.solve(&[1.0, 2.0, 3.0])?;
    /// let level = Level { rows: 3, nnz: 3, ..Level::default() };
    /// let outcome =
    ///     Outcome::new(&solution, solver.config(), vec![level], "cpu".to_owned(), (0.1, 0.2), None, None);
    /// assert_eq!((outcome.rows, outcome.operator_complexity), (3, 1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new<X>(
        solution: &Solution<X>,
        config: &SolverConfig,
        levels: Vec<Level>,
        device: String,
        timing: (f64, f64),
        peak_bytes: Option<u64>,
        ranks: Option<Ranks>,
    ) -> Self {
        let over_finest = |of: fn(&Level) -> usize| {
            let all: usize = levels.iter().map(of).sum();
            all as f64 / levels.first().map_or(1, of).max(1) as f64
        };
        let (report, promotion) = (&solution.report, solution.promotion.as_ref());
        let scale = if report.b_norm > 0.0 { report.b_norm } else { 1.0 };
        Outcome {
            converged: report.reason.is_converged(),
            stop_reason: report.reason.name().to_owned(),
            iterations: report.iterations,
            relative_residual: report.relative_residual,
            setup_seconds: timing.0,
            solve_seconds: timing.1,
            rows: levels.first().map_or(0, |finest| finest.rows),
            nnz: levels.first().map_or(0, |finest| finest.nnz),
            operator_complexity: over_finest(|level| level.nnz),
            grid_complexity: over_finest(|level| level.rows),
            levels,
            device,
            traffic: solution.traffic.map(Traffic::from),
            peak_bytes,
            ranks,
            method: config.method.name().to_owned(),
            krylov: config.krylov.name().to_owned(),
            precision: promotion
                .map_or_else(|| config.precision.to_string(), |promotion| promotion.to.to_string()),
            promotion: promotion.map(ToString::to_string),
            stages: Vec::new(),
            residuals: report.history.iter().map(|norm| norm / scale).collect(),
            true_residuals: report.verified.iter().map(|&(k, norm)| (k, norm / scale)).collect(),
            version: env!("CARGO_PKG_VERSION"),
            stop_text: report.reason.to_string(),
            config: config.clone(),
        }
    }

    /// With the time of each level in a cycle, which is measured now: the solver runs some cycles. Where the device refuses,
    /// nothing is added.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::gallery::Problem};
    /// use ziggurat_report::Outcome;
    /// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
    /// let solver = Solver::builder().build(&a)?;
    /// let solution = solver.solve(&vec![1.0; a.rows()])?;
    /// let outcome = Outcome::of(&solver, &solution, (0.01, 0.002)).with_cycle_seconds(&solver);
    /// assert!(outcome.levels.iter().all(|level| level.cycle_seconds.is_some()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_cycle_seconds<D: Device>(mut self, solver: &Solver<D>) -> Self {
        if let Ok(seconds) = solver.preconditioner().level_seconds() {
            for (level, seconds) in self.levels.iter_mut().zip(seconds) {
                level.cycle_seconds = Some(seconds);
            }
        }
        self
    }

    /// With what this solve did otherwise than others of its solver, so that the configuration is the one that was really used.
    ///
    /// ```
    /// use ziggurat::{SolveOptions, Solver, config::Krylov, sparse::Csr};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let options = SolveOptions { krylov: Krylov::Gmres, ..SolveOptions::from(solver.config()) };
    /// let solution = solver.solve(&[1.0, 2.0, 3.0])?; // or with these options
    /// let outcome = ziggurat_report::Outcome::of(&solver, &solution, (0.1, 0.2)).with_options(&options);
    /// assert_eq!((outcome.krylov.as_str(), outcome.config.krylov), ("gmres", Krylov::Gmres));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: &SolveOptions) -> Self {
        if options.krylov != Krylov::Auto {
            self.config.krylov = options.krylov;
            self.krylov = options.krylov.name().to_owned();
        }
        (self.config.restart, self.config.stopping) = (options.restart, options.stopping);
        self
    }

    /// What [`convergence`](crate::chart::convergence) draws of it; `label` tells it from other solves.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::Csr};
    /// use ziggurat_report::{Outcome, chart};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let outcome = Outcome::of(&solver, &solver.solve(&[1.0, 2.0, 3.0])?, (0.1, 0.2));
    /// let [recurrence, truth] = outcome.curves("identity");
    /// assert_eq!((recurrence.points[0].0, truth.kind), (0, chart::CurveKind::True));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn curves(&self, label: &str) -> [Curve; 2] {
        // The recurrence begins with the true residual of the initial guess.
        let first = self.true_residuals.first().filter(|point| point.0 == 0).copied();
        let rest = self.residuals.iter().enumerate().map(|(k, &residual)| (k + 1, residual));
        let curve = |points, kind| Curve { label: label.to_owned(), points, kind };
        [
            curve(first.into_iter().chain(rest).collect(), CurveKind::Recurrence),
            curve(self.true_residuals.clone(), CurveKind::True),
        ]
    }
}

/// What went to and from the device.
///
/// ```
/// let counted = ziggurat::sparse::device::Traffic { uploads: 1, uploaded_bytes: 8000, ..Default::default() };
/// assert_eq!(ziggurat_report::Traffic::from(counted).uploaded_bytes, 8000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Kernels started.
    pub kernels: u64,
    /// Transfers to the device.
    pub uploads: u64,
    /// Bytes of them.
    pub uploaded_bytes: u64,
    /// Transfers from the device.
    pub downloads: u64,
    /// Bytes of them.
    pub downloaded_bytes: u64,
}

impl From<device::Traffic> for Traffic {
    fn from(traffic: device::Traffic) -> Self {
        let device::Traffic { kernels, uploads, uploaded_bytes, downloads, downloaded_bytes } = traffic;
        Traffic { kernels, uploads, uploaded_bytes, downloads, downloaded_bytes }
    }
}

/// Ranks of MPI.
///
/// ```
/// let ranks = ziggurat_report::Ranks { count: 4, threads: 1, peak_bytes_total: None };
/// assert!(serde_json::to_string(&ranks)?.starts_with(r#"{"count":4,"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ranks {
    /// How many.
    pub count: usize,
    /// Of each.
    pub threads: usize,
    /// The most memory that ranks held, added up.
    pub peak_bytes_total: Option<u64>,
}

/// The most memory this process has held so far, from `/proc`; `None` elsewhere than on Linux.
///
/// ```
/// if let Some(bytes) = ziggurat_report::peak_bytes() {
///     assert!(bytes > 100_000);
/// }
/// ```
pub fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn level(rows: usize, nnz: usize) -> Level {
        let (storage, working, format) = ("f64".into(), "f64".into(), "csr".into());
        let (reason, bytes) = ("csr 0.084 MB".to_owned(), 12 * nnz as u64);
        Level { rows, nnz, storage, working, format, bytes, reason, ..Level::default() }
    }

    pub(crate) fn outcome(converged: bool) -> Outcome {
        Outcome {
            converged,
            stop_reason: if converged { "converged" } else { "iteration limit" }.into(),
            iterations: 14,
            relative_residual: 6.25e-9,
            setup_seconds: 0.031,
            solve_seconds: 1.25,
            rows: 8000,
            nnz: 53600,
            operator_complexity: 1.25,
            grid_complexity: 1.1,
            levels: vec![level(8000, 53600), level(800, 12000)],
            device: "cpu (Portable, 1 threads)".into(),
            traffic: None,
            peak_bytes: Some(3 << 20),
            ranks: None,
            config: SolverConfig::default(),
            method: "sa".into(),
            krylov: "cg".into(),
            precision: "f64".into(),
            promotion: None,
            stages: vec![("diagnosis".into(), 0.004), ("galerkin".into(), 0.02)],
            residuals: vec![1e-3, 6.25e-9],
            true_residuals: vec![(0, 1.0), (1, 1e-3), (2, 6.25e-9)],
            stop_text: "not converged: the limit of iterations was reached".into(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    #[test]
    fn the_json_has_the_promised_keys_and_no_others() {
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        let json = serde_json::to_value(outcome(true)).unwrap();
        let mut promised = [
            "converged",
            "stop_reason",
            "iterations",
            "relative_residual",
            "setup_seconds",
            "solve_seconds",
            "rows",
            "nnz",
            "operator_complexity",
            "grid_complexity",
            "levels",
            "device",
            "peak_bytes",
            "config",
            "method",
            "krylov",
            "precision",
            "promotion",
            "residuals",
            "stages",
            "true_residuals",
            "version",
        ];
        promised.sort_unstable();
        assert_eq!(keys(&json), promised);
        let of_level = ["bytes", "format", "nnz", "reason", "rows", "storage", "transfer_bytes", "working"];
        assert_eq!(keys(&json["levels"][0]), of_level);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_is_more_than_what_we_just_took() {
        let held = vec![1u8; 30 << 20];
        assert!(peak_bytes().unwrap() > std::hint::black_box(held).len() as u64);
    }
}
