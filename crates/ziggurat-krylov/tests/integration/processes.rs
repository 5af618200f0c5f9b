//! Agreement of processes: two threads, each with a device and its part of every vector, solve
//! together.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ziggurat_krylov::{Basis, LinearProblem, Method, Progress, StopReason, Stopping, System, Work, solve};
use ziggurat_sparse::device::{
    Cpu, Device, DeviceError, Direction, Halo, HostSlice, HostSliceMut, Matrix, Processes, Traffic, Vector,
    Vectors,
};
use ziggurat_sparse::operator::MatrixOperator;
use ziggurat_sparse::{Csr, Kind};

use crate::matrices::*;

/// The device of one process of two: kernels run on its own rows, reductions cover both processes.
///
/// Both processes must call the same reductions in the same order. If a method branches on a value
/// of one process alone, the names of the reductions differ or one process times out, and the test
/// fails.
#[derive(Clone, Debug)]
struct Process {
    cpu: Cpu,
    rank: usize,
    link: Arc<Mutex<Link>>,
}

/// The name of a reduction and this process's numbers.
type Message = (&'static str, Vec<f64>);

#[derive(Debug)]
struct Link {
    to_other: Sender<Message>,
    from_other: Receiver<Message>,
}

impl Process {
    fn pair() -> [Process; 2] {
        let (to_second, from_first) = channel();
        let (to_first, from_second) = channel();
        let process = |rank, to_other, from_other| {
            let link = Arc::new(Mutex::new(Link { to_other, from_other }));
            Process { cpu: Cpu::new(), rank, link }
        };
        [process(0, to_second, from_second), process(1, to_first, from_first)]
    }

    /// Combines each number with that of the other process, the first process's on the left.
    fn reduce(&self, name: &'static str, numbers: &mut [f64], combine: impl Fn(f64, f64) -> f64) {
        let link = self.link.lock().unwrap();
        link.to_other.send((name, numbers.to_vec())).unwrap();
        let (other_name, others) = link.from_other.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!((name, numbers.len()), (other_name, others.len()), "reductions of the two processes");
        for (number, other) in numbers.iter_mut().zip(others) {
            *number = if self.rank == 0 { combine(*number, other) } else { combine(other, *number) };
        }
    }
}

impl Processes for Process {
    fn sum_of_all(&self, numbers: &mut [i64]) {
        let mut sums: Vec<f64> = numbers.iter().map(|&number| number as f64).collect();
        self.reduce("sum_of_all", &mut sums, |first, second| first + second);
        numbers.iter_mut().zip(sums).for_each(|(number, sum)| *number = sum as i64);
    }

    fn elements_before(&self, own: usize) -> u64 {
        let mut first = [own as f64];
        self.reduce("elements_before", &mut first, |first, _| first);
        if self.rank == 0 { 0 } else { first[0] as u64 }
    }

    // ---- not used by Krylov methods

    fn take_part(&self, _: Matrix, _: Box<dyn Any>) -> Result<Matrix, DeviceError> {
        unimplemented!()
    }

    fn halo_values(&self, _: &Halo, _: &[f64]) -> Vec<f64> {
        unimplemented!()
    }

    fn largest_of_all(&self, _: f64) -> f64 {
        unimplemented!()
    }
}

impl Device for Process {
    fn name(&self) -> String {
        format!("process {} of 2", self.rank)
    }

    fn share(&self) -> Arc<dyn Device> {
        Arc::new(self.clone())
    }

    fn processes(&self) -> Option<&dyn Processes> {
        Some(self)
    }

    fn combine(&self, coefficients: &[f64], xs: Vectors<'_>, beta: f64, y: &mut Vector) -> f64 {
        let mut square = [self.cpu.combine(coefficients, xs, beta, y)];
        self.reduce("combine", &mut square, |first, second| first + second);
        square[0]
    }

    fn dots(&self, xs: Vectors<'_>, y: &Vector, out: &mut [f64]) {
        self.cpu.dots(xs, y, out);
        self.reduce("dots", out, |first, second| first + second);
    }

    fn norm_max(&self, x: &Vector) -> f64 {
        let mut largest = [self.cpu.norm_max(x)];
        self.reduce("norm_max", &mut largest, f64::max);
        largest[0]
    }

    // ---- local to a process

    fn computes_in(&self, number: Kind) -> bool {
        self.cpu.computes_in(number)
    }

    fn compresses_vectors(&self) -> bool {
        self.cpu.compresses_vectors()
    }

    fn traffic(&self) -> Option<Traffic> {
        self.cpu.traffic()
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.cpu.finish()
    }

    fn zeros(&self, number: Kind, len: usize) -> Result<Vector, DeviceError> {
        self.cpu.zeros(number, len)
    }

    fn take(&self, host: Vector) -> Result<Vector, DeviceError> {
        self.cpu.take(host)
    }

    fn take_matrix(&self, host: Matrix) -> Result<Matrix, DeviceError> {
        self.cpu.take_matrix(host)
    }

    fn write(&self, host: HostSlice<'_>, x: &mut Vector) -> Result<(), DeviceError> {
        self.cpu.write(host, x)
    }

    fn download(&self, x: &Vector, host: HostSliceMut<'_>) -> Result<(), DeviceError> {
        self.cpu.download(x, host)
    }

    fn spmv(&self, alpha: f64, a: &Matrix, x: &Vector, beta: f64, y: &mut Vector) {
        self.cpu.spmv(alpha, a, x, beta, y);
    }

    fn residual(&self, a: &Matrix, x: &Vector, b: &Vector, r: &mut Vector) {
        self.cpu.residual(a, x, b, r);
    }

    fn fill(&self, value: f64, x: &mut Vector) {
        self.cpu.fill(value, x);
    }

    fn copy(&self, x: &Vector, y: &mut Vector) {
        self.cpu.copy(x, y);
    }

    fn cast_scaled(
        &self,
        alpha: f64,
        d: Option<&Vector>,
        x: &Vector,
        y: &mut Vector,
        largest: Option<&mut f64>,
    ) {
        assert!(largest.is_none(), "a reduction");
        self.cpu.cast_scaled(alpha, d, x, y, None);
    }

    fn axpby(&self, alpha: f64, x: &Vector, beta: f64, y: &mut Vector) {
        self.cpu.axpby(alpha, x, beta, y);
    }

    fn axpbypcz(&self, alpha: f64, x: &Vector, beta: f64, y: &Vector, gamma: f64, z: &mut Vector) {
        self.cpu.axpbypcz(alpha, x, beta, y, gamma, z);
    }

    fn step_and_turn(&self, alpha: f64, x: &mut Vector, beta: f64, z: &Vector, p: &mut Vector) {
        self.cpu.step_and_turn(alpha, x, beta, z, p);
    }

    // ---- not used by Krylov methods

    fn sweep(&self, _: &Matrix, _: f64, _: &Vector, _: &Vector, _: &Vector, _: f64, _: &mut Vector) {
        unimplemented!()
    }

    fn gauss_seidel(
        &self,
        _: &Matrix,
        _: &Vector,
        _: &Vector,
        _: Option<&Vector>,
        _: usize,
        _: Direction,
        _: &mut Vector,
    ) {
        unimplemented!()
    }

    fn diagonal(&self, _: f64, _: &Vector, _: &Vector, _: f64, _: &mut Vector) {
        unimplemented!()
    }
}

/// Runs `solve` in two processes at once.
fn in_two_processes<R: Send>(solve: impl Fn(Process) -> R + Sync) -> [R; 2] {
    std::thread::scope(|scope| {
        let solve = &solve;
        Process::pair()
            .map(|process| scope.spawn(move || solve(process)))
            .map(|thread| thread.join().unwrap())
    })
}

#[test]
fn two_processes_share_a_compressed_basis() {
    for method in [Method::Gmres { restart: 10 }, Method::Fgmres { restart: 10 }] {
        let [here, there] = in_two_processes(|device| {
            let operator = MatrixOperator::new(&device, convection2d(8 + device.rank, 0.3)).unwrap();
            let system = System::new(&operator);
            let b = Vector::from(random_vector((8 + device.rank).pow(2), device.rank as u64));
            let mut work = Work::with_basis(method, Basis::F16, &device, &system).unwrap();
            let mut x = Vector::from(vec![0.0; b.len()]);
            solve(LinearProblem::new(&device, &system, &b), &mut x, &mut work).unwrap()
        });
        assert_eq!((here.reason, &here.history), (there.reason, &there.history), "{method}");
        assert_eq!(here.reason, StopReason::Converged, "{method}");
    }
}

#[test]
fn two_processes_solve_as_one() {
    // Two diagonal blocks, coupled by the inner products only; the second process has more rows.
    let (n, m) = (30, 50);
    let blocks = [random_matrix(n, true, 1), random_matrix(m, true, 2)];
    let whole = from_formula(n + m, |i, j| {
        let block = usize::from(i >= n);
        if block != usize::from(j >= n) {
            return 0.0;
        }
        blocks[block].get(i - block * n, j - block * n).unwrap_or(0.0)
    });
    let b = random_vector(n + m, 3);
    let inverse_diagonal = jacobi(&whole);
    for method in Method::ALL {
        let mut case = Case::new(&whole, &b);
        if method == Method::Richardson {
            case = case.preconditioned(&inverse_diagonal);
        }
        let (x, report) = solve_case(&Cpu::new(), method, case, &Stopping::default(), None);
        assert_eq!(report.reason, StopReason::Converged);
        let [(first, here), (second, there)] = in_two_processes(|device| {
            let operator = MatrixOperator::new(&device, blocks[device.rank].clone()).unwrap();
            let preconditioner = MatrixOperator::new(&device, jacobi(&blocks[device.rank])).unwrap();
            let mut system = System::new(&operator);
            if method == Method::Richardson {
                system = system.preconditioner(&preconditioner);
            }
            let b = Vector::from(if device.rank == 0 { b[..n].to_vec() } else { b[n..].to_vec() });
            solved(method, LinearProblem::new(&device, &system, &b))
        });
        assert_eq!(
            (here.reason, &here.history),
            (there.reason, &there.history),
            "{method}: processes disagree"
        );
        assert_eq!(here.iterations, report.iterations, "{method}");
        let joined = [&first[..], &second].concat();
        let difference: Vec<f64> = joined.iter().zip(&x).map(|(x, y)| x - y).collect();
        assert!(norm(&difference) <= 1e-10 * norm(&x), "{method}: {:.1e}", norm(&difference));
    }
}

/// Solves with the five-point Laplacian on both processes, whose right-hand sides differ.
fn laplace_in_two_processes(
    method: Method,
    stopping: impl Fn(usize) -> Stopping + Sync,
    wants_to_stop: impl Fn(usize, &Progress) -> bool + Sync,
) -> [(StopReason, usize); 2] {
    let a: Csr<f64> = laplace2d(8);
    in_two_processes(|device| {
        let rank = device.rank;
        let operator = MatrixOperator::new(&device, a.clone()).unwrap();
        let system = System::new(&operator);
        let b = Vector::from(random_vector(64, rank as u64));
        let mut observer = |progress: &Progress| {
            if wants_to_stop(rank, progress) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let problem = LinearProblem::new(&device, &system, &b).stopping(stopping(rank));
        let (_, report) = solved(method, problem.observer(&mut observer));
        (report.reason, report.iterations)
    })
}

#[test]
fn an_observer_of_one_process_stops_both() {
    for method in Method::ALL {
        // The time limits of the processes differ as well.
        let stopping = |rank: usize| Stopping::default().max_seconds(1000.0 + rank as f64);
        let reports =
            laplace_in_two_processes(method, stopping, |rank, progress| rank == 1 && progress.iteration == 2);
        assert_eq!(reports, [(StopReason::Interrupted, 2); 2], "{method}");
    }
}

#[test]
fn a_clock_of_one_process_stops_both() {
    for method in Method::ALL {
        let stopping = |rank: usize| Stopping::default().max_seconds(if rank == 0 { 0.0 } else { 1000.0 });
        let reports = laplace_in_two_processes(method, stopping, |_, _| false);
        assert_eq!(reports, [(StopReason::TimeLimit, 0); 2], "{method}");
    }
}

#[test]
fn a_right_hand_side_that_is_zero_on_one_process_is_not_zero() {
    // The squares of the second process's values underflow, so ‖b‖ = 0; only max |b| is nonzero.
    let a: Csr<f64> = laplace1d(5);
    for method in Method::ALL {
        let reasons = in_two_processes(|device| {
            let operator = MatrixOperator::new(&device, a.clone()).unwrap();
            let system = System::new(&operator);
            let b = Vector::from(vec![device.rank as f64 * 1e-200; 5]);
            solved(method, LinearProblem::new(&device, &system, &b)).1.reason
        });
        assert_eq!(reasons, [StopReason::NotFinite; 2], "{method}");
    }
}
