//! The CPU device: threads from rayon, instruction set selected at run time.
//!
//! Each operation has one kernel for every format and pair of number types: `row_products` for
//! passes over a matrix, `vector` and `reduce` for the rest. Kernels run in the caller's rayon
//! pool; results do not depend on the number of threads.

mod bsr;
pub(super) mod compiled;
mod compressed;
mod csr;
mod delta_sell;
mod dia;
mod gauss_seidel;
mod grid_transfer;
mod operations;
mod reduce;
mod row_products;
mod tiles;
mod vector;

use super::memory::{copied, zeros};
use super::{DeviceError, Direction, HostMatrix, Kernels, Reads};
use crate::device_of_kernels;
use crate::number::{Real, Store};
use crate::parallel::{over_pieces, threads};
use crate::simd::Simd;
use crate::words::counted;
use vector::{map1, map2};

/// The fast device for CPUs.
///
/// To choose the number of threads, call it inside your own pool:
///
/// ```
/// use ziggurat_sparse::device::{Cpu, DeviceExt};
/// let cpu = Cpu::new();
/// let x = cpu.adopt(vec![1.0; 1000]).unwrap();
/// let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// assert_eq!(pool.install(|| cpu.dot(&x, &x)), 1000.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    simd: Simd,
}

impl Default for Cpu {
    fn default() -> Self {
        Cpu { simd: Simd::best() }
    }
}

impl Cpu {
    /// A CPU device with the best instruction set of this CPU.
    pub fn new() -> Self {
        Self::default()
    }

    /// A CPU device restricted to one instruction set, or `None` if this CPU lacks it. For tests
    /// and comparisons.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, Simd};
    /// assert!(Cpu::with_simd(Simd::Portable).is_some());
    /// ```
    pub fn with_simd(simd: Simd) -> Option<Self> {
        simd.is_available().then_some(Cpu { simd })
    }

    /// The instruction set in use.
    pub fn simd(&self) -> Simd {
        self.simd
    }
}

impl Kernels for Cpu {
    type Vector<T: Store> = Vec<T>;
    type Matrix<S: Store> = HostMatrix<S>;

    fn name(&self) -> String {
        format!("cpu ({:?}, {})", self.simd, counted(threads(), "thread"))
    }

    fn zeros<T: Store>(&self, len: usize) -> Result<Vec<T>, DeviceError> {
        zeros(len)
    }

    fn upload<T: Store>(&self, host: &[T]) -> Result<Vec<T>, DeviceError> {
        copied(host)
    }

    fn adopt<T: Store>(&self, host: Vec<T>) -> Result<Vec<T>, DeviceError> {
        Ok(host)
    }

    fn write<T: Store>(&self, host: &[T], x: &mut Vec<T>) -> Result<(), DeviceError> {
        x.copy_from_slice(host);
        Ok(())
    }

    fn download<T: Store>(&self, x: &Vec<T>, host: &mut [T]) -> Result<(), DeviceError> {
        host.copy_from_slice(x);
        Ok(())
    }

    fn to_host<T: Store>(&self, x: Vec<T>) -> Result<Vec<T>, DeviceError> {
        Ok(x)
    }

    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<HostMatrix<S>, DeviceError> {
        Ok(host)
    }

    fn len<T: Store>(&self, x: &Vec<T>) -> usize {
        x.len()
    }

    fn shape<S: Store>(&self, a: &HostMatrix<S>) -> (usize, usize) {
        (a.rows(), a.cols())
    }

    fn finish(&self) -> Result<(), DeviceError> {
        Ok(()) // kernels return when they are done
    }

    fn spmv<C: Reads<S>, S: Store>(&self, alpha: C, a: &HostMatrix<S>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        C::spmv(self.simd, alpha, a, x, beta, y);
    }

    fn residual<C: Reads<S>, S: Store>(&self, a: &HostMatrix<S>, x: &Vec<C>, b: &Vec<C>, r: &mut Vec<C>) {
        C::residual(self.simd, a, x, b, r);
    }

