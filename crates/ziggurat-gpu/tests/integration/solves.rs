//! Compares AMG-CG on a GPU with the CPU: iterations within one, a true residual below the
//! tolerance, and only scalars transferred to the host in an iteration.

use crate::{gpu, real_matrices};
use ziggurat::config::{Krylov, Method, Precision, SmootherKind};
use ziggurat::{Solution, Solver, SolverBuilder};
use ziggurat_sparse::device::Traffic;
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::io::read_matrix;
use ziggurat_sparse::{Csr, Kind};

pub(crate) const RTOL: f64 = 1e-8;

/// ‖b − Ax‖/‖b‖, computed on the host.
pub(crate) fn relative_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let product = |row: usize| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).map(|(&k, v)| v * x[k as usize]).sum::<f64>()
    };
    let residual: f64 = (0..a.rows()).map(|row| (b[row] - product(row)).powi(2)).sum();
    (residual / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

pub(crate) fn solved(builder: SolverBuilder, a: &Csr<f64>, b: &[f64]) -> Solution {
    builder.rtol(RTOL).build(a).expect("a solver").solve(b).expect("a solution")
}

/// Solves the same system on both devices in three precisions.
fn compare(name: &str, a: &Csr<f64>, b: &[f64]) {
    let gpu = gpu();
    for precision in [Precision::F64, Precision::F32, Precision::F16] {
        let on_cpu = solved(Solver::builder().precision(precision.clone()), a, b);
        let on_gpu = solved(Solver::builder().device(&gpu).precision(precision.clone()), a, b);
        let iterations = (on_cpu.report.iterations, on_gpu.report.iterations);
        assert!(iterations.0.abs_diff(iterations.1) <= 1, "{name} {precision}: {iterations:?} iterations");
        assert!(on_gpu.report.reason.is_converged(), "{name} {precision}: {}", on_gpu.report.reason);
        let residual = relative_residual(a, &on_gpu.x, b);
        assert!(residual <= 1.01 * RTOL, "{name} {precision}: {residual:e}");
    }
}

fn compare_problem(name: &str) {
    let problem: Problem = name.parse().unwrap();
    compare(name, &problem.matrix().unwrap(), &problem.rhs().unwrap());
}

#[test]
fn poisson() {
    compare_problem("poisson3d:32");
}

#[test]
fn anisotropic() {
    compare_problem("anisotropic3d:32");
}

#[test]
fn jump() {
    compare_problem("jump3d:32");
}

#[test]
fn elasticity() {
    compare_problem("elasticity3d:10");
}

#[test]
fn real_systems() {
    let Some(folder) = real_matrices() else { return };
    for name in ["wathen100", "bodyy5", "ibmpg1"] {
        let a = read_matrix(folder.join(format!("{name}.mtx.gz"))).unwrap();
        compare(name, &a, &vec![1.0; a.rows()]);
    }
}

/// Transfers of one additional iteration: two dot products, the residual norm, and in reduced
/// precision the largest element of the vector that enters the cycle.
#[test]
fn only_scalars_return_in_an_iteration() {
    let problem: Problem = "poisson3d:16".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    for (precision, downloads) in [(Precision::F64, 3), (Precision::F16, 4)] {
        let solver = Solver::builder().device(&gpu()).precision(precision).krylov(Krylov::Cg).rtol(1e-30);
        let after = |iterations: usize| {
            let solver = solver.clone().max_iterations(iterations).build(&a).unwrap();
            let before = solver.device().traffic().unwrap();
            let solution = solver.solve(&b).unwrap();
            assert_eq!(solution.report.iterations, iterations);
            assert_eq!(solution.traffic, Some(solver.device().traffic().unwrap().since(before)));
            solution.traffic.unwrap()
        };
        let (three, four) = (after(3), after(4));
        let more = four.since(three);
        let expected = Traffic {
            downloads,
            downloaded_bytes: 8 * downloads,
            kernels: more.kernels,
            ..Traffic::default()
        };
        assert_eq!(more, expected);
        // b is uploaded and x is downloaded; kernel arguments are not counted.
        assert_eq!(three.uploaded_bytes, 8 * a.rows() as u64);
        assert_eq!(three.downloaded_bytes - 8 * three.downloads, 8 * (a.rows() as u64 - 1));
    }
}

/// Without `f64` on the device, the outer iteration runs on the host and the levels are `f32` on
/// the device.
#[test]
fn a_device_without_f64_reaches_the_same_accuracy() {
    let problem: Problem = "anisotropic3d:16".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    for precision in [Precision::F64, Precision::F16] {
        let lacking = gpu().without(Kind::F64);
        let solver =
            Solver::builder().device(&lacking).precision(precision.clone()).rtol(1e-10).build(&a).unwrap();
        assert_eq!(solver.preconditioner().stored()[0].working, Kind::F32);
        assert_ne!(solver.config().precision, Precision::F64, "the configuration in use");
        let solution = solver.solve(&b).unwrap();
        assert!(solution.report.reason.is_converged(), "{precision}: {}", solution.report.reason);
        assert!(relative_residual(&a, &solution.x, &b) <= 1.01e-10);
        let on_cpu =
            Solver::builder().precision(Precision::F32).rtol(1e-10).build(&a).unwrap().solve(&b).unwrap();
        assert!(solution.report.iterations.abs_diff(on_cpu.report.iterations) <= 1);
    }
}

/// Gauss–Seidel, and the methods for nonsymmetric matrices.
#[test]
fn other_methods() {
    let problem: Problem = "convection3d:12".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    for krylov in [Krylov::Gmres, Krylov::Fgmres, Krylov::Bicgstab] {
        // The smoother that `auto` chooses on a GPU instead of Gauss–Seidel.
        let classical = || Solver::builder().method(Method::Classical).krylov(krylov);
        let on_cpu = solved(classical().smoother(SmootherKind::L1Jacobi), &a, &b);
        let on_gpu = solved(classical().device(&gpu()), &a, &b);
        assert!(on_gpu.report.reason.is_converged());
        assert!(on_cpu.report.iterations.abs_diff(on_gpu.report.iterations) <= 1);
    }
    let problem: Problem = "transport3d:12".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    for precision in [Precision::F64, Precision::F16] {
        let air = || Solver::builder().precision(precision.clone());
        let (on_cpu, on_gpu) = (solved(air(), &a, &b), solved(air().device(&gpu()), &a, &b));
        assert!(on_gpu.report.reason.is_converged());
        assert!(on_cpu.report.iterations.abs_diff(on_gpu.report.iterations) <= 1);
    }
    let problem: Problem = "neumann3d:12".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    for smoother in [SmootherKind::GaussSeidel, SmootherKind::L1Jacobi] {
        let on_cpu = solved(Solver::builder().smoother(smoother), &a, &b);
        let on_gpu = solved(Solver::builder().device(&gpu()).smoother(smoother), &a, &b);
        assert!(on_gpu.report.reason.is_converged());
        assert!(on_cpu.report.iterations.abs_diff(on_gpu.report.iterations) <= 1);
    }
}

/// Two threads share one solver, and the results are bitwise equal.
#[test]
fn threads_share_a_solver() {
    let problem: Problem = "jump3d:16".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let solver = Solver::builder().device(&gpu()).build(&a).unwrap();
    let alone = solver.solve(&b).unwrap().x;
    let together = std::thread::scope(|scope| {
        let solves = [0, 1].map(|_| scope.spawn(|| solver.solve(&b).unwrap().x));
        solves.map(|solve| solve.join().unwrap())
    });
    assert!(together.iter().all(|x| *x == alone));
}
