//! Time stepping: the matrix changes slightly in every step, and the hierarchy is reused.
//! `cargo run --release --example time_stepping`
//!
//! The heat equation u' = κ(t) Δu + 1 in a cube by implicit Euler with a growing step τ:
//! (I/τ + κ(t) L) u_new = u_old/τ + 1.

#![allow(clippy::print_stdout)] // examples print

use std::error::Error;
use std::time::Instant;

use ziggurat::sparse::{Csr, gallery::Problem};
use ziggurat::{Solver, SolverConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let laplacian = "poisson3d:24".parse::<Problem>()?.matrix()?;
    let mut u = vec![0.0; laplacian.rows()];

    let (mut tau, mut time) = (0.1, 0.0);
    let mut solver = Solver::new(heat(&laplacian, tau, time), SolverConfig::default())?;
    println!(
        "{:>5} {:>8} {:>8} {:>10} {:>12}  hierarchy",
        "step", "tau", "centre", "iterations", "update ms"
    );
    for step in 1..=12 {
        let start = Instant::now();
        let what = if step == 1 {
            "new".to_owned()
        } else {
            // Same pattern, new values: coarsening and interpolation are reused, unless a solve
            // took more than 1.5 times as many iterations as after the last full setup (see
            // `SolverConfig::update`).
            format!("{:?}", solver.update_values(heat(&laplacian, tau, time))?)
        };
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;

        let b: Vec<f64> = u.iter().map(|u| u / tau + 1.0).collect();
        let solution = solver.solve(&b)?;
        if !solution.report.reason.is_converged() {
            return Err(solution.report.to_string().into());
        }
        u = solution.x;
        let centre = u[u.len() / 2];
        let iterations = solution.report.iterations;
        println!("{step:>5} {tau:>8.2} {centre:>8.3} {iterations:>10} {milliseconds:>12.2}  {what}");
        time += tau;
        tau *= 1.8;
    }
    Ok(())
}

/// I/τ + κ(t) L, with the pattern of L.
fn heat(laplacian: &Csr<f64>, tau: f64, time: f64) -> Csr<f64> {
    let conductivity = 1.0 + 0.5 * time.sin();
    let mut a = laplacian.clone();
    a.values_mut().iter_mut().for_each(|value| *value *= conductivity);
    for row in 0..a.rows() {
        let place = a.row(row).0.iter().position(|&column| column as usize == row);
        if let Some(place) = place {
            let entry = a.row_ptr()[row] + place;
            a.values_mut()[entry] += 1.0 / tau;
        }
    }
    a
}
