//! What narrow levels cost and gain: iterations and time of a solve, by the numbers that the hierarchy is stored in.
//!
//! The outer iteration is conjugate gradients (or what the matrix asks for) in double precision, to a true relative
//! residual of 10⁻⁸, everywhere. Every system is solved as it is, and with its matrix multiplied by 10⁸ and by 10⁻⁸: a narrow
//! number that is only in range by luck shows there. Times are those of the matrix as it is; setup is not in them.
//!
//! A second table has the iterations on the symmetric positive definite matrices of the shared collection that levels in
//! 64 bits solve, with a right-hand side of ones; where the collection is absent, it says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use ziggurat::config::Precision;
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::io::read_matrix;

use super::pool::Pool;
use super::systems::ModelSystem;
use super::table::Table;
use super::timing::{Contestant, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "precision",
    what: "iterations and time of a solve, by the numbers that levels are stored in",
    rounds: 5,
    run,
};

const PROBLEMS: [&str; 7] = [
    "poisson2d:1000",
    "poisson3d:100",
    "poisson3d27:100",
    "anisotropic3d:100",
    "jump3d:100",
    "elasticity3d:40",
    "convection3d:60",
];
const QUICK_PROBLEMS: [&str; 2] = ["poisson3d:10", "elasticity3d:4"];

/// What matrices are multiplied by.
const FACTORS: [f64; 3] = [1.0, 1e8, 1e-8];

const PRECISIONS: [(&str, Precision); 4] =
    [("f64", Precision::F64), ("f32", Precision::F32), ("f16", Precision::F16), ("bf16", Precision::Bf16)];

/// One system in one precision.
#[derive(Debug, Serialize)]
struct Figure {
    precision: &'static str,
    /// One per factor; `None` where it did not converge.
    iterations: Vec<Option<usize>>,
    /// Of the matrix as it is.
    solve_seconds: f64,
}

/// One system.
#[derive(Debug, Serialize)]
struct Measured {
    problem: String,
    figures: Vec<Figure>,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let mut table =
        Table::new(["problem", "stored in", "iterations", "times 1e8", "times 1e-8", "solve s", "faster"]);
    let mut results = Vec::new();
    for name in if setting.quick { &QUICK_PROBLEMS[..] } else { &PROBLEMS } {
        let measured = measure(name, setting.rounds, pool)?;
        let reference = measured.figures[0].solve_seconds;
        for figure in &measured.figures {
            let iterations =
                |k: usize| figure.iterations[k].map_or("none".to_owned(), |count| count.to_string());
            table.row([
                measured.problem.clone(),
                figure.precision.to_owned(),
                iterations(0),
                iterations(1),
                iterations(2),
                format!("{:.3}", figure.solve_seconds),
                format!("{:.2}", reference / figure.solve_seconds),
            ]);
        }
        results.push(measured);
    }
    println!("{}, best of {} rounds\n\n{table}", pool.label(), setting.rounds);
    let real = match collection() {
        Some(matrices) if !setting.quick => real_matrices(&matrices, pool)?,
        _ => {
            println!("no real matrices: there are none beside the repository, or this is a quick run");
            Vec::new()
        }
    };
    Ok(serde_json::json!({ "threads": pool.threads, "problems": results, "real matrices": real }))
}

/// The symmetric positive definite matrices of the shared collection, by its index.
fn collection() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/matrices");
    let index = std::fs::read_to_string(folder.join("INDEX.md")).ok()?;
    // `| name | rows | nnz | verified | … |`
    let name = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, name, _, _, verified, ..] = &cells[..] else { return None };
        verified.starts_with("sym, SPD").then(|| folder.join(format!("{name}.mtx.gz")))
    };
    Some(index.lines().filter_map(name).collect())
}

/// One matrix: iterations in each precision, where it converged.
#[derive(Debug, Serialize)]
struct RealMatrix {
    matrix: String,
    iterations: Vec<Option<usize>>,
}

fn real_matrices(paths: &[PathBuf], pool: &Pool) -> Result<Vec<RealMatrix>, BenchError> {
    let mut table = Table::new(["matrix", "f64", "f32", "f16", "bf16"]);
    let (mut results, mut unsolved) = (Vec::new(), Vec::new());
    for path in paths {
        let matrix = path.file_name().unwrap_or_default().to_string_lossy().replace(".mtx.gz", "");
        let refused = |error: String| BenchError::Solve(matrix.clone(), error);
        let a = Arc::new(read_matrix(path).map_err(|error| refused(error.to_string()))?);
        let b = vec![1.0; a.rows()];
        let mut iterations = Vec::new();
        for (_, precision) in PRECISIONS {
            let config = SolverConfig { precision, ..SolverConfig::default() };
            let solution = pool.run(|| Solver::new(a.clone(), config)?.solve(&b));
            let report = solution.map_err(|error| refused(error.to_string()))?.report;
            iterations.push(report.reason.is_converged().then_some(report.iterations));
            if iterations == [None] {
                break;
            }
        }
        if iterations == [None] {
            unsolved.push(matrix);
            continue;
        }
        let counts =
            iterations.iter().map(|count| count.map_or("none".to_owned(), |count| count.to_string()));
        table.row(std::iter::once(matrix.clone()).chain(counts));
        results.push(RealMatrix { matrix, iterations });
    }
    println!("{table}\nnot solved in 64 bits either: {}", unsolved.join(", "));
    Ok(results)
}

fn measure(name: &str, rounds: usize, pool: &Pool) -> Result<Measured, BenchError> {
    let system = ModelSystem::new(name)?;
    let mut figures: Vec<Figure> = PRECISIONS
        .map(|(precision, _)| Figure { precision, iterations: Vec::new(), solve_seconds: 0.0 })
        .into();
    let mut solvers = Vec::new();
    for factor in FACTORS {
        let mut a = system.a.clone();
        if factor != 1.0 {
            Arc::make_mut(&mut a).values_mut().iter_mut().for_each(|value| *value *= factor);
        }
        for (figure, (_, precision)) in figures.iter_mut().zip(PRECISIONS) {
            let config = SolverConfig { precision, ..SolverConfig::default() };
            let kernel = system.near_kernel.clone();
            let refused = |error| system.refused(&error);
            let solver = pool.run(|| Solver::with_near_kernel(a.clone(), kernel, config)).map_err(refused)?;
            let report = pool.run(|| solver.solve(&system.b)).map_err(refused)?.report;
            figure.iterations.push(report.reason.is_converged().then_some(report.iterations));
            if factor == 1.0 {
                solvers.push(solver);
            }
        }
    }
    let mut contestants = Vec::new();
    for (solver, (name, _)) in solvers.iter().zip(PRECISIONS) {
        let b = &system.b;
        contestants.push(Contestant::new(name, move || pool.run(|| solver.solve(b))));
    }
    for (figure, timing) in figures.iter_mut().zip(alternate(contestants, rounds)) {
        figure.solve_seconds = timing.best;
    }
    Ok(Measured { problem: system.name.clone(), figures })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pool::pools;

    #[test]
    fn narrow_levels_cost_no_more_than_a_tenth_of_the_iterations() {
        for problem in ["poisson3d:16", "jump3d:20", "elasticity3d:6"] {
            let measured = measure(problem, 1, &pools(&[2]).unwrap()[0]).unwrap();
            let wide = measured.figures[0].iterations[0].unwrap();
            for figure in &measured.figures[..3] {
                for iterations in &figure.iterations {
                    let most = (1.1 * wide as f64).ceil() as usize;
                    assert!(iterations.is_some_and(|count| count <= most), "{problem}: {figure:?}");
                }
            }
        }
    }
}
