//! The data of a report: serialised as JSON with stable keys, and the source of text and charts.

use std::time::SystemTime;

use serde::Serialize;
use ziggurat::config::{Decision, Krylov, Method, SmootherKind};
use ziggurat::diagnose::{Advice, AdviceLevel};
use ziggurat::sparse::Kind;
use ziggurat::{Solution, SolveOptions, Solver, SolverConfig, Stronger, diagnose};

use crate::chart::{Curve, CurveKind};
use crate::figures::value;
use crate::level::{Level, levels};
use crate::machine::processor;
use crate::ranks::Ranks;
use crate::traffic::Traffic;

/// Result and statistics of a solve. The field names are the keys of `ziggurat solve --json` and
/// are stable.
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
    /// Whether the solution meets the requested tolerance.
    pub converged: bool,
    /// Short name of the stopping reason.
    pub stop_reason: String,
    /// Number of iterations.
    pub iterations: usize,
    /// The true residual ‖b − A x‖ / ‖b‖, recomputed in double precision.
    pub relative_residual: f64,
    /// The residual to be reached: the tolerances as they combine, relative to ‖b‖.
    pub tolerance: f64,
    /// The part of b, relative to ‖b‖, that no x can reach because the matrix is singular; 0 for a
    /// regular matrix.
    pub left_out: f64,
    /// Time of setup.
    pub setup_seconds: f64,
    /// Time of the iteration.
    pub solve_seconds: f64,
    /// Number of unknowns.
    pub rows: usize,
    /// Number of stored matrix entries.
    pub nnz: usize,
    /// Matrix entries on all levels, divided by the entries of the finest.
    pub operator_complexity: f64,
    /// Rows on all levels, divided by the rows of the finest.
    pub grid_complexity: f64,
    /// The levels of the hierarchy, finest first.
    pub levels: Vec<Level>,
    /// The device that ran the iteration.
    pub device: String,
    /// Kernel launches and transfers during the solve; `None` if the device shares the host's
    /// memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// Peak memory of the process (under MPI, the maximum over ranks); `None` if the system does
    /// not report it.
    pub peak_bytes: Option<u64>,
    /// The MPI ranks, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// The configuration used, with every automatic choice resolved.
    pub config: SolverConfig,
    /// The choices that the configuration left open, with the reason for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// The coarsening method.
    pub method: String,
    /// The Krylov method.
    pub krylov: String,
    /// Storage precision of the hierarchy.
    pub precision: String,
    /// Where the levels were made: `host` or `device`.
    pub setup_on: String,
    /// The changes to a stronger preconditioner during the solve, and their reasons: one sentence
    /// for all changes in order.
    pub promotion: Option<String>,
    /// If rounding to a narrow precision that was asked for slows the solve: what to choose
    /// instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounding: Option<String>,
    /// The stages of setup in order, with their times in seconds.
    pub stages: Vec<(String, f64)>,
    /// The recurrence residual after each iteration, relative to ‖b‖.
    pub residuals: Vec<f64>,
    /// True residuals ‖b − A x‖ / ‖b‖, with the iterations after which they were computed.
    pub true_residuals: Vec<(usize, f64)>,
    /// Version of this library.
    pub version: &'static str,
    /// The stopping reason in words, with a suggestion.
    #[serde(skip)]
    pub stop_text: String,
    /// The iteration after which the preconditioner was first changed, if it was.
    #[serde(skip)]
    pub promoted_after: Option<usize>,
    /// The preconditioner that it was changed to in the end.
    #[serde(skip)]
    pub promoted_to: Option<Stronger>,
    /// The factor of the residual per iteration at the end.
    #[serde(skip)]
    pub recent_factor: Option<f64>,
    /// When the report was made.
    #[serde(skip)]
    pub finished: SystemTime,
    /// The processor's name, if the system reports it.
    #[serde(skip)]
    pub processor: Option<String>,
    /// The suggested next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<NextStep>,
    /// Warnings about the matrix, if the solve has failed on one process; the gravest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// Whether coordinates were given, so that no report asks for them.
    #[serde(skip)]
    pub has_coordinates: bool,
}

/// A suggestion of what to do after a solve.
///
/// ```
/// use ziggurat_report::NextStep;
/// let next = NextStep { sentence: "Try other methods.".into(), command: "ziggurat compare A.mtx".into() };
/// assert!(next.command.starts_with("ziggurat"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextStep {
    /// The suggestion, and its expected benefit.
    pub sentence: String,
    /// The command that does it.
    pub command: String,
}

