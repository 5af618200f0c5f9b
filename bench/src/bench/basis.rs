//! Compressed-basis GMRES: the Krylov basis in 64, 32 and 16 bits on nonsymmetric matrices.
//!
//! GMRES(100) with ILU(0) alone, where the basis is most of what an iteration reads, and with
//! multigrid as `auto` chooses it. The true residual is recomputed here. Times are from the
//! fastest round; the bases alternate.

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::{Basis, Krylov, Method, SmootherKind};
use ziggurat::krylov::{System, Work};
use ziggurat::sparse::operator::MatrixOperator;
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::device::Cpu;

use super::pool::Pool;
use super::systems::{ModelSystem, relative_residual};
use super::timing::{Contestant, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "basis",
    what: "the Krylov basis of GMRES in 64, 32 and 16 bits: memory, iterations and time",
    rounds: 3,
    run,
};

const SYSTEMS: [&str; 4] = ["convection3d:80", "muelu_vardof", "CSky3d30", "memplus"];
const QUICK_SYSTEMS: [&str; 1] = ["convection3d:10"];

const RESTART: usize = 100;
const RTOL: f64 = 1e-10;

/// A basis on a system.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    system: String,
    method: &'static str,
    basis: &'static str,
    /// Bytes of the stored basis.
    bytes: usize,
    iterations: usize,
    /// True residuals computed before the last one: the initial one and one per restart.
    restarts: usize,
    seconds: f64,
    relative_residual: f64,
    reason: &'static str,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    println!("{}, GMRES({RESTART}), relative residual {RTOL:e}\n", pool.label());
    let mut table = Table::new([
        "system",
        "preconditioner",
        "basis",
        "basis MB",
        "iterations",
        "restarts",
        "solve s",
        "residual",
        "stopped",
    ]);
    let mut results = Vec::new();
    for name in if setting.quick { &QUICK_SYSTEMS[..] } else { &SYSTEMS } {
        let Some(system) = ModelSystem::named(name)? else { continue };
        for method in [Method::None, Method::Auto] {
            for measured in measure(&system, method, pool, setting.rounds)? {
                let preconditioner = if method == Method::None { "ILU(0)" } else { "multigrid" };
                table.row([
                    measured.system.clone(),
                    preconditioner.to_owned(),
                    measured.basis.to_owned(),
                    format!("{:.1}", measured.bytes as f64 / 1e6),
                    measured.iterations.to_string(),
                    measured.restarts.to_string(),
                    format!("{:.3}", measured.seconds),
                    format!("{:.1e}", measured.relative_residual),
                    measured.reason.to_owned(),
                ]);
                results.push(measured);
            }
        }
    }
    println!("{table}");
    Ok(serde_json::json!({ "threads": pool.threads, "solves": results }))
}

/// All bases on a system.
fn measure(
    system: &ModelSystem,
    method: Method,
    pool: &Pool,
    rounds: usize,
) -> Result<Vec<Measured>, BenchError> {
    let refused = |error| system.refused(&error);
    let mut solvers = Vec::new();
    for &basis in Basis::ALL {
        let mut config = SolverConfig { method, krylov: Krylov::Gmres, basis, ..SolverConfig::default() };
        (config.restart, config.fallback) = (RESTART, false);
        (config.stopping.rtol, config.stopping.max_iterations) = (RTOL, 3000);
        if method == Method::None {
            config.smoother.kind = SmootherKind::Ilu0;
        }
        solvers.push((basis, pool.run(|| Solver::new(system.a.clone(), config)).map_err(refused)?));
    }
    let mut measured = Vec::new();
    for (basis, solver) in &solvers {
        let solution = pool.run(|| solver.solve(&system.b)).map_err(refused)?;
        measured.push(Measured {
            system: system.name.clone(),
            method: method.name(),
            basis: basis.name(),
            bytes: bytes(system, *basis)?,
            iterations: solution.report.iterations,
            restarts: solution.report.verified.len().saturating_sub(2),
            seconds: f64::INFINITY,
            relative_residual: relative_residual(&system.a, &solution.x, &system.b),
            reason: solution.report.reason.name(),
        });
    }
    let contestants = solvers
        .iter()
        .map(|(basis, solver)| {
            Contestant::new(basis.name(), move || pool.run(|| solver.solve(&system.b).is_ok()))
        })
        .collect();
    for (measured, timing) in measured.iter_mut().zip(alternate(contestants, rounds)) {
        measured.seconds = timing.best;
    }
    Ok(measured)
}

/// Bytes of the basis that the solver allocates for each solve.
fn bytes(system: &ModelSystem, basis: Basis) -> Result<usize, BenchError> {
    let failed = |error: String| BenchError::Solve(system.name.clone(), error);
    let device = Cpu::new();
    let a = MatrixOperator::new(&device, system.a.clone())?;
    let (operators, method) = (System::new(&a), ziggurat::krylov::Method::Gmres { restart: RESTART });
    let work = Work::with_basis(method, basis, &device, &operators);
    Ok(work.map_err(|error| failed(error.to_string()))?.basis_bytes())
}
