//! Richardson's iteration: it converges at the rate of its preconditioner, or stops.

use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_krylov::{KrylovReport, LinearProblem, Method, StopReason, Stopping, System};
use ziggurat_sparse::device::{Cpu, Device, Reference, Vector};
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
use ziggurat_sparse::{Csr, Kind};

use crate::matrices::*;

fn run(case: Case<'_>, stopping: &Stopping) -> (Vec<f64>, KrylovReport) {
    solve_case(&Cpu::new(), Method::Richardson, case, stopping, None)
}

/// A matrix with a dominant diagonal, its Jacobi preconditioner and a right-hand side.
fn dominant(n: usize) -> (Csr<f64>, Csr<f64>, Vec<f64>) {
    let a = random_matrix(n, false, 21);
    let m = jacobi(&a);
    (a, m, random_vector(n, 22))
}

#[test]
fn the_residual_falls_at_the_rate_of_the_preconditioner() {
    // I − M A is half the identity.
    let (a, m, b) = (diagonal(&[1.0, 2.0, 4.0]), diagonal(&[0.5, 0.25, 0.125]), [1.0, -2.0, 3.0]);
    let (x, report) = run(Case::new(&a, &b).preconditioned(&m), &Stopping::default().rtol(1e-6));
    assert_eq!((report.reason, report.iterations), (StopReason::Converged, 20), "{report}");
    assert!(report.history.windows(2).all(|pair| pair[1] == 0.5 * pair[0]), "{:?}", report.history);
    assert!((x[2] - 0.75).abs() < 1e-6);
}

#[test]
fn every_residual_is_the_true_one() {
    let (a, m, b) = dominant(50);
    let case = Case::new(&a, &b).preconditioned(&m);
    let (x, report) = run(case, &Stopping::default());
    assert_eq!(report.reason, StopReason::Converged, "{report}");
    assert_eq!(report.verified, [(0, report.initial_residual), (report.iterations, report.residual)]);
    let (watched_x, watched) = run(case, &Stopping::default().verify_every(1));
    assert_eq!((watched_x, &watched.history), (x, &report.history));
    let norms: Vec<f64> = watched.verified[1..].iter().map(|point| point.1).collect();
    assert_eq!(norms, report.history);
    // The limit of iterations, and convergence in the last permitted one.
    for limit in [0, 1, 7] {
        let (_, limited) = run(case, &Stopping::default().max_iterations(limit));
        assert_eq!((limited.reason, limited.iterations), (StopReason::MaxIterations, limit));
        assert_eq!(limited.history, report.history[..limit]);
    }
    let (_, limited) = run(case, &Stopping::default().max_iterations(report.iterations));
    assert_eq!(limited.reason, StopReason::Converged);
}

#[test]
fn divergence_stops_early_and_is_not_convergence() {
    let b = random_vector(100, 1);
    let long = Stopping::default().max_iterations(1_000_000);
    // The spectral radius of I − M A is 3, far below the limit of iterations.
    let laplace = laplace1d(100);
    let (x, report) = run(Case::new(&laplace, &b), &long);
    assert_eq!(report.reason, StopReason::Stagnated, "{report}");
    assert!(report.iterations < 20 && x.iter().all(|x| x.is_finite()), "{report}");
    // Hardly above 1: the residual grows slowly.
    let a = diagonal(&[2.001; 100]);
    let (_, report) = run(Case::new(&a, &b), &long);
    assert_eq!((report.reason, report.iterations), (StopReason::Stagnated, 50), "{report}");
    // Neither growth nor decrease: a rotation of the residual, and a matrix without entries.
    let skew = from_formula(2, |i, j| if i == j { 1.0 } else { j as f64 - i as f64 });
    let zero = Csr::try_new(2, 2, vec![0, 0, 0], vec![], vec![]).unwrap();
    for a in [&skew, &zero] {
        let (_, report) = run(Case::new(a, &[1.0, 2.0]), &long);
        assert_eq!(report.reason, StopReason::Stagnated, "{report}");
    }
    // An overflow in one step.
    let a = diagonal(&[1e300; 100]);
    let (x, report) = run(Case::new(&a, &b), &long);
    assert_eq!((report.reason, report.iterations), (StopReason::NotFinite, 1), "{report}");
    assert_eq!(x, vec![0.0; 100]);
}

#[test]
fn growth_before_convergence_is_accepted() {
    // (I − M A)² = 0, but the first iteration increases the residual by a factor of 1000.
    let a = from_formula(2, |i, j| if (i, j) == (0, 1) { 1000.0 } else { f64::from(u8::from(i == j)) });
    let (x, report) = run(Case::new(&a, &[1.0, 1.0]), &Stopping::default());
    assert_eq!((report.reason, report.iterations), (StopReason::Converged, 2), "{report}");
    assert_eq!(x, [-999.0, 1.0]);
}

fn stagnates_at_rounding(device: &dyn Device, number: Kind, limit: f64) {
    let (a, m, b) = dominant(60);
    let stopping = Stopping::default().rtol(0.0).max_iterations(100_000);
    let case = Case::new(&a, &b).preconditioned(&m).in_number(number);
    let (_, report) = solve_case(device, Method::Richardson, case, &stopping, None);
    assert!([StopReason::Stagnated, StopReason::Converged].contains(&report.reason), "{report}");
    assert_eq!(report.reason.is_converged(), report.residual == 0.0, "{report}");
    assert!(report.relative_residual < limit && report.iterations < 2000, "{report}");
}

#[test]
fn a_tolerance_below_rounding_stagnates() {
    stagnates_at_rounding(&Cpu::new(), Kind::F64, 1e-14);
    stagnates_at_rounding(&Cpu::new(), Kind::F32, 1e-5);
    stagnates_at_rounding(&Reference, Kind::F64, 1e-14);
    stagnates_at_rounding(&Reference, Kind::F32, 1e-5);
}

/// The identity, except that application number 4 returns NaN.
struct Failing(AtomicUsize);

impl LinearOperator for Failing {
    fn shape(&self) -> (usize, usize) {
        (3, 3)
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, _: &mut Workspace) {
        let call = self.0.fetch_add(1, Ordering::Relaxed);
        device.axpby(if call == 4 { f64::NAN } else { 1.0 }, x, 0.0, y);
    }
}

#[test]
fn a_late_nan_does_not_spoil_the_solution_so_far() {
    let device = Cpu::new();
    let operator = MatrixOperator::new(&device, diagonal(&[0.5, 0.25, 0.75])).unwrap();
    let failing = Failing(AtomicUsize::new(0));
    let (system, b) = (System::new(&operator).preconditioner(&failing), Vector::from(vec![1.0; 3]));
    let (x, report) = solved(Method::Richardson, LinearProblem::new(&device, &system, &b));
    assert_eq!((report.reason, report.iterations), (StopReason::NotFinite, 5), "{report}");
    assert!(x.iter().all(|x| x.is_finite()) && report.residual == report.history[3], "{report}");
}
