//! The device of one rank among several: vectors hold own rows, and products receive the rest from
//! neighbours.
//!
//! ```text
//! A x = A_own x_own + A_remote x_halo
//! ```
//!
//! x_halo is sent in the working precision of the level. While it is in transit, the kernels of the
//! rank's own device (the CPU, or a GPU) compute A_own x_own; then the contribution of A_remote
//! x_halo is added (`border.rs`). Every operation is linear in A x, so it is added to the result.
//! Gauss–Seidel needs it before the sweep, because later rows of a block read earlier ones.
//! Reductions are over all ranks of a level.
//!
//! Cost: the kernels of the rank's device, one message in each direction per neighbour and product,
//! and one all-reduce per reduction. Kernels do not allocate.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use ziggurat_sparse::device::{
    Cpu, Device, DeviceError, Direction, Halo, HostSlice, HostSliceMut, Matrix, Processes, Traffic, Vector,
    Vectors,
};
use ziggurat_sparse::words::counted;
use ziggurat_sparse::{Kind, with_storage};

use crate::border::{Border, is_in_host_memory};
use crate::comm::Comm;
use crate::neighbourhood::Neighbourhood;

/// The part of one rank in a distributed computation: a device of its own, and a communicator.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_mpi::{Alone, Distributed};
/// use ziggurat_sparse::device::{DeviceExt, Vector};
/// // Every rank has a part of the vector; the dot product is that of the whole vector.
/// let device = Distributed::new(Arc::new(Alone));
/// assert_eq!(device.dot(&Vector::from(vec![1.0, 2.0]), &Vector::from(vec![3.0, 4.0])), 11.0);
/// assert!(device.any(true) && !device.any(false));
/// ```
#[derive(Clone, Debug)]
pub struct Distributed {
    device: Arc<dyn Device>,
    comm: Arc<dyn Comm>,
    /// The first failure of a kernel, until [`Device::finish`] reports it.
    failed: Arc<Mutex<Option<DeviceError>>>,
}

impl Distributed {
    /// The CPU of one rank of `comm`; all ranks of `comm` share the vectors.
    pub fn new(comm: Arc<dyn Comm>) -> Self {
        Distributed::over(&Cpu::new(), comm)
    }

    /// The device of one rank of `comm`; all ranks of `comm` share the vectors. All ranks have
    /// devices of the same kind.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_mpi::{Alone, Distributed};
    /// use ziggurat_sparse::device::{DeviceExt, Reference, Vector};
    /// let device = Distributed::over(&Reference, Arc::new(Alone));
    /// assert_eq!(device.norm(&Vector::from(vec![3.0, 4.0])), 5.0);
    /// ```
    pub fn over(device: &dyn Device, comm: Arc<dyn Comm>) -> Self {
        Distributed { device: device.share(), comm, failed: Arc::default() }
    }

    /// The same device among the ranks of another communicator.
    pub(crate) fn among(&self, comm: Arc<dyn Comm>) -> Self {
        Distributed { comm, ..self.clone() }
    }

    fn sum_of(&self, part: f64) -> f64 {
        let mut sum = [part];
        self.comm.sum_reals(&mut sum);
        sum[0]
    }

