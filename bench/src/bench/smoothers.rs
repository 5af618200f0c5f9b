//! Smoothers on real symmetric positive definite matrices, alone and in multigrid; approximate
//! inverses in 16 bits; and the cost of their setup, beside hypre's.
//!
//! Alone, the smoother preconditions conjugate gradients (`method = "none"`). In multigrid, all
//! else is as `auto` chooses it. Nothing falls back to sparse factors, and the true residual is
//! recomputed here; a solve that does not reach 10⁻⁸ within the iterations below counts as failed.

use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::{Format, Method, Precision, SmootherKind};
use ziggurat::sparse::operator::LinearOperator;
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Cpu, HostMatrix, Kernels, Vector};

use super::pool::Pool;
use super::race::HypreSmoothers;
use super::race::driver::product_seconds;
use super::systems::{ModelSystem, RealSystem, collection, keep_smallest, relative_residual};
use super::timing::{Contestant, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "smoothers",
    what: "smoothers on real matrices, alone and in multigrid, and approximate inverses in 16 bits",
    rounds: 3,
    run,
};

const MATRICES: [&str; 12] = [
    "bcsstk15",
    "bcsstk16",
    "bcsstk18",
    "bcsstk24",
    "bcsstk25",
    "gyro_m",
    "hypre_beam_tet",
    "crank_elas3d",
    "muelu_beam",
    "msc01050",
    "norne_pressure",
    "bodyy5",
];

/// The smoothers, FSAI also with more entries per row: steps, and columns per step.
const SMOOTHERS: [(SmootherKind, Option<(usize, usize)>); 8] = [
    (SmootherKind::Jacobi, None),
    (SmootherKind::Chebyshev, None),
    (SmootherKind::GaussSeidel, None),
    (SmootherKind::BlockJacobi, None),
    (SmootherKind::Ilu0, None),
    (SmootherKind::Ilut, None),
    (SmootherKind::Fsai, None),
    (SmootherKind::Fsai, Some((10, 2))),
];

/// Systems on which approximate inverses are compared in 16 and 64 bits.
const STORED: [&str; 3] = ["elasticity3d:40", "norne_pressure", "jump3d:60/1024"];

const MAX_ITERATIONS: usize = 3000;
const RTOL: f64 = 1e-8;

/// A smoother on a matrix.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    matrix: String,
    smoother: String,
    method: &'static str,
    /// `None` if it was not solved.
    iterations: Option<usize>,
    setup_seconds: f64,
    solve_seconds: f64,
    /// Why it was not solved.
    failure: Option<String>,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    println!("{}, relative residual {RTOL:e}, at most {MAX_ITERATIONS} iterations\n", pool.label());
    let systems = systems(setting.quick)?;
    let mut solves = Vec::new();
    for (method, what) in [(Method::None, "Alone"), (Method::Auto, "In multigrid")] {
        let names = SMOOTHERS.map(|smoother| format!("{}: iterations, s", name(smoother)));
        let mut table = Table::new(["matrix".to_owned()].into_iter().chain(names));
        for system in &systems {
            let measured: Vec<Measured> =
                SMOOTHERS.iter().map(|&smoother| solve(system, method, smoother, pool)).collect();
            let cells = measured.iter().map(|one| match one.iterations {
                Some(iterations) => format!("{iterations}, {:.2}", one.setup_seconds + one.solve_seconds),
                None => "none".to_owned(),
            });
            table.row([system.name.clone()].into_iter().chain(cells));
            solves.extend(measured);
        }
        println!("{what}\n\n{table}");
    }
    let stored = stored(setting, pool)?;
    let setup = setup(setting)?;
    Ok(serde_json::json!({ "threads": pool.threads, "solves": solves, "stored": stored, "setup": setup }))
}

fn systems(quick: bool) -> Result<Vec<RealSystem>, BenchError> {
    let wanted = |cells: &[&str]| cells.get(1).is_some_and(|name| MATRICES.contains(name));
    let mut paths = collection(wanted).unwrap_or_default();
    if quick {
        keep_smallest(&mut paths, 1);
    }
    paths.iter().map(|path| RealSystem::read(path)).collect()
}

