//! Where vectors live and kernels run.
//!
//! Krylov methods, cycles and smoothers are written once, for a [`&dyn Device`](Device). Two
//! devices are here: [`Reference`], slow and readable, the oracle for all others, and [`Cpu`], the
//! fast one. A backend implements typed [`Kernels`]. Some devices do more: [`SetupDevice`] computes
//! products and transposes of sparse matrices, [`Processes`] share vectors.

#[cfg(feature = "conformance")]
pub mod conformance;
mod cpu;
mod direction;
#[doc(hidden)]
pub mod dispatch;
mod error;
mod host_matrix;
mod kernels;
mod matrix;
mod memory;
mod processes;
mod reads;
mod reference;
mod remote;
mod setup;
mod traffic;
mod typed;
mod vector;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::number::Kind;

pub use crate::simd::Simd;
pub use cpu::Cpu;
pub use direction::Direction;
pub use error::DeviceError;
pub use host_matrix::{HostMatrix, MatrixFormat};
pub use kernels::Kernels;
pub use matrix::Matrix;
pub use processes::Processes;
pub use reads::Reads;
pub use reference::Reference;
pub use remote::{Halo, Remote};
pub use setup::{
    AggregationKernels, ClassicalKernels, ClassicalStrength, FilteredStep, LONE, LoweringKernels, RowStep,
    SAMPLE_FACTOR, SAMPLE_SHIFT, SetupDevice, SetupKernels, Sparse, SparseFactors, SparseSize, StoredSparse,
    SymmetricStrength, VOTE_UNITS, block_bits, coarse_measure, dependent, is_sampled, root_exponent,
    root_key,
};
pub use traffic::Traffic;
pub use typed::DeviceExt;
pub use vector::{HostSlice, HostSliceMut, Memory, Vector, Vectors};

/// A place where vectors live and kernels run.
///
/// **Types.** Every [`Vector`] and [`Matrix`] carries its number type. The vectors of a kernel have
/// the same one, in which it computes: `f64` or `f32`. That type must be able to
/// [read](Kind::reads) the numbers of a matrix, which may be narrower. Coefficients are rounded to
/// it.
///
/// **Mistakes.** Kernels panic if number types or sizes do not match, or an operand belongs to
/// another device: that is an error of the calling algorithm. User input is checked where it
/// enters.
///
/// **Results.** Every kernel gives the same bits for any number of threads. If a coefficient `beta`
/// is zero, the old content is *not read*: it may be arbitrary, even NaN.
///
/// **Processes.** If several processes share vectors, each has a device and a part of every vector,
/// and all call the same kernels in the same order. The result of a reduction
/// ([`dots`](Device::dots), the largest element, …) then covers the whole vector and has the same
/// bits on every process.
///
/// **Asynchrony.** A device may queue work; [`Device::finish`] waits for it. Kernels do not
/// allocate.
///
/// [`DeviceExt`] has what follows from these methods: arrays of the host with their types, norms.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device, DeviceError, DeviceExt, Reference};
/// use ziggurat_sparse::{Csr, Kind};
///
/// /// One method, any device.
/// fn residual_norm(device: &dyn Device, a: &Csr<f64>, b: &[f64]) -> Result<f64, DeviceError> {
///     let a = device.upload_matrix(a.clone())?;
///     let (b, x) = (device.upload(b)?, device.zeros(Kind::F64, b.len())?);
///     let mut r = device.zeros(Kind::F64, b.len())?;
///     device.residual(&a, &x, &b, &mut r);
///     Ok(device.norm(&r))
/// }
/// let a = Csr::identity(2).unwrap();
/// assert_eq!(residual_norm(&Cpu::new(), &a, &[3.0, 4.0])?, 5.0);
/// assert_eq!(residual_norm(&Reference, &a, &[3.0, 4.0])?, 5.0);
/// # Ok::<(), DeviceError>(())
/// ```
pub trait Device: Any + Debug + Send + Sync {
    /// The name of this device in reports.
    fn name(&self) -> String;

    /// The same device, for a value that outlives this reference.
    fn share(&self) -> Arc<dyn Device>;

    /// Whether arithmetic in this number type runs on the device itself. A device that stores
    /// vectors in double precision but cannot compute with them keeps them on the host; levels are
    /// then lowered to `f32`.
    fn computes_in(&self, number: Kind) -> bool;

    /// Whether vectors may be compressed: stored in fewer bits than arithmetic uses. See
    /// [`cast_scaled`](Device::cast_scaled), [`combine`](Device::combine) and
    /// [`dots`](Device::dots). If not, compressed vectors are an error of the algorithm.
    fn compresses_vectors(&self) -> bool;

    /// The traffic to and from this device since it was created; `None` if its memory is the
    /// host's.
    fn traffic(&self) -> Option<Traffic>;

    /// Waits for all queued work, and reports whether any of it failed.
    fn finish(&self) -> Result<(), DeviceError>;

    /// This device with the kernels of setup; `None` if only the host makes levels.
    fn setup(&self) -> Option<&dyn SetupDevice> {
        None
    }

    /// The processes that share the vectors of this device; `None` if there is only one.
    fn processes(&self) -> Option<&dyn Processes> {
        None
    }

