//! Updates of the values: the old hierarchy is reused while the matrix changes little, and rebuilt
//! otherwise.

use ziggurat::config::{Method, Rebuild};
use ziggurat::{SolveError, Solver, Updated};
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::Problem;

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

/// S A S with a diagonal S = 1 + size · sin: symmetric if A is, with the same pattern.
fn scaled(a: &Csr<f64>, size: f64) -> Csr<f64> {
    let scale = |row: usize| 1.0 + size * (0.01 * row as f64).sin();
    let mut b = a.clone();
    for row in 0..a.rows() {
        for entry in a.row_ptr()[row]..a.row_ptr()[row + 1] {
            b.values_mut()[entry] *= scale(row) * scale(a.columns()[entry] as usize);
        }
    }
    b
}

fn iterations(solver: &Solver) -> usize {
    let rows = solver.hierarchy().levels()[0].matrix().rows();
    let report = solver.solve(&vec![1.0; rows]).unwrap().report;
    assert!(report.reason.is_converged(), "{report}");
    report.iterations
}

#[test]
fn an_update_is_within_two_iterations_of_a_new_setup() {
    for (name, method) in [
        ("poisson3d:18", Method::Sa),
        ("poisson3d:18", Method::Classical),
        ("poisson3d:18", Method::Pairwise),
        ("jump3d:18", Method::Auto),
        ("convection3d:14", Method::Auto),
        ("elasticity3d:6", Method::Auto),
    ] {
        let a = matrix(name);
        let changed = scaled(&a, 0.1);
        let builder = Solver::builder().method(method);
        let mut solver = builder.clone().build(&a).unwrap();
        assert_eq!(solver.update_values(&changed).unwrap(), Updated::Values, "{name} {method}");
        let (updated, fresh) = (iterations(&solver), iterations(&builder.build(&changed).unwrap()));
        assert!(updated <= fresh + 2, "{name} {method}: {updated} after an update, {fresh} after a setup");
    }
}

#[test]
fn restored_values_give_identical_results() {
    let a = matrix("poisson3d:14");
    let mut solver = Solver::builder().build(&a).unwrap();
    let b = vec![1.0; a.rows()];
    let before = solver.solve(&b).unwrap().x;
    solver.update_values(scaled(&a, 0.2)).unwrap();
    assert_ne!(solver.solve(&b).unwrap().x, before);
    solver.update_values(&a).unwrap();
    let after = solver.solve(&b).unwrap().x;
    assert_eq!(before, after);
}

#[test]
fn the_policy_determines_when_to_rebuild() {
    let a = matrix("jump3d:14");
    let always = Solver::builder().rebuild(Rebuild::Always).build(&a).unwrap().update_values(&a).unwrap();
    assert_eq!(always, Updated::Rebuilt);

    // Strong coupling along x only, for which the old coarsening is useless.
    let mut strong = a.clone();
    for row in 0..a.rows() {
        for entry in a.row_ptr()[row]..a.row_ptr()[row + 1] {
            let distance = (a.columns()[entry] as usize).abs_diff(row);
            strong.values_mut()[entry] = match distance {
                0 => 2002.2,
                1 => -1000.0,
                _ => -0.5,
            };
        }
    }
    for (rebuild, expected) in [(Rebuild::WhenSlower, Updated::Rebuilt), (Rebuild::Never, Updated::Values)] {
        let mut solver = Solver::builder().rebuild(rebuild).build(matrix("anisotropic3d:14")).unwrap();
        let before = iterations(&solver);
        assert_eq!(solver.update_values(&strong).unwrap(), Updated::Values);
        let slow = iterations(&solver);
        assert!(slow as f64 > 1.5 * before as f64, "{slow} after {before}: no reason to rebuild");
        assert_eq!(solver.update_values(&strong).unwrap(), expected);
    }
}

#[test]
fn a_matrix_of_another_kind_causes_a_rebuild() {
    let a = matrix("poisson3d:12");
    let mut solver = Solver::builder().rebuild(Rebuild::Never).build(&a).unwrap();
    let mut skew = a.clone();
    for row in 0..a.rows() {
        for entry in a.row_ptr()[row]..a.row_ptr()[row + 1] {
            if (a.columns()[entry] as usize) < row {
                skew.values_mut()[entry] *= 1.5;
            } else if (a.columns()[entry] as usize) == row {
                skew.values_mut()[entry] *= 1.25;
            }
        }
    }
    assert_eq!(solver.config().method, Method::Sa);
    assert_eq!(solver.update_values(&skew).unwrap(), Updated::Rebuilt);
    assert_eq!(solver.config().method, Method::Classical);
    iterations(&solver);
}

#[test]
fn a_failed_update_leaves_the_solver_as_it_was() {
    let a = matrix("poisson3d:12");
    let mut solver = Solver::builder().build(&a).unwrap();
    let b = vec![1.0; a.rows()];
    let before = solver.solve(&b).unwrap().x;
    let mut broken = a.clone();
    broken.values_mut()[0] = f64::NAN;
    let error = solver.update_values(&broken).unwrap_err().to_string();
    assert!(error.contains("row 0, column 0") && error.contains("NaN"), "{error}");
    assert!(matches!(solver.update_values(matrix("poisson3d27:12")), Err(SolveError::Setup(_))));
    // A matrix of another size and kind is rejected too, although its kind would cause a rebuild.
    let error = solver.update_values(matrix("convection3d:8")).unwrap_err().to_string();
    assert!(error.contains("expected 1728, found 512"), "{error}");
    assert_eq!(solver.solve(&b).unwrap().x, before);
}
