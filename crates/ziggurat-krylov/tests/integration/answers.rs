//! Solutions are correct, and iteration counts match the theory.

use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_krylov::{LinearProblem, Method, StopReason, Stopping, System, Work, solve};
use ziggurat_sparse::device::{Cpu, Device, Reference, Vector};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
use ziggurat_sparse::{Csr, Kind};

use crate::matrices::*;

/// Compares every method with Gaussian elimination, with and without a preconditioner, for
/// symmetric and nonsymmetric matrices.
fn agrees_with_elimination(device: &dyn Device, number: Kind, tolerance: f64) {
    let stopping = Stopping::default().rtol(tolerance);
    let restarted = [Method::Gmres { restart: 4 }, Method::Fgmres { restart: 4 }];
    for (n, seed) in [(1, 1), (2, 2), (7, 3), (40, 4), (63, 5)] {
        for symmetric in [true, false] {
            let a = random_matrix(n, symmetric, seed);
            let m = jacobi(&a);
            let b = random_vector(n, seed + 10);
            let expected = dense_solution(&a, &b);
            let smallest = 1.0; // eigenvalues have a real part of at least 1 by Gershgorin
            let suited = |method: &Method| symmetric || !method.needs_symmetric();
            for method in Method::ALL.into_iter().filter(suited).chain(restarted) {
                let plain = Case::new(&a, &b).in_number(number);
                for case in [plain, plain.preconditioned(&m)] {
                    if method == Method::Richardson && case.m.is_none() {
                        continue;
                    }
                    let (x, report) = solve_case(device, method, case, &stopping, None);
                    assert_eq!(report.reason, StopReason::Converged, "{method}, n = {n}: {report}");
                    let error: Vec<f64> = x.iter().zip(&expected).map(|(x, y)| x - y).collect();
                    let allowed = 20.0 * tolerance * norm(&b) / smallest;
                    assert!(norm(&error) <= allowed, "{method}, n = {n}, error {:.1e}", norm(&error));
                    // The initial guess is used: from the solution, no iteration is done and x
                    // stays.
                    let again = Case { guess: &x, ..case };
                    let (same, report) = solve_case(device, method, again, &stopping, None);
                    assert_eq!((report.iterations, report.reason), (0, StopReason::Converged));
                    assert_eq!((same, report.residual), (x, report.initial_residual));
                }
            }
        }
    }
}

#[test]
fn agree_with_elimination_on_cpu_in_f64() {
    agrees_with_elimination(&Cpu::new(), Kind::F64, 1e-11);
}

#[test]
fn agree_with_elimination_on_cpu_in_f32() {
    agrees_with_elimination(&Cpu::new(), Kind::F32, 2e-6);
}

#[test]
fn agree_with_elimination_on_reference_in_f64() {
    agrees_with_elimination(&Reference, Kind::F64, 1e-11);
}

#[test]
fn agree_with_elimination_on_reference_in_f32() {
    agrees_with_elimination(&Reference, Kind::F32, 2e-6);
}

fn iterations(method: Method, case: Case<'_>, rtol: f64) -> usize {
    let (_, report) = solve_case(&Cpu::new(), method, case, &Stopping::default().rtol(rtol), None);
    assert_eq!(report.reason, StopReason::Converged, "{method}: {report}");
    report.iterations
}

#[test]
fn as_many_steps_as_distinct_eigenvalues() {
    let eigenvalues: Vec<f64> = (0..60).map(|i| [1.0, 3.0, 10.0][i % 3]).collect();
    let (a, b) = (diagonal(&eigenvalues), random_vector(60, 1));
    for method in krylov_methods() {
        // BiCGStab and CGS need one iteration per eigenvalue as well, each with two products.
        assert!(iterations(method, Case::new(&a, &b), 1e-10) <= 3, "{method}");
    }
    // With an exact preconditioner one iteration suffices.
    let m = jacobi(&a);
    for method in Method::ALL {
        assert_eq!(iterations(method, Case::new(&a, &b).preconditioned(&m), 1e-10), 1, "{method}");
    }
}

