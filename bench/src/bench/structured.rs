//! Structured grids: the method `structured` beside smoothed aggregation, in 16 and in 64 bits, the
//! problems of the paper on 16 bits, and which matrices count as grids.
//!
//! Each solver is set up and solves once per round, alternating with the others. The true residual
//! is recomputed here. The relative residual is 10⁻⁹. Setup is also given in products A·x with the
//! matrix in compressed rows.
//!
//! Figures 6 and 8 of Zong, Yu, Huang & Xue (ICPP 2024) are repeated to its relative residual of
//! 10⁻¹⁰: iterations with levels in 64 bits, in 16 bits scaled after setup, not scaled, and scaled
//! before setup; and the times of the preconditioner and the solve in 64 and in 16 bits. Two of the
//! problems are the paper's; the others are stand-ins, most of which stay in the range of 16 bits
//! where the originals leave it (docs/papers.md).

mod kernels;
mod recognised;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::config::{Method, Precision};
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::device::{Cpu, HostMatrix, Kernels};

use super::pool::{Pool, TimedSolve};
use super::precision;
use super::systems::{ModelSystem, relative_residual};
use super::timing::{Contestant, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "structured",
    what: "structured grids beside smoothed aggregation, the paper's problems, which matrices are grids",
    rounds: 5,
    run,
};

const PROBLEMS: [&str; 6] =
    ["poisson3d:160", "poisson3d27:120", "anisotropic3d:100", "jump3d:100", "solid3d:50", "radiation3t:50"];
const QUICK_PROBLEMS: [&str; 1] = ["poisson3d:12"];

/// The problems of the paper, or stand-ins. `poisson3d27` is its laplace27, `laplace27e8` its
/// laplace27 times 10⁸.
const PAPER: [&str; 6] = [
    "poisson3d27:128",
    "laplace27e8:128",
    "anisotropic3d19:128",
    "lognormal3d:128",
    "solid3d:50",
    "radiation3t:80",
];
const QUICK_PAPER: [&str; 2] = ["laplace27e8:8", "radiation3t:6"];

/// How levels are stored in the paper's figures.
const STORED: [&str; 4] = ["f64", "K64P32D16", "D16 not scaled", "D16 scaled before"];

/// The relative residual of the solves.
const RTOL: f64 = 1e-9;

/// The relative residual of the solves of the paper's problems.
const PAPER_RTOL: f64 = 1e-10;

/// The contestants: a method and a precision.
const CONTESTANTS: [(Method, Precision); 4] = [
    (Method::Structured, Precision::Auto),
    (Method::Structured, Precision::F64),
    (Method::Sa, Precision::Auto),
    (Method::Sa, Precision::F64),
];

/// A contestant on a problem: its best round.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    problem: String,
    method: &'static str,
    precision: String,
    iterations: usize,
    operator_complexity: f64,
    setup_seconds: f64,
    /// Setup in products A·x.
    setup_products: f64,
    solve_seconds: f64,
    relative_residual: f64,
}

