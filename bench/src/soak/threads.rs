//! Four threads share a solver, whose values are updated and whose precision changes.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ziggurat::config::Precision;
use ziggurat::{SolveError, Solver, SolverConfig};
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::Problem;

/// Threads that solve at the same time.
const THREADS: u64 = 4;
/// Solves of each thread between two updates.
const SOLVES: u64 = 5;
/// Updates between two changes of the precision.
const UPDATES: u64 = 20;
/// A solution of this many is checked.
const CHECKED: u64 = 1000;

/// Solves until the time is over.
pub(super) fn run(time: Duration) -> Result<(), String> {
    let problem: Problem = "poisson3d:16".parse().map_err(|error| format!("{error}"))?;
    let given = problem.matrix().map_err(|error| error.to_string())?;
    let precisions = ["f16", "f64", "auto", "bf16", "f32", "K64P32D16"];
    let (start, mut told) = (Instant::now(), Instant::now());
    let (solves, checked) = (AtomicU64::new(0), AtomicU64::new(0));
    for round in 0u64.. {
        let name = precisions[round as usize % precisions.len()];
        let precision: Precision = name.parse().map_err(|error| format!("{error}"))?;
        let config = SolverConfig { precision, ..SolverConfig::default() };
        let mut solver = Solver::new(&given, config).map_err(|error| error.to_string())?;
        for update in 0..UPDATES {
            let mut a = given.clone();
            let factor = 1.0 + 0.01 * ((round * UPDATES + update) % 50) as f64;
            a.values_mut().iter_mut().for_each(|value| *value *= factor);
            solver.update_values(&a).map_err(|error| error.to_string())?;
            thread::scope(|scope| {
                let solving = || (0..SOLVES).try_for_each(|_| solve(&solver, &a, &solves, &checked));
                let running: Vec<_> = (0..THREADS).map(|_| scope.spawn(solving)).collect();
                running.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err("panic".into())))
            })?;
            if told.elapsed() > Duration::from_secs(5) || start.elapsed() > time {
                told = Instant::now();
                let [solves, checked] = [&solves, &checked].map(|count| count.load(Ordering::Relaxed));
                println!("soak threads {} {solves} {checked}", resident_kibibytes());
            }
            if start.elapsed() > time {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn solve(solver: &Solver, a: &Csr<f64>, solves: &AtomicU64, checked: &AtomicU64) -> Result<(), String> {
    let number = solves.fetch_add(1, Ordering::Relaxed);
    let b: Vec<f64> = (0..a.rows()).map(|i| ((i as u64 + number) % 7) as f64 - 2.0).collect();
    let solution = solver.solve(&b).map_err(|error: SolveError| error.to_string())?;
    if !solution.report.reason.is_converged() {
        return Err(format!("solve {number}: {}", solution.report));
    }
    if number.is_multiple_of(CHECKED) {
        checked.fetch_add(1, Ordering::Relaxed);
        let (mut residual, mut size) = (0.0, 0.0);
        for row in a.all_rows() {
            let (columns, values) = a.row(row);
            let product: f64 = columns.iter().zip(values).map(|(&j, v)| v * solution.x[j as usize]).sum();
            residual += (b[row] - product).powi(2);
            size += b[row].powi(2);
        }
        if residual.sqrt() > 1.01e-8 * size.sqrt() {
            return Err(format!("solve {number} is wrong: {:e}", (residual / size).sqrt()));
        }
    }
    Ok(())
}

/// The resident memory of this process; 0 where the system does not tell.
fn resident_kibibytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