fn configuration(method: Method, smoother: SmootherKind) -> SolverConfig {
    let mut config = SolverConfig { method, fallback: false, ..SolverConfig::default() };
    config.smoother.kind = smoother;
    config.stopping.rtol = RTOL;
    config.stopping.max_iterations = MAX_ITERATIONS;
    config
}

fn solve(
    system: &RealSystem,
    method: Method,
    smoother: (SmootherKind, Option<(usize, usize)>),
    pool: &Pool,
) -> Measured {
    let mut measured = Measured {
        matrix: system.name.clone(),
        smoother: name(smoother),
        method: method.name(),
        iterations: None,
        setup_seconds: 0.0,
        solve_seconds: 0.0,
        failure: None,
    };
    let mut config = configuration(method, smoother.0);
    if let Some((steps, columns)) = smoother.1 {
        (config.smoother.fsai.steps, config.smoother.fsai.columns_per_step) = (steps, columns);
    }
    let start = Instant::now();
    let solver = match pool.run(|| Solver::new(system.a.clone(), config)) {
        Ok(solver) => solver,
        Err(error) => return Measured { failure: Some(error.to_string()), ..measured },
    };
    measured.setup_seconds = start.elapsed().as_secs_f64();
    let b = system.b.clone().unwrap_or_else(|| RealSystem::default_rhs(&solver));
    let start = Instant::now();
    let solution = pool.run(|| solver.solve(&b));
    measured.solve_seconds = start.elapsed().as_secs_f64();
    match solution {
        Ok(solution) if relative_residual(&system.a, &solution.x, &b) <= 1.01 * RTOL => {
            measured.iterations = Some(solution.report.iterations);
        }
        Ok(solution) => measured.failure = Some(solution.report.reason.to_string()),
        Err(error) => measured.failure = Some(error.to_string()),
    }
    measured
}

/// FSAI alone in 16 bits against 64 bits in compressed rows: iterations, and the time of one
/// application.
fn stored(setting: &Setting, pool: &Pool) -> Result<Vec<Value>, BenchError> {
    let mut table = Table::new([
        "system",
        "iterations, f64 in CSR",
        "f16",
        "application, f64 in CSR (ms)",
        "f16 (ms)",
        "ratio",
    ]);
    let mut results = Vec::new();
    for name in if setting.quick { &["jump3d:12/64"][..] } else { &STORED } {
        let Some(system) = ModelSystem::named(name)? else { continue };
        let refused = |error| system.refused(&error);
        let variant = |precision, format| {
            let config =
                SolverConfig { precision, format, ..configuration(Method::None, SmootherKind::Fsai) };
            pool.run(|| Solver::new(system.a.clone(), config)).map_err(refused)
        };
        let solvers = [variant(Precision::F64, Format::Csr)?, variant(Precision::F16, Format::Auto)?];
        let mut iterations = Vec::new();
        for solver in &solvers {
            let solution = pool.run(|| solver.solve(&system.b)).map_err(refused)?;
            iterations.push(solution.report.iterations);
        }
        let cpu = Cpu::new();
        let contestants = solvers.iter().map(|solver| {
            let cycle = solver.preconditioner();
            let mut work = cycle.workspace(&cpu, Kind::F64)?;
            let (b, mut x) = (Vector::from(system.b.clone()), Vector::from(vec![0.0; system.b.len()]));
            let cpu = &cpu;
            let apply = move || pool.run(|| cycle.apply(cpu, &b, &mut x, &mut work));
            Ok(Contestant::new("apply", apply))
        });
        let contestants = contestants.collect::<Result<Vec<_>, BenchError>>()?;
        let times: Vec<f64> =
            alternate(contestants, 5 * setting.rounds).iter().map(|timing| timing.best).collect();
        table.row([
            (*name).to_owned(),
            iterations[0].to_string(),
            iterations[1].to_string(),
            format!("{:.2}", 1e3 * times[0]),
            format!("{:.2}", 1e3 * times[1]),
            format!("{:.2}", times[0] / times[1]),
        ]);
        results.push(serde_json::json!({ "system": name, "iterations": iterations, "seconds": times }));
    }
    println!("FSAI alone, stored in 64 and in 16 bits\n\n{table}");
    Ok(results)
}