    fn sweep<C: Reads<S>, S: Store>(
        &self,
        a: &HostMatrix<S>,
        omega: C,
        d: &Vec<C>,
        b: &Vec<C>,
        x: &Vec<C>,
        beta: C,
        y: &mut Vec<C>,
    ) {
        C::sweep(self.simd, a, (omega, beta), [d, b, x], y);
    }

    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        a: &HostMatrix<S>,
        d: &Vec<C>,
        b: &Vec<C>,
        x: Option<&Vec<C>>,
        block: usize,
        direction: Direction,
        y: &mut Vec<C>,
    ) {
        C::gauss_seidel(self.simd, a, [d, b], x.map(Vec::as_slice), (block, direction), y);
    }

    fn fill<C: Real>(&self, value: C, x: &mut Vec<C>) {
        over_pieces(x, &|_, x| x.fill(value));
    }

    fn copy<C: Real>(&self, x: &Vec<C>, y: &mut Vec<C>) {
        map1(self.simd, x, y, move |x, _| x);
    }

    fn cast<X: Real, Y: Real>(&self, x: &Vec<X>, y: &mut Vec<Y>) {
        map1(self.simd, x, y, move |x, _| Y::narrow(x.wide()));
    }

    fn cast_scaled<X: Real, Y: Real>(&self, alpha: f64, d: Option<&Vec<f32>>, x: &Vec<X>, y: &mut Vec<Y>) {
        match d {
            None => map1(self.simd, x, y, move |x, _| Y::narrow(alpha * x.wide())),
            Some(_) => {
                self.cast_scaled_max(alpha, d, x, y);
            }
        }
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Vec<f32>>,
        x: &Vec<X>,
        y: &mut Vec<Y>,
    ) -> f64 {
        reduce::cast_scaled_max(self.simd, alpha, d.map(Vec::as_slice), x, y)
    }

    fn axpby<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        if beta.is_zero() {
            map1(self.simd, x, y, move |x, _| alpha * x);
        } else {
            map1(self.simd, x, y, move |x, y| alpha * x + beta * y);
        }
    }

    fn axpbypcz<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &Vec<C>, gamma: C, z: &mut Vec<C>) {
        if gamma.is_zero() {
            map2(self.simd, x, y, z, move |x, y, _| alpha * x + beta * y);
        } else {
            map2(self.simd, x, y, z, move |x, y, z| alpha * x + beta * y + gamma * z);
        }
    }

    fn diagonal<C: Real>(&self, alpha: C, d: &Vec<C>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        if beta.is_zero() {
            map2(self.simd, d, x, y, move |d, x, _| alpha * d * x);
        } else {
            map2(self.simd, d, x, y, move |d, x, y| alpha * d * x + beta * y);
        }
    }

    fn step_and_turn<C: Real>(&self, alpha: C, x: &mut Vec<C>, beta: C, z: &Vec<C>, p: &mut Vec<C>) {
        vector::step_and_turn(self.simd, alpha, x, beta, z, p);
    }

    fn combine<C: Real>(&self, coefficients: &[C], xs: &[&Vec<C>], beta: C, y: &mut Vec<C>) -> f64 {
        reduce::combine(self.simd, coefficients, xs, beta, y)
    }

    fn dots<C: Real>(&self, xs: &[&Vec<C>], y: &Vec<C>, out: &mut [f64]) {
        reduce::dots(self.simd, xs, y, out);
    }

    fn dot<C: Real>(&self, x: &Vec<C>, y: &Vec<C>) -> f64 {
        reduce::dot(self.simd, x, y)
    }

    fn norm_max<C: Real>(&self, x: &Vec<C>) -> f64 {
        reduce::norm_max(self.simd, x)
    }

    fn compresses_vectors(&self) -> bool {
        true
    }

    fn compress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<C>, y: &mut Vec<S>) {
        C::compress(self.simd, alpha, x, y);
    }

    fn decompress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<S>, y: &mut Vec<C>) {
        C::decompress(self.simd, alpha, x, y);
    }

    fn dots_compressed<C: Reads<S>, S: Store>(&self, xs: &[&Vec<S>], y: &Vec<C>, out: &mut [f64]) {
        C::dots_compressed(self.simd, xs, y, out);
    }

    fn combine_compressed<C: Reads<S>, S: Store>(
        &self,
        coefficients: &[C],
        xs: &[&Vec<S>],
        beta: C,
        y: &mut Vec<C>,
    ) -> f64 {
        C::combine_compressed(self.simd, coefficients, xs, beta, y)
    }
}

device_of_kernels!(Cpu);