impl Outcome {
    /// Collects the outcome from a single-process solver and its solution. `timing` holds the
    /// seconds of setup and of the solve.
    ///
    /// The peak memory covers the process so far, so call this right after the solve.
    pub fn of(solver: &Solver, solution: &Solution, timing: (f64, f64)) -> Self {
        let levels = levels(solver);
        let device = solver.device().name();
        let outcome = Outcome::new(solution, solver.config(), levels, device, timing, peak_bytes(), None);
        let outcome = outcome.with_rounding(solver.rounding_slows());
        let mut outcome = outcome.with_stages(solver.stages());
        outcome.decisions = solver.decisions();
        if !outcome.converged {
            // Advice names rows, so the matrix is in the order of the caller.
            if let Ok(matrix) = solver.hierarchy().matrix() {
                outcome.advice = diagnose(matrix.view()).advice();
                outcome.advice.retain(|advice| advice.level > AdviceLevel::Note);
            }
        }
        outcome
    }

    /// The name of the promotion in reports.
    pub(crate) fn promotion_label(&self) -> &'static str {
        match self.promoted_to {
            Some(Stronger::Factors) => "method changed",
            Some(Stronger::Smoother(_)) => "smoother changed",
            _ => "precision raised",
        }
    }

    /// Collects the outcome of any solver, on one process or several. `timing` holds the seconds of
    /// setup and of the solve.
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
        // As it was given, without the rounding errors of a product and a quotient.
        let rtol = config.stopping.rtol;
        let is_rtol = report.b_norm == 0.0 || report.target == rtol * scale;
        let (method, krylov, precision) = match promotion.map(|promotion| promotion.to) {
            Some(Stronger::Factors) => (Method::Direct, Krylov::Fgmres, Kind::F64.to_string()),
            Some(Stronger::Smoother(SmootherKind::Fsai)) => {
                let from = promotion.map_or(&config.precision, |promotion| &promotion.from);
                (config.method, config.krylov, from.to_string())
            }
            Some(Stronger::Smoother(_)) => (Method::Sa, Krylov::Fgmres, config.precision.to_string()),
            Some(Stronger::Levels(kind)) => (config.method, config.krylov, kind.to_string()),
            None => (config.method, config.krylov, config.precision.to_string()),
        };
        Outcome {
            converged: report.reason.is_converged(),
            stop_reason: report.reason.name().to_owned(),
            iterations: report.iterations,
            relative_residual: report.relative_residual,
            tolerance: if is_rtol { rtol } else { report.target / scale },
            left_out: report.left_out,
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
            decisions: Vec::new(),
            method: method.name().to_owned(),
            krylov: krylov.name().to_owned(),
            setup_on: config.setup.to_string(),
            precision,
            promotion: promotion.map(ToString::to_string),
            rounding: None,
            recent_factor: report.recent_factor(),
            stages: Vec::new(),
            residuals: report.history.iter().map(|norm| norm / scale).collect(),
            true_residuals: report.verified.iter().map(|&(k, norm)| (k, norm / scale)).collect(),
            version: env!("CARGO_PKG_VERSION"),
            stop_text: report.reason.to_string(),
            promoted_after: promotion.map(|promotion| promotion.first().after),
            promoted_to: promotion.map(|promotion| promotion.to),
            finished: SystemTime::now(),
            processor: processor(),
            next_step: None,
            advice: Vec::new(),
            has_coordinates: false,
            config: config.clone(),
        }
    }

    /// Adds what to do next.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::Csr};
    /// use ziggurat_report::{NextStep, Outcome};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let outcome = Outcome::of(&solver, &solver.solve(&[1.0, 2.0, 3.0])?, (0.1, 0.2));
    /// let next = NextStep { sentence: "Compare methods.".into(), command: "ziggurat compare A.mtx".into() };
    /// assert!(outcome.with_next_step(next).next_step.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_next_step(self, next: NextStep) -> Self {
        Outcome { next_step: Some(next), ..self }
    }

    /// The time of setup and solve.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::Csr};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let outcome = ziggurat_report::Outcome::of(&solver, &solver.solve(&[1.0, 2.0, 3.0])?, (0.5, 0.25));
    /// assert_eq!(outcome.total_seconds(), 0.75);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn total_seconds(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }

    /// Adds the stages of setup.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::Csr};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let solution = solver.solve(&[1.0, 2.0, 3.0])?;
    /// let outcome = ziggurat_report::Outcome::of(&solver, &solution, (0.1, 0.2)).with_stages(&[("mesh", 0.1)]);
    /// assert_eq!(outcome.stages, [("mesh".to_owned(), 0.1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_stages(mut self, stages: &[(&str, f64)]) -> Self {
        self.stages = stages.iter().map(|&(name, seconds)| (name.to_owned(), seconds)).collect();
        self
    }

    /// Measures the time that each level takes in a cycle, by running some cycles, and adds it to
    /// the levels. Adds nothing if the device reports an error.
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
    pub fn with_cycle_seconds(mut self, solver: &Solver) -> Self {
        if let Ok(seconds) = solver.preconditioner().level_seconds() {
            for (level, seconds) in self.levels.iter_mut().zip(seconds) {
                level.cycle_seconds = Some(seconds);
            }
        }
        self
    }

    /// Applies per-solve overrides, so that the reported configuration is the one that was used.
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
        (self.config.restart, self.config.basis) = (options.restart, options.basis);
        self.config.stopping = options.stopping;
        self
    }

    /// Bytes of all levels, with the transfers between them.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::Csr};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let outcome = ziggurat_report::Outcome::of(&solver, &solver.solve(&[1.0, 2.0, 3.0])?, (0.1, 0.2));
    /// assert_eq!(outcome.level_bytes(), outcome.levels[0].bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn level_bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes + level.transfer_bytes + level.smoother_bytes).sum()
    }

    /// The part of b that no x reaches, if it leaves no room in the tolerance.
    pub(crate) fn unreachable(&self) -> Option<f64> {
        (self.left_out > 0.99 * self.tolerance).then_some(self.left_out)
    }

    /// The tolerance in words, and what was left out beside it.
    pub(crate) fn tolerance_in_words(&self) -> String {
        let tolerance = format!("tolerance {}", value(self.tolerance));
        match self.unreachable() {
            Some(part) => format!("{tolerance}, left out {part:.2e}"),
            None => tolerance,
        }
    }

    /// The curves that [`convergence`](crate::chart::convergence) draws. `label` distinguishes this
    /// solve from others in the same chart.
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
        // The recurrence starts from the true residual of the initial guess.
        let first = self.true_residuals.first().filter(|point| point.0 == 0).copied();
        let rest = self.residuals.iter().enumerate().map(|(k, &residual)| (k + 1, residual));
        let curve = |points, kind| Curve { label: label.to_owned(), points, kind };
        [
            curve(first.into_iter().chain(rest).collect(), CurveKind::Recurrence),
            curve(self.true_residuals.clone(), CurveKind::True),
        ]
    }
}

