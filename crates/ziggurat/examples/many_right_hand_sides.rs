//! Many right-hand sides from many threads: set up once, share the solver.
//! `cargo run --release --example many_right_hand_sides`
//!
//! A `Solver` is `Send + Sync`, and `solve` takes `&self`: what a solve scribbles on is its own.
//! The answers are the same, to the last bit, whichever thread computes them and however many there
//! are.

#![allow(clippy::print_stdout)] // an example talks

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

    // A load at one point, another one for every system.
    let load = |system: usize| {
        let mut b = vec![0.0; rows];
        b[system * rows / SYSTEMS] = 1.0;
        b
    };
    let start = Instant::now();
    let one_by_one = (0..SYSTEMS).map(|system| Ok(solver.solve(&load(system))?.x));
    let one_by_one = one_by_one.collect::<Result<Vec<_>, SolveError>>()?;
    println!("one by one:   {:.3} s", start.elapsed().as_secs_f64());

    // Every thread takes the next system until there are no more. A solve uses all cores by itself,
    // so this saves little time; it is for programs whose threads have systems to solve anyway.
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
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread has panicked"))
            .collect::<Vec<_>>()
    });
    println!("four threads: {:.3} s", start.elapsed().as_secs_f64());

    for thread in solved {
        for (system, x) in thread?? {
            if x != one_by_one[system] {
                return Err(format!("system {system} has another solution").into());
            }
        }
    }
    println!("{SYSTEMS} solutions, the same bits both ways");
    Ok(())
}
