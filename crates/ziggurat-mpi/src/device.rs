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

use std::borrow::Borrow;
use std::sync::{Arc, Mutex, PoisonError};

use ziggurat_sparse::device::{Cpu, Device, DeviceError, Direction, HostMatrix, Remote, Traffic};
use ziggurat_sparse::words::counted;
use ziggurat_sparse::{Kind, Reads, Real, Store};

use crate::border::Border;
use crate::comm::Comm;
use crate::neighbourhood::HaloOf;

/// The part of one rank in a distributed computation: a device of its own, and a communicator.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_mpi::{Alone, Distributed};
/// use ziggurat_sparse::device::Device;
/// // Every rank has a part of the vector; the dot product is that of the whole vector.
/// let device = Distributed::new(Arc::new(Alone));
/// assert_eq!(device.dot(&vec![1.0, 2.0], &vec![3.0, 4.0]), 11.0);
/// assert!(device.any(true) && !device.any(false));
/// ```
#[derive(Clone, Debug)]
pub struct Distributed<D = Cpu> {
    device: D,
    comm: Arc<dyn Comm>,
    /// The first failure of a kernel, until [`Device::finish`] reports it.
    failed: Arc<Mutex<Option<DeviceError>>>,
}

impl Distributed {
    /// The CPU of one rank of `comm`; all ranks of `comm` share the vectors.
    pub fn new(comm: Arc<dyn Comm>) -> Self {
        Distributed::over(Cpu::new(), comm)
    }
}

impl<D: Device> Distributed<D> {
    /// The device of one rank of `comm`; all ranks of `comm` share the vectors. All ranks have
    /// devices of the same kind.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_mpi::{Alone, Distributed};
    /// use ziggurat_sparse::device::{Device, Reference};
    /// let device = Distributed::over(Reference, Arc::new(Alone));
    /// assert_eq!(device.norm(&vec![3.0, 4.0]), 5.0);
    /// ```
    pub fn over(device: D, comm: Arc<dyn Comm>) -> Self {
        Distributed { device, comm, failed: Arc::default() }
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

/// A rank's rows of a matrix.
#[derive(Debug)]
pub struct DistributedMatrix<S: Store, D: Device> {
    own: D::Matrix<S>,
    remote: Option<Border<S, D>>,
}

impl<D: Device> Device for Distributed<D> {
    type Vector<T: Store> = D::Vector<T>;
    type Matrix<S: Store> = DistributedMatrix<S, D>;
    type Halo = HaloOf;
    type Setup = D::Setup;

    fn name(&self) -> String {
        match self.comm.size() {
            1 => format!("1 rank, {}", self.device.name()),
            ranks => format!("{}, each {}", counted(ranks, "rank"), self.device.name()),
        }
    }

    fn computes_in(&self, number: Kind) -> bool {
        self.device.computes_in(number)
    }

    fn traffic(&self) -> Option<Traffic> {
        self.device.traffic()
    }

    fn zeros<T: Store>(&self, len: usize) -> Result<D::Vector<T>, DeviceError> {
        self.device.zeros(len)
    }

    fn upload<T: Store>(&self, host: &[T]) -> Result<D::Vector<T>, DeviceError> {
        self.device.upload(host)
    }

    fn adopt<T: Store>(&self, host: Vec<T>) -> Result<D::Vector<T>, DeviceError> {
        self.device.adopt(host)
    }

    fn write<T: Store>(&self, host: &[T], x: &mut D::Vector<T>) -> Result<(), DeviceError> {
        self.device.write(host, x)
    }

    fn download<T: Store>(&self, x: &D::Vector<T>, host: &mut [T]) -> Result<(), DeviceError> {
        self.device.download(x, host)
    }

    fn to_host<T: Store>(&self, x: D::Vector<T>) -> Result<Vec<T>, DeviceError> {
        self.device.to_host(x)
    }

    fn elements<'a, T: Store>(&self, x: &'a D::Vector<T>) -> Option<&'a [T]> {
        self.device.elements(x)
    }

