//! Solvers inside solvers: iterative refinement, a Krylov method around another one, multigrid
//! alone, and sums and products of preconditioners.
//! `cargo run --release --example nested_solvers`
//!
//! A solver maps a residual to a correction, so it is an operator, and can be the preconditioner of
//! another one. Where an inner iteration varies, the outer method has to be flexible.

#![allow(clippy::print_stdout)] // examples print

use std::error::Error;

use ziggurat::krylov::{InnerSolver, LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat::sparse::Kind;
use ziggurat::sparse::device::{Cpu, Vector};
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::operator::{
    Combination, Composition, Diagonal, InPrecision, LinearOperator, MatrixOperator,
};
use ziggurat::{Solver, SolverConfig};

type Operator<'a> = &'a dyn LinearOperator;

/// Solves A x = 1 to ten digits and prints how.
fn report(label: &str, method: Method, a: Operator<'_>, m: Operator<'_>) -> Result<(), Box<dyn Error>> {
    let (device, system) = (Cpu::new(), System::new(a).preconditioner(m));
    let mut work = Work::new(method, &device, &system)?;
    let [b, mut x] = [1.0, 0.0].map(|value| Vector::from(vec![value; a.shape().0]));
    let problem = LinearProblem::new(&device, &system, &b).stopping(Stopping::default().rtol(1e-10));
    println!("{label}: {}", solve(problem, &mut x, &mut work)?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Cpu::new();
    let matrix = "jump3d:24".parse::<Problem>()?.matrix()?;
    let diagonal = matrix.view().diagonal(matrix.all_rows());
    let multigrid = Solver::new(&matrix, SolverConfig::default())?;
    let cycle = multigrid.preconditioner();
    let single = MatrixOperator::new(&device, matrix.view().stored_as::<f32>())?;
    let a = MatrixOperator::new(&device, matrix)?;
    let tenth = Stopping::default().rtol(0.1);

    report("multigrid alone", Method::Richardson, &a, cycle)?;

    // Refinement in double precision around conjugate gradients with Jacobi in single precision.
    let jacobi = Diagonal::new(diagonal.iter().map(|d| 1.0 / d).collect());
    let system = System::new(&single).preconditioner(&jacobi);
    let inner = InPrecision::new(InnerSolver::new(Method::Cg, system, tenth)?, Kind::F32);
    report("Richardson(CG(Jacobi) in f32)", Method::Richardson, &a, &inner)?;

    // Flexible GMRES around conjugate gradients with multigrid.
    let inner = InnerSolver::new(Method::Cg, System::new(&a).preconditioner(cycle), tenth)?;
    report("FGMRES(CG(multigrid))", Method::Fgmres { restart: 30 }, &a, &inner)?;

    // Two cycles, 2 M − M A M, whose error is that of one cycle applied twice.
    let both = Composition::new(cycle).times(&a)?.times(cycle)?;
    let twice = Combination::new(2.0, cycle).plus(-1.0, &both)?;
    report("CG(two cycles)", Method::Cg, &a, &twice)
}
