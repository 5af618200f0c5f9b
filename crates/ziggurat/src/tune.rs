//! Tuning: solves one system with many configurations and finds the fastest.
//!
//! The search changes one choice at a time and keeps what gains: first the coarsening, then the
//! smoother, the sweeps, the cycle and the precision. The first trial is the configuration as
//! given, with its automatic choices; the last ones repeat it and the best alternately, because
//! times vary from run to run. What counts is setup + n solves, where n is given.
//!
//! A trial is stopped when it has taken twice as long as the best one before it, so the search
//! takes about forty times as long as one solve, and exceeds the given time by at most one trial's
//! setup.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use ziggurat_amg::interpolate::NearKernel;
use ziggurat_amg::{CycleKind, can_be_direct};
use ziggurat_krylov::Progress;
use ziggurat_sparse::Csr;

use crate::config::{Coarsest, Effort, Krylov, Method, Precision, Reorder, SetupPlace, SmootherKind};
use crate::{SolveError, SolveOptions, Solver, SolverConfig};

/// The limit and the purpose of a search.
///
/// ```
/// use ziggurat::{SolverConfig, Tuning};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:30".parse::<Problem>()?.matrix()?;
/// let tuning = Tuning { seconds: 5.0, ..Tuning::default() };
/// let tuned = tuning.run(a, &vec![1.0; 900], None, &SolverConfig::default())?;
/// assert!(tuned.best().converged && tuned.best().seconds(1) <= tuned.trials[0].seconds(1));
/// println!("{}", tuned.best().config.to_toml()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// The time for all trials.
    pub seconds: f64,
    /// The number of solves per setup that will be made with the result.
    pub solves: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { seconds: 60.0, solves: 1 }
    }
}

/// One configuration and its times.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The configuration, with `auto` where the choice was left open.
    pub config: SolverConfig,
    /// Its changes to the given configuration, as keys and values.
    pub changes: Vec<(&'static str, String)>,
    /// Whether the solve has converged.
    pub converged: bool,
    /// Why it stopped: the name of a stop reason, or an error of setup.
    pub outcome: String,
    /// Number of iterations.
    pub iterations: usize,
    /// Seconds of setup.
    pub setup_seconds: f64,
    /// Seconds of the solve.
    pub solve_seconds: f64,
}

impl Trial {
    /// Seconds of setup and this number of solves.
    pub fn seconds(&self, solves: usize) -> f64 {
        self.setup_seconds + solves as f64 * self.solve_seconds
    }
}

/// All trials in the order in which they were made. There is at least one.
#[derive(Clone, Debug, Serialize)]
pub struct Tuned {
    /// The trials; the first one has the given configuration.
    pub trials: Vec<Trial>,
    best: usize,
}

impl Tuned {
    /// The fastest trial that converged, else the first one.
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }
}

/// A trial is stopped when it has taken this many times the seconds of the best one.
const PATIENCE: f64 = 2.0;

/// Seconds that every trial may take.
const AT_LEAST: f64 = 0.05;

/// The best configuration is kept if another one is not faster than this fraction of its time.
const GAIN: f64 = 0.97;

/// Rows up to which factorisation and `bamg` are tried. For more they may take minutes.
const MAX_SLOW_ROWS: usize = 50_000;

