//! Systems whose near-kernel nobody has given: least-squares interpolation of test vectors.

use crate::systems::residual;
use ziggurat::config::{Krylov, Method, Precision, SmootherKind};
use ziggurat::sparse::Csr;
use ziggurat::sparse::algebra::scale_symmetric;
use ziggurat::sparse::device::Reference;
use ziggurat::sparse::gallery::Problem;
use ziggurat::{Solver, SolverConfig, Updated};

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
    let b = vec![1.0; a.rows()];
    let of = |precision| Solver::builder().method(Method::Bamg).precision(precision);
    let mut solver = of(Precision::F64).build(&a).unwrap();
    assert_eq!((solver.config().smoother.kind, solver.config().krylov), (SmootherKind::Fsai, Krylov::Cg));
    let iterations = solver.solve(&b).unwrap().report.iterations;
    let on_reference = of(Precision::F64).device(Reference).build(&a).unwrap().solve(&b).unwrap();
    assert_eq!(on_reference.report.iterations, iterations);
    for precision in [Precision::F32, Precision::F16] {
        let solution = of(precision.clone()).build(&a).unwrap().solve(&b).unwrap();
        assert!(solution.report.iterations <= iterations + 2, "{precision}: {}", solution.report.iterations);
        assert!(residual(&a, &solution.x, &b) <= 1e-8, "{precision}");
    }
    let factors: Vec<f64> = (0..a.rows()).map(|row| 1.0 + 1e-3 * (row % 7) as f64).collect();
    scale_symmetric(&mut a, &factors).unwrap();
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.iterations <= iterations + 3 && residual(&a, &solution.x, &b) <= 1e-8);
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
