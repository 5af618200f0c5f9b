//! Solves with Aᵀ by the hierarchy of A.

use std::ops::ControlFlow;

use crate::far::Far;
use crate::systems::{residual, scattered, uneven};
use ziggurat::amg::Hierarchy;
use ziggurat::config::{CycleKind, Method, Precision, Reorder, SmootherKind};
use ziggurat::krylov::{Progress, StopReason};
use ziggurat::sparse::algebra::transpose;
use ziggurat::sparse::device::{Cpu, Reference};
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::{Coo, Csr};
use ziggurat::{SolveOptions, Solver, SolverConfig, Updated};

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

/// ‖b − Aᵀ x‖ / ‖b‖
fn transposed_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    residual(&transpose(a.view(), a.all_rows()), x, b)
}

#[test]
fn every_method_solves_with_the_transpose() {
    for (name, method, smoother, cycle) in [
        ("convection3d:12", Method::Auto, SmootherKind::Auto, CycleKind::Auto),
        ("convection3d:12", Method::Classical, SmootherKind::GaussSeidel, CycleKind::W),
        ("convection3d:12", Method::Pairwise, SmootherKind::Auto, CycleKind::K),
        ("convection3d:12", Method::Sa, SmootherKind::Ilu0, CycleKind::F),
        ("convection3d:12", Method::Direct, SmootherKind::Auto, CycleKind::Auto),
        ("transport3d:12", Method::Air, SmootherKind::Auto, CycleKind::Auto),
        ("transport3d:12", Method::None, SmootherKind::L1Jacobi, CycleKind::Auto),
    ] {
        let a = scattered(name);
        let b = uneven(a.rows());
        for (precision, reorder) in [(Precision::Auto, Reorder::On), (Precision::F64, Reorder::Off)] {
            let builder = Solver::builder().method(method).smoother(smoother).cycle(cycle);
            let reorders = if method.keeps_order() { Reorder::Off } else { reorder };
            let solver = builder.precision(precision).with(|config| config.reorder = reorders);
            let solver = solver.build(&a).unwrap();
            let solution = solver.solve_transposed(&b).unwrap();
            let case = format!("{name}, {method}, {smoother}, {cycle}");
            assert!(solution.report.reason.is_converged(), "{case}: {}", solution.report);
            let found = transposed_residual(&a, &solution.x, &b);
            assert!(found <= 1.01e-8, "{case}: {found}");
            // Factors leave rounding errors only.
            let difference = (found - solution.report.relative_residual).abs();
            assert!(difference <= 1e-2 * found + 1e-13, "{case}: {found}");
            assert!(residual(&a, &solution.x, &b) > 1e-3, "{case}: Aᵀ is not A");
            // About as many iterations as for A.
            let (there, here) = (solver.solve(&b).unwrap().report.iterations, solution.report.iterations);
            assert!(here <= 2 * there + 3, "{case}: {here} iterations, {there} for A");
        }
    }
}

#[test]
fn of_a_symmetric_matrix_it_is_the_same_solve() {
    for name in ["poisson3d:12", "neumann3d:8"] {
        let a = matrix(name);
        let b = name.parse::<Problem>().unwrap().rhs().unwrap();
        let solver = Solver::new(&a, SolverConfig::default()).unwrap();
        let (one, other) = (solver.solve(&b).unwrap(), solver.solve_transposed(&b).unwrap());
        assert_eq!((one.x, one.report.history), (other.x, other.report.history));
    }
    // Also of −A, which is solved in the place of A.
    let negative = ziggurat::amg::negative(&matrix("poisson3d:12").into());
    let solver = Solver::new(negative.clone(), SolverConfig::default()).unwrap();
    let b = uneven(negative.rows());
    let x = solver.solve_transposed(&b).unwrap().into_result().unwrap().x;
    assert!(transposed_residual(&negative, &x, &b) <= 1.01e-8);
}

/// −u'' with every second entry beside the diagonal changed by some 10⁻¹³: symmetric up to
/// rounding. But the largest element of a solution is 500,000 times the largest element of b.
fn nearly_symmetric(rows: usize) -> Csr<f64> {
    let mut entries = Coo::new(rows, rows).unwrap();
    for row in 0..rows {
        entries.push(row, row, 2.0).unwrap();
        if row + 1 < rows {
            entries.push(row, row + 1, -1.0).unwrap();
            entries.push(row + 1, row, if row % 2 == 0 { -1.0 - 9e-13 } else { -1.0 }).unwrap();
        }
    }
    entries.to_csr()
}

