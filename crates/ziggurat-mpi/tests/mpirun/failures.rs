//! An error on one rank is an error on all ranks, and no rank is left waiting.

use ziggurat::SolverConfig;
use ziggurat_mpi::{DistributedCsr, DistributedError, DistributedSolver};
use ziggurat_sparse::gallery::Problem;

use crate::launch::{is_rank, mpirun, rank};

/// The number of ranks that returned an error, and the message on rank 0.
fn told<T>(comm: &dyn ziggurat_mpi::Comm, result: Result<T, DistributedError>) -> Vec<String> {
    let failed = comm.total(u64::from(result.is_err()));
    vec![failed.to_string(), result.err().map(|error| error.to_string()).unwrap_or_default()]
}

fn expect(test: &str, ranks: usize, words: &str) {
    let ran = mpirun(test, ranks);
    assert!(ran.success, "{}", ran.everything);
    assert_eq!(ran.lines[0], ranks.to_string(), "{}", ran.everything);
    assert!(ran.lines[1].contains(words), "{:?}", ran.lines);
}

/// A rank's rows of a model problem, as arrays.
fn rows_of(problem: Problem, comm: &dyn ziggurat_mpi::Comm) -> (Vec<usize>, Vec<u64>, Vec<f64>) {
    let bound = |rank: usize| problem.global_rows() * rank as u64 / comm.size() as u64;
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in bound(comm.rank())..bound(comm.rank() + 1) {
        problem.generator().row(row, |column, value| {
            columns.push(column);
            values.push(value);
        });
        row_ptr.push(columns.len());
    }
    (row_ptr, columns, values)
}

#[test]
fn a_value_that_is_no_number() {
    if is_rank() {
        rank(|comm| {
            let (row_ptr, columns, mut values) = rows_of("poisson3d:12".parse().unwrap(), &**comm);
            if comm.rank() == 2 {
                values[17] = f64::NAN;
            }
            let a = DistributedCsr::from_rows(comm, 1, &row_ptr, &columns, &values).unwrap();
            told(&**comm, DistributedSolver::new(&a, SolverConfig::default()))
        });
    } else {
        // The first row of rank 2 of 4 is 864.
        expect("failures::a_value_that_is_no_number", 4, "rank 2: row 86");
    }
}

/// Row 2222 has no diagonal entry. Of four ranks the third owns it, both as given and internally.
fn without_a_diagonal(method: &str) {
    let test = format!("failures::a_row_without_a_diagonal_{method}");
    if is_rank() {
        rank(|comm| {
            let (row_ptr, columns, mut values) = rows_of("poisson3d:16".parse().unwrap(), &**comm);
            let first = 1024 * comm.rank();
            for (row, bounds) in (first..).zip(row_ptr.windows(2)).filter(|(row, _)| *row == 2222) {
                (bounds[0]..bounds[1])
                    .filter(|&at| columns[at] == row as u64)
                    .for_each(|at| values[at] = 0.0);
            }
            let a = DistributedCsr::from_rows(comm, 1, &row_ptr, &columns, &values).unwrap();
            let config = format!(r#"{{"method": "{method}", "smoother": {{"kind": "jacobi"}}}}"#);
            told(&**comm, DistributedSolver::new(&a, SolverConfig::from_json(&config).unwrap()))
        });
    } else {
        expect(&test, 4, "row 2222: the diagonal entry is 0");
    }
}

#[test]
fn a_row_without_a_diagonal_sa() {
    without_a_diagonal("sa");
}

#[test]
fn a_row_without_a_diagonal_classical() {
    without_a_diagonal("classical");
}

#[test]
fn a_right_hand_side_that_does_not_fit() {
    if is_rank() {
        rank(|comm| {
            let (row_ptr, columns, values) = rows_of("poisson3d:12".parse().unwrap(), &**comm);
            let a = DistributedCsr::from_rows(comm, 1, &row_ptr, &columns, &values).unwrap();
            let solver = DistributedSolver::new(&a, SolverConfig::default()).unwrap();
            let wrong = usize::from(comm.rank() == 1);
            told(&**comm, solver.solve(&vec![1.0; row_ptr.len() - 1 - wrong]))
        });
    } else {
        expect("failures::a_right_hand_side_that_does_not_fit", 2, "rank 1: ");
    }
}

#[test]
fn an_entry_outside_the_matrix_and_a_node_cut_apart() {
    if is_rank() {
        rank(|comm| {
            let outside = (comm.rank() == 1).then_some((0, 99, 1.0)).into_iter().collect();
            let mut said = told(&**comm, DistributedCsr::from_entries(comm, 3, 1, outside));
            said.extend(told(&**comm, DistributedCsr::from_entries(comm, 2, 3, Vec::new())));
            said
        });
    } else {
        let ran = mpirun("failures::an_entry_outside_the_matrix_and_a_node_cut_apart", 3);
        assert!(ran.success, "{}", ran.everything);
        assert_eq!((&ran.lines[0][..], &ran.lines[2][..]), ("3", "3"));
        assert!(ran.lines[1].contains("rank 1: entry (0, 99)"), "{:?}", ran.lines);
        assert!(ran.lines[3].contains("whole nodes"), "{:?}", ran.lines);
    }
}
