//! The cost and benefit of reduced-precision levels: iterations, time and memory by the number and
//! the format in which the hierarchy is stored.
//!
//! The outer iteration is always conjugate gradients (or what the matrix requires) in double
//! precision, to a true relative residual of 10⁻⁸. The first table has the iterations. Every system
//! is also solved with its matrix multiplied by 10⁸ and by 10⁻⁸, which shows whether a narrow
//! number was in range only by chance. Two controls do what papers warn against: 16 bits without
//! scaling, and a matrix that is scaled before setup instead of after it.
//!
//! The second table has the times of a cycle, an iteration and a whole solve, compared with levels
//! in 64 bits and compressed sparse rows. All alternate in one run; setup is not included. It is
//! also an ablation: compressed indices only, narrow values only, both.
//!
//! The third table has the iterations on the symmetric positive definite matrices of the shared
//! collection that are solved with 64-bit levels. Without the collection, a message is printed.

mod collection;

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::{Effort, Format, Precision, Scaling};
use ziggurat::{SolveError, Solver, SolverConfig};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Cpu, HostMatrix, Kernels, Vector};
use ziggurat_sparse::operator::LinearOperator;

use super::pool::Pool;
use super::systems::ModelSystem;
use super::timing::{Contestant, Timing, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "precision",
    what: "iterations, time and memory by the number and format in which levels are stored",
    rounds: 7,
    run,
};

/// Problems whose iterations are counted.
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

/// Problems that are timed. After the slash: the window within which rows are shuffled.
const TIMED: [&str; 6] = [
    "poisson3d:160",
    "poisson3d:160/64",
    "poisson3d27:100",
    "poisson3d27:100/64",
    "jump3d:100",
    "elasticity3d:40",
];
const QUICK_TIMED: [&str; 2] = ["poisson3d:10", "poisson3d:10/64"];

/// The relative residual of the solves.
const RTOL: f64 = 1e-8;

/// Factors that matrices are multiplied by.
const FACTORS: [f64; 3] = [1.0, 1e8, 1e-8];

/// A way to store the levels.
pub(super) struct Storing {
    pub(super) name: &'static str,
    precision: Precision,
    format: Format,
    scaling: Scaling,
    /// Whether the matrix is scaled to a unit diagonal before setup.
    scaled_before: bool,
}

const fn storing(name: &'static str, precision: Precision) -> Storing {
    Storing { name, precision, format: Format::Auto, scaling: Scaling::Auto, scaled_before: false }
}

/// The variants whose iterations are counted. The others are compared with the first.
pub(super) fn counted() -> Vec<Storing> {
    vec![
        storing("f64", Precision::F64),
        storing("K64P32D32", Precision::F32),
        storing("K64P32D16", Precision::F16),
        storing("K64P32DB16", Precision::BF16),
        storing("auto", Precision::Auto),
        Storing { scaling: Scaling::Off, ..storing("D16 not scaled", Precision::F16) },
        Storing { scaled_before: true, ..storing("D16 scaled before", Precision::F16) },
    ]
}

/// The variants that are timed. The others are compared with the first.
pub(super) fn timed() -> Vec<Storing> {
    let rows = |name, precision| Storing { format: Format::Csr, ..storing(name, precision) };
    vec![
        rows("f64, csr", Precision::F64),
        storing("f64", Precision::F64),
        storing("K64P32D32", Precision::F32),
        rows("K64P32D16, csr", Precision::F16),
        storing("K64P32D16", Precision::F16),
        storing("auto", Precision::Auto),
    ]
}

impl Storing {
    fn solver(&self, system: &ModelSystem, factor: f64, rtol: f64) -> Result<(Solver, Vec<f64>), SolveError> {
        let (mut a, mut b) = (system.a.clone(), system.b.clone());
        if factor != 1.0 {
            Arc::make_mut(&mut a).values_mut().iter_mut().for_each(|value| *value *= factor);
        }
        if self.scaled_before {
            let diagonal = a.view().diagonal(a.all_rows());
            let scale: Vec<f64> = diagonal.iter().map(|d| d.abs().sqrt().recip()).collect();
            ziggurat_sparse::algebra::scale_symmetric(Arc::make_mut(&mut a), &scale)?;
            b.iter_mut().zip(&scale).for_each(|(b, scale)| *b *= scale);
        }
        let mut config = SolverConfig {
            precision: self.precision.clone(),
            format: self.format,
            scaling: self.scaling,
            effort: Effort::ManySolves, // what is compared is the solve
            fallback: false,
            ..SolverConfig::default()
        };
        config.stopping.rtol = rtol;
        Ok((Solver::with_near_kernel(a, system.near_kernel.clone(), config)?, b))
    }
}

