//! Choosing a method: solves one system with every method.
//! `cargo run --release --example choosing_a_method [NAME:SIZE]`
//!
//! | method | suitable for | cost |
//! |---|---|---|
//! | `sa` | diffusion, elasticity; the default for symmetric matrices | low: few entries on coarse levels |
//! | `classical` | anisotropy, jumps, convection; the default otherwise | more entries, a stronger smoother |
//! | `pairwise` | little memory: the fewest entries | more iterations, a K-cycle |

#![allow(clippy::print_stdout)] // examples print

use std::error::Error;
use std::time::Instant;

use ziggurat::config::{Method, Precision};
use ziggurat::sparse::{Csr, gallery::Problem};
use ziggurat::{Solver, SolverBuilder, SolverConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "anisotropic3d:30".to_owned());
    let a = name.parse::<Problem>()?.matrix()?;
    println!("{name}: {} rows\n", a.rows());
    println!("{:<22} {:>10} {:>10} {:>9} {:>9}", "", "iterations", "complexity", "setup s", "solve s");

    // One setter per choice; all other choices depend on the matrix.
    for method in [Method::Sa, Method::Classical, Method::Pairwise] {
        run(method.name(), Solver::builder().method(method), &a)?;
    }
    // The hierarchy in f32 takes half the memory; the solution is as accurate.
    run("auto, f32", Solver::builder().precision(Precision::F32), &a)?;

    // A preset for matrices on which the defaults fail.
    run("preset robust", Solver::builder().config(SolverConfig::preset("robust")?), &a)?;

    // A file may contain any subset of the keys. `ziggurat solve --dump-config` prints all keys.
    let config = SolverConfig::from_toml(
        r#"
        method = "classical"
        classical.strength.filter = { threshold = 0.5 }
        classical.interpolation = "hybrid"
        smoother.kind = "chebyshev"
        "#,
    )?;
    run("from a file", Solver::builder().config(config), &a)
}

fn run(label: &str, builder: SolverBuilder, a: &Csr<f64>) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let solver = builder.rtol(1e-8).build(a)?;
    let setup = start.elapsed().as_secs_f64();
    let report = solver.solve(&vec![1.0; a.rows()])?.report;
    let iterations =
        if report.reason.is_converged() { report.iterations.to_string() } else { "-".to_owned() };
    println!(
        "{label:<22} {iterations:>10} {:>10.2} {setup:>9.3} {:>9.3}",
        solver.hierarchy().operator_complexity(),
        report.seconds
    );
    Ok(())
}
