//! Poisson's equation on a box of N³ points per rank. Unknowns are numbered rank by rank, as in a
//! simulation with a distributed mesh.
//!
//! ```text
//! mpirun -n 8 cargo run --release -p ziggurat-mpi --example boxes -- 40
//! ```
//!
//! Rank 0 prints a line for each level: rows, entries, ranks, and the maxima per rank of rows, halo
//! rows, and messages and bytes of a product. The number of ranks is factorised into three factors
//! that are as equal as possible.
#![allow(clippy::print_stdout)] // an example prints its result

use std::error::Error;
use std::sync::Arc;

use ziggurat::SolverConfig;
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, Mpi, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::start()?;
    let points = std::env::args().nth(1).map_or(Ok(20), |text| text.parse())?;
    let comm: Arc<dyn Comm> = Arc::new(Mpi::world()?);
    solve(&comm, points)?;
    drop(comm);
    drop(session);
    Ok(())
}

/// The grid of boxes, and the points along an edge of each.
struct Boxes {
    along: [u64; 3],
    points: u64,
}

impl Boxes {
    /// Divides the ranks as equally as possible between the axes.
    fn new(ranks: u64, points: u64) -> Self {
        let largest =
            |of: u64, most: u64| (1..=most).rev().find(|factor| of.is_multiple_of(*factor)).unwrap_or(1);
        let first = largest(ranks, (ranks as f64).cbrt().round() as u64);
        let second = largest(ranks / first, ((ranks / first) as f64).sqrt().round() as u64);
        Boxes { along: [first, second, ranks / first / second], points }
    }

    /// The id of a point of the whole grid; `None` outside.
    fn id(&self, point: [i64; 3]) -> Option<u64> {
        let (mut rank, mut within) = (0, 0);
        for (at, along) in point.into_iter().zip(self.along) {
            let at = u64::try_from(at).ok().filter(|&at| at < along * self.points)?;
            rank = rank * along + at / self.points;
            within = within * self.points + at % self.points;
        }
        Some(rank * self.points.pow(3) + within)
    }

    /// The points of a rank's box, in the order of their ids.
    fn of_rank(&self, rank: u64) -> impl Iterator<Item = [i64; 3]> {
        let n = self.points;
        let [_, b, c] = self.along;
        let corner = [rank / (b * c) * n, rank / c % b * n, rank % c * n];
        (0..n.pow(3)).map(move |k| {
            let within = [k / (n * n), k / n % n, k % n];
            [0, 1, 2].map(|axis| (corner[axis] + within[axis]) as i64)
        })
    }
}

fn solve(comm: &Arc<dyn Comm>, points: u64) -> Result<(), Box<dyn Error>> {
    let boxes = Boxes::new(comm.size() as u64, points);
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for point in boxes.of_rank(comm.rank() as u64) {
        let mut row = vec![(boxes.id(point), 6.0)];
        for (axis, step) in [(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)] {
            let mut neighbour = point;
            neighbour[axis] += step;
            row.push((boxes.id(neighbour), -1.0));
        }
        let mut row: Vec<(u64, f64)> = row.into_iter().filter_map(|(id, value)| Some((id?, value))).collect();
        row.sort_unstable_by_key(|entry| entry.0);
        columns.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| entry.1));
        row_ptr.push(columns.len());
    }
    let a = DistributedCsr::from_rows(comm, 1, &row_ptr, &columns, &values)?;
    let solver = DistributedSolver::new(&a, SolverConfig::default())?;
    let solution = solver.solve(&vec![1.0; row_ptr.len() - 1])?;
    if comm.rank() == 0 {
        println!("iterations {}", solution.report.iterations);
        for level in solver.levels() {
            println!(
                "level {} {} {} {} {} {} {}",
                level.rows,
                level.nnz,
                level.ranks,
                level.rows_most,
                level.halo_rows_most,
                level.messages_most,
                level.bytes_most
            );
        }
    }
    Ok(())
}
