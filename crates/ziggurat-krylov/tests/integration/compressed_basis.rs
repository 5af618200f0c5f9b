//! GMRES and FGMRES with a compressed basis: the accuracy of the iteration is kept, the basis takes
//! fewer bytes, and what cannot be compressed is refused.

use ziggurat_krylov::{Basis, KrylovError, KrylovReport, LinearProblem, Method, StopReason};
use ziggurat_krylov::{Stopping, System, Work, solve};
use ziggurat_sparse::device::{Cpu, Device, Reference};
use ziggurat_sparse::operator::MatrixOperator;
use ziggurat_sparse::{Csr, Kind};

use crate::matrices::*;

const METHODS: [Method; 2] = [Method::Gmres { restart: 40 }, Method::Fgmres { restart: 40 }];
const COMPRESSED: [Basis; 2] = [Basis::F32, Basis::F16];

/// The solution of a system, preconditioned by its diagonal.
fn solved_with(
    device: &dyn Device,
    (method, number, basis): (Method, Kind, Basis),
    (a, b): (&Csr<f64>, &[f64]),
    stopping: Stopping,
) -> (Vec<f64>, KrylovReport) {
    let (matrix, jacobi) = (operator(device, number, a), operator(device, number, &jacobi(a)));
    let system = System::new(&matrix).preconditioner(&jacobi).in_number(number);
    let mut work = Work::with_basis(method, basis, device, &system).unwrap();
    let (b, mut x) = (uploaded(device, number, b), device.zeros(number, a.rows()).unwrap());
    let problem = LinearProblem::new(device, &system, &b).stopping(stopping);
    let report = solve(problem, &mut x, &mut work).unwrap();
    (downloaded(device, x), report)
}

/// The rounding error of `f16` is 5·10⁻⁴, that of `f32` 6·10⁻⁸: a tolerance of 10⁻¹³ is reached
/// only because restarts recompute the residual.
#[test]
fn the_accuracy_of_the_iteration_is_kept() {
    let m = 40;
    let a = convection2d(m, 0.4);
    let b = random_vector(m * m, 1);
    let stopping = Stopping::default().rtol(1e-13);
    for method in METHODS {
        let (_, wide) = solved_with(&Cpu::new(), (method, Kind::F64, Basis::F64), (&a, &b), stopping);
        assert!(wide.reason.is_converged());
        for basis in COMPRESSED {
            let (x, report) = solved_with(&Cpu::new(), (method, Kind::F64, basis), (&a, &b), stopping);
            assert_eq!(report.reason, StopReason::Converged, "{method}, {basis}: {report}");
            assert!(residual_norm(&a, &x, &b) <= 1.01e-13 * norm(&b), "{method}, {basis}");
            assert!(report.iterations <= 2 * wide.iterations, "{method}, {basis}: {report}, f64: {wide}");
        }
    }
}

/// Every promise of the recurrence is checked before the basis has lost its digits, so no true
/// residual is far above the promised one.
#[test]
fn restarts_come_before_the_promise_is_empty() {
    let m = 40;
    let a = convection2d(m, 0.4);
    let b = random_vector(m * m, 2);
    for method in METHODS {
        for basis in COMPRESSED {
            let stopping = Stopping::default().rtol(1e-12);
            let (_, report) = solved_with(&Cpu::new(), (method, Kind::F64, basis), (&a, &b), stopping);
            for pair in report.verified.windows(2) {
                let [(_, before), (at, after)] = [pair[0], pair[1]];
                if at > 0 {
                    let promised = report.history[at - 1];
                    let drift = 50.0 * basis.kind().facts().unit_roundoff * before;
                    assert!((after - promised).abs() <= drift, "{method}, {basis}: {promised}, {after}");
                }
            }
        }
    }
}

