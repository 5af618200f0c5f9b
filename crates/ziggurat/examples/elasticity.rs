//! Elasticity with rigid-body modes. `cargo run --release --example elasticity`
//!
//! Translations and rotations of a body cause no strain. Coarse levels must represent these six
//! rigid-body modes. By default the solver only assumes translations, and convergence is slower.
//! The rigid-body modes follow from the coordinates of the nodes.

#![allow(clippy::print_stdout)] // examples print

use std::error::Error;

use ziggurat::amg::interpolate::NearKernel;
use ziggurat::sparse::gallery::{Problem, rigid_body_modes};
use ziggurat::{Solver, SolverConfig};

fn main() -> Result<(), Box<dyn Error>> {
    // A cube of 12 x 12 x 12 elements, clamped on one side. The unknowns of a node are numbered
    // consecutively: u_x, u_y, u_z.
    let problem: Problem = "elasticity3d:12".parse()?;
    let (a, b) = (problem.matrix()?, problem.rhs()?);
    let coordinates: Vec<[f64; 3]> = problem.coordinates()?;
    println!("{problem}: {} nodes, {} unknowns\n", coordinates.len(), a.rows());

    // By default, the solver detects blocks of three and assumes translations.
    let translations = Solver::new(&a, SolverConfig::default())?;
    println!("translations:      {}", translations.solve(&b)?.report);

    // With given near-null-space vectors, three values per node.
    let modes = NearKernel::from_vectors(&rigid_body_modes(&coordinates), 3)?;
    let rigid = Solver::builder().near_kernel(modes).build(&a)?;
    println!("rigid-body modes:  {}", rigid.solve(&b)?.report);

    // The coarse levels have six unknowns per node, one for each mode.
    println!("\n{}", rigid.hierarchy());
    Ok(())
}
