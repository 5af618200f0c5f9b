//! A first solve: a matrix, a right-hand side, a solution. `cargo run --release --example
//! first_solve [FILE.mtx]`
//!
//! Nothing is chosen here. The matrix decides: smoothed aggregation and conjugate gradients if it
//! is symmetric and its diagonal positive, classical multigrid and flexible GMRES otherwise.

#![allow(clippy::print_stdout)] // an example talks

use std::error::Error;

use ziggurat::sparse::{Csr, gallery::Problem, io};
use ziggurat::{Solver, SolverConfig};

fn main() -> Result<(), Box<dyn Error>> {
    // Your matrix: from a Matrix Market file, from triplets (`Coo`), from arrays (`Csr::try_new`) …
    let a: Csr<f64> = match std::env::args().nth(1) {
        Some(path) => io::read_matrix(path)?,
        // … or, here, the Laplacian of a cube of 30 x 30 x 30 points.
        None => "poisson3d:30".parse::<Problem>()?.matrix()?,
    };
    let b = vec![1.0; a.rows()];

    // In one line, if all you want is the solution:
    let x = ziggurat::solve(&a, &b)?;
    println!("x[0] = {:.6}, x[{}] = {:.6}", x[0], x.len() / 2, x[x.len() / 2]);

    // In two, if you want to know more, or to solve again with another right-hand side:
    let solver = Solver::new(&a, SolverConfig::default())?;
    let solution = solver.solve(&b)?;

    println!("\n{}", solution.report); // iterations, the true residual, and why it stopped
    println!("\n{}", solver.hierarchy()); // the levels
    let chosen = solver.config();
    println!("chosen: {}, {}, {}", chosen.method, chosen.krylov, chosen.smoother.kind);

    // Not converging is no error, but an answer: ask.
    if !solution.report.reason.is_converged() {
        // What is special about this matrix, and what to do about it.
        for advice in ziggurat::diagnose(a.view()).advice() {
            println!("{advice}");
        }
    }
    Ok(())
}
