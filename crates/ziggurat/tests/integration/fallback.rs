//! A solve that multigrid cannot do continues with sparse factors of the matrix, and says so.

use crate::systems::residual;
use ziggurat::config::{Method, SmootherKind};
use ziggurat::{Fault, SolveError, SolveOptions, Solver, SolverConfig, Stronger, Updated};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{Coo, Csr};

/// The Laplacian minus half the identity, which is indefinite.
fn indefinite() -> Csr<f64> {
    let mut a = "poisson2d:40".parse::<Problem>().unwrap().matrix().unwrap();
    for row in 0..a.rows() {
        let place = a.row_ptr()[row] + a.row(row).0.binary_search(&(row as u32)).unwrap();
        a.values_mut()[place] -= 0.5;
    }
    a
}

#[test]
fn a_failed_solve_continues_with_factors() {
    let a = indefinite();
    let b = vec![1.0; a.rows()];
    let mut solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged());
    assert!(residual(&a, &solution.x, &b) <= 1e-8);
    let promotion = solution.promotion.unwrap();
    assert_eq!(promotion.to, Stronger::Factors);
    let words = promotion.to_string();
    assert!(words.starts_with("changed to fsai smoothing after"), "{words}");
    assert!(words.contains("; then changed from multigrid to sparse factors after"), "{words}");
    // Later solves start with the factors.
    let again = solver.solve(&b).unwrap();
    assert!(again.promotion.is_none() && again.report.iterations <= 2);
    // New values are factorised as well.
    let twice = {
        let mut twice = a.clone();
        twice.values_mut().iter_mut().for_each(|value| *value *= 2.0);
        twice
    };
    assert_eq!(solver.update_values(&twice).unwrap(), Updated::Rebuilt);
    let halved = solver.solve(&b).unwrap();
    assert!(halved.report.iterations <= 2 && residual(&twice, &halved.x, &b) <= 1e-8);
}

/// A², the plate operator, whose fourth derivatives a pointwise smoother hardly smooths.
fn plate() -> Csr<f64> {
    let a = "poisson2d:48".parse::<Problem>().unwrap().matrix().unwrap();
    ziggurat_sparse::algebra::product(a.view(), a.all_rows(), a.view()).unwrap()
}

#[test]
fn a_slow_solve_continues_with_a_stronger_smoother() {
    let (a, slow) = (plate(), |config: &mut SolverConfig| config.fallback = false);
    let b = vec![1.0; a.rows()];
    let before = Solver::builder().with(slow).build(&a).unwrap().solve(&b).unwrap();
    let mut solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && residual(&a, &solution.x, &b) <= 1e-8);
    let promotion = solution.promotion.unwrap();
    assert_eq!(promotion.to, Stronger::Smoother(SmootherKind::Fsai), "{promotion}");
    assert!(
        promotion.to_string().starts_with("changed to fsai smoothing after 32 iterations"),
        "{promotion}"
    );
    let (with, without) = (solution.report.iterations, before.report.iterations);
    assert!(with as f64 <= 0.7 * without as f64, "{with} of {without}");
    // Later solves start with it, and so does the solver for new values.
    let again = solver.solve(&b).unwrap();
    assert!(again.promotion.is_none() && again.report.iterations < with);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Rebuilt);
    assert_eq!(solver.config().smoother.kind, SmootherKind::Fsai);
    assert_eq!(solver.solve(&b).unwrap().report.iterations, again.report.iterations);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
}

#[test]
fn a_given_smoother_is_not_replaced() {
    let a = plate();
    let solver = Solver::builder().smoother(SmootherKind::Jacobi).build(&a).unwrap();
    let solution = solver.solve(&vec![1.0; a.rows()]).unwrap();
    assert!(solution.promotion.is_none_or(|promotion| promotion.to == Stronger::Factors));
}

#[test]
fn the_fallback_can_be_turned_off() {
    let a = indefinite();
    let solver = Solver::builder().with(|config| config.fallback = false).build(&a).unwrap();
    let solution = solver.solve(&vec![1.0; a.rows()]).unwrap();
    assert!(!solution.report.reason.is_converged() && solution.promotion.is_none());
}

