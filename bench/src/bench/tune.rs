//! How far `auto` is from the best: every matrix of the shared collection is solved as `ziggurat
//! solve FILE` does without an option, and then tuned for one solve, as `ziggurat tune FILE` does.
//!
//! Tuning repeats the given configuration and the best one alternately at its end; the least time
//! of each counts. A system that neither solves is left out of the share.

use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tasks::table::Table;
use ziggurat::{Solver, SolverConfig, Trial, Tuning};

use super::systems::{RealSystem, whole_collection};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "tune",
    what: "real systems: the automatic choices against the best configuration that tuning finds",
    rounds: 1,
    run,
};

/// The time for all trials of a system.
const SECONDS: f64 = 6.0;

/// `auto` is good enough within this factor of the best time.
const FACTOR: f64 = 1.5;

/// The result for one system.
#[derive(Debug, Serialize)]
struct Row {
    matrix: String,
    trials: usize,
    /// Setup and one solve with the automatic choices; `None` if they do not converge.
    auto_seconds: Option<f64>,
    /// The same with the best configuration; `None` if no trial has converged.
    best_seconds: Option<f64>,
    /// The settings that the best one changes.
    changes: String,
    seconds: f64,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        Some(self.auto_seconds.unwrap_or(f64::INFINITY) / self.best_seconds?)
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let paths = whole_collection(setting.quick);
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let tuning = Tuning { seconds: if setting.quick { 0.2 } else { SECONDS }, ..Tuning::default() };
    let mut table = Table::new(["matrix", "trials", "auto s", "best s", "ratio", "the best has"]);
    let mut rows = Vec::new();
    for path in &paths {
        let system = RealSystem::read(path)?;
        let row = pool.run(|| tune(&system, &tuning))?;
        let seconds = |seconds: Option<f64>| seconds.map_or("failed".to_owned(), |s| format!("{s:.4}"));
        table.row([
            row.matrix.clone(),
            row.trials.to_string(),
            seconds(row.auto_seconds),
            seconds(row.best_seconds),
            row.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}")),
            row.changes.clone(),
        ]);
        rows.push(row);
    }
    let ratios: Vec<f64> = rows.iter().filter_map(Row::ratio).collect();
    let within = ratios.iter().filter(|ratio| **ratio <= FACTOR).count();
    println!("{}, {} s per system\n\n{table}", pool.label(), tuning.seconds);
    println!("auto is within {FACTOR}x of the best on {within} of {} systems that are solved", ratios.len());
    Ok(json!({ "threads": pool.threads, "within": within, "solved": ratios.len(), "matrices": rows }))
}

fn tune(system: &RealSystem, tuning: &Tuning) -> Result<Row, BenchError> {
    let refused = |error: ziggurat::SolveError| BenchError::Solve(system.name.clone(), error.to_string());
    let (config, start) = (SolverConfig::default(), Instant::now());
    let b = match &system.b {
        Some(b) => b.clone(),
        None => RealSystem::default_rhs(&Solver::new(system.a.clone(), config.clone()).map_err(refused)?),
    };
    let tuned = tuning.run(system.a.clone(), &b, None, &config).map_err(refused)?;
    let least = |wanted: &dyn Fn(&Trial) -> bool| {
        let seconds =
            tuned.trials.iter().filter(|trial| trial.converged && wanted(trial)).map(|t| t.seconds(1));
        seconds.reduce(f64::min)
    };
    let best = tuned.best();
    let changes = best.changes.iter().map(|(key, value)| format!("{key} {value}"));
    Ok(Row {
        matrix: system.name.clone(),
        trials: tuned.trials.len(),
        auto_seconds: least(&|trial| trial.changes.is_empty()),
        best_seconds: least(&|trial| trial.changes == best.changes),
        changes: changes.collect::<Vec<_>>().join(", "),
        seconds: start.elapsed().as_secs_f64(),
    })
}
