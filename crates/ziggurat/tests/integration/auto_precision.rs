//! `auto` uses reduced precision if it saves time, raises it if rounding slows convergence, and
//! reports the change.

use std::ops::ControlFlow;

use ziggurat::config::{Format, Method, Precision};
use ziggurat::krylov::StopReason;
use ziggurat::{Fault, Solver, SolverConfig, Updated};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::hash::uniform;
use ziggurat_sparse::{Coo, Csr, Kind};

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

/// A long strip of 3 x `length` cells with conductances between 1 and 2, held at one end: the
/// smallest eigenvalues are far below the rounding errors of 16 bits.
fn strip(length: usize) -> Csr<f64> {
    let rows = 3 * length;
    let mut a = Coo::new(rows, rows).unwrap();
    let mut connect = |i: usize, j: usize| {
        let conductance = 1.0 + uniform((i * rows + j) as u64);
        for (row, column, value) in
            [(i, i, conductance), (j, j, conductance), (i, j, -conductance), (j, i, -conductance)]
        {
            a.push(row, column, value).unwrap();
        }
    };
    for cell in 0..length {
        (0..2).for_each(|k| connect(3 * cell + k, 3 * cell + k + 1));
        if cell + 1 < length {
            (0..3).for_each(|k| connect(3 * cell + k, 3 * cell + k + 3));
        }
    }
    a.push(0, 0, 1.0).unwrap();
    a.to_csr()
}

#[test]
fn rounding_that_slows_a_solve_raises_the_precision_permanently() {
    let mut a = strip(30_000);
    let b = vec![1.0; a.rows()];
    let config = SolverConfig::default();
    let config = SolverConfig { stopping: config.stopping.rtol(1e-6), ..config };
    let with = |precision| Solver::new(&a, SolverConfig { precision, ..config.clone() }).unwrap();
    // A precision that was asked for stays, and the solver knows what it costs.
    let (given, wide) = (with(Precision::F16), with(Precision::F32));
    let narrow = given.solve(&b).unwrap().report.iterations;
    let single = wide.solve(&b).unwrap().report.iterations;
    assert_eq!((given.rounding_slows(), storage(&given)), (true, Kind::F16));
    assert_eq!((wide.rounding_slows(), storage(&wide)), (false, Kind::F32));
    // Later solves start with the smoother that the first one has changed to.
    assert!(given.solve(&b).unwrap().report.iterations <= narrow);
    assert!(5 * narrow > 6 * single, "the test needs a matrix that 16 bits are too few for");
    let mut solver = with(Precision::Auto);
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
    assert!(matches!(promotion.why, Fault::RoundingSlows(rate) if rate > 0.63));
    assert!(promotion.to_string().starts_with("levels changed from f16 to f32 after 17"), "{promotion}");
    // Iterations are numbered consecutively across the change, and the report counts them all.
    assert_eq!(iterations, (1..=solution.report.iterations).collect::<Vec<_>>());
    assert_eq!(solution.report.history.len(), solution.report.iterations);
    assert!(solution.report.iterations <= single + promotion.after, "{single}");
    assert_eq!(storage(&solver), Kind::F32);
    // Later solves start in single precision, as if it had been requested.
    let again = solver.solve(&b).unwrap();
    assert_eq!((again.promotion, again.report.iterations), (None, single));
    // An update of the values does not reduce the precision again.
    a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
    assert_eq!(storage(&solver), Kind::F32);
    assert_eq!(solver.solve(&b).unwrap().report.iterations, single);
}

#[test]
fn rounding_that_slows_a_solve_only_later_is_found_later() {
    // Jacobi with a small damping factor is slow at first, whatever the precision. Rounding matters
    // once the smooth error dominates.
    let a = strip(30_000);
    let b: Vec<f64> = (0..a.rows()).map(|row| if row % 2 == 0 { 1.0 } else { -1.0 } + 1e-7).collect();
    let solve = |precision| {
        let builder = Solver::builder().with(|config| config.smoother.omega = Some(0.1));
        let builder = builder.method(Method::Sa).precision(precision).rtol(1e-7);
        builder.build(&a).unwrap().solve(&b).unwrap()
    };
    let (narrow, auto) = (solve(Precision::F16), solve(Precision::Auto));
    let rate = (auto.report.history[15] / auto.report.b_norm).powf(1.0 / 16.0);
    assert!(rate > 0.63, "the first comparison is after 16 iterations: {rate}");
    let promotion = auto.promotion.unwrap();
    assert!(matches!(promotion.why, Fault::RoundingSlows(_)) && promotion.after == 33, "{promotion}");
    assert!(auto.report.iterations < narrow.report.iterations);
}

#[test]
fn a_slow_solve_stays_narrow_if_rounding_is_not_the_cause() {
    // A tiny damping factor makes Jacobi a poor smoother, in any precision.
    let (a, b) = problem("poisson3d:40");
    let solver = |precision| {
        Solver::builder().with(|config| config.smoother.omega = Some(0.02)).precision(precision).build(&a)
    };
    let narrow = solver(Precision::F16).unwrap().solve(&b).unwrap().report;
    assert!(narrow.iterations > 40, "the test needs a slow solve");
    let auto = solver(Precision::Auto).unwrap();
    let solution = auto.solve(&b).unwrap();
    // The comparison does not disturb the iteration.
    assert_eq!((solution.report.history, solution.promotion), (narrow.history, None));
    assert_eq!(storage(&auto), Kind::F16);
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
    assert_eq!((rows.0, small.0), ("csr", "dia"));
    assert!(4 * small.1 < 3 * rows.1, "{small:?} {rows:?}");
}