    // Memory

    /// A vector of zeros.
    fn zeros(&self, number: Kind, len: usize) -> Result<Vector, DeviceError>;

    /// Moves a vector in host memory to the device. Nothing is copied if the device computes
    /// there.
    fn take(&self, host: Vector) -> Result<Vector, DeviceError>;

    /// Moves a matrix in host memory to the device, keeping its format and number type.
    fn take_matrix(&self, host: Matrix) -> Result<Matrix, DeviceError>;

    /// Overwrites a vector with an array of the same type and length.
    fn write(&self, host: HostSlice<'_>, x: &mut Vector) -> Result<(), DeviceError>;

    /// Copies a vector to an array of the same type and length.
    fn download(&self, x: &Vector, host: HostSliceMut<'_>) -> Result<(), DeviceError>;

    // Kernels on a matrix and vectors

    /// y ← α A x + β y
    fn spmv(&self, alpha: f64, a: &Matrix, x: &Vector, beta: f64, y: &mut Vector);

    /// r ← b − A x
    fn residual(&self, a: &Matrix, x: &Vector, b: &Vector, r: &mut Vector);

    /// One smoothing sweep in one pass over the matrix: y ← x + ω d∘(b − A x) + β (x − y).
    ///
    /// With β = 0 this is damped Jacobi (d = 1/diag A) or ℓ1-Jacobi (d = 1/Σ|a_ij|). With the
    /// previous iterate in `y` and β ≠ 0 it is one step of a three-term recurrence such as
    /// Chebyshev's; the caller swaps x and y.
    fn sweep(&self, a: &Matrix, omega: f64, d: &Vector, b: &Vector, x: &Vector, beta: f64, y: &mut Vector);

    /// One Gauss–Seidel sweep within blocks of `block` consecutive rows, Jacobi between blocks: for
    /// each block K and its rows i in the given order, y_i ← x_i + d_i (b_i − Σ_{j∈K} a_ij y_j −
    /// Σ_{j∉K} a_ij x_j), where y starts as x. Without `x` the initial guess is zero. The old y is
    /// not read. The block size is rounded up to a multiple of the matrix's own block size.
    ///
    /// The format of the matrix is [row by row](MatrixFormat::is_row_by_row).
    fn gauss_seidel(
        &self,
        a: &Matrix,
        d: &Vector,
        b: &Vector,
        x: Option<&Vector>,
        block: usize,
        direction: Direction,
        y: &mut Vector,
    );

    // Kernels on vectors

    /// x ← value
    fn fill(&self, value: f64, x: &mut Vector);

    /// y ← x, converted to the number type of y (rounded to nearest if that is narrower).
    fn copy(&self, x: &Vector, y: &mut Vector);

    /// y ← α d∘x (without `d`, α x), computed in double precision and rounded once to the number
    /// type of y. `d` is in `f32`.
    ///
    /// This changes the number type and the scale of a vector in one pass, as multigrid in reduced
    /// precision requires. If asked for the largest |y_i|, which shows whether the values fit (NaN
    /// if any entry is NaN), it synchronises with a device that queues work and communicates among
    /// processes. To and from 16 bits, there is no `d` and no largest element, and it computes in
    /// the other number type.
    fn cast_scaled(
        &self,
        alpha: f64,
        d: Option<&Vector>,
        x: &Vector,
        y: &mut Vector,
        largest: Option<&mut f64>,
    );

    /// y ← α x + β y
    fn axpby(&self, alpha: f64, x: &Vector, beta: f64, y: &mut Vector);

    /// z ← α x + β y + γ z, in one pass
    fn axpbypcz(&self, alpha: f64, x: &Vector, beta: f64, y: &Vector, gamma: f64, z: &mut Vector);

    /// y ← α d∘x + β y: a diagonal matrix times a vector, or a [`sweep`](Device::sweep) from a zero
    /// guess.
    fn diagonal(&self, alpha: f64, d: &Vector, x: &Vector, beta: f64, y: &mut Vector);

    /// x ← x + α p, then p ← z + β p, in one pass: the step and the new search direction of the
    /// conjugate gradient method.
    ///
    /// It moves five vectors; two separate updates move six.
    fn step_and_turn(&self, alpha: f64, x: &mut Vector, beta: f64, z: &Vector, p: &mut Vector);

    /// y ← Σ_k c_k x_k + β y, in one pass; returns y·y of the new y, as [`dots`](Device::dots)
    /// would.
    ///
    /// With one vector this is [`axpby`](Device::axpby) and a norm, with none it scales y, with
    /// several it is the update of Gram–Schmidt. The x_k may be compressed.
    fn combine(&self, coefficients: &[f64], xs: Vectors<'_>, beta: f64, y: &mut Vector) -> f64;

    /// out_k ← x_k·y for every k, summed in double precision over blocks whose size depends only on
    /// the length. The x_k may be compressed.
    fn dots(&self, xs: Vectors<'_>, y: &Vector, out: &mut [f64]);

    /// max |x_i|; NaN if any entry is NaN.
    fn norm_max(&self, x: &Vector) -> f64;
}
