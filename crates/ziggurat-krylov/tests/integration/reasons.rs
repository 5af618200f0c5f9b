//! Every stop reason, each with a system that causes it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_krylov::{Combine, KrylovReport, LinearProblem, Method, Progress, StopReason, Stopping, System};
use ziggurat_sparse::device::{Cpu, Device, DeviceExt, Vector};
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
use ziggurat_sparse::{Csr, Kind};

use crate::matrices::*;

fn run(method: Method, case: Case<'_>, stopping: &Stopping) -> (Vec<f64>, KrylovReport) {
    solve_case(&Cpu::new(), method, case, stopping, None)
}

fn reason(method: Method, case: Case<'_>) -> StopReason {
    run(method, case, &Stopping::default()).1.reason
}

#[test]
fn limits_of_iterations_and_time() {
    let (a, b) = (laplace2d(20), random_vector(400, 1));
    let case = Case::new(&a, &b);
    for method in krylov_methods() {
        for limit in [0, 1, 7] {
            let (x, report) = run(method, case, &Stopping::default().max_iterations(limit));
            assert_eq!((report.reason, report.iterations), (StopReason::MaxIterations, limit), "{method}");
            assert_eq!(x.iter().all(|&x| x == 0.0), limit == 0);
            if !matches!(method, Method::BiCgStab | Method::Idr | Method::Cgs) {
                assert!(limit == 0 || report.residual < report.initial_residual);
            }
        }
        let (x, report) = run(method, case, &Stopping::default().max_seconds(0.0));
        assert_eq!((report.reason, report.iterations), (StopReason::TimeLimit, 0), "{method}");
        assert_eq!(x, vec![0.0; 400]);
        // Convergence in the last permitted iteration counts.
        let needed = run(method, case, &Stopping::default()).1.iterations;
        let (_, report) = run(method, case, &Stopping::default().max_iterations(needed));
        assert_eq!(report.reason, StopReason::Converged, "{method}");
    }
}

#[test]
fn tolerances_relative_and_absolute() {
    let (a, b) = (laplace2d(12), random_vector(144, 1));
    let b: Vec<f64> = b.iter().map(|b| 1e6 * b).collect();
    let b_norm = norm(&b);
    for method in krylov_methods() {
        let residual = |stopping: Stopping| {
            let (x, report) = run(method, Case::new(&a, &b), &stopping);
            assert_eq!(report.reason, StopReason::Converged, "{method}: {report}");
            let residual = residual_norm(&a, &x, &b);
            assert!((residual - report.residual).abs() <= 1e-13 * b_norm);
            residual
        };
        let off = Stopping::default().rtol(0.0);
        assert!(residual(off.atol(1.0)) <= 1.0);
        assert!(residual(off.rtol(1e-3)) <= 1e-3 * b_norm);
        // The looser tolerance decides, and no more is done than it requires.
        let loose = residual(off.rtol(1e-9).atol(1e-2 * b_norm));
        assert!(loose <= 1e-2 * b_norm && loose > 1e-5 * b_norm, "{method}: {loose}");
        // The tolerance does not depend on the initial guess.
        let guess: Vec<f64> = vec![1e9; 144];
        let case = Case { guess: &guess, ..Case::new(&a, &b) };
        let (x, report) = run(method, case, &Stopping::default().rtol(1e-6));
        assert!(report.reason.is_converged() && residual_norm(&a, &x, &b) <= 1.001e-6 * b_norm, "{method}");
    }
}

#[test]
fn a_zero_right_hand_side_has_the_solution_zero() {
    let (a, b, guess) = (laplace1d(9), vec![0.0; 9], vec![3.0; 9]);
    for method in Method::ALL {
        for guess in [&guess[..], &[]] {
            let (x, report) = run(method, Case { guess, ..Case::new(&a, &b) }, &Stopping::default());
            assert_eq!((report.reason, report.iterations), (StopReason::Converged, 0));
            assert_eq!((x, report.residual, report.relative_residual), (vec![0.0; 9], 0.0, 0.0));
        }
    }
    let empty = from_formula(0, |_, _| 0.0);
    for method in Method::ALL {
        assert_eq!(reason(method, Case::new(&empty, &[])), StopReason::Converged);
    }
}