#[test]
fn half_of_the_iterations_for_less_than_half_of_the_digits_is_hopeless() {
    // A tiny damping factor makes Jacobi a poor smoother.
    let a = "poisson3d:30".parse::<Problem>().unwrap().matrix().unwrap();
    let slow = |config: &mut SolverConfig| config.smoother.omega = Some(1e-6);
    let builder = || Solver::builder().method(Method::Sa).with(slow).max_iterations(40);
    let solution = builder().build(&a).unwrap().solve(&vec![1.0; a.rows()]).unwrap();
    let promotion = solution.promotion.unwrap();
    assert!(solution.report.reason.is_converged() && solution.report.iterations <= 22);
    assert!(matches!(promotion.why, Fault::TooSlow(_)) && promotion.after == 20, "{promotion}");
}

#[test]
fn a_smoother_that_overflows_is_not_taken_for_a_bad_guess() {
    let a = "poisson3d:16".parse::<Problem>().unwrap().matrix().unwrap();
    let overflows = |config: &mut SolverConfig| config.smoother.omega = Some(1e300);
    let solver = Solver::builder().method(Method::Sa).with(overflows).build(&a).unwrap();
    let b = vec![1.0; a.rows()];
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && solution.promotion.is_some());
    // A guess that is not finite stays the caller's fault.
    let guess = vec![f64::NAN; a.rows()];
    let refused = solver.solve_with(&b, Some(&guess), &SolveOptions::default(), None);
    assert!(refused.is_err() || !refused.unwrap().report.reason.is_converged());
}

#[test]
fn a_zero_diagonal_is_factorised_from_the_start() {
    // A saddle point: the Laplacian and one constraint.
    let a = "poisson2d:20".parse::<Problem>().unwrap().matrix().unwrap();
    let rows = a.rows();
    let mut coo = Coo::new(rows + 1, rows + 1).unwrap();
    for row in 0..rows {
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            coo.push(row, column as usize, value).unwrap();
        }
        coo.push(row, rows, 1.0).unwrap();
        coo.push(rows, row, 1.0).unwrap();
    }
    coo.push(rows, rows, 0.0).unwrap();
    let (a, b) = (coo.to_csr(), vec![1.0; rows + 1]);
    let solver = Solver::new(&a, SolverConfig::default()).unwrap();
    assert_eq!(solver.config().method, Method::Direct);
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && residual(&a, &solution.x, &b) <= 1e-8);
    let refused = Solver::builder().with(|config| config.fallback = false).build(&a).unwrap_err();
    assert!(matches!(refused, SolveError::Setup(_)), "{refused}");
    // The advice helps.
    assert!(refused.to_string().contains("choose the method `direct`"), "{refused}");
    let solver = Solver::builder().method(Method::Direct).build(&a).unwrap();
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
    // It is not given where it would not help: two rows that differ by a factor only.
    let singular = Csr::try_new(3, 3, vec![0, 1, 2, 4], vec![2, 2, 0, 1], vec![1.0, 2.0, 1.0, 2.0]).unwrap();
    for method in [Method::Auto, Method::Pairwise] {
        let Err(refused) = Solver::builder().method(method).build(&singular) else { continue };
        assert!(!refused.to_string().contains("choose the method `direct`"), "{refused}");
    }
}

#[test]
fn a_solve_with_other_options_does_not_change_later_ones() {
    let a = "poisson3d:30".parse::<Problem>().unwrap().matrix().unwrap();
    let b = vec![1.0; a.rows()];
    let solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let expected = solver.solve(&b).unwrap();
    let mut options = SolveOptions::from(solver.config());
    (options.stopping.rtol, options.stopping.max_iterations) = (1e-30, 32);
    solver.solve_with(&b, None, &options, None).unwrap();
    let guess = vec![f64::INFINITY; a.rows()];
    solver.solve_with(&b, Some(&guess), &SolveOptions::from(solver.config()), None).unwrap();
    assert_eq!(solver.solve(&b).unwrap().x, expected.x);
}
