//! Where vectors live and kernels run.
//!
//! Krylov methods, cycles and smoothers are written once, generic over a [`Device`]. Two devices
//! are here: [`Reference`], slow and readable, the oracle for all others, and [`Cpu`], the fast
//! one. A [`SetupDevice`] also computes products and transposes of sparse matrices. The conformance
//! suite (feature `conformance`) compares a device with the oracle for every kernel and every pair
//! of number types.

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
mod setup;
mod traffic;

use std::borrow::Borrow;
use std::fmt::Debug;

use crate::number::{Kind, Real, Store};

pub use crate::simd::Simd;
pub use cpu::Cpu;
pub use direction::Direction;
pub use error::DeviceError;
pub use host_matrix::{HostMatrix, MatrixFormat};
pub use reads::Reads;
pub use reference::Reference;
pub use remote::{NoHalo, Remote};
pub use setup::{
    AggregationDevice, ClassicalDevice, ClassicalStrength, FilteredStep, LONE, LoweringDevice, RowStep,
    SAMPLE_FACTOR, SAMPLE_SHIFT, SetupDevice, SparseFactors, SparseSize, StoredSparse, SymmetricStrength,
    VOTE_UNITS, block_bits, coarse_measure, dependent, is_sampled, root_exponent, root_key,
};
pub use traffic::Traffic;