#[test]
fn the_wrong_sign_of_matrix_or_preconditioner() {
    for method in [Method::Cg, Method::FlexibleCg] {
        let indefinite = diagonal(&[1.0, -1.0, 2.0]);
        let case = Case::new(&indefinite, &[1.0, 2.0, 1.0]);
        assert_eq!(reason(method, case), StopReason::NotPositiveMatrix, "{method}");
        let (a, m) = (laplace1d(3), diagonal(&[1.0, -3.0, 1.0]));
        let case = Case::new(&a, &[1.0, 2.0, 1.0]).preconditioned(&m);
        assert_eq!(reason(method, case), StopReason::NotPositivePreconditioner, "{method}");
        let zero = Csr::try_new(2, 2, vec![0, 0, 0], vec![], vec![]).unwrap();
        assert_eq!(reason(method, Case::new(&zero, &[1.0, 2.0])), StopReason::NotPositiveMatrix);
    }
    // Other methods converge.
    let indefinite = diagonal(&[1.0, -1.0, 2.0]);
    for method in [Method::Gmres { restart: 3 }, Method::Fgmres { restart: 3 }, Method::Minres, Method::Idr] {
        assert_eq!(reason(method, Case::new(&indefinite, &[1.0, 2.0, 1.0])), StopReason::Converged);
    }
    // MINRES requires a positive definite preconditioner, also in a later iteration.
    for (m, b) in [([1.0, -3.0, 1.0], [1.0, 2.0, 1.0]), ([1.0, -3.0, 1.0], [1.0, 0.0, 0.0])] {
        let (a, m) = (laplace1d(3), diagonal(&m));
        let case = Case::new(&a, &b).preconditioned(&m);
        assert_eq!(reason(Method::Minres, case), StopReason::NotPositivePreconditioner);
    }
}

#[test]
fn values_that_are_not_finite() {
    let (good, b) = (laplace1d(5), random_vector(5, 1));
    for method in Method::ALL {
        for bad in [f64::NAN, f64::INFINITY] {
            let a =
                from_formula(5, |i, j| if (i, j) == (2, 3) { bad } else { good.get(i, j).unwrap_or(0.0) });
            assert_eq!(reason(method, Case::new(&a, &b)), StopReason::NotFinite, "{method}, matrix");
            assert_eq!(
                reason(method, Case::new(&good, &b).preconditioned(&a)),
                StopReason::NotFinite,
                "{method}, preconditioner"
            );
            let mut wrong = b.clone();
            wrong[4] = bad;
            assert_eq!(reason(method, Case::new(&good, &wrong)), StopReason::NotFinite, "{method}, b");
            let case = Case { guess: &wrong, ..Case::new(&good, &b) };
            assert_eq!(reason(method, case), StopReason::NotFinite, "{method}, guess");
        }
        // Squares overflow or underflow. A b whose norm underflows is not solved by x = 0.
        for scale in [1e200, 1e-200] {
            let b: Vec<f64> = b.iter().map(|b| scale * b).collect();
            assert_eq!(reason(method, Case::new(&good, &b)), StopReason::NotFinite, "{method}, {scale}");
        }
    }
}

/// The identity, except that application number `fails_at` returns NaN.
struct Failing {
    n: usize,
    fails_at: usize,
    calls: AtomicUsize,
}

impl LinearOperator for Failing {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.n)
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, _: &mut Workspace) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        device.axpby(if call == self.fails_at { f64::NAN } else { 1.0 }, x, 0.0, y);
    }
}

#[test]
fn a_late_nan_does_not_spoil_the_solution_so_far() {
    let (a, b) = (laplace2d(10), random_vector(100, 2));
    let device = Cpu::new();
    let operator = MatrixOperator::new(&device, a).unwrap();
    for method in krylov_methods() {
        let failing = Failing { n: 100, fails_at: 12, calls: AtomicUsize::new(0) };
        let system = System::new(&operator).preconditioner(&failing);
        let (x, report) = solved(method, LinearProblem::new(&device, &system, &b.clone().into()));
        assert_eq!(report.reason, StopReason::NotFinite, "{method}");
        assert!(x.iter().all(|x| x.is_finite()), "{method}");
        assert!(report.residual < report.initial_residual && report.iterations > 5, "{method}: {report}");
    }
}

#[test]
fn breakdowns() {
    // r·A r = 0 for every r, so the first step is impossible.
    let skew = from_formula(2, |i, j| j as f64 - i as f64);
    assert_eq!(reason(Method::BiCgStab, Case::new(&skew, &[1.0, 2.0])), StopReason::Breakdown);
    let zero = Csr::try_new(2, 2, vec![0, 0, 0], vec![], vec![]).unwrap();
    // A e_1 = 0, although A e_2 = e_1 has a solution.
    let nilpotent = from_formula(2, |i, j| if (i, j) == (0, 1) { 1.0 } else { 0.0 });
    for method in general_methods().into_iter().chain([Method::Minres]) {
        for a in [&zero, &nilpotent] {
            let (x, report) = run(method, Case::new(a, &[1.0, 0.0]), &Stopping::default());
            assert_eq!((report.reason, x), (StopReason::Breakdown, vec![0.0, 0.0]), "{method}");
        }
    }
}

