//! New values on the same pattern: `Solver::update_values`, compared with a full setup.
//!
//! The second matrix is 1.5 A + 0.1 D U, where D is the diagonal of A and U a diagonal of random
//! numbers between 0 and 1. It is symmetric positive definite like A, and not a multiple of A. A
//! full setup for it and the update of a solver that was set up for A alternate; updates switch
//! between the two matrices, so that values change every time. Both solvers then solve the second
//! system, and the iterations are compared.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::Rebuild;
use ziggurat::{Solver, SolverConfig, Updated};
use ziggurat_sparse::Csr;
use ziggurat_sparse::hash::uniform_signed;

use super::pool::Pool;
use super::systems::ModelSystem;
use super::timing::{Contestant, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "update",
    what: "new values on the same pattern, compared with a full setup",
    rounds: 5,
    run,
};

const PROBLEMS: [&str; 5] =
    ["poisson3d:100", "poisson3d27:100", "anisotropic3d:100", "jump3d:100", "elasticity3d:40"];
const QUICK_PROBLEMS: [&str; 2] = ["poisson3d:10", "elasticity3d:4"];

/// One problem.
#[derive(Debug, Serialize)]
struct Measured {
    problem: String,
    setup_seconds: f64,
    /// The first update, which computes the symbolic products, and the best of the later ones.
    first_update_seconds: f64,
    update_seconds: f64,
    /// Iterations on the second matrix, after a full setup and after an update.
    iterations: [usize; 2],
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let mut table = Table::new([
        "problem",
        "setup s",
        "first update s",
        "update s",
        "update / setup",
        "iterations after setup",
        "after update",
    ]);
    let mut results = Vec::new();
    for name in if setting.quick { &QUICK_PROBLEMS[..] } else { &PROBLEMS } {
        let measured = measure(&ModelSystem::new(name)?, setting.rounds, pool)?;
        table.row([
            measured.problem.clone(),
            format!("{:.3}", measured.setup_seconds),
            format!("{:.3}", measured.first_update_seconds),
            format!("{:.3}", measured.update_seconds),
            format!("{:.2}", measured.update_seconds / measured.setup_seconds),
            measured.iterations[0].to_string(),
            measured.iterations[1].to_string(),
        ]);
        results.push(measured);
    }
    println!("{}, best of {} rounds\n\n{table}", pool.label(), setting.rounds);
    Ok(serde_json::json!({ "threads": pool.threads, "problems": results }))
}

fn measure(system: &ModelSystem, rounds: usize, pool: &Pool) -> Result<Measured, BenchError> {
    let first = system.a.clone();
    let second = Arc::new(changed(&first));
    let mut config = SolverConfig::default();
    config.update.rebuild = Rebuild::Never;
    let set_up = |a: &Arc<Csr<f64>>| {
        let solver = Solver::with_near_kernel(a.clone(), system.near_kernel.clone(), config.clone());
        solver.map_err(|error| system.refused(&error))
    };
    let fresh = pool.run(|| set_up(&second))?;
    let mut updated = pool.run(|| set_up(&first))?;
    let start = Instant::now();
    pool.run(|| updated.update_values(second.clone())).map_err(|error| system.refused(&error))?;
    let first_update_seconds = start.elapsed().as_secs_f64();
    let timings = {
        let (updated, mut to_second) = (&mut updated, true);
        alternate(
            vec![
                Contestant::new("setup", || pool.run(|| set_up(&second))),
                Contestant::new("update", || {
                    to_second = !to_second;
                    let a = if to_second { &second } else { &first };
                    pool.run(|| updated.update_values(a.clone()))
                }),
            ],
            rounds,
        )
    };
    let refused = |error| system.refused(&error);
    let done = pool.run(|| updated.update_values(second.clone())).map_err(refused)?;
    if done != Updated::Values {
        return Err(BenchError::Solve(system.name.clone(), "the hierarchy was rebuilt".to_owned()));
    }
    let iterations = |solver: &Solver| {
        let solution = pool.run(|| solver.solve(&system.b)).map_err(refused)?;
        Ok::<_, BenchError>(solution.report.iterations)
    };
    Ok(Measured {
        problem: system.name.clone(),
        setup_seconds: timings[0].best,
        first_update_seconds,
        update_seconds: timings[1].best,
        iterations: [iterations(&fresh)?, iterations(&updated)?],
    })
}

/// 1.5 A + 0.1 D U
fn changed(a: &Csr<f64>) -> Csr<f64> {
    let mut changed = a.clone();
    let (row_ptr, columns) = (a.row_ptr(), a.columns());
    for row in a.all_rows() {
        let entries = row_ptr[row]..row_ptr[row + 1];
        let random = 0.5 + 0.5 * uniform_signed(row as u64);
        for (value, &column) in changed.values_mut()[entries.clone()].iter_mut().zip(&columns[entries]) {
            *value *= if column as usize == row { 1.5 + 0.1 * random } else { 1.5 };
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pool::pools;

    #[test]
    fn the_second_matrix_is_symmetric_and_not_a_multiple_of_the_first() {
        let a = ModelSystem::new("poisson3d:6").unwrap().a;
        let b = changed(&a);
        assert_eq!((b.row_ptr(), b.columns()), (a.row_ptr(), a.columns()));
        assert!(a.all_rows().all(|row| (1.5..=1.6).contains(&(b.get(row, row).unwrap() / 6.0))));
        assert_ne!(b.get(0, 0), b.get(1, 1));
        assert_eq!(b.get(0, 1), Some(-1.5));
    }

    #[test]
    fn an_update_solves_as_fast_as_a_setup() {
        let system = ModelSystem::new("poisson3d:12").unwrap();
        let measured = measure(&system, 1, &pools(&[2]).unwrap()[0]).unwrap();
        let [after_setup, after_update] = measured.iterations;
        assert!(after_setup > 0 && after_update <= after_setup + 2, "{measured:?}");
        assert!(measured.setup_seconds > 0.0 && measured.update_seconds > 0.0);
    }
}
