//! An operator without a matrix, preconditioned by multigrid for a simpler one that has a matrix.
//! `cargo run --release --example matrix_free`
//!
//! The operator is −∇·(c ∇u) on a cube with a coefficient c between 1 and 2, applied stencil by
//! stencil. The preconditioner is a cycle for the Laplacian (c = 1): its spectrum differs by the
//! factor 2 at most, so a few iterations more do.

#![allow(clippy::print_stdout)] // an example talks

use std::error::Error;

use ziggurat::krylov::{LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat::sparse::device::Cpu;
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::operator::{LinearOperator, Workspace};
use ziggurat::{Solver, SolverConfig};

/// −∇·(c ∇u) on n × n × n points, u = 0 outside.
struct Diffusion {
    n: usize,
}

impl Diffusion {
    /// The coefficient half-way between two neighbouring points: at `x` of the axis `axis`.
    fn coefficient(&self, axis: usize, x: f64) -> f64 {
        1.5 + 0.5 * (7.0 * x / self.n as f64 + axis as f64).sin()
    }
}

impl LinearOperator<Cpu, f64> for Diffusion {
    fn shape(&self) -> (usize, usize) {
        let rows = self.n.pow(3);
        (rows, rows)
    }

    /// y ← A x. Threads, GPUs, tables: whatever is inside is up to you.
    fn apply(&self, _: &Cpu, x: &Vec<f64>, y: &mut Vec<f64>, _: &mut Workspace) {
        let n = self.n;
        for (row, y) in y.iter_mut().enumerate() {
            *y = 0.0;
            for (axis, stride) in [1, n, n * n].into_iter().enumerate() {
                let place = row / stride % n;
                let before = if place > 0 { x[row - stride] } else { 0.0 };
                let after = if place + 1 < n { x[row + stride] } else { 0.0 };
                *y += self.coefficient(axis, place as f64 - 0.5) * (x[row] - before);
                *y += self.coefficient(axis, place as f64 + 0.5) * (x[row] - after);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let operator = Diffusion { n: 24 };
    let rows = operator.shape().0;
    let (b, stopping) = (vec![1.0; rows], Stopping::default().rtol(1e-8));

    // The solver of the simpler problem has the preconditioner: one cycle.
    let simpler = "poisson3d:24".parse::<Problem>()?.matrix()?;
    let multigrid = Solver::new(simpler, SolverConfig::default())?;

    let device = Cpu::new();
    for (label, system) in [
        ("without preconditioner", System::new(&operator)),
        ("with multigrid", System::new(&operator).preconditioner(multigrid.preconditioner())),
    ] {
        let mut x = vec![0.0; rows];
        let mut work = Work::new(Method::Cg, &device, &system)?;
        let problem = LinearProblem::new(&device, &system, &b).stopping(stopping);
        let report = solve(problem, &mut x, &mut work)?;
        println!("{label}: {report}");
    }
    Ok(())
}