#[test]
fn exact_termination_after_n_steps() {
    let n = 40;
    let (a, b) = (laplace1d(n), random_vector(n, 3));
    let (gmres, fgmres) = (Method::Gmres { restart: n }, Method::Fgmres { restart: n });
    for method in [Method::Cg, Method::FlexibleCg, Method::Minres, gmres, fgmres] {
        assert!(iterations(method, Case::new(&a, &b), 1e-9) <= n, "{method}");
    }
    // b = e_1 has a component in every eigenvector, so CG needs all n iterations.
    let mut b = vec![0.0; n];
    b[0] = 1.0;
    assert_eq!(iterations(Method::Cg, Case::new(&a, &b), 1e-9), n);
}

#[test]
fn iterations_stay_below_the_bound_by_the_condition_number() {
    let m = 24;
    let (a, b) = (laplace2d(m), random_vector(m * m, 9));
    let angle = std::f64::consts::PI / (2 * (m + 1)) as f64;
    let root_of_condition = 1.0 / angle.tan(); // λ_max/λ_min = cot²
    let rtol = 1e-8;
    // ‖r_k‖/‖r_0‖ ≤ 2 √κ ((√κ−1)/(√κ+1))^k
    let rate = (root_of_condition - 1.0) / (root_of_condition + 1.0);
    let bound = ((rtol / (2.0 * root_of_condition)).ln() / rate.ln()).ceil() as usize;
    let cg = iterations(Method::Cg, Case::new(&a, &b), rtol);
    assert!(cg <= bound, "{cg} > {bound}");
    // A lower bound, which fails if the stopping criterion is wrong: for a random right-hand side
    // the iterations do grow with √κ.
    assert!(cg > m, "{cg}");
    // GMRES without restarts and MINRES minimise the residual over the same space, so they need no
    // more iterations.
    assert!(iterations(Method::Gmres { restart: 200 }, Case::new(&a, &b), rtol) <= cg);
    assert!(iterations(Method::Minres, Case::new(&a, &b), rtol) <= cg);
}

#[test]
fn minres_solves_indefinite_systems() {
    // The shift is inside the spectrum, between eigenvalues.
    let m = 12;
    let (laplace, n) = (laplace2d(m), m * m);
    let a = from_formula(n, |i, j| laplace.get(i, j).unwrap_or(0.0) - if i == j { 1.05 } else { 0.0 });
    let b = random_vector(n, 6);
    let stopping = Stopping::default().rtol(1e-9);
    let (_, report) = solve_case(&Cpu::new(), Method::Cg, Case::new(&a, &b), &stopping, None);
    assert_eq!(report.reason, StopReason::NotPositiveMatrix);
    let expected = dense_solution(&a, &b);
    let scaling = diagonal(&(0..n).map(|i| 1.0 + 0.5 * random(7, i)).collect::<Vec<_>>());
    let plain = Case::new(&a, &b);
    for case in [plain, plain.preconditioned(&scaling)] {
        let run = |method| solve_case(&Cpu::new(), method, case, &stopping, None);
        let (x, report) = run(Method::Minres);
        assert_eq!(report.reason, StopReason::Converged, "{report}");
        let error: Vec<f64> = x.iter().zip(&expected).map(|(x, y)| x - y).collect();
        assert!(norm(&error) <= 1e-6 * norm(&expected), "{:.1e}", norm(&error));
        // GMRES without restarts keeps all vectors orthogonal, MINRES loses some to rounding.
        let gmres = run(Method::Gmres { restart: n }).1.iterations;
        assert!(report.iterations <= gmres + gmres / 4, "{} {gmres}", report.iterations);
        // On the Reference, and in single precision.
        let (_, report) = solve_case(&Reference, Method::Minres, case, &stopping, None);
        assert_eq!(report.reason, StopReason::Converged, "{report}");
        let (single, rough) = (case.in_number(Kind::F32), stopping.rtol(1e-4));
        let (_, report) = solve_case(&Cpu::new(), Method::Minres, single, &rough, None);
        assert_eq!(report.reason, StopReason::Converged, "{report}");
    }
    // Without a preconditioner the residual decreases monotonically.
    let (_, report) = solve_case(&Cpu::new(), Method::Minres, plain, &stopping, None);
    assert!(report.history.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-10)), "{:?}", report.history);
}