/// A choice: its key, the name of its value, and how it is set.
type Change = (&'static str, String, fn(&mut SolverConfig, &str));

impl Tuning {
    /// Tunes for one system. `given` states what the result must respect: the tolerance, and all
    /// choices that are not tried here.
    ///
    /// # Errors
    /// If the given configuration is invalid, or the right-hand side does not fit the matrix.
    pub fn run(
        &self,
        a: impl Into<Arc<Csr<f64>>>,
        b: &[f64],
        near_kernel: Option<&NearKernel>,
        given: &SolverConfig,
    ) -> Result<Tuned, SolveError> {
        self.run_watched(a, b, near_kernel, given, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Tuning::run`]. `watch` is called with every finished trial, and with `None` in every
    /// iteration; it can end the search, which then returns what it has.
    ///
    /// # Errors
    /// As [`Tuning::run`].
    pub fn run_watched(
        &self,
        a: impl Into<Arc<Csr<f64>>>,
        b: &[f64],
        near_kernel: Option<&NearKernel>,
        given: &SolverConfig,
        watch: &mut dyn FnMut(Option<&Trial>) -> ControlFlow<()>,
    ) -> Result<Tuned, SolveError> {
        let start = Instant::now();
        let mut search = Search { tuning: *self, a: a.into(), b, near_kernel, watch, start, ended: false };
        let (first, chosen) = search.first(given)?;
        let mut tuned = Tuned { trials: vec![first], best: 0 };
        for step in STEPS {
            for change in step(&chosen, search.a.rows()) {
                search.attempt(&mut tuned, change);
            }
        }
        search.repeat(&mut tuned);
        Ok(tuned)
    }
}

/// The steps of the search. Each gives the changes to try, for a matrix with this many rows for
/// which this configuration was resolved.
const STEPS: [fn(&SolverConfig, usize) -> Vec<Change>; 5] = [methods, smoothers, sweeps, cycles, precisions];

fn methods(chosen: &SolverConfig, rows: usize) -> Vec<Change> {
    let set: fn(&mut SolverConfig, &str) = |config, name| {
        config.method = name.parse().unwrap_or_default();
        if [Method::Direct, Method::None].contains(&config.method) {
            config.hierarchy.coarsest = Coarsest::Auto; // they have no coarsest level
        }
        if config.method.keeps_order() {
            config.reorder = Reorder::Auto;
        }
        if config.method != Method::Sa {
            config.setup = SetupPlace::Host; // devices have few methods
        }
    };
    let suits = |method: &Method| match method {
        Method::Auto => false,
        Method::Direct => rows <= MAX_SLOW_ROWS && can_be_direct(rows),
        // `auto` takes them where they are possible.
        Method::Structured | Method::Cpr => false,
        // For symmetric matrices.
        Method::Bamg => rows <= MAX_SLOW_ROWS && chosen.krylov == Krylov::Cg && *method != chosen.method,
        // For matrices that are not symmetric.
        Method::Air => chosen.krylov == Krylov::Fgmres && *method != chosen.method,
        method => *method != chosen.method,
    };
    let methods = Method::ALL.iter().filter(|method| suits(method));
    methods.map(|method| ("method", method.name().to_owned(), set)).collect()
}

fn smoothers(chosen: &SolverConfig, _: usize) -> Vec<Change> {
    let set: fn(&mut SolverConfig, &str) = |config, name| {
        config.smoother.kind = name.parse().unwrap_or_default();
    };
    let suits =
        |smoother: &SmootherKind| *smoother != SmootherKind::Auto && *smoother != chosen.smoother.kind;
    let smoothers = SmootherKind::ALL.iter().filter(|smoother| suits(smoother));
    smoothers.map(|smoother| ("smoother.kind", smoother.name().to_owned(), set)).collect()
}

fn sweeps(_: &SolverConfig, _: usize) -> Vec<Change> {
    let set: fn(&mut SolverConfig, &str) = |config, sweeps| {
        let sweeps = sweeps.parse().unwrap_or(1);
        (config.cycle.pre_sweeps, config.cycle.post_sweeps) = (sweeps, sweeps);
    };
    vec![("cycle.pre_sweeps and cycle.post_sweeps", "2".to_owned(), set)]
}

fn cycles(chosen: &SolverConfig, _: usize) -> Vec<Change> {
    let set_cycle: fn(&mut SolverConfig, &str) = |config, name| {
        config.cycle.kind = name.parse().unwrap_or_default();
    };
    let set_effort: fn(&mut SolverConfig, &str) = |config, name| {
        config.effort = name.parse().unwrap_or_default();
    };
    let mut changes = vec![("cycle.kind", CycleKind::W.name().to_owned(), set_cycle)];
    if chosen.sa.plain_levels.is_some_and(|levels| levels > 0) {
        changes.push(("effort", Effort::ManySolves.name().to_owned(), set_effort));
    }
    changes
}

fn precisions(chosen: &SolverConfig, _: usize) -> Vec<Change> {
    let set: fn(&mut SolverConfig, &str) = |config, name| {
        config.precision = name.parse().unwrap_or_default();
    };
    let all = [Precision::F64, Precision::F32, Precision::F16];
    let others = all.into_iter().filter(|precision| *precision != chosen.precision);
    others.map(|precision| ("precision", precision.to_string(), set)).collect()
}

/// The state of a search.
struct Search<'a> {
    tuning: Tuning,
    a: Arc<Csr<f64>>,
    b: &'a [f64],
    near_kernel: Option<&'a NearKernel>,
    watch: &'a mut dyn FnMut(Option<&Trial>) -> ControlFlow<()>,
    start: Instant,
    /// The search was asked to end.
    ended: bool,
}

impl Search<'_> {
    /// The trial of the given configuration, which may fall back to factors, and what `auto` meant.
    fn first(&mut self, given: &SolverConfig) -> Result<(Trial, SolverConfig), SolveError> {
        let (trial, chosen) = self.trial(given.clone(), Vec::new(), self.tuning.seconds)?;
        self.ended |= (self.watch)(Some(&trial)).is_break();
        Ok((trial, chosen))
    }

    /// Tries a change of the best configuration, and keeps it if it gains.
    fn attempt(&mut self, tuned: &mut Tuned, (key, value, set): Change) {
        let (best, solves) = (tuned.best(), self.tuning.solves);
        let mut limit = self.left();
        if best.converged {
            limit = limit.min(AT_LEAST + PATIENCE * best.seconds(solves));
        }
        if self.ended || limit <= 0.0 {
            return;
        }
        let (mut config, mut changes) = (best.config.clone(), best.changes.clone());
        set(&mut config, &value);
        changes.retain(|(other, _)| *other != key);
        changes.push((key, value));
        // The trial measures this configuration, and not one that replaces it.
        let alone = SolverConfig { fallback: false, ..config.clone() };
        let trial = match self.trial(alone, changes.clone(), limit) {
            Ok((trial, _)) => Trial { config, ..trial },
            Err(error) => Trial {
                config,
                changes,
                converged: false,
                outcome: error.to_string(),
                iterations: 0,
                setup_seconds: 0.0,
                solve_seconds: 0.0,
            },
        };
        let gains =
            trial.converged && (!best.converged || trial.seconds(solves) < GAIN * best.seconds(solves));
        self.ended |= (self.watch)(Some(&trial)).is_break();
        tuned.trials.push(trial);
        if gains {
            tuned.best = tuned.trials.len() - 1;
        }
    }

    /// Repeats the given configuration and the best one alternately, and keeps the shorter times.
    fn repeat(&mut self, tuned: &mut Tuned) {
        for index in [0, tuned.best, 0, tuned.best] {
            if self.ended || self.left() <= 0.0 || tuned.best == 0 || !tuned.trials[index].converged {
                return;
            }
            let (config, solves) = (tuned.trials[index].config.clone(), self.tuning.solves);
            if let Ok((again, _)) = self.trial(config, Vec::new(), self.left())
                && again.converged
                && again.seconds(solves) < tuned.trials[index].seconds(solves)
            {
                let trial = &mut tuned.trials[index];
                (trial.setup_seconds, trial.solve_seconds) = (again.setup_seconds, again.solve_seconds);
            }
        }
        if tuned.best().seconds(self.tuning.solves) >= tuned.trials[0].seconds(self.tuning.solves) {
            tuned.best = 0;
        }
    }

    /// Solves with a configuration, for at most `limit` seconds.
    fn trial(
        &mut self,
        config: SolverConfig,
        changes: Vec<(&'static str, String)>,
        limit: f64,
    ) -> Result<(Trial, SolverConfig), SolveError> {
        let start = Instant::now();
        let solver = match self.near_kernel {
            Some(kernel) => Solver::with_near_kernel(self.a.clone(), kernel.clone(), config.clone())?,
            None => Solver::new(self.a.clone(), config.clone())?,
        };
        let setup_seconds = start.elapsed().as_secs_f64();
        let mut options = SolveOptions::from(solver.config());
        let left = (limit - setup_seconds).max(0.0);
        options.stopping.max_seconds = Some(options.stopping.max_seconds.unwrap_or(left).min(left));
        let (watch, ended) = (&mut *self.watch, &mut self.ended);
        let mut observer = |_: &Progress| {
            *ended |= watch(None).is_break();
            if *ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let start = Instant::now();
        let report = solver.solve_with(self.b, None, &options, Some(&mut observer))?.report;
        let trial = Trial {
            config,
            changes,
            converged: report.reason.is_converged(),
            outcome: report.reason.name().to_owned(),
            iterations: report.iterations,
            setup_seconds,
            solve_seconds: start.elapsed().as_secs_f64(),
        };
        Ok((trial, solver.config().clone()))
    }

    /// Seconds that are left for trials.
    fn left(&self) -> f64 {
        self.tuning.seconds - self.start.elapsed().as_secs_f64()
    }
}