impl Measured {
    fn total(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let mut table = Table::new([
        "problem",
        "method",
        "precision",
        "iterations",
        "complexity",
        "setup s",
        "in A·x",
        "solve s",
        "total s",
    ]);
    let mut results = Vec::new();
    for name in if setting.quick { &QUICK_PROBLEMS[..] } else { &PROBLEMS } {
        for measured in measure(&ModelSystem::new(name)?, setting.rounds, pool)? {
            table.row([
                measured.problem.clone(),
                measured.method.to_owned(),
                measured.precision.clone(),
                measured.iterations.to_string(),
                format!("{:.2}", measured.operator_complexity),
                format!("{:.3}", measured.setup_seconds),
                format!("{:.0}", measured.setup_products),
                format!("{:.3}", measured.solve_seconds),
                format!("{:.3}", measured.total()),
            ]);
            results.push(measured);
        }
    }
    println!("{}, best of {} rounds, relative residual {RTOL:e}\n\n{table}", pool.label(), setting.rounds);
    let kernels = kernels::measure(setting, pool)?;
    let (counts, speeds) = paper(setting, pool)?;
    let grids = recognised::matrices(setting)?;
    Ok(serde_json::json!({
        "threads": pool.threads, "problems": results, "kernels": kernels, "iterations": counts,
        "speed": speeds, "grids": grids
    }))
}

/// The paper's problems: iterations by how levels are stored, and times in 64 and in 16 bits.
pub(super) fn paper(
    setting: &Setting,
    pool: &Pool,
) -> Result<(Vec<precision::Count>, Vec<precision::Speed>), BenchError> {
    let stored = |variants: Vec<precision::Storing>, names: &[&str]| {
        variants.into_iter().filter(|variant| names.contains(&variant.name)).collect::<Vec<_>>()
    };
    let (counted, timed) = (stored(precision::counted(), &STORED), stored(precision::timed(), &STORED[..2]));
    let (mut counts, mut speeds) = (Vec::new(), Vec::new());
    let mut table = Table::new(std::iter::once("problem").chain(STORED));
    for name in if setting.quick { &QUICK_PAPER[..] } else { &PAPER } {
        let mut system = ModelSystem::new(name)?;
        // Rigid-body modes would be reproduced by aggregates, not by a grid.
        let constants = NearKernel::constants(system.a.rows(), system.block);
        system.near_kernel =
            constants.map_err(|error| BenchError::Solve((*name).to_owned(), error.to_string()))?;
        let iterations = precision::count(&system, &counted, &[1.0], PAPER_RTOL, pool)?;
        let cells =
            iterations.iter().map(|count| count.iterations[0].map_or("none".into(), |n| n.to_string()));
        table.row(std::iter::once((*name).to_owned()).chain(cells));
        counts.extend(iterations);
        speeds.extend(precision::time(&system, &timed, PAPER_RTOL, setting.rounds, pool)?);
    }
    println!("{table}\n{}", precision::speed_table(&speeds));
    Ok((counts, speeds))
}

fn measure(system: &ModelSystem, rounds: usize, pool: &Pool) -> Result<Vec<Measured>, BenchError> {
    let (cpu, a) = (Cpu::new(), HostMatrix::from(system.a.clone()));
    let (x, mut y) = (vec![1.0; system.a.cols()], vec![0.0; system.a.rows()]);
    let mut product = || pool.run(|| cpu.spmv(1.0, &a, &x, 0.0, &mut y));
    let product_seconds = alternate(vec![Contestant::new("A x", &mut product)], 3 * rounds)[0].best;
    let mut best: Vec<Option<Measured>> = vec![None; CONTESTANTS.len()];
    for _ in 0..rounds {
        for ((method, precision), best) in CONTESTANTS.into_iter().zip(&mut best) {
            let mut config = SolverConfig { method, precision, fallback: false, ..SolverConfig::default() };
            config.stopping.rtol = RTOL;
            let refused = |error| system.refused(&error);
            let TimedSolve { solver, solution, setup_seconds, solve_seconds } =
                pool.solve(&system.b, || Solver::new(system.a.clone(), config)).map_err(refused)?;
            let relative_residual = relative_residual(&system.a, &solution.x, &system.b);
            if relative_residual > 1.01 * RTOL {
                let why = format!("{method} ended with a relative residual of {relative_residual:e}");
                return Err(BenchError::Solve(system.name.clone(), why));
            }
            let measured = Measured {
                problem: system.name.clone(),
                method: method.name(),
                precision: solver.config().precision.to_string(),
                iterations: solution.report.iterations,
                operator_complexity: solver.hierarchy().operator_complexity(),
                setup_seconds,
                setup_products: setup_seconds / product_seconds,
                solve_seconds,
                relative_residual,
            };
            if best.as_ref().is_none_or(|best| measured.total() < best.total()) {
                *best = Some(measured);
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}