    fn elements_mut<'a, T: Store>(&self, x: &'a mut D::Vector<T>) -> Option<&'a mut [T]> {
        self.device.elements_mut(x)
    }

    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<DistributedMatrix<S, D>, DeviceError> {
        Ok(DistributedMatrix { own: self.device.upload_matrix(host)?, remote: None })
    }

    fn upload_part<S: Store>(
        &self,
        own: HostMatrix<S>,
        remote: Remote<S, HaloOf>,
    ) -> Result<DistributedMatrix<S, D>, DeviceError> {
        let border = Border::new(&self.device, (own.rows(), own.cols()), remote)?;
        Ok(DistributedMatrix { own: self.device.upload_matrix(own)?, remote: Some(border) })
    }

    fn halo_values(&self, halo: &HaloOf, own: &[f64]) -> Vec<f64> {
        let around = &halo.0;
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

    fn len<T: Store>(&self, x: &D::Vector<T>) -> usize {
        self.device.len(x)
    }

    fn shape<S: Store>(&self, a: &DistributedMatrix<S, D>) -> (usize, usize) {
        self.device.shape(&a.own)
    }

    fn finish(&self) -> Result<(), DeviceError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.device.finish().and(failed.map_or(Ok(()), Err))
    }

    fn spmv<C: Reads<S>, S: Store>(
        &self,
        alpha: C,
        a: &DistributedMatrix<S, D>,
        x: &D::Vector<C>,
        beta: C,
        y: &mut D::Vector<C>,
    ) {
        let own = |y: &mut D::Vector<C>| self.device.spmv(alpha, &a.own, x, beta, y);
        let Some(border) = &a.remote else { return own(y) };
        self.note(border.product(
            &self.device,
            x,
            y,
            own,
            |y, row, share| y[row] += alpha * share,
            |remote, halo, y| self.device.spmv(alpha, remote, halo, C::one(), y),
        ));
    }

    fn residual<C: Reads<S>, S: Store>(
        &self,
        a: &DistributedMatrix<S, D>,
        x: &D::Vector<C>,
        b: &D::Vector<C>,
        r: &mut D::Vector<C>,
    ) {
        let own = |r: &mut D::Vector<C>| self.device.residual(&a.own, x, b, r);
        let Some(border) = &a.remote else { return own(r) };
        self.note(border.product(
            &self.device,
            x,
            r,
            own,
            |r, row, share| r[row] -= share,
            |remote, halo, r| self.device.spmv(-C::one(), remote, halo, C::one(), r),
        ));
    }

    fn sweep<C: Reads<S>, S: Store>(
        &self,
        a: &DistributedMatrix<S, D>,
        omega: C,
        d: &D::Vector<C>,
        b: &D::Vector<C>,
        x: &D::Vector<C>,
        beta: C,
        y: &mut D::Vector<C>,
    ) {
        let device = &self.device;
        let own = |y: &mut D::Vector<C>| device.sweep(&a.own, omega, d, b, x, beta, y);
        let Some(border) = &a.remote else { return own(y) };
        self.note(match device.elements(d) {
            // All vectors are in host memory, so the last closure is never called.
            Some(d) => {
                let add = |y: &mut [C], row: usize, share: C| y[row] -= omega * d[row] * share;
                border.product(device, x, y, own, add, |_, _, _| ())
            }
            None => border.with_rest(device, x, b, |rest| device.sweep(&a.own, omega, d, rest, x, beta, y)),
        });
    }

    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        a: &DistributedMatrix<S, D>,
        d: &D::Vector<C>,
        b: &D::Vector<C>,
        x: Option<&D::Vector<C>>,
        block: usize,
        direction: Direction,
        y: &mut D::Vector<C>,
    ) {
        let (Some(border), Some(x)) = (&a.remote, x) else {
            return self.device.gauss_seidel(&a.own, d, b, x, block, direction, y);
        };
        // Blocks contain own rows only, so the remote contribution is constant during the sweep. It
        // is subtracted from the right-hand side.
        self.note(border.with_rest(&self.device, x, b, |rest| {
            self.device.gauss_seidel(&a.own, d, rest, Some(x), block, direction, y);
        }));
    }

    fn fill<C: Real>(&self, value: C, x: &mut D::Vector<C>) {
        self.device.fill(value, x);
    }

    fn copy<C: Real>(&self, x: &D::Vector<C>, y: &mut D::Vector<C>) {
        self.device.copy(x, y);
    }

    fn cast<X: Real, Y: Real>(&self, x: &D::Vector<X>, y: &mut D::Vector<Y>) {
        self.device.cast(x, y);
    }

    fn cast_scaled<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&D::Vector<f32>>,
        x: &D::Vector<X>,
        y: &mut D::Vector<Y>,
    ) {
        self.device.cast_scaled(alpha, d, x, y);
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&D::Vector<f32>>,
        x: &D::Vector<X>,
        y: &mut D::Vector<Y>,
    ) -> f64 {
        self.comm.most(self.device.cast_scaled_max(alpha, d, x, y))
    }

    fn axpby<C: Real>(&self, alpha: C, x: &D::Vector<C>, beta: C, y: &mut D::Vector<C>) {
        self.device.axpby(alpha, x, beta, y);
    }

    fn axpbypcz<C: Real>(
        &self,
        alpha: C,
        x: &D::Vector<C>,
        beta: C,
        y: &D::Vector<C>,
        gamma: C,
        z: &mut D::Vector<C>,
    ) {
        self.device.axpbypcz(alpha, x, beta, y, gamma, z);
    }

    fn diagonal<C: Real>(&self, alpha: C, d: &D::Vector<C>, x: &D::Vector<C>, beta: C, y: &mut D::Vector<C>) {
        self.device.diagonal(alpha, d, x, beta, y);
    }

    fn step_and_turn<C: Real>(
        &self,
        alpha: C,
        x: &mut D::Vector<C>,
        beta: C,
        z: &D::Vector<C>,
        p: &mut D::Vector<C>,
    ) {
        self.device.step_and_turn(alpha, x, beta, z, p);
    }

    fn combine<C: Real, B: Borrow<D::Vector<C>> + Sync>(
        &self,
        coefficients: &[C],
        xs: &[B],
        beta: C,
        y: &mut D::Vector<C>,
    ) -> f64 {
        self.sum_of(self.device.combine(coefficients, xs, beta, y))
    }

    fn dot<C: Real>(&self, x: &D::Vector<C>, y: &D::Vector<C>) -> f64 {
        self.sum_of(self.device.dot(x, y))
    }

    fn dots<C: Real, B: Borrow<D::Vector<C>> + Sync>(&self, xs: &[B], y: &D::Vector<C>, out: &mut [f64]) {
        self.device.dots(xs, y, out);
        self.comm.sum_reals(out);
    }

    fn norm_max<C: Real>(&self, x: &D::Vector<C>) -> f64 {
        self.comm.most(self.device.norm_max(x))
    }

    fn compresses_vectors(&self) -> bool {
        self.device.compresses_vectors()
    }

    fn compress<C: Reads<S>, S: Store>(&self, alpha: C, x: &D::Vector<C>, y: &mut D::Vector<S>) {
        self.device.compress(alpha, x, y);
    }

    fn decompress<C: Reads<S>, S: Store>(&self, alpha: C, x: &D::Vector<S>, y: &mut D::Vector<C>) {
        self.device.decompress(alpha, x, y);
    }

    fn dots_compressed<C: Reads<S>, S: Store>(&self, xs: &[D::Vector<S>], y: &D::Vector<C>, out: &mut [f64]) {
        self.device.dots_compressed(xs, y, out);
        self.comm.sum_reals(out);
    }

    fn combine_compressed<C: Reads<S>, S: Store>(
        &self,
        coefficients: &[C],
        xs: &[D::Vector<S>],
        beta: C,
        y: &mut D::Vector<C>,
    ) -> f64 {
        self.sum_of(self.device.combine_compressed(coefficients, xs, beta, y))
    }
}