#[test]
fn a_matrix_that_is_symmetric_up_to_rounding_has_the_residual_of_its_transpose() {
    let a = nearly_symmetric(2000);
    let b = vec![1.0; a.rows()];
    let solver = Solver::builder().build(&a).unwrap();
    assert_eq!(solver.config().krylov, ziggurat::config::Krylov::Cg, "it counts as symmetric");
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged(), "{}", solution.report);
    let wrong = transposed_residual(&a, &solution.x, &b);
    assert!(wrong > 2e-8, "x of A would do for Aᵀ: {wrong}");
    let solution = solver.solve_transposed(&b).unwrap();
    let found = transposed_residual(&a, &solution.x, &b);
    assert!(solution.report.reason.is_converged(), "{}", solution.report);
    assert!(found <= 1.01e-8, "{found}");
}

#[test]
fn guesses_options_and_observers_are_those_of_any_solve() {
    let a = matrix("convection3d:10");
    let b = uneven(a.rows());
    let solver = Solver::builder().build(&a).unwrap();
    let options = SolveOptions::from(solver.config());
    let x = solver.solve_transposed(&b).unwrap().x;
    let again = solver.solve_transposed_with(&b, Some(&x), &options, None).unwrap();
    assert_eq!(again.report.iterations, 0);
    let mut seen = 0;
    let mut observer = |_: &Progress| {
        seen += 1;
        if seen < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let stopped = solver.solve_transposed_with(&b, None, &options, Some(&mut observer)).unwrap();
    assert_eq!((stopped.report.reason, seen), (StopReason::Interrupted, 2));
    assert!(stopped.into_result().is_err());
    assert!(solver.solve_transposed(&b[1..]).is_err(), "a right-hand side of another length");
}

#[test]
fn a_failed_solve_continues_with_transposed_factors() {
    // Indefinite, and convection makes it nonsymmetric.
    let mut a = matrix("poisson2d:40");
    for row in 0..a.rows() {
        let (start, columns) = (a.row_ptr()[row], a.row(row).0.to_vec());
        for (place, column) in columns.into_iter().enumerate() {
            let value = &mut a.values_mut()[start + place];
            match column as usize {
                column if column == row => *value -= 0.5,
                column if column > row => *value *= 1.1,
                _ => {}
            }
        }
    }
    let b = uneven(a.rows());
    let solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let solution = solver.solve_transposed(&b).unwrap();
    assert!(solution.report.reason.is_converged(), "{}", solution.report);
    assert!(solution.promotion.unwrap().is_to_factors());
    assert!(transposed_residual(&a, &solution.x, &b) <= 1.01e-8);
    // Later solves start with them.
    let again = solver.solve_transposed(&b).unwrap();
    assert!(again.promotion.is_none() && again.report.iterations <= 2, "{}", again.report);
}

#[test]
fn new_values_are_those_of_the_transpose_as_well() {
    let mut a = matrix("convection3d:10");
    let b = uneven(a.rows());
    let mut solver = Solver::new(&a, SolverConfig::default()).unwrap();
    assert!(solver.solve_transposed(&b).unwrap().report.reason.is_converged());
    a.values_mut().iter_mut().enumerate().for_each(|(k, value)| *value *= 1.0 + 0.1 * (k % 5) as f64);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
    let x = solver.solve_transposed(&b).unwrap().into_result().unwrap().x;
    assert!(transposed_residual(&a, &x, &b) <= 1.01e-8);
}

#[test]
fn a_saved_hierarchy_and_every_device_solve_with_the_transpose() {
    let a = matrix("convection3d:8");
    let b = uneven(a.rows());
    let solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let expected = solver.solve_transposed(&b).unwrap().x;
    let mut file = Vec::new();
    solver.hierarchy().save(&mut file).unwrap();
    let loaded =
        Solver::from_hierarchy(Hierarchy::load(&file[..]).unwrap(), SolverConfig::default()).unwrap();
    assert_eq!(loaded.solve_transposed(&b).unwrap().x, expected);
    let far = Solver::builder().device(&Far::default()).build(&a).unwrap();
    let solution = far.solve_transposed(&b).unwrap();
    assert!(solution.traffic.is_some());
    assert_eq!(solution.x, expected);
    let reference = Solver::builder().device(&Reference).build(&a).unwrap();
    let solution = reference.solve_transposed(&b).unwrap().into_result().unwrap();
    assert!(transposed_residual(&a, &solution.x, &b) <= 1.01e-8);
    // From several threads at the first call.
    let fresh = Solver::builder().device(&Cpu::new()).build(&a).unwrap();
    let found = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| fresh.solve_transposed(&b).unwrap().x));
        threads.map(|thread| thread.join().unwrap())
    });
    assert!(found.iter().all(|x| x == &expected));
}
