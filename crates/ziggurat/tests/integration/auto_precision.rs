//! `auto` uses reduced precision if it saves time, raises it if convergence is slow, and reports
//! the change.

use std::ops::ControlFlow;

use ziggurat::config::{Format, Precision};
use ziggurat::krylov::StopReason;
use ziggurat::{Fault, Solver, SolverConfig, Updated};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{Csr, Kind};

fn problem(name: &str) -> (Csr<f64>, Vec<f64>) {
    let problem: Problem = name.parse().unwrap();
    (problem.matrix().unwrap(), problem.rhs().unwrap())
}

fn storage(solver: &Solver) -> Kind {
    solver.preconditioner().stored()[0].storage
}

#[test]
fn an_easy_problem_stays_in_reduced_precision() {
    let (a, b) = problem("poisson3d:40");
    let solver = Solver::new(&a, SolverConfig::default()).unwrap();
    assert_eq!(solver.config().precision, Precision::F16);
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && solution.promotion.is_none());
    assert_eq!(storage(&solver), Kind::F16);
}

#[test]
fn a_slow_solve_changes_to_double_precision_permanently() {
    // A tiny damping factor makes Jacobi a poor smoother, in any precision.
    let (mut a, b) = problem("poisson3d:40");
    let mut slow = SolverConfig::default();
    slow.smoother.omega = Some(0.02);
    let wide = SolverConfig { precision: Precision::F64, ..slow.clone() };
    let expected = Solver::new(&a, wide).unwrap().solve(&b).unwrap().report.iterations;
    let mut solver = Solver::new(&a, slow).unwrap();
    assert_eq!(storage(&solver), Kind::F16);
    let mut iterations = Vec::new();
    let solution = solver
        .solve_observed(&b, &mut |progress| {
            iterations.push(progress.iteration);
            ControlFlow::Continue(())
        })
        .unwrap();
    let promotion = solution.promotion.unwrap();
    assert!(solution.report.reason.is_converged());
    assert!(promotion.after.is_multiple_of(16) && matches!(promotion.why, Fault::Slow(rate) if rate > 0.63));
    assert!(promotion.to_string().starts_with("levels changed from f16 to f64 after"), "{promotion}");
    // Iterations are numbered consecutively across the change, and the report counts them all.
    assert_eq!(iterations, (1..=solution.report.iterations).collect::<Vec<_>>());
    assert_eq!(solution.report.history.len(), solution.report.iterations);
    assert!(solution.report.iterations <= expected + promotion.after, "{expected}");
    assert_eq!(storage(&solver), Kind::F64);
    // Later solves start in double precision, as if it had been requested.
    let again = solver.solve(&b).unwrap();
    assert_eq!((again.promotion, again.report.iterations), (None, expected));
    // An update of the values does not reduce the precision again.
    a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
    assert_eq!(storage(&solver), Kind::F64);
    assert_eq!(solver.solve(&b).unwrap().report.iterations, expected);
}

#[test]
fn a_request_to_stop_takes_precedence_over_a_promotion() {
    let (a, b) = problem("poisson3d:40");
    let solver = Solver::builder().with(|config| config.smoother.omega = Some(0.02)).build(&a).unwrap();
    let solution = solver.solve_observed(&b, &mut |progress| {
        if progress.iteration < 16 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let solution = solution.unwrap();
    assert_eq!((solution.report.reason, solution.report.iterations), (StopReason::Interrupted, 16));
    assert_eq!(solution.promotion, None);
}

#[test]
fn a_requested_precision_is_not_changed() {
    let (a, b) = problem("poisson3d:40");
    for precision in [Precision::F16, "f64-f32,f16-f32".parse().unwrap()] {
        let builder = Solver::builder().with(|config| config.smoother.omega = Some(0.02));
        let solver = builder.precision(precision.clone()).build(&a).unwrap();
        let solution = solver.solve(&b).unwrap();
        assert!(solution.report.reason.is_converged() && solution.promotion.is_none());
        assert_eq!(solver.config().precision, precision);
        assert_eq!(storage(&solver), Kind::F16);
    }
    let solver = Solver::builder().max_iterations(7).build(&a).unwrap();
    assert_eq!(solver.solve(&b).unwrap().report.iterations, 7);
}

#[test]
fn levels_are_stored_in_the_precisions_given_by_level() {
    let (a, b) = problem("poisson3d:40");
    let solver = Solver::builder().precision("f64-f32,f64-f16".parse().unwrap()).build(&a).unwrap();
    let stored = solver.preconditioner().stored();
    let kinds: Vec<_> = stored.iter().map(|level| (level.working, level.storage)).collect();
    assert_eq!(kinds[0], (Kind::F64, Kind::F64));
    assert!(kinds[1..kinds.len() - 1].iter().all(|kinds| *kinds == (Kind::F32, Kind::F16)), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&(Kind::F64, Kind::F64)));
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
}

#[test]
fn formats_are_the_smallest_unless_csr_is_requested() {
    let (a, b) = problem("poisson3d:30");
    let formats = |format| {
        let solver = Solver::builder().with(|config| config.format = format).build(&a).unwrap();
        assert!(solver.solve(&b).unwrap().report.reason.is_converged());
        let stored = solver.preconditioner().stored();
        (stored[0].format.format().name(), stored[0].format.bytes())
    };
    let (rows, small) = (formats(Format::Csr), formats(Format::Auto));
    assert_eq!((rows.0, small.0), ("csr", "delta-sell"));
    assert!(4 * small.1 < 3 * rows.1, "{small:?} {rows:?}");
}
