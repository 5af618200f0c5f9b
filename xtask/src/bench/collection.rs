//! Real systems: every matrix of the shared collection, solved as `ziggurat solve FILE` does
//! without an option, with the right-hand side that comes with it (else all ones, or one that sums
//! to zero if the matrix is singular).
//!
//! Each row has what was chosen, what the solve changed, and the residual, recomputed here.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use ziggurat::{Solver, SolverConfig, Stronger};
use ziggurat_sparse::io::{read_matrix, read_vector};

use super::systems::{collection, relative_residual};
use super::table::Table;
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "collection",
    what: "real systems: which are solved without an option, by what, in what time",
    rounds: 1,
    run,
};

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
    let mut table =
        Table::new(["matrix", "rows", "entries", "outcome", "method", "iterations", "residual", "seconds"]);
    let mut rows = Vec::new();
    for path in &paths {
        let row = pool.run(|| solve(path))?;
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
    println!("{table}\n{solved} of {} are solved, {direct} of them by sparse factors", rows.len());
    Ok(json!({ "solved": solved, "by_factors": direct, "matrices": rows }))
}

fn solve(path: &Path) -> Result<Row, BenchError> {
    let matrix = path.file_name().unwrap_or_default().to_string_lossy().replace(".mtx.gz", "");
    let refused = |error: String| BenchError::Solve(matrix.clone(), error);
    let a = Arc::new(read_matrix(path).map_err(|error| refused(error.to_string()))?);
    let given = path.with_file_name(format!("{matrix}_b.mtx.gz"));
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
        matrix,
    };
    let start = Instant::now();
    let solver = match Solver::new(a.clone(), SolverConfig::default()) {
        Ok(solver) => solver,
        Err(error) => {
            row.outcome = error.to_string();
            return Ok(row);
        }
    };
    let b = match given.exists() {
        true => {
            read_vector(&given).map_err(|error| BenchError::Solve(row.matrix.clone(), error.to_string()))?
        }
        false if solver.annihilates_constants() => {
            let sign = |row: usize| if 2 * row + 1 < a.rows() { 1.0 } else { -1.0 };
            let mut b: Vec<f64> = (0..a.rows()).map(sign).collect();
            if a.rows() % 2 == 1 {
                b[a.rows() / 2] = 0.0;
            }
            b
        }
        false => vec![1.0; a.rows()],
    };
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
