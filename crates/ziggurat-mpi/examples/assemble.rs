//! Finite elements in parallel: every rank assembles its own elements of a heated bar, whatever
//! ranks own the rows.
//!
//! ```text
//! mpirun -n 4 cargo run --release -p ziggurat-mpi --example assemble
//! ```
#![allow(clippy::print_stdout)] // an example prints its result

use std::error::Error;
use std::sync::Arc;

use ziggurat::SolverConfig;
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, Mpi, Session};

/// Elements along the bar. There is one node more; the first is fixed at zero.
const ELEMENTS: u64 = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::start()?;
    let comm: Arc<dyn Comm> = Arc::new(Mpi::world()?);
    solve(&comm)?;
    drop(comm);
    drop(session);
    Ok(())
}

fn solve(comm: &Arc<dyn Comm>) -> Result<(), Box<dyn Error>> {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mine = ELEMENTS * rank / size..ELEMENTS * (rank + 1) / size;

    // An element between two unknowns gives four entries. Those of its left unknown may belong to
    // the previous rank.
    let mut entries = Vec::new();
    for element in mine.clone() {
        let (left, right) = (element.checked_sub(1), element);
        let conductivity = 1.0 + (element % 7) as f64;
        entries.push((right, right, conductivity));
        if let Some(left) = left {
            entries.extend([
                (left, left, conductivity),
                (left, right, -conductivity),
                (right, left, -conductivity),
            ]);
        }
    }
    let rows_here = mine.count();
    let a = DistributedCsr::from_entries(comm, rows_here, 1, entries)?;

    let solver = DistributedSolver::new(&a, SolverConfig::default())?;
    let solution = solver.solve(&vec![1.0; rows_here])?;
    if comm.rank() == 0 {
        let report = &solution.report;
        println!(
            "{} unknowns on {size} ranks: {} in {} iterations, residual {:.1e}",
            a.global_rows(),
            report.reason.name(),
            report.iterations,
            report.relative_residual
        );
        for (index, level) in solver.levels().iter().enumerate() {
            println!(
                "  level {index}: {} rows on {} ranks, halo of {} rows",
                level.rows, level.ranks, level.halo_rows_most
            );
        }
    }
    Ok(())
}
