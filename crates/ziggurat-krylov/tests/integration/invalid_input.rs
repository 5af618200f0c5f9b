//! Invalid input is rejected with an error that names the cause.

use ziggurat_krylov::{KrylovError, LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat_sparse::device::{Cpu, Vector};
use ziggurat_sparse::operator::MatrixOperator;
use ziggurat_sparse::{Csr, Kind};

use crate::matrices::*;

fn operator(a: Csr<f64>) -> MatrixOperator {
    MatrixOperator::new(&Cpu::new(), a).unwrap()
}

#[test]
fn sizes_that_do_not_match() {
    let device = Cpu::new();
    let wide = operator(Csr::try_new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0, 1.0]).unwrap());
    let (three, four) = (operator(laplace1d(3)), operator(laplace1d(4)));
    let kernel = [Vector::from(vec![0.5; 4])];
    for method in Method::ALL {
        let rejected = |system: &System<'_>| Work::new(method, &device, system).unwrap_err();
        assert_eq!(rejected(&System::new(&wide)), KrylovError::NotSquare { rows: 2, cols: 3 });
        assert_eq!(
            rejected(&System::new(&three).preconditioner(&four)),
            KrylovError::Preconditioner { rows: 4, cols: 4, n: 3 }
        );
        assert!(rejected(&System::new(&three).kernel(&kernel)).to_string().contains("kernel"));

        let system = System::new(&three);
        let mut work = Work::new(method, &device, &system).unwrap();
        let mut error = |system: &System<'_>, b: usize, x: usize, stopping: Stopping| {
            let (b, mut x) = (Vector::from(vec![1.0; b]), Vector::from(vec![0.0; x]));
            let problem = LinearProblem::new(&device, system, &b).stopping(stopping);
            solve(problem, &mut x, &mut work).unwrap_err().to_string()
        };
        let stopping = Stopping::default();
        assert_eq!(error(&system, 4, 3, stopping), "the right-hand side has 4 entries, the matrix 3 rows");
        assert_eq!(error(&system, 3, 2, stopping), "the initial guess has 2 entries, the matrix 3 rows");
        assert!(error(&System::new(&four), 4, 4, stopping).contains("made for another system"));
        assert!(error(&system, 3, 3, stopping.rtol(f64::NAN)).contains("`rtol` is NaN"));
    }
}

#[test]
fn number_types_that_do_not_match() {
    let device = Cpu::new();
    let a = operator(laplace1d(3));
    let system = System::new(&a);
    let [wide, narrow] = [Kind::F64, Kind::F32].map(|number| uploaded(&device, number, &[1.0; 3]));
    for method in Method::ALL {
        let error = |system: &System<'_>| Work::new(method, &device, system).unwrap_err().to_string();
        let kernel = std::slice::from_ref(&narrow);
        assert_eq!(error(&system.kernel(kernel)), "a kernel vector has numbers in f32, the system in f64");
        assert_eq!(error(&system.in_number(Kind::F16)), "methods compute in f64 or f32, not in f16");

        let mut work = Work::new(method, &device, &system).unwrap();
        let mut error = |system: &System<'_>, b: &Vector, number: Kind| {
            let mut x = uploaded(&device, number, &[0.0; 3]);
            solve(LinearProblem::new(&device, system, b), &mut x, &mut work).unwrap_err().to_string()
        };
        assert!(error(&system, &narrow, Kind::F64).starts_with("the right-hand side has numbers in f32"));
        assert!(error(&system, &wide, Kind::F32).starts_with("the initial guess has numbers in f32"));
        let single = system.in_number(Kind::F32);
        assert!(error(&single, &narrow, Kind::F32).contains("made for another system) has numbers in f64"));
    }
}

#[test]
fn a_restart_of_zero() {
    let device = Cpu::new();
    let a = operator(laplace1d(3));
    let system = System::new(&a);
    for method in [Method::Gmres { restart: 0 }, Method::Fgmres { restart: 0 }] {
        let error = Work::new(method, &device, &system).unwrap_err();
        assert_eq!(error.to_string(), "`restart` is 0; it must be from 1 to 5000");
    }
}
