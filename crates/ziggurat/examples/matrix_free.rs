//! A matrix-free operator, preconditioned by multigrid for a simpler matrix.
//! `cargo run --release --example matrix_free`
//!
//! The operator is −∇·(c ∇u) on a cube with a coefficient c between 1 and 2, applied stencil by
//! stencil. The preconditioner is a cycle for the Laplacian (c = 1). The two are spectrally
//! equivalent with a factor of at most 2, so only a few more iterations are needed.

#![allow(clippy::print_stdout)] // examples print

use std::error::Error;

use ziggurat::krylov::{LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat::sparse::device::{Cpu, Device, Vector};
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::operator::{LinearOperator, Workspace};
use ziggurat::{Solver, SolverConfig};

/// −∇·(c ∇u) on n × n × n points, with u = 0 outside.
struct Diffusion {
    n: usize,
}

impl Diffusion {
    /// The coefficient at the midpoint between two neighbouring points, at position `x` on `axis`.
    fn coefficient(&self, axis: usize, x: f64) -> f64 {
        1.5 + 0.5 * (7.0 * x / self.n as f64 + axis as f64).sin()
    }
}

impl LinearOperator for Diffusion {
    fn shape(&self) -> (usize, usize) {
        let rows = self.n.pow(3);
        (rows, rows)
    }

    /// y ← A x. The implementation is arbitrary: this one computes in host memory.
    fn apply(&self, _: &dyn Device, x: &Vector, y: &mut Vector, _: &mut Workspace) {
        let (Some(x), Some(y)) = (x.elements::<f64>(), y.elements_mut::<f64>()) else {
            unimplemented!("only for the CPU, in double precision")
        };
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
    let (b, stopping) = (Vector::from(vec![1.0; rows]), Stopping::default().rtol(1e-8));

    // The preconditioner is one cycle of the solver for the simpler problem.
    let simpler = "poisson3d:24".parse::<Problem>()?.matrix()?;
    let multigrid = Solver::new(simpler, SolverConfig::default())?;

    let device = Cpu::new();
    for (label, system) in [
        ("without preconditioner", System::new(&operator)),
        ("with multigrid", System::new(&operator).preconditioner(multigrid.preconditioner())),
    ] {
        let mut x = Vector::from(vec![0.0; rows]);
        let mut work = Work::new(Method::Cg, &device, &system)?;
        let problem = LinearProblem::new(&device, &system, &b).stopping(stopping);
        let report = solve(problem, &mut x, &mut work)?;
        println!("{label}: {report}");
    }
    Ok(())
}
