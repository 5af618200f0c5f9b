//! The reference device: every kernel follows its formula, one entry after another, on one thread.
//!
//! It is the oracle for testing other devices. It is not meant for solving, and should not be
//! optimised.

use super::{DeviceError, Direction, HostMatrix, Kernels, Reads, SetupDevice};
use crate::number::{Real, Store};
use crate::{device_of_kernels, setup_device_of_kernels};

/// The slow, readable device.
///
/// ```
/// use ziggurat_sparse::device::{Kernels, Reference};
/// let x = Reference.upload(&[1.0, 2.0])?;
/// assert_eq!(Reference.dot(&x, &x), 5.0);
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

/// (A x)_i, one entry after another.
fn row_product<C: Reads<S>, S: Store>(a: &HostMatrix<S>, i: usize, x: &[C]) -> C {
    let mut sum = C::zero();
    a.for_each_entry(i, |column, value| sum += C::read(value) * x[column]);
    sum
}

/// (A x)_i for every row i.
fn product<C: Reads<S>, S: Store>(a: &HostMatrix<S>, x: &[C]) -> Vec<C> {
    assert_eq!(a.cols(), x.len(), "columns of A, length of x");
    (0..a.rows()).map(|i| row_product(a, i, x)).collect()
}

/// β y, or zero without reading y if β is zero.
fn times<C: Real>(beta: C, y: C) -> C {
    if beta.is_zero() { C::zero() } else { beta * y }
}

/// A stored vector in the number type of arithmetic.
fn widened<C: Reads<S>, S: Store>(stored: &[S]) -> Vec<C> {
    stored.iter().map(|&x| C::read(x)).collect()
}

impl Kernels for Reference {
    type Vector<T: Store> = Vec<T>;
    type Matrix<S: Store> = HostMatrix<S>;

    fn name(&self) -> String {
        "reference".to_owned()
    }

    fn zeros<T: Store>(&self, len: usize) -> Result<Vec<T>, DeviceError> {
        Ok(vec![T::default(); len])
    }

    fn upload<T: Store>(&self, host: &[T]) -> Result<Vec<T>, DeviceError> {
        Ok(host.to_vec())
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
        Ok(())
    }

    fn spmv<C: Reads<S>, S: Store>(&self, alpha: C, a: &HostMatrix<S>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        assert_eq!(a.rows(), y.len(), "rows of A, length of y");
        for (y, ax) in y.iter_mut().zip(product(a, x)) {
            *y = alpha * ax + times(beta, *y);
        }
    }

    fn residual<C: Reads<S>, S: Store>(&self, a: &HostMatrix<S>, x: &Vec<C>, b: &Vec<C>, r: &mut Vec<C>) {
        assert_eq!((a.rows(), a.rows()), (b.len(), r.len()), "rows of A, lengths of b and r");
        for (i, ax) in product(a, x).into_iter().enumerate() {
            r[i] = b[i] - ax;
        }
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
        assert_eq!(
            [d.len(), b.len(), y.len(), x.len()],
            [a.rows(); 4],
            "rows of A, lengths of d, b, y and x"
        );
        for (i, ax) in product(a, x).into_iter().enumerate() {
            let momentum = if beta.is_zero() { C::zero() } else { beta * (x[i] - y[i]) };
            y[i] = x[i] + omega * d[i] * (b[i] - ax) + momentum;
        }
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
        let n = a.rows();
        assert_eq!([d.len(), b.len(), a.cols(), y.len()], [n; 4], "a square A, lengths of d, b and y");
        let zero = vec![C::zero(); n];
        let x = x.unwrap_or(&zero);
        let block = block.clamp(1, n.max(1)).next_multiple_of(a.rows_per_block());
        y.clone_from(x);
        for first in (0..n).step_by(block) {
            let mut order: Vec<usize> = (first..(first + block).min(n)).collect();
            if direction == Direction::Backward {
                order.reverse();
            }
            for i in order {
                // The newest values: y within this block, x outside.
                let newest: Vec<C> =
                    (0..n).map(|j| if j / block == first / block { y[j] } else { x[j] }).collect();
                y[i] = x[i] + d[i] * (b[i] - row_product(a, i, &newest));
            }
        }
    }

    fn fill<C: Real>(&self, value: C, x: &mut Vec<C>) {
        for x in x {
            *x = value;
        }
    }

    fn copy<C: Real>(&self, x: &Vec<C>, y: &mut Vec<C>) {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
        y.clone_from(x);
    }