    /// Kernels return no errors: this one waits for `finish`.
    fn note(&self, result: Result<(), DeviceError>) {
        if let Err(error) = result {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

/// A rank's rows of a matrix: the memory of a [`Matrix`].
#[derive(Debug)]
struct DistributedMatrix {
    /// Own columns, on the rank's device.
    own: Matrix,
    /// The columns of other ranks.
    remote: Option<Border>,
}

impl DistributedMatrix {
    fn into_matrix(self) -> Matrix {
        let (number, shape) = (self.own.kind(), self.own.shape());
        with_storage!(number, |S| Matrix::new::<S>(shape, self))
    }
}

impl Processes for Distributed {
    fn take_part(&self, own: Matrix, remote: Box<dyn Any>) -> Result<Matrix, DeviceError> {
        let remote = with_storage!(own.kind(), |S| Border::new::<S>(&*self.device, own.shape(), remote))?;
        let own = self.device.take_matrix(own)?;
        Ok(DistributedMatrix { own, remote: Some(remote) }.into_matrix())
    }

    fn halo_values(&self, halo: &Halo, own: &[f64]) -> Vec<f64> {
        let around = Neighbourhood::of(halo);
        let (mut outgoing, mut incoming) = (vec![0.0; around.sent_rows()], vec![0.0; around.halo_rows()]);
        around.pack(own, &mut outgoing);
        around.swap(&outgoing, &mut incoming, around.block(), &mut || {});
        incoming
    }

    fn largest_of_all(&self, x: f64) -> f64 {
        self.comm.most(x)
    }

    fn sum_of_all(&self, numbers: &mut [i64]) {
        self.comm.sum(bytemuck::cast_slice_mut(numbers));
    }

    fn elements_before(&self, own: usize) -> u64 {
        self.comm.before(own as u64)
    }
}

impl Device for Distributed {
    fn name(&self) -> String {
        match self.comm.size() {
            1 => format!("1 rank, {}", self.device.name()),
            ranks => format!("{}, each {}", counted(ranks, "rank"), self.device.name()),
        }
    }

    fn share(&self) -> Arc<dyn Device> {
        Arc::new(self.clone())
    }

    fn computes_in(&self, number: Kind) -> bool {
        self.device.computes_in(number)
    }

    fn compresses_vectors(&self) -> bool {
        self.device.compresses_vectors()
    }

    fn traffic(&self) -> Option<Traffic> {
        self.device.traffic()
    }

    fn finish(&self) -> Result<(), DeviceError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.device.finish().and(failed.map_or(Ok(()), Err))
    }

    fn processes(&self) -> Option<&dyn Processes> {
        Some(self)
    }

    fn zeros(&self, number: Kind, len: usize) -> Result<Vector, DeviceError> {
        self.device.zeros(number, len)
    }

    fn take(&self, host: Vector) -> Result<Vector, DeviceError> {
        self.device.take(host)
    }

    fn take_matrix(&self, host: Matrix) -> Result<Matrix, DeviceError> {
        Ok(DistributedMatrix { own: self.device.take_matrix(host)?, remote: None }.into_matrix())
    }

    fn write(&self, host: HostSlice<'_>, x: &mut Vector) -> Result<(), DeviceError> {
        self.device.write(host, x)
    }

    fn download(&self, x: &Vector, host: HostSliceMut<'_>) -> Result<(), DeviceError> {
        self.device.download(x, host)
    }

    fn spmv(&self, alpha: f64, a: &Matrix, x: &Vector, beta: f64, y: &mut Vector) {
        let DistributedMatrix { own, remote } = a.memory();
        let own = |y: &mut Vector| self.device.spmv(alpha, own, x, beta, y);
        match remote {
            None => own(y),
            Some(border) => self.note(border.product(&*self.device, alpha, None, x, y, own)),
        }
    }

    fn residual(&self, a: &Matrix, x: &Vector, b: &Vector, r: &mut Vector) {
        let DistributedMatrix { own, remote } = a.memory();
        let own = |r: &mut Vector| self.device.residual(own, x, b, r);
        match remote {
            None => own(r),
            Some(border) => self.note(border.product(&*self.device, -1.0, None, x, r, own)),
        }
    }

    fn sweep(&self, a: &Matrix, omega: f64, d: &Vector, b: &Vector, x: &Vector, beta: f64, y: &mut Vector) {
        let DistributedMatrix { own, remote } = a.memory();
        let sweep = |b: &Vector, y: &mut Vector| self.device.sweep(own, omega, d, b, x, beta, y);
        let Some(border) = remote else { return sweep(b, y) };
        self.note(if is_in_host_memory(x) {
            border.product(&*self.device, -omega, Some(d), x, y, |y| sweep(b, y))
        } else {
            border.with_rest(&*self.device, x, b, |rest| sweep(rest, y))
        });
    }

    fn gauss_seidel(
        &self,
        a: &Matrix,
        d: &Vector,
        b: &Vector,
        x: Option<&Vector>,
        block: usize,
        direction: Direction,
        y: &mut Vector,
    ) {
        let DistributedMatrix { own, remote } = a.memory();
        let sweep = |b: &Vector, y: &mut Vector| self.device.gauss_seidel(own, d, b, x, block, direction, y);
        match (remote, x) {
            // Blocks contain own rows only, so the remote contribution is constant during the
            // sweep. It is subtracted from the right-hand side.
            (Some(border), Some(x)) => {
                self.note(border.with_rest(&*self.device, x, b, |rest| sweep(rest, y)));
            }
            _ => sweep(b, y),
        }
    }

    fn fill(&self, value: f64, x: &mut Vector) {
        self.device.fill(value, x);
    }

    fn copy(&self, x: &Vector, y: &mut Vector) {
        self.device.copy(x, y);
    }

    fn cast_scaled(
        &self,
        alpha: f64,
        d: Option<&Vector>,
        x: &Vector,
        y: &mut Vector,
        mut largest: Option<&mut f64>,
    ) {
        self.device.cast_scaled(alpha, d, x, y, largest.as_deref_mut());
        if let Some(largest) = largest {
            *largest = self.comm.most(*largest);
        }
    }

    fn axpby(&self, alpha: f64, x: &Vector, beta: f64, y: &mut Vector) {
        self.device.axpby(alpha, x, beta, y);
    }

    fn axpbypcz(&self, alpha: f64, x: &Vector, beta: f64, y: &Vector, gamma: f64, z: &mut Vector) {
        self.device.axpbypcz(alpha, x, beta, y, gamma, z);
    }

    fn diagonal(&self, alpha: f64, d: &Vector, x: &Vector, beta: f64, y: &mut Vector) {
        self.device.diagonal(alpha, d, x, beta, y);
    }

    fn step_and_turn(&self, alpha: f64, x: &mut Vector, beta: f64, z: &Vector, p: &mut Vector) {
        self.device.step_and_turn(alpha, x, beta, z, p);
    }

    fn combine(&self, coefficients: &[f64], xs: Vectors<'_>, beta: f64, y: &mut Vector) -> f64 {
        self.sum_of(self.device.combine(coefficients, xs, beta, y))
    }

    fn dots(&self, xs: Vectors<'_>, y: &Vector, out: &mut [f64]) {
        self.device.dots(xs, y, out);
        self.comm.sum_reals(out);
    }

    fn norm_max(&self, x: &Vector) -> f64 {
        self.comm.most(self.device.norm_max(x))
    }
}