/// Peak memory of this process so far, from `/proc`; `None` on systems other than Linux.
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
            tolerance: 1e-8,
            left_out: 0.0,
            setup_seconds: 0.031,
            solve_seconds: 1.25,
            rows: 8000,
            nnz: 53600,
            operator_complexity: 1.25,
            grid_complexity: 1.1,
            levels: vec![level(8000, 53600), level(800, 12000)],
            device: "cpu (Portable, 1 thread)".into(),
            traffic: None,
            peak_bytes: Some(3 << 20),
            ranks: None,
            config: SolverConfig::default(),
            method: "sa".into(),
            krylov: "cg".into(),
            precision: "f64".into(),
            setup_on: "host".into(),
            promotion: None,
            rounding: None,
            recent_factor: Some(0.26),
            decisions: Vec::new(),
            stages: vec![("diagnosis".into(), 0.004), ("galerkin".into(), 0.02)],
            residuals: vec![1e-3, 6.25e-9],
            true_residuals: vec![(0, 1.0), (1, 1e-3), (2, 6.25e-9)],
            stop_text: "not converged: the limit of iterations was reached".into(),
            version: env!("CARGO_PKG_VERSION"),
            promoted_after: None,
            promoted_to: None,
            finished: SystemTime::UNIX_EPOCH,
            processor: Some("A Processor <5>".into()),
            next_step: None,
            advice: Vec::new(),
            has_coordinates: false,
        }
    }

    #[test]
    fn the_convergence_factor_is_the_average() {
        let of = |iterations, relative_residual, first| Outcome {
            iterations,
            relative_residual,
            true_residuals: vec![(0, first)],
            ..outcome(true)
        };
        assert!((of(4, 1e-8, 1.0).convergence_factor().unwrap() - 0.01).abs() < 1e-12);
        assert!((of(2, 1e-8, 1e-4).convergence_factor().unwrap() - 0.01).abs() < 1e-12);
        assert_eq!(of(2, 1e-8, 1e-4).convergence().unwrap(), "residual × 0.01 per iteration");
        let grew = of(1, 1.02, 1.0).convergence().unwrap();
        assert_eq!(grew, "the residual did not fall (× 1.02 per iteration)");
        for odd in [of(0, 1e-8, 1.0), of(3, f64::NAN, 1.0), of(3, 0.0, 1.0), of(3, 1.0, 0.0)] {
            assert_eq!(odd.convergence_factor(), None);
        }
    }

    #[test]
    fn the_json_has_exactly_the_documented_keys() {
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        let json = serde_json::to_value(outcome(true)).unwrap();
        let mut expected = [
            "converged",
            "stop_reason",
            "iterations",
            "relative_residual",
            "left_out",
            "tolerance",
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
            "setup_on",
            "promotion",
            "residuals",
            "stages",
            "true_residuals",
            "version",
        ];
        expected.sort_unstable();
        assert_eq!(keys(&json), expected);
        let of_level = [
            "bytes",
            "format",
            "nnz",
            "reason",
            "rows",
            "smoother_bytes",
            "storage",
            "transfer_bytes",
            "working",
        ];
        assert_eq!(keys(&json["levels"][0]), of_level);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_exceeds_a_recent_allocation() {
        let allocated = vec![1u8; 30 << 20];
        assert!(peak_bytes().unwrap() > std::hint::black_box(allocated).len() as u64);
    }
}
