//! Real systems: every matrix of the shared collection, solved as `ziggurat solve FILE` does
//! without an option and with `--preset robust`, with the right-hand side that comes with it (else
//! all ones, or one that sums to zero if the matrix is singular).
//!
//! Each row has what was chosen, what the solve changed, and the residual, recomputed here.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use ziggurat::{Solver, SolverConfig, Stronger};

use super::systems::{RealSystem, collection, relative_residual};
use super::table::Table;
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "collection",
    what: "real systems: which the presets default and robust solve, by what, in what time",
    rounds: 1,
    run,
};

/// The presets to compare.
const PRESETS: [&str; 2] = ["default", "robust"];

/// The result for one matrix.
#[derive(Debug, Serialize)]
struct Row {
    matrix: String,
    rows: usize,
    nnz: usize,
    /// Stop reason, or the error of setup.
    outcome: String,
    converged: bool,
    method: String,
    /// What the solve changed.
    promotion: Option<String>,
    iterations: usize,
    /// ‖b − A x‖ / ‖b‖, computed here.
    residual: f64,
    seconds: f64,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let mut paths = collection(|_| true).unwrap_or_default();
    if paths.is_empty() {
        println!("no real matrices: the collection is missing");
    }
    if setting.quick {
        paths.truncate(2);
    }
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let mut results = Vec::new();
    for preset in PRESETS {
        let config = SolverConfig::preset(preset)
            .map_err(|error| BenchError::Solve(preset.to_owned(), error.to_string()))?;
        let mut table = Table::new([
            "matrix",
            "rows",
            "entries",
            "outcome",
            "method",
            "iterations",
            "residual",
            "seconds",
        ]);
        let mut rows = Vec::new();
        for path in &paths {
            let row = pool.run(|| solve(path, &config))?;
            table.row([
                row.matrix.clone(),
                row.rows.to_string(),
                row.nnz.to_string(),
                row.outcome.clone(),
                row.method.clone(),
                row.iterations.to_string(),
                format!("{:.1e}", row.residual),
                format!("{:.2}", row.seconds),
            ]);
            rows.push(row);
        }
        let solved = rows.iter().filter(|row| row.converged).count();
        let direct = rows.iter().filter(|row| row.converged && row.method.ends_with("direct")).count();
        println!(
            "preset {preset}\n\n{table}\n{solved} of {} are solved, {direct} of them by sparse factors\n",
            rows.len()
        );
        results.push(json!({ "preset": preset, "solved": solved, "by_factors": direct, "matrices": rows }));
    }
    Ok(Value::from(results))
}

fn solve(path: &Path, config: &SolverConfig) -> Result<Row, BenchError> {
    let RealSystem { name, a, b } = RealSystem::read(path)?;
    let mut row = Row {
        rows: a.rows(),
        nnz: a.nnz(),
        outcome: String::new(),
        converged: false,
        method: String::new(),
        promotion: None,
        iterations: 0,
        residual: f64::NAN,
        seconds: 0.0,
        matrix: name,
    };
    let start = Instant::now();
    let solver = match Solver::new(a.clone(), config.clone()) {
        Ok(solver) => solver,
        Err(error) => {
            row.outcome = error.to_string();
            return Ok(row);
        }
    };
    let b = b.unwrap_or_else(|| RealSystem::default_rhs(&solver));
    let solution =
        solver.solve(&b).map_err(|error| BenchError::Solve(row.matrix.clone(), error.to_string()))?;
    row.seconds = start.elapsed().as_secs_f64();
    row.outcome = solution.report.reason.name().to_owned();
    row.converged = solution.report.reason.is_converged();
    row.iterations = solution.report.iterations;
    row.residual = relative_residual(&a, &solution.x, &b);
    let chosen = solver.config().method.name();
    row.method = match &solution.promotion {
        Some(promotion) if promotion.to == Stronger::Factors => format!("{chosen}, then direct"),
        _ => chosen.to_owned(),
    };
    row.promotion = solution.promotion.map(|promotion| promotion.to_string());
    Ok(row)
}