/// A place where vectors live and kernels run.
///
/// **Types.** Matrices are stored in any [`Store`], vectors in the arithmetic type ([`Real`]);
/// `C: Reads<S>` connects the two. A device with opaque memory selects its kernel by
/// [`Store::KIND`].
///
/// **Sizes.** Kernels panic if sizes do not match: that is an error of the calling algorithm. User
/// input is checked where it enters.
///
/// **Results.** Every kernel gives the same bits for any number of threads. If a coefficient `beta`
/// is zero, the old content is *not read*: it may be arbitrary, even NaN.
///
/// **Processes.** If several processes share vectors, each has a device and a part of every vector,
/// and all call the same kernels in the same order. The result of a reduction
/// ([`dot`](Device::dot), the largest element, …) then covers the whole vector and has the same
/// bits on every process. A device for a single process uses [`NoHalo`] as its halo.
///
/// **Asynchrony.** A device may queue work; [`Device::finish`] waits for it. Kernels do not
/// allocate.
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
    /// A vector in device memory.
    type Vector<T: Store>: Debug + Send + Sync;
    /// A matrix in device memory.
    type Matrix<S: Store>: Debug + Send + Sync;
    /// How this process obtains vector elements that other processes hold. A device for a single
    /// process uses [`NoHalo`].
    type Halo: Clone + Debug + Send + Sync;
    /// The device that makes the levels of a hierarchy, if there is one; otherwise any.
    type Setup: AggregationDevice + ClassicalDevice + LoweringDevice;

    /// The device that makes the levels of a hierarchy where vectors live; `None` if only the host
    /// does.
    fn for_setup(&self) -> Option<&Self::Setup> {
        None
    }

    /// A matrix that the device of setup has stored, as one of this device. A device with a
    /// [device for setup](Device::for_setup) has this; for others it is an error of the algorithm.
    fn matrix_of_setup<S: Store>(&self, _: <Self::Setup as Device>::Matrix<S>) -> Self::Matrix<S> {
        unimplemented!("{} has no device for setup", self.name())
    }

    /// As [`matrix_of_setup`](Device::matrix_of_setup), a vector.
    fn vector_of_setup<T: Store>(&self, _: <Self::Setup as Device>::Vector<T>) -> Self::Vector<T> {
        unimplemented!("{} has no device for setup", self.name())
    }

    /// The name of this device in reports.
    fn name(&self) -> String;

    /// Whether arithmetic in this number type runs on the device itself. A device that stores
    /// vectors in double precision but cannot compute with them keeps them on the host; levels are
    /// then lowered to `f32`.
    fn computes_in(&self, _number: Kind) -> bool {
        true
    }

    /// The traffic to and from this device since it was created; `None` if its memory is the
    /// host's.
    fn traffic(&self) -> Option<Traffic> {
        None
    }

    // Memory

    /// A vector of zeros.
    fn zeros<T: Store>(&self, len: usize) -> Result<Self::Vector<T>, DeviceError>;

    /// Copies a host array to the device.
    fn upload<T: Store>(&self, host: &[T]) -> Result<Self::Vector<T>, DeviceError>;

    /// Converts a host array to a vector. Consumes the array, so nothing is copied if vectors are
    /// in host memory.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, Device};
    /// let x = Cpu::new().adopt(vec![3.0, 4.0])?;
    /// assert_eq!(Cpu::new().norm(&x), 5.0);
    /// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
    /// ```
    fn adopt<T: Store>(&self, host: Vec<T>) -> Result<Self::Vector<T>, DeviceError> {
        self.upload(&host)
    }

    /// Overwrites a vector with a host array of the same length.
    fn write<T: Store>(&self, host: &[T], x: &mut Self::Vector<T>) -> Result<(), DeviceError>;

    /// Copies a vector to a host array of the same length.
    fn download<T: Store>(&self, x: &Self::Vector<T>, host: &mut [T]) -> Result<(), DeviceError>;

    /// Converts a vector to a host array. Consumes the vector, so nothing is copied if it is in
    /// host memory.
    fn to_host<T: Store>(&self, x: Self::Vector<T>) -> Result<Vec<T>, DeviceError> {
        let mut host = memory::zeros(self.len(&x))?;
        self.download(&x, &mut host)?;
        Ok(host)
    }

    /// The elements of a vector; `None` if they are not in host memory.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, Device};
    /// assert_eq!(Cpu::new().elements(&vec![1.0, 2.0]), Some(&[1.0, 2.0][..]));
    /// ```
    fn elements<'a, T: Store>(&self, _: &'a Self::Vector<T>) -> Option<&'a [T]> {
        None
    }

    /// The elements of a vector, mutably; `None` if they are not in host memory.
    fn elements_mut<'a, T: Store>(&self, _: &'a mut Self::Vector<T>) -> Option<&'a mut [T]> {
        None
    }

    /// Moves a matrix to the device, keeping its format and number type.
    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<Self::Matrix<S>, DeviceError>;

    /// Moves the part of a matrix that this process owns: `own` holds the columns that the process
    /// owns, `remote` the columns of other processes.
    fn upload_part<S: Store>(
        &self,
        own: HostMatrix<S>,
        remote: Remote<S, Self::Halo>,
    ) -> Result<Self::Matrix<S>, DeviceError>;

    /// Length of a vector.
    fn len<T: Store>(&self, x: &Self::Vector<T>) -> usize;

    /// Rows and columns of the part of a matrix that this process owns.
    fn shape<S: Store>(&self, a: &Self::Matrix<S>) -> (usize, usize);

    /// Waits for all queued work, and reports whether any of it failed.
    fn finish(&self) -> Result<(), DeviceError>;

    // Other processes

    /// The values of the elements that `halo` names, received from other processes. `own` holds the
    /// elements of this process.
    fn halo_values(&self, halo: &Self::Halo, own: &[f64]) -> Vec<f64>;

    /// The maximum of `x` over all processes that share this device's vectors.
    fn largest_of_all(&self, x: f64) -> f64 {
        x
    }

    /// Sums each number over all processes that share this device's vectors.
    fn sum_of_all(&self, _numbers: &mut [i64]) {}

    /// The number of vector elements on lower processes, where this process holds `own` elements:
    /// the global index of its first one. 0 on a device for a single process.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, Device};
    /// assert_eq!(Cpu::new().elements_before(10), 0);
    /// ```
    fn elements_before(&self, _own: usize) -> u64 {
        0
    }

    /// Whether the flag is set on any process that shares this device's vectors. Clocks and user
    /// requests differ between processes, so they must agree on decisions that depend on them.
    fn any(&self, flag: bool) -> bool {
        let mut votes = [i64::from(flag)];
        self.sum_of_all(&mut votes);
        votes[0] > 0
    }

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

    /// One smoothing sweep in one pass over the matrix: y ← x + ω d∘(b − A x) + β (x − y).
    ///
    /// With β = 0 this is damped Jacobi (d = 1/diag A) or ℓ1-Jacobi (d = 1/Σ|a_ij|). With the
    /// previous iterate in `y` and β ≠ 0 it is one step of a three-term recurrence such as
    /// Chebyshev's; the caller swaps x and y.
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

    /// One Gauss–Seidel sweep within blocks of `block` consecutive rows, Jacobi between blocks: for
    /// each block K and its rows i in the given order, y_i ← x_i + d_i (b_i − Σ_{j∈K} a_ij y_j −
    /// Σ_{j∉K} a_ij x_j), where y starts as x. Without `x` the initial guess is zero. The old y is
    /// not read. The block size is rounded up to a multiple of the matrix's own block size.
    ///
    /// # Panics
    /// If the matrix is in a format that is not [row by row](MatrixFormat::is_row_by_row), unless
    /// the device sweeps over that, too.
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

    /// y ← x, converted to the other number type (rounded to nearest if that is narrower).
    fn cast<X: Real, Y: Real>(&self, x: &Self::Vector<X>, y: &mut Self::Vector<Y>);

    /// y ← α d∘x (without `d`, α x), computed in double precision and rounded once to the other
    /// number type.
    ///
    /// This changes the number type and the scale of a vector in one pass, as multigrid in reduced
    /// precision requires. It returns nothing, because a result would synchronise with a device
    /// that queues work and require communication among processes.
    fn cast_scaled<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Self::Vector<f32>>,
        x: &Self::Vector<X>,
        y: &mut Self::Vector<Y>,
    ) {
        self.cast_scaled_max(alpha, d, x, y);
    }

    /// As [`cast_scaled`](Device::cast_scaled), and returns max |y_i|, which shows whether the
    /// values fit. NaN if any entry is NaN.
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

    /// y ← α d∘x + β y: a diagonal matrix times a vector, or a [`sweep`](Device::sweep) from a zero
    /// guess.
    fn diagonal<C: Real>(
        &self,
        alpha: C,
        d: &Self::Vector<C>,
        x: &Self::Vector<C>,
        beta: C,
        y: &mut Self::Vector<C>,
    );

    /// x ← x + α p, then p ← z + β p, in one pass: the step and the new search direction of the
    /// conjugate gradient method.
    ///
    /// It moves five vectors; two separate updates move six.
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
    /// With one vector this is [`axpby`](Device::axpby) and a norm, with none it scales y, with
    /// several it is the update of Gram–Schmidt. `xs` holds vectors or references to them, one per
    /// coefficient.
    fn combine<C: Real, B: Borrow<Self::Vector<C>> + Sync>(
        &self,
        coefficients: &[C],
        xs: &[B],
        beta: C,
        y: &mut Self::Vector<C>,
    ) -> f64;

    /// Σ x_i y_i, summed in double precision over blocks whose size depends only on the length.
    fn dot<C: Real>(&self, x: &Self::Vector<C>, y: &Self::Vector<C>) -> f64;

    /// out_k ← x_k·y for every k, with the same result as [`dot`](Device::dot). A device may read y
    /// once for several k.
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

    // Kernels on compressed vectors: stored in another number type than arithmetic uses

    /// Whether the device has the kernels on compressed vectors. If not, calling them is an error
    /// of the algorithm, and they panic.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, Device};
    /// assert!(Cpu::new().compresses_vectors());
    /// ```
    fn compresses_vectors(&self) -> bool {
        false
    }

    /// y ← α x, rounded once to the number type of y.
    ///
    /// ```
    /// use ziggurat_sparse::{device::{Cpu, Device}, f16};
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

    /// out_k ← x_k·y for every k, summed as by [`dot`](Device::dot).
    fn dots_compressed<C: Reads<S>, S: Store>(
        &self,
        _xs: &[Self::Vector<S>],
        _y: &Self::Vector<C>,
        _out: &mut [f64],
    ) {
        unimplemented!("{} does not compress vectors", self.name())
    }

    /// y ← Σ_k c_k x_k + β y, in one pass; returns y·y of the new y, as
    /// [`combine`](Device::combine).
    fn combine_compressed<C: Reads<S>, S: Store>(
        &self,
        _coefficients: &[C],
        _xs: &[Self::Vector<S>],
        _beta: C,
        _y: &mut Self::Vector<C>,
    ) -> f64 {
        unimplemented!("{} does not compress vectors", self.name())
    }
}