    fn cast<X: Real, Y: Real>(&self, x: &Vec<X>, y: &mut Vec<Y>) {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
        for (x, y) in x.iter().zip(y) {
            *y = Y::narrow(x.wide());
        }
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Vec<f32>>,
        x: &Vec<X>,
        y: &mut Vec<Y>,
    ) -> f64 {
        assert_eq!([x.len(), d.map_or(x.len(), Vec::len)], [y.len(); 2], "lengths of x, d and y");
        for (i, y) in y.iter_mut().enumerate() {
            *y = Y::narrow(alpha * d.map_or(1.0, |d| f64::from(d[i])) * x[i].wide());
        }
        self.norm_max(y)
    }

    fn axpby<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
        for (&x, y) in x.iter().zip(y) {
            *y = alpha * x + times(beta, *y);
        }
    }

    fn axpbypcz<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &Vec<C>, gamma: C, z: &mut Vec<C>) {
        assert_eq!([x.len(), y.len()], [z.len(); 2], "lengths of x, y and z");
        for i in 0..z.len() {
            z[i] = alpha * x[i] + beta * y[i] + times(gamma, z[i]);
        }
    }

    fn diagonal<C: Real>(&self, alpha: C, d: &Vec<C>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        assert_eq!([d.len(), x.len()], [y.len(); 2], "lengths of d, x and y");
        for i in 0..y.len() {
            y[i] = alpha * d[i] * x[i] + times(beta, y[i]);
        }
    }

    fn step_and_turn<C: Real>(&self, alpha: C, x: &mut Vec<C>, beta: C, z: &Vec<C>, p: &mut Vec<C>) {
        assert_eq!([x.len(), z.len()], [p.len(); 2], "lengths of x, z and p");
        for i in 0..p.len() {
            x[i] += alpha * p[i];
            p[i] = z[i] + beta * p[i];
        }
    }

    fn combine<C: Real>(&self, coefficients: &[C], xs: &[&Vec<C>], beta: C, y: &mut Vec<C>) -> f64 {
        assert_eq!(coefficients.len(), xs.len(), "coefficients and vectors");
        for x in xs {
            assert_eq!(x.len(), y.len(), "lengths of x and y");
        }
        for (i, y) in y.iter_mut().enumerate() {
            *y = times(beta, *y);
            for (&c, x) in coefficients.iter().zip(xs) {
                *y += c * x[i];
            }
        }
        self.dot(y, y)
    }

    fn dots<C: Real>(&self, xs: &[&Vec<C>], y: &Vec<C>, out: &mut [f64]) {
        assert_eq!(xs.len(), out.len(), "vectors and results");
        for (x, out) in xs.iter().zip(out) {
            assert_eq!(x.len(), y.len(), "lengths of x and y");
            *out = x.iter().zip(y).map(|(x, y)| x.wide() * y.wide()).sum();
        }
    }

    fn norm_max<C: Real>(&self, x: &Vec<C>) -> f64 {
        // `f64::max` would drop a NaN.
        x.iter()
            .map(|x| x.wide().abs())
            .fold(0.0, |largest, x| if x > largest || x.is_nan() { x } else { largest })
    }

    fn compresses_vectors(&self) -> bool {
        true
    }

    fn compress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<C>, y: &mut Vec<S>) {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
        for (&x, y) in x.iter().zip(y) {
            *y = S::narrow((alpha * x).wide());
        }
    }

    fn decompress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<S>, y: &mut Vec<C>) {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
        for (x, y) in widened::<C, S>(x).into_iter().zip(y) {
            *y = alpha * x;
        }
    }

    fn dots_compressed<C: Reads<S>, S: Store>(&self, xs: &[&Vec<S>], y: &Vec<C>, out: &mut [f64]) {
        assert_eq!(xs.len(), out.len(), "vectors and results");
        for (x, out) in xs.iter().zip(out) {
            *out = self.dot(&widened(x), y);
        }
    }

    fn combine_compressed<C: Reads<S>, S: Store>(
        &self,
        coefficients: &[C],
        xs: &[&Vec<S>],
        beta: C,
        y: &mut Vec<C>,
    ) -> f64 {
        let wide: Vec<Vec<C>> = xs.iter().map(|x| widened(x)).collect();
        self.combine(coefficients, &wide.iter().collect::<Vec<_>>(), beta, y)
    }
}

device_of_kernels!(
    Reference,
    fn setup(&self) -> Option<&dyn SetupDevice> {
        Some(self)
    }
);
setup_device_of_kernels!(Reference);
