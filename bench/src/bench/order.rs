//! A new order of the unknowns before setup (`reorder`): what it gains on scattered matrices, and
//! whether `auto` decides rightly.
//!
//! Model problems whose nodes are shuffled, all of them or within windows, and meshes of the shared
//! collection as they are. Setup, which includes the ordering, and one solve;
//! `off` and `on` alternate, and each counts with its fastest round. A system is solved by the
//! method that `auto` takes for scattered matrices, so that a recognised grid does not decide.

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::{Method, Reorder};
use ziggurat::{Solver, SolverConfig};

use super::pool::{Pool, TimedSolve};
use super::systems::{ModelSystem, RealSystem, relative_residual};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "order",
    what: "renumbering the unknowns of scattered matrices: setup and solve with and without",
    rounds: 5,
    run,
};

const SYSTEMS: [&str; 10] = [
    "poisson3d:100",
    "poisson3d:100/1024",
    "poisson3d:100/1000000",
    "poisson3d27:80/512000",
    "elasticity3d:40/70000",
    "mdual_lap",
    "crank_heat3d",
    "crank_elas3d",
    "brack2_lap",
    "G2_circuit",
];
const QUICK_SYSTEMS: [&str; 1] = ["poisson3d:12/1728"];

/// One system.
#[derive(Debug, Serialize)]
struct Measured {
    system: String,
    rows: usize,
    /// The decision of `auto`.
    auto: Reorder,
    off: Run,
    on: Run,
}

/// The fastest round in one order.
#[derive(Clone, Copy, Debug, Serialize)]
struct Run {
    iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
    relative_residual: f64,
}

impl Run {
    fn total(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let mut table = Table::new([
        "system",
        "rows",
        "iterations off / on",
        "off: setup + solve s",
        "on: setup + solve s",
        "off / on",
        "auto",
    ]);
    let mut results = Vec::new();
    for name in if setting.quick { &QUICK_SYSTEMS[..] } else { &SYSTEMS } {
        let Some(system) = ModelSystem::named(name)? else { continue };
        let measured = measure(&system, pool, setting.rounds)?;
        let times = |run: &Run| format!("{:.3} + {:.3}", run.setup_seconds, run.solve_seconds);
        table.row([
            measured.system.clone(),
            measured.rows.to_string(),
            format!("{} / {}", measured.off.iterations, measured.on.iterations),
            times(&measured.off),
            times(&measured.on),
            format!("{:.2}", measured.off.total() / measured.on.total()),
            measured.auto.to_string(),
        ]);
        results.push(measured);
    }
    println!("{}, best of {} rounds\n\n{table}", pool.label(), setting.rounds);
    Ok(serde_json::json!({ "threads": pool.threads, "systems": results }))
}

fn measure(system: &ModelSystem, pool: &Pool, rounds: usize) -> Result<Measured, BenchError> {
    let refused = |error| system.refused(&error);
    let config = |reorder| {
        let mut config = SolverConfig { reorder, ..SolverConfig::default() };
        if system.name.contains(':') {
            config.method = Method::Sa;
        }
        config
    };
    let auto = pool.run(|| Solver::new(system.a.clone(), config(Reorder::Auto))).map_err(refused)?;
    let b = match system.name.contains(':') {
        true => system.b.clone(),
        false => RealSystem::default_rhs(&auto),
    };
    let auto = auto.config().reorder;
    let mut runs: [Option<Run>; 2] = [None; 2];
    for _ in 0..rounds {
        for (reorder, best) in [Reorder::Off, Reorder::On].into_iter().zip(&mut runs) {
            let TimedSolve { solution, setup_seconds, solve_seconds, .. } =
                pool.solve(&b, || Solver::new(system.a.clone(), config(reorder))).map_err(refused)?;
            let run = Run {
                iterations: solution.report.iterations,
                setup_seconds,
                solve_seconds,
                relative_residual: relative_residual(&system.a, &solution.x, &b),
            };
            if best.is_none_or(|best| run.total() < best.total()) {
                *best = Some(run);
            }
        }
    }
    let (name, rows) = (system.name.clone(), system.a.rows());
    let [Some(off), Some(on)] = runs else {
        return Err(BenchError::Solve(name, "no rounds".to_owned()));
    };
    Ok(Measured { system: name, rows, auto, off, on })
}
