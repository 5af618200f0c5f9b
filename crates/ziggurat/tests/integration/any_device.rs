//! The solver on devices other than the CPU: it gives the same solution, makes no assumptions about
//! device memory, and returns an error if the device fails.

use std::sync::atomic::Ordering;

use crate::far::Far;
use ziggurat::amg::{Hierarchy, HierarchyConfig};
use ziggurat::config::{Basis, Precision, Rebuild, SmootherKind};
use ziggurat::{Solution, SolveError, SolveOptions, Solver, Stronger, Updated};
use ziggurat_sparse::device::{Cpu, Device, DeviceError, Reference, Traffic, Vector};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::operator::LinearOperator;
use ziggurat_sparse::{Csr, Kind};

fn system(name: &str) -> (Csr<f64>, Vec<f64>) {
    let problem: Problem = name.parse().unwrap();
    (problem.matrix().unwrap(), problem.rhs().unwrap())
}

fn assert_same(found: &Solution, expected: &Solution) {
    assert!(found.report.reason.is_converged(), "{}", found.report);
    assert_eq!(found.report.iterations, expected.report.iterations);
    assert_same_solution(found, expected);
}

fn assert_same_solution(found: &Solution, expected: &Solution) {
    let size = expected.x.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    for (x, y) in found.x.iter().zip(&expected.x) {
        assert!((x - y).abs() <= 1e-9 * size, "{x} {y}");
    }
}

#[test]
fn every_device_gives_the_solution_of_the_cpu() {
    for (name, smoother) in [
        ("poisson3d:8", SmootherKind::Jacobi),
        ("convection3d:8", SmootherKind::GaussSeidel),
        ("transport3d:8", SmootherKind::FcJacobi),
    ] {
        let (a, b) = system(name);
        for precision in [Precision::F64, Precision::F16] {
            let builder = || Solver::builder().precision(precision.clone()).smoother(smoother).rtol(1e-10);
            let expected = builder().build(&a).unwrap().solve(&b).unwrap();
            assert_eq!(expected.traffic, None);
            let reference = builder().device(&Reference).build(&a).unwrap();
            assert_same(&reference.solve(&b).unwrap(), &expected);
            let far = builder().device(&Far::default()).build(&a).unwrap();
            let found = far.solve(&b).unwrap();
            assert_eq!(found.x, expected.x, "the same kernels give identical results");
            assert_same(&found, &expected);
        }
    }
}

#[test]
fn a_device_that_does_not_compress_vectors_refuses_a_compressed_basis() {
    let (a, b) = system("convection3d:6");
    let refused = Solver::builder().basis(Basis::F16).device(&Far::default()).build(&a).unwrap_err();
    assert!(refused.to_string().contains("`basis`: GPUs do not compress vectors yet"), "{refused}");
    // The same as an option of one solve.
    let far = Solver::builder().device(&Far::default()).build(&a).unwrap();
    let options = SolveOptions { basis: Basis::F32, ..SolveOptions::default() };
    let refused = far.solve_with(&b, None, &options, None).unwrap_err().to_string();
    assert!(refused.contains("far cannot compress vectors; leave it at f64, or solve on a CPU"), "{refused}");
    let reference = Solver::builder().basis(Basis::F16).device(&Reference).build(&a).unwrap();
    assert!(reference.solve(&b).unwrap().report.reason.is_converged());
}

#[test]
fn constants_are_projected_out_on_the_device() {
    let (a, b) = system("neumann3d:8");
    let expected = Solver::builder().rtol(1e-10).build(&a).unwrap().solve(&b).unwrap();
    let far = Solver::builder().rtol(1e-10).device(&Far::default()).build(&a).unwrap().solve(&b).unwrap();
    assert_eq!(far.x, expected.x);
    // Rounding in the null space affects the number of iterations, but not the solution.
    let reference = Solver::builder().rtol(1e-10).device(&Reference).build(&a).unwrap().solve(&b).unwrap();
    assert!(reference.report.reason.is_converged());
    assert_same_solution(&reference, &expected);
    // A right-hand side in the null space has the solution zero.
    let ones = vec![1.0; b.len()];
    let far = Solver::builder().device(&Far::default()).build(&a).unwrap().solve(&ones).unwrap();
    assert!(far.x.iter().all(|&x| x == 0.0));
}

#[test]
fn a_solve_uploads_b_once_and_downloads_x_once() {
    let (a, b) = system("poisson3d:16");
    let solver = Solver::builder().device(&Far::default()).build(&a).unwrap();
    for _ in 0..2 {
        let solution = solver.solve(&b).unwrap();
        let Traffic { kernels, by_matrix_units: _, uploads, uploaded_bytes, downloads, downloaded_bytes } =
            solution.traffic.unwrap();
        let vector = 8 * b.len() as u64;
        assert_eq!((uploads, uploaded_bytes), (1, vector));
        // The other downloads are scalars.
        assert_eq!(downloaded_bytes - vector, 8 * (downloads - 1));
        assert!(downloads <= 8 + 5 * solution.report.iterations as u64, "{downloads}");
        assert!(kernels > 10 * solution.report.iterations as u64, "{kernels}");
    }
}

