//! New values in the same pattern, a guess, per-solve options and single cycles: as in one process,
//! on any number of ranks, from rows that are not distributed as the levels are.

use std::sync::Arc;

use ziggurat::amg::interpolate::NearKernel;
use ziggurat::krylov::Stopping;
use ziggurat::sparse::Kind;
use ziggurat::sparse::device::Vector;
use ziggurat::sparse::operator::LinearOperator;
use ziggurat::{SolveOptions, Solver, SolverConfig, Updated};
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, rigid_body_modes};
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::{self, Problem};

use crate::launch::{is_rank, mpirun, rank};

const RANKS: [usize; 4] = [1, 2, 3, 5];

/// Problems with the configuration of their solver.
const CASES: [(&str, &str); 8] = [
    ("poisson3d:24", r#"{"method": "sa", "precision": "f64"}"#),
    ("poisson3d:24", r#"{"method": "sa", "precision": "f16", "update": {"rebuild": "always"}}"#),
    ("jump3d:20", r#"{"method": "classical", "precision": "f64", "update": {"rebuild": "never"}}"#),
    ("transport3d:16", r#"{"method": "air", "update": {"rebuild": "never"}}"#),
    ("poisson3d:20", r#"{"method": "pairwise", "precision": "f64"}"#),
    ("elasticity3d:8", r#"{"method": "sa", "precision": "f16"}"#),
    ("jump3d:20", r#"{"method": "sa", "precision": "f64", "smoother": {"kind": "fsai"}}"#),
    ("poisson2d:12", r#"{"method": "sa", "precision": "f64"}"#),
];

/// The factor of an entry in this step: symmetric, and not constant.
fn factor(row: u64, column: u64, step: u64) -> f64 {
    1.0 + 0.05 * step as f64 * ((row + column) % 11) as f64 / 11.0
}

/// The levels, iterations and update of a solver in one line.
fn line(
    name: &str,
    step: &str,
    levels: &[(u64, u64, u64)],
    iterations: usize,
    updated: Option<Updated>,
) -> String {
    let levels: Vec<String> =
        levels.iter().map(|(rows, nnz, bits)| format!("{rows}/{nnz}/{bits:x}")).collect();
    format!("{name} {step}: {} in {iterations} {updated:?}", levels.join(" "))
}

/// A rank's rows with the values of a step. Rows are dealt out in thirds and sevenths of a rank's
/// share, so that most ranks give rows that another one solves for.
fn rows(
    problem: Problem,
    comm: &dyn Comm,
    step: u64,
) -> (std::ops::Range<u64>, Vec<usize>, Vec<u64>, Vec<f64>) {
    let (block, size) = (problem.block_size() as u64, comm.size() as u64);
    let nodes = problem.global_rows() / block;
    let bound = |rank: u64| match rank {
        0 => 0,
        rank if rank == size => nodes * block,
        rank => (nodes * rank / size + 7 * rank) * block,
    };
    let own = bound(comm.rank() as u64)..bound(comm.rank() as u64 + 1);
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in own.clone() {
        problem.generator().row(row, |column, value| {
            columns.push(column);
            values.push(value * factor(row, column, step));
        });
        row_ptr.push(columns.len());
    }
    (own, row_ptr, columns, values)
}

fn on_ranks(comm: &Arc<dyn Comm>, name: &str, config: &str) -> Vec<String> {
    let (problem, block): (Problem, _) =
        (name.parse().unwrap(), name.parse::<Problem>().unwrap().block_size());
    let config = SolverConfig::from_json(config).unwrap();
    let matrix = |step: u64| {
        let (own, row_ptr, columns, values) = rows(problem, &**comm, step);
        (own, DistributedCsr::from_rows(comm, block, &row_ptr, &columns, &values).unwrap(), values)
    };
    let (own, a, _) = matrix(0);
    let modes = (block == 3).then(|| {
        let nodes = own.start / 3..own.end / 3;
        let points: Vec<_> = nodes.map(|node| problem.generator().coordinates(node)).collect();
        rigid_body_modes(&**comm, &points, 3).unwrap()
    });
    let mut solver = match &modes {
        Some(modes) => DistributedSolver::with_near_kernel(&a, modes, config).unwrap(),
        None => DistributedSolver::new(&a, config).unwrap(),
    };
    let b: Vec<f64> = own.clone().map(|row| problem.generator().rhs(row)).collect();
    let shown = |solver: &DistributedSolver, step: &str, updated| {
        let levels: Vec<_> =
            solver.levels().iter().map(|level| (level.rows, level.nnz, level.fingerprint)).collect();
        let solution = solver.solve(&b).unwrap();
        assert!(solution.report.relative_residual <= 1e-8, "{name} {step}");
        line(name, step, &levels, solution.report.iterations, updated)
    };
    let mut lines = vec![shown(&solver, "setup", None)];
    let updated = solver.update_values(&matrix(1).1).unwrap();
    lines.push(shown(&solver, "update", Some(updated)));
    // Refused on one rank: all keep the old values.
    let mut values = matrix(2).2;
    if comm.rank() + 1 == comm.size() {
        values[1] = f64::NAN;
    }
    let error = solver.update_entries(&values).unwrap_err().to_string();
    assert!(error.contains("NaN"), "{error}");
    let short = values.len() - usize::from(comm.rank() == 0);
    assert!(solver.update_entries(&values[..short]).is_err());
    lines.push(shown(&solver, "old values", None));
    let updated = solver.update_entries(&matrix(2).2).unwrap();
    lines.push(shown(&solver, "entries", Some(updated)));

    let options = SolveOptions { stopping: Stopping::default().rtol(1e-3), ..SolveOptions::default() };
    let near = solver.solve_with(&b, None, &options, None).unwrap();
    let exact = solver.solve_with(&b, Some(&near.x), &SolveOptions::default(), None).unwrap();
    lines.push(format!("{} {}", near.report.iterations, exact.report.iterations));
    let mut z = vec![0.0; b.len()];
    solver.apply(&b, &mut z).unwrap();
    solver.apply(&b, &mut z).unwrap();
    let mut sum = [z.iter().zip(&b).map(|(z, b)| z * b).sum::<f64>()];
    comm.sum_reals(&mut sum);
    lines.push(format!("cycle {:.5e}", sum[0]));
    lines
}

fn alone(name: &str, config: &str) -> Vec<String> {
    let problem: Problem = name.parse().unwrap();
    let config = SolverConfig::from_json(config).unwrap();
    let matrix = |step: u64| {
        let mut a = problem.matrix().unwrap();
        let places: Vec<(u64, u64)> = (0..a.rows())
            .flat_map(|row| a.row(row).0.iter().map(move |&column| (row as u64, u64::from(column))))
            .collect();
        let entries = a.values_mut().iter_mut().zip(places);
        entries.for_each(|(value, (row, column))| *value *= factor(row, column, step));
        a
    };
    let modes = (problem.block_size() == 3).then(|| {
        NearKernel::from_vectors(&gallery::rigid_body_modes(&problem.coordinates().unwrap()), 3).unwrap()
    });
    let mut solver = match modes {
        Some(modes) => Solver::with_near_kernel(matrix(0), modes, config).unwrap(),
        None => Solver::new(matrix(0), config).unwrap(),
    };
    let b = problem.rhs().unwrap();
    let facts = |a: &Csr<f64>| {
        let bits = a.values().iter().fold(0u64, |sum, value| sum.wrapping_add(value.to_bits()));
        (a.rows() as u64, a.nnz() as u64, bits)
    };
    let shown = |solver: &Solver, step: &str, updated| {
        let levels: Vec<_> = solver.hierarchy().levels().iter().map(|level| facts(level.matrix())).collect();
        line(name, step, &levels, solver.solve(&b).unwrap().report.iterations, updated)
    };
    let mut lines = vec![shown(&solver, "setup", None)];
    let updated = solver.update_values(matrix(1)).unwrap();
    lines.push(shown(&solver, "update", Some(updated)));
    lines.push(shown(&solver, "old values", None));
    let updated = solver.update_values(matrix(2)).unwrap();
    lines.push(shown(&solver, "entries", Some(updated)));
    let options = SolveOptions { stopping: Stopping::default().rtol(1e-3), ..SolveOptions::default() };
    let near = solver.solve_with(&b, None, &options, None).unwrap();
    let exact = solver.solve_with(&b, Some(&near.x), &SolveOptions::default(), None).unwrap();
    lines.push(format!("{} {}", near.report.iterations, exact.report.iterations));
    let (cycle, mut z) = (solver.preconditioner(), Vector::from(vec![0.0; b.len()]));
    let mut work = cycle.workspace(solver.device(), Kind::F64).unwrap();
    cycle.apply(solver.device(), &b.clone().into(), &mut z, &mut work);
    let z = z.elements::<f64>().unwrap();
    lines.push(format!("cycle {:.5e}", z.iter().zip(&b).map(|(z, b)| z * b).sum::<f64>()));
    lines
}

#[test]
fn new_values_have_the_bits_of_one_process() {
    if is_rank() {
        rank(|comm| CASES.into_iter().flat_map(|(name, config)| on_ranks(comm, name, config)).collect());
    } else {
        let alone: Vec<String> = CASES.into_iter().flat_map(|(name, config)| alone(name, config)).collect();
        for ranks in RANKS {
            let ran = mpirun("updates::new_values_have_the_bits_of_one_process", ranks);
            assert!(ran.success, "{ranks} ranks:\n{}", ran.everything);
            assert_eq!(ran.lines, alone, "{ranks} ranks");
        }
    }
}

#[test]
fn another_pattern_or_distribution_is_refused() {
    if is_rank() {
        rank(|comm| {
            let diagonal = |rows: usize, extra: Vec<(u64, u64, f64)>| {
                let first = comm.before(rows as u64);
                let mut entries: Vec<_> = (first..first + rows as u64).map(|row| (row, row, 2.0)).collect();
                if comm.rank() == 0 {
                    entries.extend(extra);
                }
                DistributedCsr::from_entries(comm, rows, 1, entries).unwrap()
            };
            let mut solver = DistributedSolver::new(&diagonal(40, vec![]), SolverConfig::default()).unwrap();
            let more = diagonal(40, vec![(45, 3, 1.0)]);
            let moved = diagonal(if comm.rank() == 0 { 41 } else { 39 }, vec![]);
            let errors = [&more, &moved].map(|a| solver.update_values(a).unwrap_err().to_string());
            let solution = solver.solve(&[1.0; 40]).unwrap();
            assert!(solution.x.iter().all(|x| (x - 0.5).abs() < 1e-12));
            errors.to_vec()
        });
    } else {
        let ran = mpirun("updates::another_pattern_or_distribution_is_refused", 2);
        assert!(ran.success, "{}", ran.everything);
        assert!(ran.lines[0].contains("row 45") && ran.lines[0].contains("new entry"), "{:?}", ran.lines);
        assert!(ran.lines[1].contains("rows of this rank"), "{:?}", ran.lines);
    }
}