/// The iterations of one variant on one system.
#[derive(Debug, Serialize)]
pub(super) struct Count {
    pub(super) problem: String,
    pub(super) stored: &'static str,
    /// One count per factor; `None` if the solve did not converge.
    pub(super) iterations: Vec<Option<usize>>,
}

/// The times of one variant on one system.
#[derive(Debug, Serialize)]
pub(super) struct Speed {
    problem: String,
    stored: &'static str,
    formats: String,
    spmv_seconds: f64,
    cycle_seconds: f64,
    solve_seconds: f64,
    iterations: usize,
    /// Bytes of the matrices and transfers of all levels.
    bytes: usize,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    println!("{}, best of {} rounds\n", pool.label(), setting.rounds);
    let mut counts = Vec::new();
    for name in if setting.quick { &QUICK_PROBLEMS[..] } else { &PROBLEMS } {
        counts.extend(count(&ModelSystem::new(name)?, &counted(), &FACTORS, RTOL, pool)?);
    }
    println!("{}", count_table(&counts));
    let mut speeds = Vec::new();
    for name in if setting.quick { QUICK_TIMED.as_slice() } else { &TIMED } {
        speeds.extend(time(&ModelSystem::new(name)?, &timed(), RTOL, setting.rounds, pool)?);
    }
    println!("{}", speed_table(&speeds));
    let real = match collection::paths() {
        Some(paths) if !setting.quick => collection::count(&paths, pool)?,
        _ => {
            println!("no real matrices: the collection is missing, or this is a quick run");
            Vec::new()
        }
    };
    Ok(serde_json::json!({
        "threads": pool.threads, "iterations": counts, "speed": speeds, "real matrices": real
    }))
}

/// The iterations of each variant, with the matrix multiplied by each of `factors`.
pub(super) fn count(
    system: &ModelSystem,
    variants: &[Storing],
    factors: &[f64],
    rtol: f64,
    pool: &Pool,
) -> Result<Vec<Count>, BenchError> {
    let refused = |error| system.refused(&error);
    let mut counts = Vec::new();
    for storing in variants {
        let mut iterations = Vec::new();
        for &factor in factors {
            // A control may return an error, such as an overflow; it counts as not converged.
            let solution = pool.run(|| {
                let (solver, b) = storing.solver(system, factor, rtol)?;
                solver.solve(&b)
            });
            iterations.push(match solution {
                Ok(solution) => {
                    let report = solution.report;
                    report.reason.is_converged().then_some(report.iterations)
                }
                Err(_) if storing.scaling == Scaling::Off => None,
                Err(error) => return Err(refused(error)),
            });
        }
        counts.push(Count { problem: system.name.clone(), stored: storing.name, iterations });
    }
    Ok(counts)
}