/// A matrix that counts the computations of b − A x.
struct Counting(MatrixOperator, AtomicUsize);

impl LinearOperator for Counting {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        self.0.apply(device, x, y, work);
    }

    fn residual(&self, device: &dyn Device, x: &Vector, b: &Vector, r: &mut Vector, work: &mut Workspace) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.residual(device, x, b, r, work);
    }
}

#[test]
fn restarts_when_a_denominator_vanishes() {
    for method in [Method::BiCgStab, Method::Cgs] {
        let (converged, rescued) = solves_of_small_integers(method);
        assert!(
            converged > 250 && rescued >= 5,
            "{method}: {converged} converged, {rescued} of them after a restart"
        );
    }
    // Its shadow vectors are not integers, so its denominators rarely vanish.
    assert!(solves_of_small_integers(Method::Idr).0 > 250);
}

/// The number of solves that converge, and of those that do so after a restart. Denominators vanish
/// for many small matrices with small integer entries.
fn solves_of_small_integers(method: Method) -> (usize, usize) {
    let device = Cpu::new();
    let (mut converged, mut rescued) = (0, 0);
    for seed in 0..400 {
        let a = from_formula(4, |i, j| (2.49 * random(seed, 4 * i + j)).round());
        let b: Vec<f64> = (0..4).map(|i| (2.49 * random(seed + 1000, i)).round()).collect();
        let operator = Counting(MatrixOperator::new(&device, a.clone()).unwrap(), AtomicUsize::new(0));
        let system = System::new(&operator);
        let (x, report) = solved(method, LinearProblem::new(&device, &system, &b.clone().into()));
        if report.reason.is_converged() {
            converged += 1;
            assert!(residual_norm(&a, &x, &b) <= 1.001e-8 * norm(&b));
            let promises = report.history.iter().filter(|&&norm_r| norm_r <= 1e-8 * norm(&b)).count();
            // One for the initial guess, and one for every promised convergence.
            let starts = operator.1.load(Ordering::Relaxed);
            rescued += usize::from(starts > promises + 1);
        }
    }
    (converged, rescued)
}

