//! The cost of a Krylov iteration beyond its kernels: conjugate gradients with Jacobi on 100 rows,
//! beside the same kernels called one after another.
//!
//! Vectors of 100 rows are in the cache and on one thread, so nearly all of the difference is
//! bookkeeping: operators called through references, number types found at run time, the history,
//! the decisions, and the check whether somebody traces. Every run has the same number of
//! iterations and one residual at either end, on both sides.

use serde_json::Value;
use tasks::table::Table;
use ziggurat::krylov::{LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat::sparse::operator::{Diagonal, MatrixOperator};
use ziggurat_sparse::device::{Cpu, HostMatrix, Kernels, Vector};

use super::systems::ModelSystem;
use super::timing::{Contestant, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "overhead",
    what: "what a Krylov iteration on 100 rows costs beyond its kernels",
    rounds: 200,
    run,
};

/// Few enough that rounding does not dominate the residual.
const ITERATIONS: usize = 12;

/// Solves per measurement, so that a clock's resolution does not matter.
const REPEATS: usize = 200;

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.first() else { return Ok(Value::Null) };
    let system = ModelSystem::new("poisson2d:10")?;
    let (cpu, b) = (Cpu::new(), &system.b);
    let a = HostMatrix::from(system.a.clone());
    let jacobi: Vec<f64> = system.a.view().diagonal(system.a.all_rows()).iter().map(|d| d.recip()).collect();

    let operator = MatrixOperator::new(&cpu, a.clone())?;
    let diagonal = Diagonal::new(jacobi.clone());
    let linear = System::new(&operator).preconditioner(&diagonal);
    let mut work = Work::new(Method::Cg, &cpu, &linear).map_err(|error| system.refused(&error.into()))?;
    let stopping = Stopping::default().rtol(0.0).max_iterations(ITERATIONS);
    let (right, mut x) = (Vector::from(b.clone()), Vector::from(vec![0.0; b.len()]));
    let mut iterations = 0;
    let iterate = || {
        pool.run(|| {
            for _ in 0..REPEATS {
                x.elements_mut::<f64>().unwrap_or_default().fill(0.0);
                let problem = LinearProblem::new(&cpu, &linear, &right).stopping(stopping);
                iterations = solve(problem, &mut x, &mut work).map_or(0, |report| report.iterations);
            }
        });
    };

    let [mut r, mut z, mut p, mut q, mut y] = [(); 5].map(|()| vec![0.0; b.len()]);
    let kernels = || {
        pool.run(|| {
            for _ in 0..REPEATS {
                y.fill(0.0);
                let mut sum = cpu.norm(b);
                cpu.residual(&a, &y, b, &mut r);
                sum += cpu.norm(&r);
                for _ in 0..ITERATIONS {
                    cpu.diagonal(1.0, &jacobi, &r, 0.0, &mut z);
                    sum += cpu.dot(&r, &z);
                    cpu.step_and_turn(0.5, &mut y, 0.5, &z, &mut p);
                    cpu.spmv(1.0, &a, &p, 0.0, &mut q);
                    sum += cpu.dot(&p, &q);
                    sum += cpu.combine(&[-1e-3], &[&q], 1.0, &mut r);
                }
                cpu.axpby(0.5, &p, 1.0, &mut y);
                cpu.residual(&a, &y, b, &mut r);
                std::hint::black_box(sum + cpu.norm(&r));
            }
        });
    };
    let rounds = if setting.quick { 1 } else { setting.rounds };
    let contestants = vec![Contestant::new("iterations", iterate), Contestant::new("kernels", kernels)];
    let times = alternate(contestants, rounds);
    let per_iteration = |seconds: f64| 1e6 * seconds / (REPEATS * ITERATIONS) as f64;
    let [solve, kernels] = [per_iteration(times[0].best), per_iteration(times[1].best)];
    let mut table = Table::new(["conjugate gradients with Jacobi, 100 rows", "µs per iteration"]);
    table.row(["solve".to_owned(), format!("{solve:.2}")]);
    table.row(["its kernels alone".to_owned(), format!("{kernels:.2}")]);
    table.row(["difference".to_owned(), format!("{:.2}", solve - kernels)]);
    println!("{}, {iterations} iterations\n\n{table}", pool.label());
    Ok(serde_json::json!({
        "iterations": iterations, "solve_microseconds": solve, "kernel_microseconds": kernels
    }))
}
