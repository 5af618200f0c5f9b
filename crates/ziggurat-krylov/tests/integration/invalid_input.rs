//! Invalid input is rejected with an error that names the cause.

use ziggurat_krylov::{KrylovError, LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::Cpu;
use ziggurat_sparse::operator::MatrixOperator;

use crate::matrices::*;

fn operator(a: Csr<f64>) -> MatrixOperator<Cpu, f64> {
    MatrixOperator::new(&Cpu::new(), a).unwrap()
}

#[test]
fn sizes_that_do_not_match() {
    let device = Cpu::new();
    let wide = operator(Csr::try_new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0, 1.0]).unwrap());
    let (three, four) = (operator(laplace1d(3)), operator(laplace1d(4)));
    let kernel = [vec![0.5; 4]];
    for method in Method::ALL {
        let rejected = |system: &System<'_, Cpu, f64>| Work::new(method, &device, system).unwrap_err();
        assert_eq!(rejected(&System::new(&wide)), KrylovError::NotSquare { rows: 2, cols: 3 });
        assert_eq!(
            rejected(&System::new(&three).preconditioner(&four)),
            KrylovError::Preconditioner { rows: 4, cols: 4, n: 3 }
        );
        assert!(rejected(&System::new(&three).kernel(&kernel)).to_string().contains("kernel"));

        let system = System::new(&three);
        let mut work = Work::new(method, &device, &system).unwrap();
        let mut error = |system: &System<'_, Cpu, f64>, b: usize, x: usize, stopping: Stopping| {
            let (b, mut x) = (vec![1.0; b], vec![0.0; x]);
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
fn a_restart_of_zero() {
    let device = Cpu::new();
    let a = operator(laplace1d(3));
    let system: System<'_, Cpu, f64> = System::new(&a);
    for method in [Method::Gmres { restart: 0 }, Method::Fgmres { restart: 0 }] {
        let error = Work::new(method, &device, &system).unwrap_err();
        assert_eq!(error.to_string(), "`restart` is 0; it must be from 1 to 5000");
    }
}
