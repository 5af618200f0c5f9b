//! Refinement reaches tolerances that are below the rounding errors of an iteration.

use std::ops::ControlFlow;

use ziggurat::krylov::StopReason;
use ziggurat::{Solution, Solver};
use ziggurat_sparse::{Coo, Csr};

/// A chain of rows, held at one end. Its solution for a right-hand side of ones has elements of
/// rows²/2, so that rounding errors are far larger in A x than in b.
fn chain(rows: usize) -> Csr<f64> {
    let mut a = Coo::new(rows, rows).unwrap();
    for row in 0..rows - 1 {
        let weight = 1.0 + (row % 7) as f64 / 3.0;
        for (i, j, value) in [(0, 0, weight), (1, 1, weight), (0, 1, -weight), (1, 0, -weight)] {
            a.push(row + i, row + j, value).unwrap();
        }
    }
    a.push(0, 0, 1.0).unwrap();
    a.to_csr()
}

fn solve(a: &Csr<f64>, rtol: f64, steps: usize) -> Solution {
    let builder = Solver::builder().rtol(rtol).with(|config| config.refinement_steps = steps);
    builder.build(a).unwrap().solve(&vec![1.0; a.rows()]).unwrap()
}

#[test]
fn refinement_reaches_what_rounding_keeps_an_iteration_from() {
    let a = chain(20_000);
    let [plain, refined] = [0, 10].map(|steps| solve(&a, 1e-14, steps).report.relative_residual);
    assert!(
        refined < 0.5 * plain,
        "the test needs a matrix on which refinement gains: {refined:e} {plain:e}"
    );
    let between = (plain * refined).sqrt();
    let alone = Solver::builder().rtol(between).with(|config| config.fallback = false);
    let alone = alone.build(&a).unwrap().solve(&vec![1.0; a.rows()]).unwrap();
    assert!(!alone.report.reason.is_converged());
    let solution = solve(&a, between, 10);
    let report = &solution.report;
    assert_eq!(report.reason, StopReason::Converged);
    assert!(report.relative_residual <= between);
    assert_eq!(report.history.len(), report.iterations);
}

#[test]
fn refinement_can_be_observed_and_interrupted() {
    let a = chain(20_000);
    let plain = solve(&a, 1e-14, 0).report.iterations;
    let builder = Solver::builder().rtol(1e-14).with(|config| config.refinement_steps = 10);
    let solver = builder.build(&a).unwrap();
    let mut iterations = Vec::new();
    let solution = solver.solve_observed(&vec![1.0; a.rows()], &mut |progress| {
        iterations.push(progress.iteration);
        if progress.iteration > plain { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = solution.unwrap().report;
    assert_eq!(report.reason, StopReason::Interrupted);
    assert_eq!(iterations, (1..=plain + 1).collect::<Vec<_>>());
    assert_eq!(report.iterations, plain + 1);
}
