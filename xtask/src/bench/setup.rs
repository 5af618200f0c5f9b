//! What setup costs: in products A·x, by size, and by number of threads.
//!
//! Setup and solve as `Solver::new` and `solve` do them, to a relative residual of 10⁻⁸; the
//! numbers of threads alternate, and each counts with its fastest round. A product is that of the
//! matrix in CSR and f64 with a vector, on as many threads. The same problem in four sizes shows
//! whether the cost per unknown grows.

use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use ziggurat::{Solver, SolverConfig};

use super::pool::Pool;
use super::race::driver::product_seconds;
use super::systems::ModelSystem;
use super::table::Table;
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
    ]);
    let mut results = Vec::new();
    for name in if setting.quick { &QUICK_SYSTEMS[..] } else { &SYSTEMS } {
        let measured = measure(&ModelSystem::new(name)?, &setting.pools, setting.rounds)?;
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
            ]);
        }
        results.extend(measured);
    }
    println!("best of {} rounds\n\n{table}", setting.rounds);
    Ok(serde_json::json!({ "systems": results }))
}

/// A system on every number of threads.
fn measure(system: &ModelSystem, pools: &[Pool], rounds: usize) -> Result<Vec<Measured>, BenchError> {
    let refused = |error| system.refused(&error);
    let mut best: Vec<Option<Measured>> = vec![None; pools.len()];
    for _ in 0..rounds {
        for (pool, best) in pools.iter().zip(&mut best) {
            let (kernel, config) = (system.near_kernel.clone(), SolverConfig::default());
            let start = Instant::now();
            let solver = pool.run(|| Solver::with_near_kernel(system.a.clone(), kernel, config));
            let solver = solver.map_err(refused)?;
            let setup_seconds = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let solution = pool.run(|| solver.solve(&system.b)).map_err(refused)?;
            let solve_seconds = start.elapsed().as_secs_f64();
            let faster = |best: &Measured| setup_seconds + solve_seconds < best.total();
            if best.as_ref().is_none_or(faster) {
                *best = Some(Measured {
                    system: system.name.clone(),
                    rows: system.a.rows(),
                    threads: pool.threads,
                    iterations: solution.report.iterations,
                    setup_seconds,
                    solve_seconds,
                    product_seconds: pool.run(|| product_seconds(&system.a)),
                });
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}
