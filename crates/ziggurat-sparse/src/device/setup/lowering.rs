//! Lowering on a device: levels that were made there are scaled, rounded and stored for the solve
//! without leaving it.
//!
//! ```text
//! sizes of rows ▸ exponents ▸ powers of two ▸ largest scaled entry ▸ L A M, rounded, in its format
//!                                           ▸ the step of a pointwise smoother in every row
//! ```
//!
//! The rules are the same as for lowering on the host (`ziggurat-amg`), which decides what to
//! compute from the few numbers that return: a maximum, the mean of the exponents, bytes of
//! formats.

use super::SetupKernels;
use crate::device::{DeviceError, MatrixFormat};
use crate::number::{Real, Store};

/// The step of a pointwise smoother in a row: the number that its residual is multiplied by.
///
/// ```
/// use ziggurat_sparse::device::{Kernels, LoweringKernels, Reference, RowStep};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:3".parse::<Problem>()?.matrix()?;
/// let steps = Reference.steps(&a, RowStep::L1)?.ok_or("no diagonal")?;
/// assert_eq!(Reference.to_host(steps)?[4], 1.0 / 8.0); // 4 + 1 + 1 + 1 + 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowStep {
    /// 1 / a_ii
    Jacobi,
    /// sign(a_ii) / Σ_j |a_ij|
    L1,
    /// a_ii / Σ_j a_ij²
    Spai0,
    /// The step of SPAI-0 where it is positive and, times Σ_j |a_ij|, at most this bound.
    ProvedSpai0(f64),
}

/// The factors of a matrix L A M on a device; those that are absent are one.
///
/// ```
/// use ziggurat_sparse::device::SparseFactors;
/// let none: SparseFactors<'_, Vec<f64>> = SparseFactors::ONE;
/// assert!(none.left.is_none() && none.right.is_none() && none.factor == 1.0);
/// ```
#[derive(Debug)]
pub struct SparseFactors<'a, V> {
    /// The diagonal of L.
    pub left: Option<&'a V>,
    /// The diagonal of M.
    pub right: Option<&'a V>,
    /// A number that every entry is multiplied by, too.
    pub factor: f64,
}

impl<V> SparseFactors<'_, V> {
    /// No factors.
    pub const ONE: Self = SparseFactors { left: None, right: None, factor: 1.0 };
}

// Deriving would require `V: Copy`.
impl<V> Clone for SparseFactors<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V> Copy for SparseFactors<'_, V> {}

/// A matrix as a device has stored it.
#[derive(Debug)]
pub struct StoredSparse<M> {
    /// The matrix, for products with vectors.
    pub matrix: M,
    /// The formats that were considered, with their bytes; the first was chosen.
    pub considered: Vec<(MatrixFormat, usize)>,
}

/// The exponent of the power of two that is nearest to √x on a logarithmic scale, for a positive
/// and finite x; 0 for any other number.
///
/// ```
/// use ziggurat_sparse::device::root_exponent;
/// assert_eq!([1.0, 2.0, 3.0, 8.0, 9.0].map(root_exponent), [0, 0, 1, 1, 2]);
/// assert_eq!([1e200, 1e-200].map(root_exponent), [332, -332]);
/// ```
pub fn root_exponent(x: f64) -> i32 {
    if !(x >= f64::MIN_POSITIVE && x.is_finite()) {
        return 0;
    }
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    // √2 is half way between 1 and 2, so only odd exponents depend on the fraction.
    let is_power = x.to_bits() << 12 == 0;
    (exponent + 1).div_euclid(2) - i32::from(exponent % 2 != 0 && is_power)
}

/// A backend that also lowers the matrices that its setup has made.
///
/// ```
/// use ziggurat_sparse::device::{DeviceError, Kernels, LoweringKernels, Reference, SparseFactors};
/// use ziggurat_sparse::{Csr, f16};
///
/// /// A matrix in 16 bits, with its largest entry close to the end of their range.
/// fn narrow<K: LoweringKernels>(k: &K, a: &Csr<f64>) -> Result<K::Matrix<f16>, DeviceError> {
///     let a = k.upload_sparse(a)?;
///     let factor = 32768.0 / k.largest_scaled(&a, SparseFactors::ONE)?;
///     Ok(k.stored::<f64, f16>(&a, SparseFactors { factor, ..SparseFactors::ONE }, 1)?.matrix)
/// }
/// let a = narrow(&Reference, &Csr::identity(2)?)?;
/// let mut y = vec![0.0; 2];
/// Reference.spmv(1.0, &a, &vec![1.0, 0.5], 0.0, &mut y);
/// assert_eq!(y, [32768.0, 16384.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LoweringKernels: SetupKernels {
    /// Whether both are the same device, so that matrices of one can be used by the other.
    fn shares_memory_with(&self, other: &Self) -> bool;

    /// The step in every row; `None` if any step is not a finite number other than zero.
    fn steps<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        step: RowStep,
    ) -> Result<Option<Self::Vector<T>>, DeviceError>;

    /// |a_ii| of every row; where that is zero, max_j |a_ij|.
    fn row_sizes<T: Real>(&self, a: &Self::Sparse<T>) -> Result<Self::Vector<T>, DeviceError>;

    /// The [`root_exponent`] of every element, as a number.
    fn root_exponents<T: Real>(&self, sizes: &Self::Vector<T>) -> Result<Self::Vector<T>, DeviceError>;

    /// 2^(s e_i + c), where e_i is the exponent of element i, but at least `low` and at most
    /// `high`; s is −1 if `inverse`, else 1.
    fn powers_of_two<T: Real>(
        &self,
        exponents: &Self::Vector<T>,
        within: (i32, i32),
        inverse: bool,
        shift: i32,
    ) -> Result<Self::Vector<T>, DeviceError>;

    /// max |l_i a_ij m_j| times the factor of L A M.
    fn largest_scaled<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        factors: SparseFactors<'_, Self::Vector<T>>,
    ) -> Result<f64, DeviceError>;

    /// L A M, rounded once to `S`, in the format with the fewest bytes of those that the device can
    /// make by itself. `block` is the number of unknowns per node, or 1: for formats by blocks.
    fn stored<T: Real, S: Store>(
        &self,
        a: &Self::Sparse<T>,
        factors: SparseFactors<'_, Self::Vector<T>>,
        block: usize,
    ) -> Result<StoredSparse<Self::Matrix<S>>, DeviceError>;
}
