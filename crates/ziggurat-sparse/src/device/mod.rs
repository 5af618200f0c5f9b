//! Where vectors live and kernels run.
//!
//! Krylov methods, cycles and smoothers are written once, generic over a [`Device`]; a device is a place to run, not a
//! copy of the algorithm. Two are here: [`Reference`], slow and readable, the oracle for all others, and [`Cpu`], the
//! fast one. The conformance suite (feature `conformance`) compares any device with the oracle, kernel by kernel and
//! number pair by number pair.

#[cfg(feature = "conformance")]
pub mod conformance;
mod cpu;
mod direction;
mod error;
mod host_matrix;
mod memory;
mod reads;
mod reference;
mod remote;
mod traffic;

use std::borrow::Borrow;
use std::fmt::Debug;

use crate::number::{Kind, Real, Store};

pub use crate::simd::Simd;
pub use cpu::Cpu;
pub use direction::Direction;
pub use error::DeviceError;
pub use host_matrix::HostMatrix;
pub use reads::Reads;
pub use reference::Reference;
pub use remote::{Nobody, Remote};
pub use traffic::Traffic;

/// A place where vectors live and kernels run.
///
/// **Types.** Matrices are stored in any [`Store`], vectors in the number computed in ([`Real`]); `C: Reads<S>` ties the
/// two. A device whose memory is opaque picks its kernel by [`Store::KIND`].
///
/// **Sizes.** Kernels panic when sizes do not fit: that is a fault of the calling algorithm, never of a user's input,
/// which is checked where it enters.
///
/// **Results.** Every kernel gives the same bits whatever the number of threads. A coefficient `beta` equal to zero
/// means that the old content is *not read*: it may be garbage or NaN.
///
/// **Processes.** Where several share vectors, each has a device and a part of every vector, and all call the same kernels in
/// the same order. What a kernel returns ([`dot`](Device::dot), the largest element, …) is then of the whole vector, the same
/// bits on every process. A device of one process says [`Nobody`].
///
/// **Time.** A device may queue work; [`Device::finish`] waits for it. Kernels allocate nothing.
///
/// ```
/// use ziggurat_sparse::Csr;
/// use ziggurat_sparse::device::{Cpu, Device, DeviceError, Reference};
///
/// /// One method, any device.
/// fn residual_norm<D: Device>(device: &D, a: &Csr<f64>, b: &[f64]) -> Result<f64, DeviceError> {
///     let a = device.upload_matrix(a.clone().into())?;
///     let (b, x) = (device.upload(b)?, device.zeros::<f64>(b.len())?);
///     let mut r = device.zeros::<f64>(device.len(&b))?;
///     device.residual(&a, &x, &b, &mut r);
///     Ok(device.dot(&r, &r).sqrt())
/// }
/// let a = Csr::identity(2).unwrap();
/// assert_eq!(residual_norm(&Cpu::new(), &a, &[3.0, 4.0])?, 5.0);
/// assert_eq!(residual_norm(&Reference, &a, &[3.0, 4.0])?, 5.0);
/// # Ok::<(), DeviceError>(())
/// ```
pub trait Device: Clone + Debug + Send + Sync + 'static {
    /// Numbers in this device's memory.
    type Vector<T: Store>: Debug + Send + Sync;
    /// A matrix in this device's memory.
    type Matrix<S: Store>: Debug + Send + Sync;
    /// How this process reaches the elements of a vector that others hold. A device of one process has none: [`Nobody`].
    type Halo: Clone + Debug + Send + Sync;

    /// What to call this device in a report.
    fn name(&self) -> String;

    /// Whether arithmetic in that number runs on the device itself. One that has vectors in double precision but cannot compute
    /// with them keeps those on the host; levels are then lowered to `f32`.
    fn computes_in(&self, _number: Kind) -> bool {
        true
    }

    /// What went to and from this device since it was made; `None` where its memory is the host's.
    fn traffic(&self) -> Option<Traffic> {
        None
    }

    // ---- memory

    /// A vector of zeros.
    fn zeros<T: Store>(&self, len: usize) -> Result<Self::Vector<T>, DeviceError>;

    /// Copies a host array to the device.
    fn upload<T: Store>(&self, host: &[T]) -> Result<Self::Vector<T>, DeviceError>;

    /// Overwrites a vector by a host array of the same length.
    fn write<T: Store>(&self, host: &[T], x: &mut Self::Vector<T>) -> Result<(), DeviceError>;

    /// Copies a vector to a host array of the same length.
    fn download<T: Store>(&self, x: &Self::Vector<T>, host: &mut [T]) -> Result<(), DeviceError>;

    /// A vector as a host array. Its memory on the device is given up, so nothing is copied where that is the host's.
    fn to_host<T: Store>(&self, x: Self::Vector<T>) -> Result<Vec<T>, DeviceError> {
        let mut host = memory::zeros(self.len(&x))?;
        self.download(&x, &mut host)?;
        Ok(host)
    }

    /// Moves a matrix to the device, in the format and the number it has.
    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<Self::Matrix<S>, DeviceError>;

    /// Moves the part of a matrix that this process owns: `own` has the columns that are its own, `remote` the others.
    fn upload_part<S: Store>(
        &self,
        own: HostMatrix<S>,
        remote: Remote<S, Self::Halo>,
    ) -> Result<Self::Matrix<S>, DeviceError>;

    /// Length of a vector.
    fn len<T: Store>(&self, x: &Self::Vector<T>) -> usize;

    /// Rows and columns of a matrix, as far as they are this process's own.
    fn shape<S: Store>(&self, a: &Self::Matrix<S>) -> (usize, usize);

    /// Waits until all queued work is done, and reports if any of it failed.
    fn finish(&self) -> Result<(), DeviceError>;

    // ---- other processes

    /// What other processes have for the elements that `halo` names, given this process's own elements.
    fn halo_values(&self, halo: &Self::Halo, own: &[f64]) -> Vec<f64>;

    /// The largest of a number over all processes that share this device's vectors.
    fn largest_of_all(&self, x: f64) -> f64 {
        x
    }

    /// Adds up each number over all processes that share this device's vectors.
    fn sum_of_all(&self, _numbers: &mut [i64]) {}

    /// Whether the flag is set on any process that shares this device's vectors. Clocks and user
    /// requests differ between processes, so they must agree on decisions that depend on them.
    fn any(&self, flag: bool) -> bool {
        let mut votes = [i64::from(flag)];
        self.sum_of_all(&mut votes);
        votes[0] > 0
    }

    // ---- a matrix and vectors

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

    /// One smoothing sweep in one pass over the matrix: y ← x + ω d∘(b − A x) + β (x − y).
    ///
    /// With β = 0 this is damped Jacobi (d = 1/diag A) or ℓ1-Jacobi (d = 1/Σ|a_ij|). With the previous iterate in `y`
    /// and β ≠ 0 it is one step of a three-term recurrence such as Chebyshev's, and the caller swaps x and y.
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

    /// One Gauss–Seidel sweep within blocks of `block` consecutive rows, Jacobi between blocks: for each block K and its
    /// rows i in the given order, y_i ← x_i + d_i (b_i − Σ_{j∈K} a_ij y_j − Σ_{j∉K} a_ij x_j), where y starts as x.
    /// Without `x` the guess is zero. The old y is not read. A block size that does not fit the matrix's own blocks is
    /// rounded up to them.
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

    // ---- vectors

    /// x ← value
    fn fill<C: Real>(&self, value: C, x: &mut Self::Vector<C>);

    /// y ← x
    fn copy<C: Real>(&self, x: &Self::Vector<C>, y: &mut Self::Vector<C>);

    /// y ← x, converted to the other number (rounded to nearest when it is the narrower).
    fn cast<X: Real, Y: Real>(&self, x: &Self::Vector<X>, y: &mut Self::Vector<Y>);

    /// y ← α d∘x (without `d`, α x), computed in double precision and rounded once to the other number.
    ///
    /// It is how vectors change their number and their scale at once, as a multigrid in a narrow number needs. It returns
    /// nothing because that takes a wait on a device that queues work, and a message among several processes.
    fn cast_scaled<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Self::Vector<f32>>,
        x: &Self::Vector<X>,
        y: &mut Self::Vector<Y>,
    ) {
        self.cast_scaled_max(alpha, d, x, y);
    }

    /// As [`cast_scaled`](Device::cast_scaled); returns max |y_i|, which tells whether they fit. NaN if any entry is NaN.
    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Self::Vector<f32>>,
        x: &Self::Vector<X>,
        y: &mut Self::Vector<Y>,
    ) -> f64;

    /// y ← α x + β y
    fn axpby<C: Real>(&self, alpha: C, x: &Self::Vector<C>, beta: C, y: &mut Self::Vector<C>);

    /// z ← α x + β y + γ z, in one pass
    fn axpbypcz<C: Real>(
        &self,
        alpha: C,
        x: &Self::Vector<C>,
        beta: C,
        y: &Self::Vector<C>,
        gamma: C,
        z: &mut Self::Vector<C>,
    );

    /// y ← α d∘x + β y: a diagonal matrix times a vector; a [`sweep`](Device::sweep) from a zero guess.
    fn diagonal<C: Real>(
        &self,
        alpha: C,
        d: &Self::Vector<C>,
        x: &Self::Vector<C>,
        beta: C,
        y: &mut Self::Vector<C>,
    );

    /// x ← x + α p, then p ← z + β p, in one pass: a conjugate gradient method steps along p and turns.
    ///
    /// It moves five vectors, where two updates move six.
    fn step_and_turn<C: Real>(
        &self,
        alpha: C,
        x: &mut Self::Vector<C>,
        beta: C,
        z: &Self::Vector<C>,
        p: &mut Self::Vector<C>,
    );

    /// y ← Σ_k c_k x_k + β y, in one pass; returns y·y of the new y, as [`dot`](Device::dot) would.
    ///
    /// With one vector it is [`axpby`](Device::axpby) and a norm, with none it scales y, with many it is the update of
    /// Gram–Schmidt. `xs` are vectors or references to them, as many as coefficients.
    fn combine<C: Real, B: Borrow<Self::Vector<C>> + Sync>(
        &self,
        coefficients: &[C],
        xs: &[B],
        beta: C,
        y: &mut Self::Vector<C>,
    ) -> f64;

    /// Σ x_i y_i, added up in double precision over blocks whose size depends on the length alone.
    fn dot<C: Real>(&self, x: &Self::Vector<C>, y: &Self::Vector<C>) -> f64;

    /// out_k ← x_k·y for every k, each as [`dot`](Device::dot) gives it. A device may read y once for many.
    fn dots<C: Real, B: Borrow<Self::Vector<C>> + Sync>(
        &self,
        xs: &[B],
        y: &Self::Vector<C>,
        out: &mut [f64],
    ) {
        assert_eq!(xs.len(), out.len(), "vectors and results");
        for (x, out) in xs.iter().zip(out) {
            *out = self.dot(x.borrow(), y);
        }
    }

    /// ‖x‖₂, in double precision.
    fn norm<C: Real>(&self, x: &Self::Vector<C>) -> f64 {
        self.dot(x, x).sqrt()
    }

    /// max |x_i|; NaN if any entry is NaN.
    fn norm_max<C: Real>(&self, x: &Self::Vector<C>) -> f64;
}
