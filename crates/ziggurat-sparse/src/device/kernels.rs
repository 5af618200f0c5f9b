//! The kernels of a device, generic over the number types of their operands.
//!
//! A backend implements [`Kernels`], and `device_of_kernels!` (`dispatch.rs`) makes a
//! [`Device`](super::Device) of it, which selects the types at run time. So kernels are compiled
//! once, in the crate of their backend, and what calls them needs no type parameters. The
//! conformance suite (feature `conformance`) compares a backend with [`Reference`], the oracle, for
//! every kernel and every pair of number types.
//!
//! [`Reference`]: super::Reference

use std::fmt::Debug;

use super::memory;
use super::{DeviceError, Direction, HostMatrix, Memory, Reads, Traffic};
use crate::number::{Kind, Real, Store};

/// The methods that make a backend a [`Device`](super::Device), where each of them is described.
///
/// Matrices are stored in any [`Store`], vectors in the arithmetic type ([`Real`]); `C: Reads<S>`
/// connects the two. A backend with opaque memory selects its kernel by [`Store::KIND`]. Kernels
/// check the sizes of their operands, and do not allocate.
///
/// ```
/// use ziggurat_sparse::Csr;
/// use ziggurat_sparse::device::{Cpu, DeviceError, Kernels, Reference};
///
/// /// One test, any backend.
/// fn residual_norm<K: Kernels>(backend: &K, a: &Csr<f64>, b: &[f64]) -> Result<f64, DeviceError> {
///     let a = backend.upload_matrix(a.clone().into())?;
///     let (b, x) = (backend.upload(b)?, backend.zeros::<f64>(b.len())?);
///     let mut r = backend.zeros::<f64>(backend.len(&b))?;
///     backend.residual(&a, &x, &b, &mut r);
///     Ok(backend.dot(&r, &r).sqrt())
/// }
/// let a = Csr::identity(2).unwrap();
/// assert_eq!(residual_norm(&Cpu::new(), &a, &[3.0, 4.0])?, 5.0);
/// assert_eq!(residual_norm(&Reference, &a, &[3.0, 4.0])?, 5.0);
/// # Ok::<(), DeviceError>(())
/// ```
pub trait Kernels: Clone + Debug + Send + Sync + 'static {
    /// A vector in device memory.
    type Vector<T: Store>: Memory;
    /// A matrix in device memory.
    type Matrix<S: Store>: Memory;

    /// The name of this device in reports.
    fn name(&self) -> String;

    /// Whether arithmetic in this number type runs on the device itself.
    fn computes_in(&self, _number: Kind) -> bool {
        true
    }

    /// The traffic to and from this device since it was created.
    fn traffic(&self) -> Option<Traffic> {
        None
    }

    /// Waits for all queued work, and reports whether any of it failed.
    fn finish(&self) -> Result<(), DeviceError>;

    // Memory

    /// A vector of zeros.
    fn zeros<T: Store>(&self, len: usize) -> Result<Self::Vector<T>, DeviceError>;

    /// Copies a host array to the device.
    fn upload<T: Store>(&self, host: &[T]) -> Result<Self::Vector<T>, DeviceError>;

    /// Converts a host array to a vector.
    fn adopt<T: Store>(&self, host: Vec<T>) -> Result<Self::Vector<T>, DeviceError> {
        self.upload(&host)
    }

    /// Overwrites a vector with a host array of the same length.
    fn write<T: Store>(&self, host: &[T], x: &mut Self::Vector<T>) -> Result<(), DeviceError>;

    /// Copies a vector to a host array of the same length.
    fn download<T: Store>(&self, x: &Self::Vector<T>, host: &mut [T]) -> Result<(), DeviceError>;

    /// Converts a vector to a host array.
    fn to_host<T: Store>(&self, x: Self::Vector<T>) -> Result<Vec<T>, DeviceError> {
        let mut host = memory::zeros(self.len(&x))?;
        self.download(&x, &mut host)?;
        Ok(host)
    }

    /// Moves a matrix to the device, keeping its format and number type.
    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<Self::Matrix<S>, DeviceError>;

    /// Length of a vector.
    fn len<T: Store>(&self, x: &Self::Vector<T>) -> usize;

    /// Rows and columns of a matrix.
    fn shape<S: Store>(&self, a: &Self::Matrix<S>) -> (usize, usize);

    // Kernels on a matrix and vectors

    /// y ← α A x + β y
    fn spmv<C: Reads<S>, S: Store>(
        &self,
        alpha: C,
        a: &Self::Matrix<S>,
        x: &Self::Vector<C>,
        beta: C,
        y: &mut Self::Vector<C>,
    );

    /// r ← b − A x
    fn residual<C: Reads<S>, S: Store>(
        &self,
        a: &Self::Matrix<S>,
        x: &Self::Vector<C>,
        b: &Self::Vector<C>,
        r: &mut Self::Vector<C>,
    );

    /// y ← x + ω d∘(b − A x) + β (x − y)
    fn sweep<C: Reads<S>, S: Store>(
        &self,
        a: &Self::Matrix<S>,
        omega: C,
        d: &Self::Vector<C>,
        b: &Self::Vector<C>,
        x: &Self::Vector<C>,
        beta: C,
        y: &mut Self::Vector<C>,
    );

    /// y ← x, after one Gauss–Seidel sweep
    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        a: &Self::Matrix<S>,
        d: &Self::Vector<C>,
        b: &Self::Vector<C>,
        x: Option<&Self::Vector<C>>,
        block: usize,
        direction: Direction,
        y: &mut Self::Vector<C>,
    );

    // Kernels on vectors

    /// x ← value
    fn fill<C: Real>(&self, value: C, x: &mut Self::Vector<C>);

    /// y ← x
    fn copy<C: Real>(&self, x: &Self::Vector<C>, y: &mut Self::Vector<C>);

    /// y ← x, rounded to the other number type.
    fn cast<X: Real, Y: Real>(&self, x: &Self::Vector<X>, y: &mut Self::Vector<Y>);

    /// y ← α d∘x, computed in double precision and rounded once to the other number type.
    fn cast_scaled<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Self::Vector<f32>>,
        x: &Self::Vector<X>,
        y: &mut Self::Vector<Y>,
    ) {
        self.cast_scaled_max(alpha, d, x, y);
    }

    /// As [`cast_scaled`](Kernels::cast_scaled), and returns max |y_i|; NaN if any entry is NaN.
    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Self::Vector<f32>>,
        x: &Self::Vector<X>,
        y: &mut Self::Vector<Y>,
    ) -> f64;

    /// y ← α x + β y
    fn axpby<C: Real>(&self, alpha: C, x: &Self::Vector<C>, beta: C, y: &mut Self::Vector<C>);

    /// z ← α x + β y + γ z
    fn axpbypcz<C: Real>(
        &self,
        alpha: C,
        x: &Self::Vector<C>,
        beta: C,
        y: &Self::Vector<C>,
        gamma: C,
        z: &mut Self::Vector<C>,
    );

    /// y ← α d∘x + β y
    fn diagonal<C: Real>(
        &self,
        alpha: C,
        d: &Self::Vector<C>,
        x: &Self::Vector<C>,
        beta: C,
        y: &mut Self::Vector<C>,
    );

    /// x ← x + α p, then p ← z + β p
    fn step_and_turn<C: Real>(
        &self,
        alpha: C,
        x: &mut Self::Vector<C>,
        beta: C,
        z: &Self::Vector<C>,
        p: &mut Self::Vector<C>,
    );

    /// y ← Σ_k c_k x_k + β y; returns y·y of the new y.
    fn combine<C: Real>(
        &self,
        coefficients: &[C],
        xs: &[&Self::Vector<C>],
        beta: C,
        y: &mut Self::Vector<C>,
    ) -> f64;

    /// out_k ← x_k·y
    fn dots<C: Real>(&self, xs: &[&Self::Vector<C>], y: &Self::Vector<C>, out: &mut [f64]);

    /// x·y
    fn dot<C: Real>(&self, x: &Self::Vector<C>, y: &Self::Vector<C>) -> f64 {
        let mut out = [0.0];
        self.dots(&[x], y, &mut out);
        out[0]
    }

    /// ‖x‖₂
    fn norm<C: Real>(&self, x: &Self::Vector<C>) -> f64 {
        self.dot(x, x).sqrt()
    }

    /// max |x_i|; NaN if any entry is NaN.
    fn norm_max<C: Real>(&self, x: &Self::Vector<C>) -> f64;

    // Kernels on compressed vectors: stored in another number type than arithmetic uses

    /// Whether the device has the kernels on compressed vectors.
    fn compresses_vectors(&self) -> bool {
        false
    }

    /// y ← α x, rounded once to the number type of y.
    ///
    /// ```
    /// use ziggurat_sparse::{device::{Cpu, Kernels}, f16};
    /// let mut y = vec![f16::ZERO; 2];
    /// Cpu::new().compress(1024.0, &vec![0.5, 1.0 / 3.0], &mut y);
    /// assert_eq!([y[0].to_f64(), y[1].to_f64()], [512.0, 341.25]);
    /// ```
    fn compress<C: Reads<S>, S: Store>(&self, _alpha: C, _x: &Self::Vector<C>, _y: &mut Self::Vector<S>) {
        unimplemented!("{} does not compress vectors", self.name())
    }

    /// y ← α x, with x widened.
    fn decompress<C: Reads<S>, S: Store>(&self, _alpha: C, _x: &Self::Vector<S>, _y: &mut Self::Vector<C>) {
        unimplemented!("{} does not compress vectors", self.name())
    }

    /// out_k ← x_k·y, summed as by [`dots`](Kernels::dots).
    fn dots_compressed<C: Reads<S>, S: Store>(
        &self,
        _xs: &[&Self::Vector<S>],
        _y: &Self::Vector<C>,
        _out: &mut [f64],
    ) {
        unimplemented!("{} does not compress vectors", self.name())
    }

    /// y ← Σ_k c_k x_k + β y; returns y·y of the new y.
    fn combine_compressed<C: Reads<S>, S: Store>(
        &self,
        _coefficients: &[C],
        _xs: &[&Self::Vector<S>],
        _beta: C,
        _y: &mut Self::Vector<C>,
    ) -> f64 {
        unimplemented!("{} does not compress vectors", self.name())
    }
}
