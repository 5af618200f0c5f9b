//! Saddle points start with what solves them: sparse factors, or MINRES with a positive cycle.

use crate::systems::residual;
use ziggurat::config::{Coarsest, Krylov, Method, SmootherKind};
use ziggurat::krylov::StopReason;
use ziggurat::{Solver, SolverConfig, Updated};
use ziggurat_sparse::{Coo, Csr};

/// Stokes flow in a box of n × n cells: velocities on inner faces, in x and then in y, and the
/// pressures of all cells, or all but the last.
fn stokes(n: usize, pinned: bool) -> Csr<f64> {
    let faces = (n - 1) * n;
    let cells = n * n - usize::from(pinned);
    let mut a = Coo::new(2 * faces + cells, 2 * faces + cells).unwrap();
    let mut add = |row, column, value| {
        a.push(row, column, value).unwrap();
        if row != column {
            a.push(column, row, value).unwrap();
        }
    };
    for (first, [across, down]) in [(0, [n - 1, n]), (faces, [n, n - 1])] {
        for point in 0..across * down {
            add(first + point, first + point, 4.0);
            if point % across + 1 < across {
                add(first + point, first + point + 1, -1.0);
            }
            if point + across < across * down {
                add(first + point, first + point + across, -1.0);
            }
        }
    }
    for cell in 0..cells {
        let (x, y, pressure) = (cell % n, cell / n, 2 * faces + cell);
        if x + 1 < n {
            add(pressure, y * (n - 1) + x, 1.0);
        }
        if x > 0 {
            add(pressure, y * (n - 1) + x - 1, -1.0);
        }
        if y + 1 < n {
            add(pressure, faces + y * n + x, 1.0);
        }
        if y > 0 {
            add(pressure, faces + (y - 1) * n + x, -1.0);
        }
    }
    a.to_csr()
}

/// A force that drives the flow; what is in it of a gradient does not matter.
fn force(a: &Csr<f64>, n: usize) -> Vec<f64> {
    (0..a.rows()).map(|row| if row < 2 * (n - 1) * n { 1.0 + (row % 5) as f64 } else { 0.0 }).collect()
}

#[test]
fn a_saddle_point_is_factorised_by_choice() {
    let a = stokes(12, true);
    let b = force(&a, 12);
    // Not as a fallback.
    let mut solver = Solver::builder().with(|config| config.fallback = false).build(&a).unwrap();
    assert_eq!((solver.config().method, solver.config().krylov), (Method::Direct, Krylov::Fgmres));
    let reason = solver.decisions()[0].reason;
    assert!(reason.starts_with("a saddle point"), "{reason}");
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && solution.promotion.is_none());
    assert!(residual(&a, &solution.x, &b) <= 1e-8);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
}

#[test]
fn minres_has_a_positive_cycle() {
    for (pinned, method) in [(true, Method::Auto), (false, Method::Auto), (true, Method::None)] {
        let a = stokes(16, pinned);
        let b = force(&a, 16);
        let minres = |config: &mut SolverConfig| config.fallback = false;
        let builder = Solver::builder().with(minres).krylov(Krylov::Minres).method(method);
        let solver = builder.build(&a).unwrap();
        let config = solver.config();
        match method {
            Method::None => assert_eq!(config.smoother.kind, SmootherKind::L1Jacobi),
            _ => {
                assert_eq!(config.method, Method::Classical);
                assert_eq!(config.smoother.kind, SmootherKind::L1Chebyshev);
                assert_eq!(config.hierarchy.coarsest, Coarsest::Smoothed);
            }
        }
        let solution = solver.solve(&b).unwrap();
        assert_eq!(solution.report.reason, StopReason::Converged, "{pinned} {method}");
        assert!(residual(&a, &solution.x, &b) <= 1e-8);
    }
}

#[test]
fn a_method_that_needs_a_positive_matrix_is_not_kept_for_factors() {
    // Smoothers of SA need a diagonal, so it is factorised.
    let a = stokes(12, true);
    let b = force(&a, 12);
    let solver = Solver::builder().krylov(Krylov::Cg).smoother(SmootherKind::Jacobi).build(&a).unwrap();
    assert_eq!((solver.config().method, solver.config().krylov), (Method::Direct, Krylov::Fgmres));
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
}
