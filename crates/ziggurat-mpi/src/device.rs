//! The device of one rank among several: vectors hold own rows, and products receive the rest from
//! neighbours.
//!
//! ```text
//! A x = A_own x_own + A_remote x_halo
//! ```
//!
//! x_halo is sent in the working precision of the level. While it is in transit, the kernels of
//! [`Cpu`] compute A_own x_own; then the few rows with remote columns get the contribution of
//! A_remote x_halo. Every operation is linear in A x, so the contribution is added to its result.
//! Gauss–Seidel needs it before the sweep, because later rows of a block read earlier ones.
//! Reductions are over all ranks of a level.
//!
//! Cost: that of [`Cpu`], one message in each direction per neighbour and product, and one
//! all-reduce per reduction. Kernels do not allocate.

use std::any::Any;
use std::borrow::Borrow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ziggurat_sparse::device::{Cpu, Device, DeviceError, Direction, HostMatrix, Remote};
use ziggurat_sparse::{Csr, Reads, Real, Store};

use crate::comm::Comm;
use crate::neighbourhood::Neighbourhood;

/// The part of one rank in a distributed computation.
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
pub struct Distributed {
    cpu: Cpu,
    comm: Arc<dyn Comm>,
}

impl Distributed {
    /// The CPU of one rank among those of `comm`, which share the vectors.
    pub fn new(comm: Arc<dyn Comm>) -> Self {
        Distributed { cpu: Cpu::new(), comm }
    }

    fn sum_of(&self, part: f64) -> f64 {
        let mut sum = [part];
        self.comm.sum_reals(&mut sum);
        sum[0]
    }
}

/// The halo of a product, in the order of its `Neighbourhood`.
#[derive(Clone, Debug)]
pub struct HaloOf(pub(crate) Arc<Neighbourhood>);

/// A rank's rows of a matrix.
#[derive(Debug)]
pub struct DistributedMatrix<S: Store> {
    own: HostMatrix<S>,
    remote: Option<Border<S>>,
}

/// The entries of own rows in remote columns.
#[derive(Debug)]
struct Border<S: 'static> {
    rows: Vec<u32>,
    matrix: Csr<S>,
    halo: Arc<Neighbourhood>,
    buffers: Mutex<Buffers>,
}

/// Send and receive buffers, large enough for doubles, and a right-hand side for Gauss–Seidel.
#[derive(Debug)]
struct Buffers {
    outgoing: Vec<u64>,
    incoming: Vec<u64>,
    wide: Vec<f64>,
    narrow: Vec<f32>,
}

impl Buffers {
    /// A right-hand side of length `len`, allocated by the first call.
    fn right_hand_side<C: Real>(&mut self, len: usize) -> Option<&mut Vec<C>> {
        let either: [&mut dyn Any; 2] = [&mut self.wide, &mut self.narrow];
        let vector = either.into_iter().find_map(|vector| vector.downcast_mut::<Vec<C>>())?;
        vector.resize(len, C::zero());
        Some(vector)
    }
}

impl<S: Store> Border<S> {
    fn new(remote: Remote<S, HaloOf>) -> Self {
        let halo = remote.halo.0;
        let (outgoing, incoming) = (vec![0; halo.sent_rows()], vec![0; halo.halo_rows()]);
        let buffers = Buffers { outgoing, incoming, wide: Vec::new(), narrow: Vec::new() };
        Border { rows: remote.rows, matrix: remote.matrix, halo, buffers: Mutex::new(buffers) }
    }

    /// Calls `meanwhile` while the remote elements of x are in transit.
    fn exchange<C: Real>(&self, x: &[C], meanwhile: &mut dyn FnMut()) -> MutexGuard<'_, Buffers> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let Buffers { outgoing, incoming, .. } = &mut *buffers;
        let outgoing: &mut [C] = &mut bytemuck::cast_slice_mut(outgoing)[..self.halo.sent_rows()];
        let incoming: &mut [C] = &mut bytemuck::cast_slice_mut(incoming)[..self.halo.halo_rows()];
        self.halo.pack(x, outgoing);
        self.halo.swap(outgoing, incoming, self.halo.block(), meanwhile);
        buffers
    }

    /// Calls `add(i, (A_remote x_halo)_i)` for every row i with remote columns.
    fn shares<C: Reads<S>>(&self, incoming: &[u64], mut add: impl FnMut(usize, C)) {
        let x: &[C] = bytemuck::cast_slice(incoming);
        for (place, &row) in self.rows.iter().enumerate() {
            let (columns, values) = self.matrix.row(place);
            let mut sum = C::zero();
            for (&column, &value) in columns.iter().zip(values) {
                sum += C::read(value) * x[column as usize];
            }
            add(row as usize, sum);
        }
    }
}

impl<S: Store> DistributedMatrix<S> {
    /// Calls `own` while messages are in transit, and then `add` with the contributions of remote
    /// columns.
    fn product<C: Reads<S>, Y>(
        &self,
        x: &[C],
        y: &mut Y,
        mut own: impl FnMut(&mut Y),
        mut add: impl FnMut(&mut Y, usize, C),
    ) {
        match &self.remote {
            None => own(y),
            Some(border) => {
                let buffers = border.exchange(x, &mut || own(y));
                border.shares(&buffers.incoming, |row, share| add(y, row, share));
            }
        }
    }
}

impl Device for Distributed {
    type Vector<T: Store> = Vec<T>;
    type Matrix<S: Store> = DistributedMatrix<S>;
    type Halo = HaloOf;