/// The times of a cycle and of a solve of each variant.
pub(super) fn time(
    system: &ModelSystem,
    variants: &[Storing],
    rtol: f64,
    rounds: usize,
    pool: &Pool,
) -> Result<Vec<Speed>, BenchError> {
    let refused = |error| system.refused(&error);
    let (cpu, rows) = (Cpu::new(), system.a.rows());
    let rows_of_a = HostMatrix::from(system.a.clone());
    let mut solvers = Vec::new();
    for storing in variants {
        let (solver, _) = pool.run(|| storing.solver(system, 1.0, rtol)).map_err(refused)?;
        let iterations = pool.run(|| solver.solve(&system.b)).map_err(refused)?.report.iterations;
        solvers.push((storing.name, solver, iterations));
    }
    let (x, mut y) = (vec![1.0; rows], vec![0.0; rows]);
    let spmv = Contestant::new("spmv", || pool.run(|| cpu.spmv(1.0, &rows_of_a, &x, 0.0, &mut y)));
    let mut contestants = vec![spmv];
    for (name, solver, _) in &solvers {
        let cycle = solver.preconditioner();
        let mut work = cycle.workspace(&cpu, Kind::F64)?;
        let [x, mut y] = [1.0, 0.0].map(|value| Vector::from(vec![value; rows]));
        let cpu = &cpu;
        contestants.push(Contestant::new(format!("{name}, a cycle"), move || {
            pool.run(|| cycle.apply(cpu, &x, &mut y, &mut work));
        }));
        let b = &system.b;
        contestants.push(Contestant::new(format!("{name}, a solve"), move || pool.run(|| solver.solve(b))));
    }
    let timings = alternate(contestants, rounds);
    let Some((spmv, timings)) = timings.split_first() else { return Ok(Vec::new()) };
    let speed = |(solver, timings): (&(&'static str, Solver, usize), &[Timing])| {
        let stored = solver.1.preconditioner().stored();
        let formats = stored.iter().map(|level| format!("{} {}", level.storage, level.format.format()));
        Speed {
            problem: system.name.clone(),
            stored: solver.0,
            formats: formats.collect::<Vec<_>>().join(", "),
            spmv_seconds: spmv.best,
            cycle_seconds: timings[0].best,
            solve_seconds: timings[1].best,
            iterations: solver.2,
            bytes: stored.iter().map(|level| level.format.bytes() + level.transfer_bytes).sum(),
        }
    };
    Ok(solvers.iter().zip(timings.chunks_exact(2)).map(speed).collect())
}

fn count_table(counts: &[Count]) -> Table {
    let mut table = Table::new(["problem", "stored in", "iterations", "times 1e8", "times 1e-8"]);
    for count in counts {
        let iterations =
            |k: usize| count.iterations[k].map_or("none".to_owned(), |iterations| iterations.to_string());
        table.row([
            count.problem.clone(),
            count.stored.to_owned(),
            iterations(0),
            iterations(1),
            iterations(2),
        ]);
    }
    table
}

/// The time of an iteration is given in products A x with the finest matrix in 64 bits and
/// compressed sparse rows.
pub(super) fn speed_table(speeds: &[Speed]) -> Table {
    let headings = [
        "problem",
        "stored in",
        "cycle ms",
        "speed-up",
        "solve s",
        "speed-up",
        "iterations",
        "iteration, A x",
        "MB",
        "vs. f64, csr",
    ];
    let mut table = Table::new(headings);
    for speed in speeds {
        // The first variant of each problem.
        let Some(base) = speeds.iter().find(|other| other.problem == speed.problem) else { continue };
        let iteration = speed.solve_seconds / speed.iterations.max(1) as f64;
        table.row([
            speed.problem.clone(),
            speed.stored.to_owned(),
            format!("{:.1}", 1e3 * speed.cycle_seconds),
            format!("{:.2}", base.cycle_seconds / speed.cycle_seconds),
            format!("{:.3}", speed.solve_seconds),
            format!("{:.2}", base.solve_seconds / speed.solve_seconds),
            speed.iterations.to_string(),
            format!("{:.2}", iteration / speed.spmv_seconds),
            format!("{:.1}", speed.bytes as f64 * 1e-6),
            format!("{:.2}", speed.bytes as f64 / base.bytes as f64),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pool::pools;

    #[test]
    fn narrow_levels_cost_no_more_than_a_tenth_of_the_iterations() {
        for problem in ["poisson3d:16", "jump3d:20", "elasticity3d:6"] {
            let system = ModelSystem::new(problem).unwrap();
            let counts = count(&system, &counted(), &FACTORS, RTOL, &pools(&[2]).unwrap()[0]).unwrap();
            let wide = counts[0].iterations[0].unwrap();
            let most = (1.1 * wide as f64).ceil() as usize;
            for count in &counts[..3] {
                assert!(count.iterations.iter().all(|n| n.is_some_and(|n| n <= most)), "{count:?}");
            }
        }
    }

    #[test]
    fn without_scaling_sixteen_bits_overflow() {
        let system = ModelSystem::new("jump3d:20").unwrap();
        let counts = count(&system, &counted(), &FACTORS, RTOL, &pools(&[2]).unwrap()[0]).unwrap();
        let of = |stored: &str| &counts.iter().find(|count| count.stored == stored).unwrap().iterations;
        assert_eq!(of("D16 not scaled")[1], None); // 10¹² overflows in 16 bits
        assert!(of("K64P32D16")[1].is_some());
    }

    #[test]
    fn every_way_to_store_has_a_time() {
        let system = ModelSystem::new("poisson3d:8/64").unwrap();
        let speeds = time(&system, &timed(), RTOL, 1, &pools(&[2]).unwrap()[0]).unwrap();
        assert_eq!(speeds.len(), timed().len());
        assert!(speeds.iter().all(|speed| speed.cycle_seconds > 0.0 && speed.bytes > 0));
        assert!(speeds[4].bytes < speeds[0].bytes);
    }
}
