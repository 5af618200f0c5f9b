//! Agreement of processes: two threads, each with a device and its part of every vector, solve
//! together.

use std::borrow::Borrow;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ziggurat_krylov::{Basis, LinearProblem, Method, Progress, StopReason, Stopping, System, Work, solve};
use ziggurat_sparse::device::{Cpu, Device, DeviceError, Direction, HostMatrix, NoHalo, Reference, Remote};
use ziggurat_sparse::operator::MatrixOperator;
use ziggurat_sparse::{Csr, Reads, Real, Store};

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

    fn sum(&self, name: &'static str, number: f64) -> f64 {
        let mut sum = [number];
        self.reduce(name, &mut sum, |first, second| first + second);
        sum[0]
    }
}

impl Device for Process {
    type Vector<T: Store> = Vec<T>;
    type Matrix<S: Store> = HostMatrix<S>;
    type Halo = NoHalo;
    type Setup = Reference;

    fn name(&self) -> String {
        format!("process {} of 2", self.rank)
    }

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

    fn combine<C: Real, B: Borrow<Vec<C>> + Sync>(
        &self,
        coefficients: &[C],
        xs: &[B],
        beta: C,
        y: &mut Vec<C>,
    ) -> f64 {
        self.sum("combine", self.cpu.combine(coefficients, xs, beta, y))
    }

    fn dot<C: Real>(&self, x: &Vec<C>, y: &Vec<C>) -> f64 {
        self.sum("dot", self.cpu.dot(x, y))
    }

    fn dots<C: Real, B: Borrow<Vec<C>> + Sync>(&self, xs: &[B], y: &Vec<C>, out: &mut [f64]) {
        self.cpu.dots(xs, y, out);
        self.reduce("dots", out, |first, second| first + second);
    }

    fn norm_max<C: Real>(&self, x: &Vec<C>) -> f64 {
        let mut largest = [self.cpu.norm_max(x)];
        self.reduce("norm_max", &mut largest, f64::max);
        largest[0]
    }

    fn dots_compressed<C: Reads<S>, S: Store>(&self, xs: &[Vec<S>], y: &Vec<C>, out: &mut [f64]) {
        self.cpu.dots_compressed(xs, y, out);
        self.reduce("dots_compressed", out, |first, second| first + second);
    }

    fn combine_compressed<C: Reads<S>, S: Store>(
        &self,
        coefficients: &[C],
        xs: &[Vec<S>],
        beta: C,
        y: &mut Vec<C>,
    ) -> f64 {
        self.sum("combine_compressed", self.cpu.combine_compressed(coefficients, xs, beta, y))
    }

    // ---- local to a process

    fn compresses_vectors(&self) -> bool {
        true
    }