    fn name(&self) -> String {
        format!("{} ranks, each {}", self.comm.size(), self.cpu.name())
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

    fn to_host<T: Store>(&self, x: Vec<T>) -> Result<Vec<T>, DeviceError> {
        self.cpu.to_host(x)
    }

    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<DistributedMatrix<S>, DeviceError> {
        Ok(DistributedMatrix { own: host, remote: None })
    }

    fn upload_part<S: Store>(
        &self,
        own: HostMatrix<S>,
        remote: Remote<S, HaloOf>,
    ) -> Result<DistributedMatrix<S>, DeviceError> {
        Ok(DistributedMatrix { own, remote: Some(Border::new(remote)) })
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

    fn len<T: Store>(&self, x: &Vec<T>) -> usize {
        x.len()
    }

    fn shape<S: Store>(&self, a: &DistributedMatrix<S>) -> (usize, usize) {
        (a.own.rows(), a.own.cols())
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.cpu.finish()
    }

    fn spmv<C: Reads<S>, S: Store>(
        &self,
        alpha: C,
        a: &DistributedMatrix<S>,
        x: &Vec<C>,
        beta: C,
        y: &mut Vec<C>,
    ) {
        let own = |y: &mut Vec<C>| self.cpu.spmv(alpha, &a.own, x, beta, y);
        a.product(x, y, own, |y, row, share: C| y[row] += alpha * share);
    }

    fn residual<C: Reads<S>, S: Store>(
        &self,
        a: &DistributedMatrix<S>,
        x: &Vec<C>,
        b: &Vec<C>,
        r: &mut Vec<C>,
    ) {
        let own = |r: &mut Vec<C>| self.cpu.residual(&a.own, x, b, r);
        a.product(x, r, own, |r, row, share: C| r[row] -= share);
    }

    fn sweep<C: Reads<S>, S: Store>(
        &self,
        a: &DistributedMatrix<S>,
        omega: C,
        d: &Vec<C>,
        b: &Vec<C>,
        x: &Vec<C>,
        beta: C,
        y: &mut Vec<C>,
    ) {
        let own = |y: &mut Vec<C>| self.cpu.sweep(&a.own, omega, d, b, x, beta, y);
        a.product(x, y, own, |y, row, share: C| y[row] -= omega * d[row] * share);
    }

    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        a: &DistributedMatrix<S>,
        d: &Vec<C>,
        b: &Vec<C>,
        x: Option<&Vec<C>>,
        block: usize,
        direction: Direction,
        y: &mut Vec<C>,
    ) {
        let (Some(border), Some(x)) = (&a.remote, x) else {
            return self.cpu.gauss_seidel(&a.own, d, b, x, block, direction, y);
        };
        // Blocks contain own rows only, so the remote contribution is constant during the sweep. It
        // is subtracted from the right-hand side.
        let mut buffers = border.exchange(x, &mut || {});
        let incoming = std::mem::take(&mut buffers.incoming);
        if let Some(rest) = buffers.right_hand_side::<C>(b.len()) {
            rest.copy_from_slice(b);
            border.shares(&incoming, |row, share: C| rest[row] -= share);
            self.cpu.gauss_seidel(&a.own, d, rest, Some(x), block, direction, y);
        }
        buffers.incoming = incoming;
    }

    fn fill<C: Real>(&self, value: C, x: &mut Vec<C>) {
        self.cpu.fill(value, x);
    }

    fn copy<C: Real>(&self, x: &Vec<C>, y: &mut Vec<C>) {
        self.cpu.copy(x, y);
    }

    fn cast<X: Real, Y: Real>(&self, x: &Vec<X>, y: &mut Vec<Y>) {
        self.cpu.cast(x, y);
    }

    fn cast_scaled<X: Real, Y: Real>(&self, alpha: f64, d: Option<&Vec<f32>>, x: &Vec<X>, y: &mut Vec<Y>) {
        self.cpu.cast_scaled(alpha, d, x, y);
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Vec<f32>>,
        x: &Vec<X>,
        y: &mut Vec<Y>,
    ) -> f64 {
        self.comm.most(self.cpu.cast_scaled_max(alpha, d, x, y))
    }

    fn axpby<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        self.cpu.axpby(alpha, x, beta, y);
    }

    fn axpbypcz<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &Vec<C>, gamma: C, z: &mut Vec<C>) {
        self.cpu.axpbypcz(alpha, x, beta, y, gamma, z);
    }

    fn diagonal<C: Real>(&self, alpha: C, d: &Vec<C>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        self.cpu.diagonal(alpha, d, x, beta, y);
    }

    fn step_and_turn<C: Real>(&self, alpha: C, x: &mut Vec<C>, beta: C, z: &Vec<C>, p: &mut Vec<C>) {
        self.cpu.step_and_turn(alpha, x, beta, z, p);
    }

    fn combine<C: Real, B: Borrow<Vec<C>> + Sync>(
        &self,
        coefficients: &[C],
        xs: &[B],
        beta: C,
        y: &mut Vec<C>,
    ) -> f64 {
        self.sum_of(self.cpu.combine(coefficients, xs, beta, y))
    }

    fn dot<C: Real>(&self, x: &Vec<C>, y: &Vec<C>) -> f64 {
        self.sum_of(self.cpu.dot(x, y))
    }

    fn dots<C: Real, B: Borrow<Vec<C>> + Sync>(&self, xs: &[B], y: &Vec<C>, out: &mut [f64]) {
        self.cpu.dots(xs, y, out);
        self.comm.sum_reals(out);
    }

    fn norm_max<C: Real>(&self, x: &Vec<C>) -> f64 {
        self.comm.most(self.cpu.norm_max(x))
    }
}
