//! Ziggurat as a contestant: a process of its own that reads, solves and prints as the drivers of
//! the peers do, so that time and memory are measured alike.
//!
//! The process is this program again, with [`FILES`] set. It prints the line of the other drivers,
//! then the time of A·x (`SPMV`) and of each stage of setup (`STAGE`).

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use ziggurat::amg::interpolate::NearKernel;
use ziggurat::{Solver, SolverConfig};
use ziggurat_report::peak_bytes;
use ziggurat_sparse::device::{Cpu, HostMatrix, Kernels};

use super::super::BenchError;
use super::super::pool;
use super::system::RaceSystem;

/// Set in the child process: the system file, the solution file and the number of threads, in
/// lines.
const FILES: &str = "ZIGGURAT_RACE_FILES";

/// How often A·x is timed; the best counts.
const PRODUCTS: usize = 5;

/// The command that solves the system of one file and writes its solution to another.
pub(super) fn command(system: &Path, solution: &Path, threads: usize) -> Result<Command, BenchError> {
    let program = std::env::current_exe().map_err(|error| BenchError::Program(error.to_string()))?;
    let mut command = Command::new(program);
    command.env(FILES, format!("{}\n{}\n{threads}", system.display(), solution.display()));
    if cfg!(test) {
        // The test harness is the program then; this test stands for `main`.
        command.args(["bench::race::driver::tests::child_process", "--exact", "--nocapture"]);
    } else {
        command.args(["bench", "race"]);
    }
    Ok(command)
}

/// In the child process, solves and prints. Elsewhere returns `None`.
pub(crate) fn in_child_process() -> Option<Result<(), BenchError>> {
    let files = std::env::var(FILES).ok()?;
    let words: Vec<&str> = files.lines().collect();
    let &[system, solution, threads] = &words[..] else {
        return Some(Err(BenchError::Program(format!("{FILES}: {files:?}"))));
    };
    Some(solve(Path::new(system), Path::new(solution), threads.parse().unwrap_or(1)))
}

fn solve(system: &Path, solution: &Path, threads: usize) -> Result<(), BenchError> {
    let refused = |error: String| BenchError::Solve(system.display().to_string(), error);
    let pools = pool::pools(&[threads])?;
    let Some(pool) = pools.first() else { return Ok(()) };
    let RaceSystem { a, b, block, modes, .. } =
        RaceSystem::read(system).map_err(|error| refused(error.to_string()))?;
    let near_kernel = match &modes[..] {
        [] => NearKernel::constants(a.rows(), block),
        modes => NearKernel::from_vectors(modes, block),
    };
    let near_kernel = near_kernel.map_err(|error| refused(error.to_string()))?;
    drop(modes);
    let a = Arc::new(a);

    let start = Instant::now();
    let solver = pool.run(|| Solver::with_near_kernel(a.clone(), near_kernel, SolverConfig::default()));
    let solver = solver.map_err(|error| refused(error.to_string()))?;
    let middle = Instant::now();
    let solved = pool.run(|| solver.solve(&b)).map_err(|error| refused(error.to_string()))?;
    let end = Instant::now();

    let peak = peak_bytes().map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
    let bytes: Vec<u8> = solved.x.iter().flat_map(|value| value.to_ne_bytes()).collect();
    fs::write(solution, bytes).map_err(|source| BenchError::Write { path: solution.to_owned(), source })?;
    let (setup, taken) = ((middle - start).as_secs_f64(), (end - middle).as_secs_f64());
    println!("\nRESULT {setup:.6} {taken:.6} {} {peak:.1}", solved.report.iterations);
    println!("SPMV {:.9}", pool.run(|| product_seconds(&a)));
    for (stage, seconds) in solver.stages() {
        println!("STAGE {seconds:.9} {stage}");
    }
    Ok(())
}

/// The time of A times a vector, on the threads of the current pool.
pub(crate) fn product_seconds(a: &Arc<ziggurat_sparse::Csr<f64>>) -> f64 {
    let (cpu, matrix) = (Cpu::new(), HostMatrix::from(a.clone()));
    let (x, mut y) = (vec![1.0; a.cols()], vec![0.0; a.rows()]);
    let mut best = f64::INFINITY;
    for _ in 0..PRODUCTS {
        let start = Instant::now();
        cpu.spmv(1.0, &matrix, &x, 0.0, &mut y);
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

#[cfg(test)]
mod tests {
    /// Does nothing in a test run; it is the `main` of the child process that a test run starts.
    #[test]
    fn child_process() {
        if let Some(result) = super::in_child_process() {
            result.unwrap();
        }
    }
}