#[test]
fn idr_needs_fewer_products_than_restarted_gmres() {
    let problem: Problem = "convection3d:16".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let m = jacobi(&a);
    let case = Case::new(&a, &b).preconditioned(&m);
    // An iteration of both is one product with A.
    let (idr, gmres) =
        (iterations(Method::Idr, case, 1e-8), iterations(Method::Gmres { restart: 30 }, case, 1e-8));
    assert!(idr <= gmres, "{idr} and {gmres}");
    let bicgstab = 2 * iterations(Method::BiCgStab, case, 1e-8);
    assert!(idr <= bicgstab, "{idr} and {bicgstab}");
}

#[test]
fn flexible_methods_match_the_plain_ones_for_a_fixed_preconditioner() {
    let a = convection2d(15, 0.0);
    let (m, b) = (jacobi(&random_matrix(225, true, 1)), random_vector(225, 2));
    let case = Case::new(&a, &b).preconditioned(&m);
    let run = |method| solve_case(&Cpu::new(), method, case, &Stopping::default(), None);
    let pairs =
        [(Method::Cg, Method::FlexibleCg), (Method::Gmres { restart: 10 }, Method::Fgmres { restart: 10 })];
    for (plain, flexible) in pairs {
        let ((x, report), (y, flexible_report)) = (run(plain), run(flexible));
        assert!(report.iterations.abs_diff(flexible_report.iterations) <= 1, "{plain}");
        let difference: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        assert!(norm(&difference) <= 1e-6 * norm(&x), "{plain}");
    }
}

/// A preconditioner that varies: Jacobi and two multiples of the identity in turn.
struct Varying {
    jacobi: MatrixOperator,
    calls: AtomicUsize,
}

impl LinearOperator for Varying {
    fn shape(&self) -> (usize, usize) {
        self.jacobi.shape()
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match call % 3 {
            0 => self.jacobi.apply(device, x, y, work),
            1 => device.axpby(0.25, x, 0.0, y),
            _ => device.axpby(3.0, x, 0.0, y),
        }
    }
}

#[test]
fn flexible_methods_converge_with_a_varying_preconditioner() {
    let (a, b) = (random_matrix(80, true, 11), random_vector(80, 12));
    let device = Cpu::new();
    let varying =
        Varying { jacobi: MatrixOperator::new(&device, jacobi(&a)).unwrap(), calls: AtomicUsize::new(0) };
    let operator = MatrixOperator::new(&device, a.clone()).unwrap();
    let system = System::new(&operator).preconditioner(&varying);
    for method in [Method::FlexibleCg, Method::Fgmres { restart: 30 }, Method::Fgmres { restart: 1 }] {
        let (x, report) = solved(method, LinearProblem::new(&device, &system, &b.clone().into()));
        assert_eq!(report.reason, StopReason::Converged, "{method}: {report}");
        assert!(residual_norm(&a, &x, &b) <= 1.001e-8 * norm(&b), "{method}");
    }
}

#[test]
fn gmres_residuals_decrease_and_match_the_true_one() {
    let (a, b) = (convection2d(20, 0.9), random_vector(400, 5));
    for method in
        [Method::Gmres { restart: 12 }, Method::Fgmres { restart: 12 }, Method::Gmres { restart: 400 }]
    {
        let (_, report) = solve_case(
            &Cpu::new(),
            method,
            Case::new(&a, &b),
            &Stopping::default().rtol(1e-10).max_iterations(2000),
            None,
        );
        assert_eq!(report.reason, StopReason::Converged, "{report}");
        assert!(report.history[0] <= report.initial_residual);
        for pair in report.history.windows(2) {
            assert!(pair[1] <= pair[0] * (1.0 + 1e-12), "{pair:?}");
        }
        // With right preconditioning the recurrence's residual is the true one.
        assert!((report.history.last().unwrap() - report.residual).abs() < 1e-6 * report.residual);
    }
}