#[test]
fn stagnation_in_single_precision() {
    let (a, b) = (laplace1d(60), random_vector(60, 1));
    let methods = krylov_methods().chain([Method::Gmres { restart: 60 }, Method::Fgmres { restart: 60 }]);
    for method in methods {
        let stopping = Stopping::default().rtol(1e-12).max_iterations(100_000);
        let case = Case::new(&a, &b).in_number(Kind::F32);
        let (x, report) = solve_case(&Cpu::new(), method, case, &stopping, None);
        assert_eq!(report.reason, StopReason::Stagnated, "{method}: {report}");
        assert!(report.relative_residual > 1e-12 && report.relative_residual < 1e-3, "{method}: {report}");
        assert!(x.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn a_tolerance_below_rounding_stagnates() {
    let (a, b) = (laplace1d(60), random_vector(60, 1));
    for (method, rtol) in krylov_methods().flat_map(|method| [(method, 0.0), (method, 1e-25)]) {
        let stopping = Stopping::default().rtol(rtol).max_iterations(100_000);
        let (_, report) = solve_case(&Cpu::new(), method, Case::new(&a, &b), &stopping, None);
        assert_eq!(report.reason, StopReason::Stagnated, "{method}: {report}");
        assert!(report.relative_residual < 1e-11 && report.iterations < 5000, "{method}: {report}");
    }
}

#[test]
fn norms_whose_squares_underflow_are_refused() {
    let a = laplace1d(60);
    for method in Method::ALL {
        for scale in [1e-160, 1e-170, 1e160] {
            let b: Vec<f64> = random_vector(60, 1).iter().map(|b| scale * b).collect();
            assert_eq!(reason(method, Case::new(&a, &b)), StopReason::NotFinite, "{method}, {scale}");
        }
    }
}

#[test]
fn stagnation_of_restarted_gmres() {
    // The residual of a rotation by 90° does not change in one step.
    let rotation = from_formula(2, |i, j| j as f64 - i as f64);
    let case = Case::new(&rotation, &[1.0, 2.0]);
    for restart in [1, 2] {
        let expected = if restart == 1 { StopReason::Stagnated } else { StopReason::Converged };
        assert_eq!(reason(Method::Gmres { restart }, case), expected);
        assert_eq!(reason(Method::Fgmres { restart }, case), expected);
    }
}

/// A matrix with inaccurate products and accurate residuals, as of a matrix-free operator in low
/// precision.
struct Inaccurate(MatrixOperator);

impl LinearOperator for Inaccurate {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        self.0.apply(device, x, y, work);
        let y: &mut [f64] = y.elements_mut().unwrap();
        y.iter_mut().enumerate().for_each(|(i, y)| *y *= 1.0 + 1e-3 * random(3, i));
    }

    fn residual(&self, device: &dyn Device, x: &Vector, b: &Vector, r: &mut Vector, work: &mut Workspace) {
        self.0.residual(device, x, b, r, work);
    }
}

#[test]
fn a_false_promise_of_convergence_restarts_until_it_is_true() {
    let a = random_matrix(50, true, 4);
    let b = random_vector(50, 5);
    let device = Cpu::new();
    let inaccurate = Inaccurate(MatrixOperator::new(&device, a.clone()).unwrap());
    let system = System::new(&inaccurate);
    for method in krylov_methods() {
        let (x, report) = solved(method, LinearProblem::new(&device, &system, &b.clone().into()));
        assert_eq!(report.reason, StopReason::Converged, "{method}: {report}");
        assert!(residual_norm(&a, &x, &b) <= 1.001e-8 * norm(&b), "{method}");
        let promises = report.history.iter().filter(|&&norm_r| norm_r <= 1e-8 * norm(&b)).count();
        assert!(promises > 1, "{method}: {:?}", report.history);
    }
}

#[test]
fn interrupted_by_the_observer() {
    let (a, b) = (laplace2d(12), random_vector(144, 1));
    for method in Method::ALL {
        let mut seen = Vec::new();
        let mut observer = |progress: &Progress| {
            seen.push(*progress);
            if progress.iteration == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let stopping = Stopping::default();
        let (_, report) = solve_case(&Cpu::new(), method, Case::new(&a, &b), &stopping, Some(&mut observer));
        assert_eq!((report.reason, report.iterations), (StopReason::Interrupted, 4), "{method}");
        assert_eq!(seen.iter().map(|progress| progress.residual).collect::<Vec<_>>(), report.history);
        assert_eq!(seen.iter().map(|progress| progress.iteration).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(seen.is_sorted_by(|a, b| a.seconds <= b.seconds));
        assert!(seen.iter().all(|progress| progress.target == stopping.target(norm_of(&b), norm_of(&b))));
        // x is the fourth iterate, exactly as with a limit of four iterations.
        let limited = run(method, Case::new(&a, &b), &stopping.max_iterations(4)).1;
        assert_eq!(report.residual, limited.residual, "{method}");
    }
}

fn norm_of(b: &[f64]) -> f64 {
    Cpu::new().norm(&b.to_vec().into())
}

/// A good guess, so that its residual is far from ‖b‖.
#[test]
fn tolerances_relative_to_the_guess_combine_with_others() {
    let a = laplace2d(12);
    let b = random_vector(144, 1);
    let guess = {
        let stopping = Stopping::default().rtol(1e-4);
        solve_case(&Cpu::new(), Method::Cg, Case::new(&a, &b), &stopping, None).0
    };
    let rough = residual_norm(&a, &guess, &b);
    for method in [Method::Cg, Method::Gmres { restart: 20 }, Method::Idr] {
        let run = |stopping: Stopping| {
            let case = Case { guess: &guess, ..Case::new(&a, &b) };
            let (_, report) = solve_case(&Cpu::new(), method, case, &stopping, None);
            assert_eq!(report.reason, StopReason::Converged, "{method}: {report}");
            report
        };
        let both = Stopping::default().rtol(1e-10).reduction(1e-2);
        let (any, all) = (run(both), run(both.combine(Combine::All)));
        assert!((any.target / (1e-2 * rough) - 1.0).abs() < 1e-10 && any.residual > 1e-10 * norm(&b));
        assert!(all.residual <= 1e-10 * norm(&b) && all.iterations > any.iterations);
        // The one that is harder to reach counts, whichever it is.
        let reduced = run(Stopping::default().rtol(1e-2).reduction(1e-6).combine(Combine::All));
        assert!(reduced.residual <= 1e-6 * rough && reduced.iterations > any.iterations);
    }
}
