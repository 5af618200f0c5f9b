//! The cost of setup: in products A·x, by size, and by number of threads.
//!
//! Setup and solve by `ziggurat solve`, to a relative residual of 10⁻⁸. Each run is a process of
//! its own, because memory that another setup has left behind makes the next one faster or slower.
//! The numbers of threads alternate, and each counts with its fastest round. A product is the
//! matrix in CSR and f64 times a vector, on as many threads. The same problem in four sizes
//! shows whether the cost per unknown grows.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tasks::programs::{AS_TESTS, build};
use tasks::table::Table;

use super::pool::Pool;
use super::race::driver::product_seconds;
use super::systems::ModelSystem;
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "setup", what: "setup in products A·x, by size and by number of threads", rounds: 3, run };

const SYSTEMS: [&str; 9] = [
    "poisson3d:60",
    "poisson3d:100",
    "poisson3d:160",
    "poisson3d:250",
    "poisson3d27:100",
    "anisotropic3d:100",
    "jump3d:100",
    "elasticity3d:40",
    "poisson3d:100/1024",
];
const QUICK_SYSTEMS: [&str; 2] = ["poisson3d:10", "elasticity3d:4"];

/// One system on one number of threads.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    system: String,
    rows: usize,
    threads: usize,
    iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
    peak_bytes: u64,
    product_seconds: f64,
}

impl Measured {
    fn total(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let mut table = Table::new([
        "system",
        "threads",
        "iterations",
        "setup s",
        "solve s",
        "setup in products",
        "total in products",
        "µs per unknown",
        "speed-up of setup",
        "peak MB",
    ]);
    let how = if setting.quick { AS_TESTS } else { &["--release", "--package", "ziggurat-cli"] };
    let program = build(how, &["--bin", "ziggurat"]).map_err(BenchError::Program)?.join("ziggurat");
    let mut results = Vec::new();
    for name in if setting.quick { &QUICK_SYSTEMS[..] } else { &SYSTEMS } {
        let measured = measure(&program, name, &setting.pools, setting.rounds)?;
        let first = measured.first().map_or(f64::NAN, |first| first.setup_seconds);
        for one in &measured {
            table.row([
                one.system.clone(),
                one.threads.to_string(),
                one.iterations.to_string(),
                format!("{:.3}", one.setup_seconds),
                format!("{:.3}", one.solve_seconds),
                format!("{:.0}", one.setup_seconds / one.product_seconds),
                format!("{:.0}", one.total() / one.product_seconds),
                format!("{:.3}", one.total() * 1e6 / one.rows as f64),
                format!("{:.2}", first / one.setup_seconds),
                format!("{:.0}", one.peak_bytes as f64 / 1e6),
            ]);
        }
        results.extend(measured);
    }
    println!("best of {} rounds\n\n{table}", setting.rounds);
    Ok(serde_json::json!({ "systems": results }))
}

/// A system on every number of threads.
fn measure(program: &Path, name: &str, pools: &[Pool], rounds: usize) -> Result<Vec<Measured>, BenchError> {
    let system = ModelSystem::new(name)?;
    let mut best: Vec<Option<Measured>> = vec![None; pools.len()];
    for _ in 0..rounds {
        for (pool, best) in pools.iter().zip(&mut best) {
            let Solved { iterations, setup_seconds, solve_seconds, peak_bytes } =
                solve(program, name, pool.threads)?;
            if best.as_ref().is_none_or(|best| setup_seconds + solve_seconds < best.total()) {
                *best = Some(Measured {
                    system: name.to_owned(),
                    rows: system.a.rows(),
                    threads: pool.threads,
                    iterations,
                    setup_seconds,
                    solve_seconds,
                    peak_bytes,
                    product_seconds: pool.run(|| product_seconds(&system.a)),
                });
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}

/// The keys of the report that are used here.
#[derive(Debug, Deserialize)]
struct Solved {
    iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
    peak_bytes: u64,
}

/// Solves a system by the command.
fn solve(program: &Path, name: &str, threads: usize) -> Result<Solved, BenchError> {
    let (problem, window) = name.split_once('/').unwrap_or((name, "1"));
    let output = Command::new(program)
        .args(["solve", "--problem", problem, "--shuffle", window, "--json", "-"])
        .args(["--threads", &threads.to_string()])
        .output()
        .map_err(|error| BenchError::Program(error.to_string()))?;
    if !output.status.success() {
        return Err(BenchError::Solve(name.to_owned(), String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