#[test]
fn every_general_method_solves_convection() {
    let (a, b) = (convection2d(30, 0.7), vec![1.0; 900]);
    let m = jacobi(&a);
    for method in general_methods() {
        let taken = iterations(method, Case::new(&a, &b).preconditioned(&m), 1e-8);
        assert!(taken < 200, "{method}: {taken}");
    }
}

#[test]
fn a_reused_workspace_does_not_affect_the_result() {
    let (a, b) = (convection2d(9, 0.3), random_vector(81, 8));
    let device = Cpu::new();
    let operator = MatrixOperator::new(&device, a).unwrap();
    let system = System::new(&operator);
    // The results of methods that do not suit the matrix must be the same as well.
    for method in general_methods().into_iter().chain([Method::Minres, Method::Richardson]) {
        let mut work = Work::new(method, &device, &system).unwrap();
        let mut run = |b: &[f64]| {
            let (b, mut x) = (Vector::from(b.to_vec()), Vector::from(vec![0.0; 81]));
            let problem = LinearProblem::new(&device, &system, &b);
            let report = solve(problem, &mut x, &mut work).unwrap();
            (downloaded(&device, x), report.history)
        };
        let first = run(&b);
        run(&[f64::NAN; 81]); // fills the workspace with NaN
        assert_eq!(run(&b), first, "{method}");
    }
}

#[test]
fn a_matrix_stored_in_single_precision_is_solved_in_double() {
    let a: Csr<f64> = laplace2d(10);
    let device = Cpu::new();
    let operator = MatrixOperator::new(&device, a.view().stored_as::<f32>()).unwrap();
    let system = System::new(&operator);
    let b = vec![1.0; 100];
    let stopping = Stopping::default().rtol(1e-13);
    let rhs = b.clone().into();
    let (x, report) = solved(Method::Cg, LinearProblem::new(&device, &system, &rhs).stopping(stopping));
    assert!(report.reason.is_converged(), "{report}");
    // The entries of this matrix are exact in single precision.
    assert!(residual_norm(&a, &x, &b) <= 1.1e-13 * norm(&b));
}

#[test]
fn requested_true_residuals_do_not_affect_the_result() {
    let (a, b) = (laplace2d(12), random_vector(144, 4));
    let forms_x = |method: &Method| !matches!(method, Method::Gmres { .. } | Method::Fgmres { .. });
    for method in krylov_methods().filter(forms_x) {
        let ask = |stopping: Stopping| solve_case(&Cpu::new(), method, Case::new(&a, &b), &stopping, None);
        let (x, report) = ask(Stopping::default());
        let norm = b.iter().map(|value| value * value).sum::<f64>().sqrt();
        assert!((report.b_norm - norm).abs() < 1e-12 * norm);
        assert_eq!(report.verified, [(0, report.initial_residual), (report.iterations, report.residual)]);
        let (watched_x, watched) = ask(Stopping::default().verify_every(1));
        assert_eq!((watched_x, &watched.history), (x, &report.history), "{method}");
        let iterations: Vec<usize> = watched.verified.iter().map(|point| point.0).collect();
        assert_eq!(iterations, (0..=report.iterations).collect::<Vec<_>>());
        // Far above rounding, the recurrence agrees with the true residual.
        for (&(_, truth), recurrence) in watched.verified[1..].iter().zip(&watched.history) {
            assert!((truth - recurrence).abs() < 1e-6 * recurrence, "{method}: {truth} {recurrence}");
        }
        let (_, rarely) = ask(Stopping::default().verify_every(7));
        assert!(rarely.verified.len() < 3 + report.iterations / 7 && rarely.verified[1].0 == 7, "{method}");
    }
}