    fn compress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<C>, y: &mut Vec<S>) {
        self.cpu.compress(alpha, x, y);
    }

    fn decompress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<S>, y: &mut Vec<C>) {
        self.cpu.decompress(alpha, x, y);
    }

    fn zeros<T: Store>(&self, len: usize) -> Result<Vec<T>, DeviceError> {
        self.cpu.zeros(len)
    }

    fn upload<T: Store>(&self, host: &[T]) -> Result<Vec<T>, DeviceError> {
        self.cpu.upload(host)
    }

    fn write<T: Store>(&self, host: &[T], x: &mut Vec<T>) -> Result<(), DeviceError> {
        self.cpu.write(host, x)
    }

    fn download<T: Store>(&self, x: &Vec<T>, host: &mut [T]) -> Result<(), DeviceError> {
        self.cpu.download(x, host)
    }

    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<HostMatrix<S>, DeviceError> {
        self.cpu.upload_matrix(host)
    }

    fn len<T: Store>(&self, x: &Vec<T>) -> usize {
        x.len()
    }

    fn shape<S: Store>(&self, a: &HostMatrix<S>) -> (usize, usize) {
        (a.rows(), a.cols())
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.cpu.finish()
    }

    fn spmv<C: Reads<S>, S: Store>(&self, alpha: C, a: &HostMatrix<S>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        self.cpu.spmv(alpha, a, x, beta, y);
    }

    fn residual<C: Reads<S>, S: Store>(&self, a: &HostMatrix<S>, x: &Vec<C>, b: &Vec<C>, r: &mut Vec<C>) {
        self.cpu.residual(a, x, b, r);
    }

    fn fill<C: Real>(&self, value: C, x: &mut Vec<C>) {
        self.cpu.fill(value, x);
    }

    fn copy<C: Real>(&self, x: &Vec<C>, y: &mut Vec<C>) {
        self.cpu.copy(x, y);
    }

    fn axpby<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        self.cpu.axpby(alpha, x, beta, y);
    }

    fn axpbypcz<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &Vec<C>, gamma: C, z: &mut Vec<C>) {
        self.cpu.axpbypcz(alpha, x, beta, y, gamma, z);
    }

    fn step_and_turn<C: Real>(&self, alpha: C, x: &mut Vec<C>, beta: C, z: &Vec<C>, p: &mut Vec<C>) {
        self.cpu.step_and_turn(alpha, x, beta, z, p);
    }

    // ---- not used by Krylov methods

    fn upload_part<S: Store>(
        &self,
        _: HostMatrix<S>,
        remote: Remote<S, NoHalo>,
    ) -> Result<HostMatrix<S>, DeviceError> {
        match remote.halo {}
    }

    fn halo_values(&self, halo: &NoHalo, _: &[f64]) -> Vec<f64> {
        match *halo {}
    }

    fn sweep<C: Reads<S>, S: Store>(
        &self,
        _: &HostMatrix<S>,
        _: C,
        _: &Vec<C>,
        _: &Vec<C>,
        _: &Vec<C>,
        _: C,
        _: &mut Vec<C>,
    ) {
        unimplemented!()
    }

    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        _: &HostMatrix<S>,
        _: &Vec<C>,
        _: &Vec<C>,
        _: Option<&Vec<C>>,
        _: usize,
        _: Direction,
        _: &mut Vec<C>,
    ) {
        unimplemented!()
    }

    fn cast<X: Real, Y: Real>(&self, _: &Vec<X>, _: &mut Vec<Y>) {
        unimplemented!()
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        _: f64,
        _: Option<&Vec<f32>>,
        _: &Vec<X>,
        _: &mut Vec<Y>,
    ) -> f64 {
        unimplemented!()
    }

    fn diagonal<C: Real>(&self, _: C, _: &Vec<C>, _: &Vec<C>, _: C, _: &mut Vec<C>) {
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
            let b = random_vector((8 + device.rank).pow(2), device.rank as u64);
            let mut work = Work::with_basis(method, Basis::F16, &device, &system).unwrap();
            let mut x = vec![0.0; b.len()];
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
        let (x, report) = solve_case::<_, f64>(&Cpu::new(), method, case, &Stopping::default(), None);
        assert_eq!(report.reason, StopReason::Converged);
        let [(first, here), (second, there)] = in_two_processes(|device| {
            let operator = MatrixOperator::new(&device, blocks[device.rank].clone()).unwrap();
            let preconditioner = MatrixOperator::new(&device, jacobi(&blocks[device.rank])).unwrap();
            let mut system = System::new(&operator);
            if method == Method::Richardson {
                system = system.preconditioner(&preconditioner);
            }
            let b = if device.rank == 0 { b[..n].to_vec() } else { b[n..].to_vec() };
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
        let b = random_vector(64, rank as u64);
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
            let b = vec![device.rank as f64 * 1e-200; 5];
            solved(method, LinearProblem::new(&device, &system, &b)).1.reason
        });
        assert_eq!(reasons, [StopReason::NotFinite; 2], "{method}");
    }
}
