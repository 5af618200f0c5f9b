//! A first solve: a matrix, a right-hand side, a solution.
//! `cargo run --release --example first_solve [FILE.mtx]`
//!
//! All settings are chosen for the matrix: smoothed aggregation and conjugate gradients if it is
//! symmetric with a positive diagonal, classical multigrid and flexible GMRES if it is
//! nonsymmetric.

#![allow(clippy::print_stdout)] // examples print

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

    // In one line, if only the solution is needed:
    let x = ziggurat::solve(&a, &b)?;
    println!("x[0] = {:.6}, x[{}] = {:.6}", x[0], x.len() / 2, x[x.len() / 2]);

    // In two lines, for a report and for further right-hand sides:
    let solver = Solver::new(&a, SolverConfig::default())?;
    let solution = solver.solve(&b)?;

    println!("\n{}", solution.report); // iterations, the true residual, and why it stopped
    println!("\n{}", solver.hierarchy()); // the levels
    let chosen = solver.config();
    println!("chosen: {}, {}, {}", chosen.method, chosen.krylov, chosen.smoother.kind);

    // A solve that does not converge is not an error, so check for it.
    if !solution.report.reason.is_converged() {
        // Properties of the matrix that may be the cause, and advice.
        for advice in ziggurat::diagnose(a.view()).advice() {
            println!("{advice}");
        }
    }
    Ok(())
}