/// A smoother as it is printed.
fn name((kind, steps): (SmootherKind, Option<(usize, usize)>)) -> String {
    match steps {
        Some((steps, columns)) => format!("{kind} {steps}x{columns}"),
        None => kind.to_string(),
    }
}

/// The setup of a smoother, and conjugate gradients with it.
#[derive(Debug, Serialize)]
struct Setup {
    smoother: String,
    /// Threads, or processes of hypre.
    threads: usize,
    seconds: f64,
    /// The time of A·x in this library, on as many threads.
    product_seconds: f64,
    iterations: usize,
}

/// The setup of smoothers alone, in products A·x, with each number of threads; and of hypre's.
fn setup(setting: &Setting) -> Result<Vec<Setup>, BenchError> {
    let system = ModelSystem::new(if setting.quick { "poisson3d:12" } else { "poisson3d:100" })?;
    let mut setups = Vec::new();
    for smoother in [SmootherKind::Jacobi, SmootherKind::BlockJacobi, SmootherKind::Ilu0, SmootherKind::Fsai]
    {
        for pool in &setting.pools {
            let (cpu, a) = (Cpu::new(), HostMatrix::from(system.a.clone()));
            let (x, mut y) = (vec![1.0; system.a.cols()], vec![0.0; system.a.rows()]);
            let config = configuration(Method::None, smoother);
            let set_up = || Solver::new(system.a.clone(), config.clone());
            let times = alternate(
                vec![
                    Contestant::new("A x", || pool.run(|| cpu.spmv(1.0, &a, &x, 0.0, &mut y))),
                    Contestant::new("setup", || pool.run(|| set_up().is_ok())),
                ],
                setting.rounds,
            );
            let solved = pool.solve(&system.b, set_up).map_err(|error| system.refused(&error))?;
            setups.push(Setup {
                smoother: smoother.name().to_owned(),
                threads: pool.threads,
                seconds: times[1].best,
                product_seconds: times[0].best,
                iterations: solved.solution.report.iterations,
            });
        }
    }
    if let Some(pool) = setting.pools.last() {
        setups.extend(hypre(setting, &system, pool)?);
    }
    let mut table = Table::new(["smoother", "threads", "setup s", "in A·x", "iterations"]);
    for setup in &setups {
        table.row([
            setup.smoother.clone(),
            setup.threads.to_string(),
            format!("{:.3}", setup.seconds),
            format!("{:.0}", setup.seconds / setup.product_seconds),
            setup.iterations.to_string(),
        ]);
    }
    println!("Setup on {}, with diagnosis and conversion; hypre's on processes\n\n{table}", system.name);
    Ok(setups)
}

/// The setup of hypre's smoothers, on as many processes as the pool has threads. Assembling hypre's
/// matrix is not included.
fn hypre(setting: &Setting, system: &ModelSystem, pool: &Pool) -> Result<Vec<Setup>, BenchError> {
    let hypre = match HypreSmoothers::new(&system.a, &system.b, setting.quick) {
        Ok(hypre) => hypre,
        Err(error) => {
            println!("without hypre: {error}\n");
            return Ok(Vec::new());
        }
    };
    // mpirun and loading hypre take half a second, so a quick run has time for one smoother only.
    let names = hypre.names().iter().take(if setting.quick { 1 } else { usize::MAX });
    let mut setups = Vec::new();
    for name in names {
        let (mut best, mut product) = (None, f64::INFINITY);
        for _ in 0..setting.rounds {
            product = product.min(pool.run(|| product_seconds(&system.a)));
            match hypre.solve(name, pool.threads)? {
                Ok(run) if best.is_none_or(|(seconds, _)| run.0 < seconds) => best = Some(run),
                Ok(_) => {}
                Err(reason) => {
                    println!("without hypre {name}: {reason}\n");
                    break;
                }
            }
        }
        setups.extend(best.map(|(seconds, iterations)| Setup {
            smoother: format!("hypre {name}"),
            threads: pool.threads,
            seconds,
            product_seconds: product,
            iterations,
        }));
    }
    Ok(setups)
}
