//! A device with the interface of separate memory: vectors are opaque, and transfers are counted.
//!
//! It computes with the CPU's kernels. Optionally it lacks double precision, or loses its work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ziggurat_sparse::device::{Cpu, DeviceError, Direction, HostMatrix, Kernels, Traffic};
use ziggurat_sparse::{Kind, Reads, Real, Store};

#[derive(Clone, Debug, Default)]
pub(crate) struct Far {
    pub(crate) cpu: Cpu,
    pub(crate) traffic: Arc<Mutex<Traffic>>,
    pub(crate) lacks_f64: bool,
    /// Number of kernels after which work is lost; 0 means never.
    pub(crate) lost_after: u64,
    /// Number of uploaded matrices in double precision.
    pub(crate) matrices_in_f64: Arc<AtomicU64>,
}

/// A vector in device memory.
#[derive(Debug)]
pub(crate) struct There<T>(Vec<T>);

impl Far {
    fn count(&self, add: impl FnOnce(&mut Traffic)) {
        add(&mut self.traffic.lock().unwrap());
    }

    fn kernel(&self) -> &Cpu {
        self.count(|traffic| traffic.kernels += 1);
        &self.cpu
    }

    /// Counts a kernel that returns a scalar.
    fn wait(&self) -> &Cpu {
        self.count(|traffic| {
            traffic.downloads += 1;
            traffic.downloaded_bytes += 8;
        });
        self.kernel()
    }

    fn up<T>(&self, len: usize) {
        self.count(|traffic| {
            traffic.uploads += 1;
            traffic.uploaded_bytes += (len * size_of::<T>()) as u64;
        });
    }
}

ziggurat_sparse::device_of_kernels!(Far);

impl Kernels for Far {
    type Vector<T: Store> = There<T>;
    type Matrix<S: Store> = HostMatrix<S>;

    fn name(&self) -> String {
        "far".to_owned()
    }

    fn computes_in(&self, number: Kind) -> bool {
        number != Kind::F64 || !self.lacks_f64
    }

    fn traffic(&self) -> Option<Traffic> {
        Some(*self.traffic.lock().unwrap())
    }

    fn zeros<T: Store>(&self, len: usize) -> Result<There<T>, DeviceError> {
        self.cpu.zeros(len).map(There)
    }

    fn upload<T: Store>(&self, host: &[T]) -> Result<There<T>, DeviceError> {
        self.up::<T>(host.len());
        self.cpu.upload(host).map(There)
    }

    fn write<T: Store>(&self, host: &[T], x: &mut There<T>) -> Result<(), DeviceError> {
        self.up::<T>(host.len());
        self.cpu.write(host, &mut x.0)
    }

    fn download<T: Store>(&self, x: &There<T>, host: &mut [T]) -> Result<(), DeviceError> {
        self.count(|traffic| {
            traffic.downloads += 1;
            traffic.downloaded_bytes += size_of_val(host) as u64;
        });
        self.cpu.download(&x.0, host)
    }

    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<HostMatrix<S>, DeviceError> {
        self.matrices_in_f64.fetch_add(u64::from(S::KIND == Kind::F64), Ordering::Relaxed);
        self.cpu.upload_matrix(host)
    }

    fn len<T: Store>(&self, x: &There<T>) -> usize {
        x.0.len()
    }

    fn shape<S: Store>(&self, a: &HostMatrix<S>) -> (usize, usize) {
        (a.rows(), a.cols())
    }

    fn finish(&self) -> Result<(), DeviceError> {
        let kernels = self.traffic.lock().unwrap().kernels;
        if self.lost_after > 0 && kernels > self.lost_after {
            return Err(DeviceError::Lost { device: self.name(), reason: "connection lost".to_owned() });
        }
        Ok(())
    }

    fn spmv<C: Reads<S>, S: Store>(
        &self,
        alpha: C,
        a: &HostMatrix<S>,
        x: &There<C>,
        beta: C,
        y: &mut There<C>,
    ) {
        self.kernel().spmv(alpha, a, &x.0, beta, &mut y.0);
    }

    fn residual<C: Reads<S>, S: Store>(
        &self,
        a: &HostMatrix<S>,
        x: &There<C>,
        b: &There<C>,
        r: &mut There<C>,
    ) {
        self.kernel().residual(a, &x.0, &b.0, &mut r.0);
    }

    fn sweep<C: Reads<S>, S: Store>(
        &self,
        a: &HostMatrix<S>,
        omega: C,
        d: &There<C>,
        b: &There<C>,
        x: &There<C>,
        beta: C,
        y: &mut There<C>,
    ) {
        self.kernel().sweep(a, omega, &d.0, &b.0, &x.0, beta, &mut y.0);
    }

    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        a: &HostMatrix<S>,
        d: &There<C>,
        b: &There<C>,
        x: Option<&There<C>>,
        block: usize,
        direction: Direction,
        y: &mut There<C>,
    ) {
        self.kernel().gauss_seidel(a, &d.0, &b.0, x.map(|x| &x.0), block, direction, &mut y.0);
    }

    fn fill<C: Real>(&self, value: C, x: &mut There<C>) {
        self.kernel().fill(value, &mut x.0);
    }

    fn copy<C: Real>(&self, x: &There<C>, y: &mut There<C>) {
        self.kernel().copy(&x.0, &mut y.0);
    }

    fn cast<X: Real, Y: Real>(&self, x: &There<X>, y: &mut There<Y>) {
        self.kernel().cast(&x.0, &mut y.0);
    }

    fn cast_scaled<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&There<f32>>,
        x: &There<X>,
        y: &mut There<Y>,
    ) {
        self.kernel().cast_scaled(alpha, d.map(|d| &d.0), &x.0, &mut y.0);
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&There<f32>>,
        x: &There<X>,
        y: &mut There<Y>,
    ) -> f64 {
        self.wait().cast_scaled_max(alpha, d.map(|d| &d.0), &x.0, &mut y.0)
    }

    fn axpby<C: Real>(&self, alpha: C, x: &There<C>, beta: C, y: &mut There<C>) {
        self.kernel().axpby(alpha, &x.0, beta, &mut y.0);
    }

    fn axpbypcz<C: Real>(&self, alpha: C, x: &There<C>, beta: C, y: &There<C>, gamma: C, z: &mut There<C>) {
        self.kernel().axpbypcz(alpha, &x.0, beta, &y.0, gamma, &mut z.0);
    }

    fn diagonal<C: Real>(&self, alpha: C, d: &There<C>, x: &There<C>, beta: C, y: &mut There<C>) {
        self.kernel().diagonal(alpha, &d.0, &x.0, beta, &mut y.0);
    }

    fn step_and_turn<C: Real>(&self, alpha: C, x: &mut There<C>, beta: C, z: &There<C>, p: &mut There<C>) {
        self.kernel().step_and_turn(alpha, &mut x.0, beta, &z.0, &mut p.0);
    }

    fn combine<C: Real>(&self, coefficients: &[C], xs: &[&There<C>], beta: C, y: &mut There<C>) -> f64 {
        let xs: Vec<&Vec<C>> = xs.iter().map(|x| &x.0).collect();
        self.wait().combine(coefficients, &xs, beta, &mut y.0)
    }

    fn dots<C: Real>(&self, xs: &[&There<C>], y: &There<C>, out: &mut [f64]) {
        let xs: Vec<&Vec<C>> = xs.iter().map(|x| &x.0).collect();
        self.wait().dots(&xs, &y.0, out);
    }

    fn norm_max<C: Real>(&self, x: &There<C>) -> f64 {
        self.wait().norm_max(&x.0)
    }
}
