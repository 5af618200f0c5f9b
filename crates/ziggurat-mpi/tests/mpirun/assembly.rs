//! Any distribution of rows over ranks gives the same levels, iterations and solution.

use ziggurat::SolverConfig;
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver};
use ziggurat_sparse::gallery::Problem;

use crate::launch::{is_rank, mpirun, rank};

/// Entries of all rows, each given by some rank.
fn scattered(problem: Problem, comm: &dyn Comm) -> Vec<(u64, u64, f64)> {
    let mut entries = Vec::new();
    for row in (0..problem.global_rows()).filter(|row| (row / 7) as usize % comm.size() == comm.rank()) {
        problem.generator().row(row, |column, value| {
            // In two halves, which are added up.
            entries.extend([(row, column, 0.5 * value), (row, column, 0.5 * value)]);
        });
    }
    entries
}

#[test]
fn uneven_distributions_give_the_same_result() {
    let problem: Problem = "jump3d:20".parse().unwrap();
    if is_rank() {
        rank(|comm| {
            let rows = problem.global_rows() as usize;
            // 100, 101, 102, … rows, and the remaining ones on the last rank.
            let before = |rank: usize| {
                if rank < comm.size() { rank * 100 + rank * rank.saturating_sub(1) / 2 } else { rows }
            };
            let here = before(comm.rank() + 1) - before(comm.rank());
            let a = DistributedCsr::from_entries(comm, here, 1, scattered(problem, &**comm)).unwrap();
            assert_eq!(a.own_rows(), before(comm.rank()) as u64..before(comm.rank() + 1) as u64);
            let solver = DistributedSolver::new(&a, SolverConfig::default()).unwrap();
            let b: Vec<f64> = a.own_rows().map(|row| (row % 5) as f64).collect();
            let solution = solver.solve(&b).unwrap();
            // The residual, from the rows and the returned solution.
            let all = comm.deliver(
                (0..comm.size()).map(|to| (to, solution.x.iter().map(|x| x.to_bits()).collect())).collect(),
            );
            let x: Vec<f64> = all.into_iter().flat_map(|(_, words)| words).map(f64::from_bits).collect();
            let mut squares = [0.0, 0.0];
            for (row, b) in a.own_rows().zip(&b) {
                let mut rest = *b;
                problem.generator().row(row, |column, value| rest -= value * x[column as usize]);
                squares = [squares[0] + rest * rest, squares[1] + b * b];
            }
            comm.sum_reals(&mut squares);
            assert!((squares[0] / squares[1]).sqrt() <= 1.01e-8);
            let levels: Vec<String> =
                solver.levels().iter().map(|level| format!("{}/{}", level.rows, level.nnz)).collect();
            vec![format!("{} in {}", levels.join(" "), solution.report.iterations)]
        });
    } else {
        let one = mpirun("assembly::uneven_distributions_give_the_same_result", 1);
        assert!(one.success && one.lines.len() == 1, "{}", one.everything);
        for ranks in [2, 5] {
            let several = mpirun("assembly::uneven_distributions_give_the_same_result", ranks);
            assert!(several.success, "{}", several.everything);
            assert_eq!(several.lines, one.lines, "{ranks} ranks");
        }
    }
}
