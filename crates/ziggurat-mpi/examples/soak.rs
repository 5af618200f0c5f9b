//! Solves on all ranks for a given number of seconds; `cargo xtask soak` watches the memory.
//!
//! ```text
//! mpirun -n 4 cargo run --release -p ziggurat-mpi --example soak -- 60
//! ```
//!
//! Every few seconds each rank prints `soak rankN RESIDENT_KIB SOLVES CHECKED`. Every thousandth
//! solution is gathered, and its residual is computed from the whole matrix.
#![allow(clippy::print_stdout)] // an example prints its result

use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ziggurat::SolverConfig;
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, Mpi, Session};
use ziggurat_sparse::gallery::Problem;

/// Solves before a solver is set up again.
const SOLVES: u64 = 40;
/// A solution of this many is checked.
const CHECKED: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let session = Session::start()?;
    let comm: Arc<dyn Comm> = Arc::new(Mpi::world()?);
    soak(&comm, Duration::from_secs(seconds))?;
    drop(comm);
    drop(session);
    Ok(())
}

fn soak(comm: &Arc<dyn Comm>, time: Duration) -> Result<(), Box<dyn Error>> {
    let problem: Problem = "poisson3d:16".parse()?;
    let precisions = ["f16", "f64", "auto", "f32"];
    let (start, mut told) = (Instant::now(), Instant::now());
    let (mut solves, mut checked) = (0u64, 0u64);
    // The clocks of ranks differ, so one of them decides.
    while !comm.any(comm.rank() == 0 && start.elapsed() > time) {
        let a = DistributedCsr::generate(comm, problem)?;
        let precision = precisions[(solves / SOLVES) as usize % precisions.len()].parse()?;
        let solver = DistributedSolver::new(&a, SolverConfig { precision, ..SolverConfig::default() })?;
        for _ in 0..SOLVES {
            let b: Vec<f64> = a.own_rows().map(|row| element(row, solves)).collect();
            let solution = solver.solve(&b)?;
            if !solution.report.reason.is_converged() {
                return Err(format!("solve {solves}: {}", solution.report).into());
            }
            if solves.is_multiple_of(CHECKED) {
                check(&**comm, problem, solves, &solution.x)?;
                checked += 1;
            }
            solves += 1;
        }
        if told.elapsed() > Duration::from_secs(5) {
            told = Instant::now();
            println!("soak rank{} {} {solves} {checked}", comm.rank(), resident_kibibytes());
        }
    }
    println!("soak rank{} {} {solves} {checked}", comm.rank(), resident_kibibytes());
    Ok(())
}

/// An element of the right-hand side of a solve.
fn element(row: u64, solve: u64) -> f64 {
    ((row + solve) % 7) as f64 - 2.0
}

/// Computes the residual of a solution from the whole matrix.
fn check(comm: &dyn Comm, problem: Problem, solve: u64, own: &[f64]) -> Result<(), Box<dyn Error>> {
    let words: Vec<u64> = own.iter().map(|x| x.to_bits()).collect();
    let x: Vec<f64> = comm.gather(&words).into_iter().flatten().map(f64::from_bits).collect();
    if x.is_empty() {
        return Ok(()); // another rank has them all
    }
    let a = problem.matrix()?;
    let (mut residual, mut size) = (0.0, 0.0);
    for row in a.all_rows() {
        let (columns, values) = a.row(row);
        let product: f64 = columns.iter().zip(values).map(|(&j, v)| v * x[j as usize]).sum();
        residual += (element(row as u64, solve) - product).powi(2);
        size += element(row as u64, solve).powi(2);
    }
    if residual.sqrt() > 1.01e-8 * size.sqrt() {
        return Err(format!("solve {solve} is wrong: {:e}", (residual / size).sqrt()).into());
    }
    Ok(())
}

/// The resident memory of this process; 0 where the system does not tell.
fn resident_kibibytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
