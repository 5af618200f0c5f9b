//! Systems whose near-kernel nobody has given: least-squares interpolation of test vectors.

use crate::systems::{residual, solved_everywhere};
use ziggurat::config::{Krylov, Method, SmootherKind};
use ziggurat::sparse::Csr;
use ziggurat::sparse::algebra::scale_symmetric;
use ziggurat::sparse::gallery::Problem;
use ziggurat::{Solver, SolverConfig};

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

#[test]
fn elasticity_needs_neither_coordinates_nor_nodes() {
    let a = matrix("elasticity3d:12");
    let b = vec![1.0; a.rows()];
    let of = |method| {
        let solver = Solver::builder().method(method).with(|config: &mut SolverConfig| {
            config.smoother.kind = SmootherKind::Fsai;
            config.fallback = false;
        });
        let solver = solver.build(&a).unwrap();
        let solution = solver.solve(&b).unwrap();
        assert!(residual(&a, &solution.x, &b) <= 1e-8);
        solution.report.iterations
    };
    let (bamg, sa) = (of(Method::Bamg), of(Method::Sa));
    assert!(3 * bamg <= 2 * sa, "bamg {bamg}, sa {sa}");
}

#[test]
fn every_device_precision_and_new_values_are_solved() {
    let mut a = matrix("jump3d:14");
    let solver = Solver::builder().method(Method::Bamg).build(&a).unwrap();
    assert_eq!((solver.config().smoother.kind, solver.config().krylov), (SmootherKind::Fsai, Krylov::Cg));
    let factors: Vec<f64> = (0..a.rows()).map(|row| 1.0 + 1e-3 * (row % 7) as f64).collect();
    solved_everywhere(Method::Bamg, &mut a, |a| scale_symmetric(a, &factors).unwrap(), 3);
}

#[test]
fn smoothed_aggregation_takes_test_vectors_too() {
    let a = matrix("elasticity3d:12");
    let b = vec![1.0; a.rows()];
    let of = |vectors| {
        let solver = Solver::builder().method(Method::Sa).with(|config: &mut SolverConfig| {
            (config.sa.test_vectors, config.sa.test_steps) = (Some(vectors), 40);
            config.fallback = false;
        });
        let solver = solver.build(&a).unwrap();
        let solution = solver.solve(&b).unwrap();
        assert!(residual(&a, &solution.x, &b) <= 1e-8);
        (solver.hierarchy().levels()[1].block(), solution.report.iterations)
    };
    let ((three, without), (eight, with)) = (of(0), of(8));
    assert_eq!((three, eight), (3, 8));
    assert!(with < without, "{with}, {without} without");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let a = matrix("elasticity3d:8");
    let solve = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let solver = Solver::builder().method(Method::Bamg).build(&a).unwrap();
            let levels = solver.hierarchy().levels().iter().map(|level| (**level.matrix()).clone());
            levels.collect::<Vec<Csr<f64>>>()
        })
    };
    assert_eq!(solve(1), solve(3));
}

#[test]
fn a_matrix_that_is_not_symmetric_is_refused() {
    let error =
        Solver::builder().method(Method::Bamg).build(matrix("convection3d:8")).unwrap_err().to_string();
    let expected = "`method`: `bamg` needs a symmetric matrix with a positive diagonal; choose classical";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn singular_and_empty_systems_are_no_problem() {
    for name in ["neumann3d:8", "poisson2d:3"] {
        let a = matrix(name);
        let mut b = vec![1.0; a.rows()];
        b[0] = 1.0 - a.rows() as f64; // orthogonal to constants
        let solution = Solver::builder().method(Method::Bamg).build(&a).unwrap().solve(&b).unwrap();
        assert!(solution.report.reason.is_converged() && residual(&a, &solution.x, &b) <= 1e-8, "{name}");
    }
    let one = Csr::identity(1).unwrap();
    assert_eq!(Solver::builder().method(Method::Bamg).build(&one).unwrap().solve(&[2.0]).unwrap().x, [2.0]);
}
