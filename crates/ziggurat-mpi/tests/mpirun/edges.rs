//! Edge cases: ranks without rows, more ranks than rows, disconnected matrices, matrices without
//! connections.

use std::sync::Arc;

use ziggurat::{Solver, SolverConfig};
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver};
use ziggurat_sparse::Coo;

use crate::launch::{is_rank, mpirun, rank};

/// -u'' on `points` points, in disconnected pieces of `piece` points.
fn pieces(points: u64, piece: u64) -> Vec<(u64, u64, f64)> {
    let mut entries = Vec::new();
    for i in 0..points {
        entries.push((i, i, 2.0));
        if i % piece != 0 {
            entries.extend([(i, i - 1, -1.0), (i - 1, i, -1.0)]);
        }
    }
    entries
}

fn solve(comm: &Arc<dyn Comm>, rows_here: usize, entries: Vec<(u64, u64, f64)>) -> String {
    let a = DistributedCsr::from_entries(comm, rows_here, 1, entries).unwrap();
    let solver = DistributedSolver::new(&a, SolverConfig::default()).unwrap();
    let solution = solver.solve(&vec![1.0; rows_here]).unwrap();
    assert_eq!(solution.x.len(), rows_here);
    assert!(solution.report.relative_residual <= 1e-8);
    let levels: Vec<String> =
        solver.levels().iter().map(|level| format!("{}/{}", level.rows, level.nnz)).collect();
    format!("{} in {}", levels.join(" "), solution.report.iterations)
}

fn alone(rows: usize, entries: Vec<(u64, u64, f64)>) -> String {
    let mut a = Coo::new(rows, rows).unwrap();
    entries
        .into_iter()
        .for_each(|(row, column, value)| a.push(row as usize, column as usize, value).unwrap());
    let solver = Solver::new(a.into_csr(), SolverConfig::default()).unwrap();
    let report = solver.solve(&vec![1.0; rows]).unwrap().report;
    let levels = solver.hierarchy().levels().iter();
    let levels: Vec<String> =
        levels.map(|level| format!("{}/{}", level.matrix().rows(), level.matrix().nnz())).collect();
    format!("{} in {}", levels.join(" "), report.iterations)
}

fn same(test: &str, rows: usize, entries: Vec<(u64, u64, f64)>, ranks: &[usize]) {
    let expected = alone(rows, entries);
    for &count in ranks {
        let ran = mpirun(test, count);
        assert!(ran.success, "{count} ranks:\n{}", ran.everything);
        assert_eq!(ran.lines, std::slice::from_ref(&expected), "{count} ranks");
    }
}

#[test]
fn only_some_ranks_have_rows() {
    let (rows, entries) = (5000, pieces(5000, 5000));
    if is_rank() {
        // Ranks 0, 2, 4, … have no rows, ranks 1, 3, 5, … have ten; the last has the rest and gives
        // all entries.
        rank(|comm| {
            let last = comm.rank() + 1 == comm.size();
            let odd = comm.rank() % 2 == 1;
            let (here, given) = match (last, odd) {
                (true, _) => (rows - 10 * (comm.size() / 2 - usize::from(odd)), entries),
                (false, true) => (10, Vec::new()),
                (false, false) => (0, Vec::new()),
            };
            vec![solve(comm, here, given)]
        });
    } else {
        same("edges::only_some_ranks_have_rows", rows, entries, &[1, 3, 6]);
    }
}

#[test]
fn more_ranks_than_rows() {
    let entries = pieces(5, 5);
    if is_rank() {
        rank(|comm| {
            let here = usize::from(comm.rank() < 5)
                + if comm.size() < 5 && comm.rank() == 0 { 5 - comm.size() } else { 0 };
            let given = if comm.rank() == 0 { entries } else { Vec::new() };
            vec![solve(comm, here, given)]
        });
    } else {
        same("edges::more_ranks_than_rows", 5, entries, &[1, 2, 8]);
    }
}

#[test]
fn a_matrix_in_pieces() {
    let (rows, entries) = (9000, pieces(9000, 37));
    if is_rank() {
        rank(|comm| {
            let bounds = |rank: usize| rows * rank / comm.size();
            let here = bounds(comm.rank() + 1) - bounds(comm.rank());
            // Every rank gives some of the entries, whatever ranks own the rows.
            let mine = entries.into_iter().skip(comm.rank()).step_by(comm.size()).collect();
            vec![solve(comm, here, mine)]
        });
    } else {
        same("edges::a_matrix_in_pieces", rows, entries, &[1, 4, 7]);
    }
}

#[test]
fn a_matrix_that_cannot_be_coarsened() {
    let (rows, entries): (usize, Vec<_>) = (3000, (0..3000).map(|i| (i, i, 1.0 + i as f64)).collect());
    if is_rank() {
        rank(|comm| {
            let bounds = |rank: usize| rows * rank / comm.size();
            let here = bounds(comm.rank() + 1) - bounds(comm.rank());
            let given = if comm.rank() == 0 { entries } else { Vec::new() };
            vec![solve(comm, here, given)]
        });
    } else {
        same("edges::a_matrix_that_cannot_be_coarsened", rows, entries, &[1, 2, 5]);
    }
}

/// Chains with a fixed end, with two free ends, and with two free ends again.
fn floating_chains() -> Vec<(u64, u64, f64)> {
    let mut entries = vec![(0, 0, 1.0)];
    for i in (1..6000).filter(|i| ![2500, 4100].contains(i)) {
        entries.extend([(i, i, 1.0), (i - 1, i - 1, 1.0), (i, i - 1, -1.0), (i - 1, i, -1.0)]);
    }
    entries
}

#[test]
fn floating_parts() {
    let test = "edges::floating_parts";
    let told =
        |report: &ziggurat::krylov::KrylovReport| format!("{} {:.12}", report.reason.name(), report.left_out);
    if is_rank() {
        rank(|comm| {
            let share = |rank: usize| 6000 * rank / comm.size();
            let rows = share(comm.rank())..share(comm.rank() + 1);
            let entries = if comm.rank() == 0 { floating_chains() } else { Vec::new() };
            let a = DistributedCsr::from_entries(comm, rows.len(), 1, entries).unwrap();
            let solver = DistributedSolver::new(&a, SolverConfig::default()).unwrap();
            vec![told(&solver.solve(&vec![1.0; rows.len()]).unwrap().report)]
        });
    } else {
        let mut a = Coo::new(6000, 6000).unwrap();
        for (row, column, value) in floating_chains() {
            a.push(row as usize, column as usize, value).unwrap();
        }
        let solver = Solver::new(a.into_csr(), SolverConfig::default()).unwrap();
        let expected = told(&solver.solve(&vec![1.0; 6000]).unwrap().report);
        // The parts of 1600 and 1900 rows.
        assert_eq!(expected, format!("inconsistent {:.12}", (3500.0_f64 / 6000.0).sqrt()));
        for count in [1, 3, 4] {
            let ran = mpirun(test, count);
            assert!(ran.success, "{count} ranks:\n{}", ran.everything);
            assert_eq!(ran.lines, std::slice::from_ref(&expected), "{count} ranks");
        }
    }
}