#[test]
fn levels_are_in_single_precision_on_a_device_without_double() {
    let (a, b) = system("poisson3d:16");
    let far = Far { lacks_f64: true, ..Far::default() };
    let solver = Solver::builder().precision(Precision::F64).rtol(1e-10).device(&far).build(&a).unwrap();
    let stored = solver.preconditioner().stored();
    let (coarsest, finer) = stored.split_last().unwrap();
    assert!(!finer.is_empty());
    assert!(finer.iter().all(|level| (level.working, level.storage) == (Kind::F32, Kind::F32)));
    assert_eq!((coarsest.working, coarsest.storage), (Kind::F64, Kind::F64));
    // The inverse of the coarsest level. The outer matrix is stored in single precision, which is
    // exact for it.
    assert_eq!(far.matrices_in_f64.load(Ordering::Relaxed), 1);
    // The outer iteration is still in double precision.
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && solution.report.relative_residual <= 1e-10);
}

#[test]
fn a_promotion_goes_to_the_highest_precision_of_the_device() {
    // No method reaches this tolerance: the iteration stagnates in any precision.
    let (a, b) = system("poisson3d:40");
    for (lacks_f64, to) in [(false, Kind::F64), (true, Kind::F32)] {
        let builder = Solver::builder().rtol(1e-30);
        let solver = builder.device(&Far { lacks_f64, ..Far::default() }).build(&a).unwrap();
        let promotion = solver.solve(&b).unwrap().promotion.unwrap();
        assert_eq!(promotion.to, Stronger::Levels(to));
        assert!(
            promotion.to_string().starts_with(&format!("levels changed from f16 to {to} after")),
            "{promotion}"
        );
        assert_eq!(solver.preconditioner().stored()[0].storage, to);
    }
}

#[test]
fn lost_work_is_an_error() {
    let (a, b) = system("poisson3d:8");
    let solver = Solver::builder().device(&Far { lost_after: 100, ..Far::default() }).build(&a).unwrap();
    let error = solver.solve(&b).unwrap_err();
    assert!(matches!(error, SolveError::Device(DeviceError::Lost { .. })), "{error}");
    assert!(error.to_string().contains("far failed: connection lost"), "{error}");
}

#[test]
fn values_are_updated_on_the_same_device() {
    let (mut a, b) = system("poisson3d:8");
    for (rebuild, expected) in [(Rebuild::Never, Updated::Values), (Rebuild::Always, Updated::Rebuilt)] {
        let far = Far::default();
        let mut solver = Solver::builder().rebuild(rebuild).device(&far).build(&a).unwrap();
        a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
        let uploaded = far.matrices_in_f64.load(Ordering::Relaxed);
        assert_eq!(solver.update_values(&a).unwrap(), expected);
        assert!(far.matrices_in_f64.load(Ordering::Relaxed) > uploaded, "the same device");
        let cpu = Solver::builder().build(&a).unwrap();
        assert_same(&solver.solve(&b).unwrap(), &cpu.solve(&b).unwrap());
    }
}

#[test]
fn a_hierarchy_can_be_moved_to_any_device() {
    let (a, b) = system("poisson3d:8");
    let hierarchy = || Hierarchy::build(&a, &HierarchyConfig::default()).unwrap();
    let expected = Solver::builder().device(&Cpu::new()).build_from(hierarchy()).unwrap().solve(&b).unwrap();
    let solver = Solver::builder().device(&Far::default()).build_from(hierarchy()).unwrap();
    assert_eq!(solver.device().name(), "far");
    assert_same(&solver.solve(&b).unwrap(), &expected);
}

#[test]
fn a_solver_is_an_operator_in_either_precision() {
    let (a, b) = system("poisson3d:8");
    let solver = Solver::builder().build(&a).unwrap();
    let (cpu, expected) = (Cpu::new(), solver.solve(&b).unwrap().x);
    let apply = |x: Vector| {
        let mut y = cpu.zeros(x.kind(), x.len()).unwrap();
        let mut work = solver.workspace(&cpu, x.kind()).unwrap();
        solver.apply(&cpu, &x, &mut y, &mut work);
        y
    };
    assert_eq!(apply(b.clone().into()).elements(), Some(&expected[..]));
    let single = apply(b.iter().map(|&b| b as f32).collect::<Vec<_>>().into());
    let near = |(x, y): (&f32, &f64)| (f64::from(*x) - y).abs() <= 1e-5 * y.abs();
    assert!(single.elements().unwrap().iter().zip(&expected).all(near));
}
