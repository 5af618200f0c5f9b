//! Many right-hand sides from several threads with one shared solver.
//! `cargo run --release --example many_right_hand_sides`
//!
//! A `Solver` is `Send + Sync`, and `solve` takes `&self`: every solve has its own workspace. The
//! solutions are bitwise identical for any number of threads.

#![allow(clippy::print_stdout)] // examples print

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use ziggurat::sparse::gallery::Problem;
use ziggurat::{SolveError, Solver, SolverConfig};

const SYSTEMS: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let a = "poisson3d:24".parse::<Problem>()?.matrix()?;
    let rows = a.rows();
    let solver = Solver::new(a, SolverConfig::default())?;

    // A point load, at a different point for every system.
    let load = |system: usize| {
        let mut b = vec![0.0; rows];
        b[system * rows / SYSTEMS] = 1.0;
        b
    };
    let start = Instant::now();
    let one_by_one = (0..SYSTEMS).map(|system| Ok(solver.solve(&load(system))?.x));
    let one_by_one = one_by_one.collect::<Result<Vec<_>, SolveError>>()?;
    println!("one by one:   {:.3} s", start.elapsed().as_secs_f64());

    // Every thread takes the next system until none is left. A single solve already uses all cores,
    // so this saves little time; it is for programs that have several threads anyway.
    let start = Instant::now();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut solved = Vec::new();
        loop {
            let system = next.fetch_add(1, Ordering::Relaxed);
            if system >= SYSTEMS {
                return Ok::<_, SolveError>(solved);
            }
            solved.push((system, solver.solve(&load(system))?.x));
        }
    };
    let solved = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")).collect::<Vec<_>>()
    });
    println!("four threads: {:.3} s", start.elapsed().as_secs_f64());

    for thread in solved {
        for (system, x) in thread?? {
            if x != one_by_one[system] {
                return Err(format!("the solutions of system {system} differ").into());
            }
        }
    }
    println!("{SYSTEMS} solutions, bitwise identical");
    Ok(())
}