#[test]
fn agrees_with_elimination_on_every_device_and_in_f32() {
    for (n, seed) in [(1, 1), (2, 2), (7, 3), (40, 4)] {
        let a = random_matrix(n, false, seed);
        let b = random_vector(n, seed + 10);
        let expected = dense_solution(&a, &b);
        let check = |x: Vec<f64>, report: &KrylovReport, tolerance: f64| {
            assert_eq!(report.reason, StopReason::Converged, "n = {n}: {report}");
            let error: Vec<f64> = x.iter().zip(&expected).map(|(x, y)| x - y).collect();
            assert!(norm(&error) <= 20.0 * tolerance * norm(&b), "n = {n}: {:.1e}", norm(&error));
        };
        for method in METHODS.into_iter().chain([Method::Gmres { restart: 3 }, Method::Fgmres { restart: 1 }])
        {
            for basis in COMPRESSED {
                let stopping = Stopping::default().rtol(1e-11);
                let (x, report) = solved_with(&Cpu::new(), (method, Kind::F64, basis), (&a, &b), stopping);
                check(x, &report, 1e-11);
                let (x, report) = solved_with(&Reference, (method, Kind::F64, basis), (&a, &b), stopping);
                check(x, &report, 1e-11);
                let stopping = Stopping::default().rtol(2e-6);
                let (x, report) = solved_with(&Cpu::new(), (method, Kind::F32, basis), (&a, &b), stopping);
                check(x, &report, 2e-6);
            }
        }
    }
}

/// M v is far from norm one, in both directions.
#[test]
fn any_scale_of_the_preconditioned_vectors_fits() {
    for unit in [1e-30, 1e-6, 1e6, 1e30] {
        let laplace = convection2d(12, 0.3);
        let scaled: Vec<f64> = laplace.values().iter().map(|a| unit * a).collect();
        let (rows, columns) = (laplace.row_ptr().to_vec(), laplace.columns().to_vec());
        let a = Csr::try_new(144, 144, rows, columns, scaled).unwrap();
        let b = random_vector(144, 3);
        for method in METHODS {
            let choice = (method, Kind::F64, Basis::F16);
            let (x, report) = solved_with(&Cpu::new(), choice, (&a, &b), Stopping::default());
            assert_eq!(report.reason, StopReason::Converged, "{method}, {unit:e}: {report}");
            assert!(residual_norm(&a, &x, &b) <= 1.01e-8 * norm(&b));
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let m = 150; // 22500 rows: vectors and products are split among threads
    let a = convection2d(m, 0.1);
    let b = random_vector(m * m, 1);
    for method in METHODS {
        for basis in COMPRESSED {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let stopping = Stopping::default().max_iterations(25);
                pool.install(|| solved_with(&Cpu::new(), (method, Kind::F64, basis), (&a, &b), stopping).0)
            };
            assert_eq!(run(1), run(2), "{method}, {basis}");
        }
    }
}

#[test]
fn the_basis_takes_a_half_or_a_quarter_of_the_memory() {
    let device = Cpu::new();
    let a = MatrixOperator::new(&device, laplace1d(100)).unwrap();
    let system = System::new(&a);
    let bytes = |method, basis| Work::with_basis(method, basis, &device, &system).unwrap().basis_bytes();
    let [gmres, fgmres] = METHODS;
    // A wide basis also stores the vector after the last.
    assert_eq!([Basis::F64, Basis::F32, Basis::F16].map(|basis| bytes(gmres, basis)), [32800, 16000, 8000]);
    assert_eq!([Basis::F64, Basis::F32, Basis::F16].map(|basis| bytes(fgmres, basis)), [64800, 32000, 16000]);
}

#[test]
fn a_method_without_a_basis_is_refused() {
    let device = Cpu::new();
    let a = MatrixOperator::new(&device, laplace1d(3)).unwrap();
    let system = System::new(&a);
    for method in Method::ALL {
        let refused = Work::with_basis(method, Basis::F16, &device, &system).err();
        assert_eq!(refused.is_some(), !method.stores_basis(), "{method}");
        if let Some(error) = refused {
            assert!(matches!(error, KrylovError::NoBasis { .. }));
            assert!(error.to_string().contains("choose gmres or fgmres"), "{error}");
        }
        assert!(Work::with_basis(method, Basis::F64, &device, &system).is_ok());
    }
}
