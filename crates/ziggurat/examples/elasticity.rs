//! Elasticity: tell the solver what costs no energy. `cargo run --release --example elasticity`
//!
//! A body can be moved and turned without strain. These six rigid-body modes are what a coarse
//! level must be able to represent; translations alone, which is all the solver can guess, leave
//! rotations to be found by iteration. All it takes are the coordinates of the nodes.

#![allow(clippy::print_stdout)] // an example talks

use std::error::Error;

use ziggurat::amg::interpolate::NearKernel;
use ziggurat::sparse::gallery::{Problem, rigid_body_modes};
use ziggurat::{Solver, SolverConfig};

fn main() -> Result<(), Box<dyn Error>> {
    // A cube of 12 x 12 x 12 elements, clamped on one side. The unknowns of a node are neighbours:
    // u_x, u_y, u_z.
    let problem: Problem = "elasticity3d:12".parse()?;
    let (a, b) = (problem.matrix()?, problem.rhs()?);
    let coordinates: Vec<[f64; 3]> = problem.coordinates()?;
    println!("{problem}: {} nodes, {} unknowns\n", coordinates.len(), a.rows());

    // What the solver does by itself: it sees blocks of three, and takes them for translations.
    let guessing = Solver::new(&a, SolverConfig::default())?;
    println!("translations:      {}", guessing.solve(&b)?.report);

    // What it does when it is told: any vectors that the matrix maps to almost zero, three values
    // per node.
    let modes = NearKernel::from_vectors(&rigid_body_modes(&coordinates), 3)?;
    let told = Solver::builder().near_kernel(modes).build(&a)?;
    println!("rigid-body modes:  {}", told.solve(&b)?.report);

    // Six unknowns per node on the coarse levels, one for each mode.
    println!("\n{}", told.hierarchy());
    Ok(())
}
