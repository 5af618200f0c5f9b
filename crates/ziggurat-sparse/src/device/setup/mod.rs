//! Sparse algebra on a device, for a setup whose matrices never leave it.
//!
//! ```text
//! product      C ← A B        symbolic phase: the pattern of C;  numeric phase: its values
//! transpose    T ← Aᵀ
//! ```
//!
//! [`Kernels`] has what a solve needs: matrices whose pattern is known on the host. Setup makes new
//! patterns, so [`SetupKernels`] has matrices in compressed rows that are built on the device. Only
//! sizes return to the host. [`SetupDevice`] is the same for number types known at run time.

mod aggregation;
mod classical;
mod cpu;
mod device;
mod lowering;
mod reference;
mod reference_aggregation;
mod reference_classical;
mod reference_lowering;

use std::fmt::{Debug, Display};

use super::{DeviceError, Kernels, Memory};
use crate::matrix::Csr;
use crate::number::Real;

pub use aggregation::{
    AggregationKernels, FilteredStep, LONE, SAMPLE_FACTOR, SAMPLE_SHIFT, SymmetricStrength, VOTE_UNITS,
    block_bits, dependent, is_sampled, root_key,
};
pub use classical::{ClassicalKernels, ClassicalStrength, coarse_measure};
#[doc(hidden)]
pub use device::factors_of;
pub use device::{SetupDevice, Sparse};
pub use lowering::{LoweringKernels, RowStep, SparseFactors, StoredSparse, root_exponent};
#[cfg(feature = "conformance")]
pub(super) use reference_classical::Collapsed;

/// The size of a sparse matrix.
///
/// ```
/// use ziggurat_sparse::{Csr, device::{Cpu, SetupKernels, SparseSize}};
/// let a = Cpu::new().upload_sparse(&Csr::<f64>::identity(3)?)?;
/// assert_eq!(Cpu::new().size(&a), SparseSize { rows: 3, cols: 3, entries: 3 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseSize {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Number of entries, explicit zeros included.
    pub entries: usize,
}

/// A backend that also computes with sparse matrices, as multigrid setup does.
///
/// **Matrices** are in compressed rows with increasing columns, as [`Csr`] on the host, and are
/// stored in the number type that the device computes in ([`Kernels::computes_in`]). They are made
/// of arrays on the device: of a product or a transpose, only the number of entries and a few other
/// sizes return to the host.
///
/// **Results** have the same pattern on every device: an entry wherever the patterns of the factors
/// give one, even if the values cancel. A device gives the same bits in every run.
///
/// **Sizes.** As in [`Kernels`], sizes that do not match are an error of the calling algorithm, and
/// panic.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, DeviceError, Reference, SetupKernels};
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::Csr;
///
/// /// The Galerkin product for aggregates, by any backend.
/// fn coarse<K: SetupKernels>(k: &K, a: &Csr<f64>, p: &Csr<f64>) -> Result<Csr<f64>, DeviceError> {
///     let (a, p) = (k.upload_sparse(a)?, k.upload_sparse(p)?);
///     let r = k.transpose(&p)?;
///     k.download_sparse(&k.triple_product(&r, &a, &p)?)
/// }
/// let a = "poisson2d:3".parse::<Problem>()?.matrix()?;
/// let p = Csr::try_new(9, 3, (0..=9).collect(), vec![0, 0, 0, 1, 1, 1, 2, 2, 2], vec![1.0; 9])?;
/// let c = coarse(&Cpu::new(), &a, &p)?;
/// assert_eq!((c.rows(), c.nnz()), (3, 7));
/// assert_eq!(c, coarse(&Reference, &a, &p)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SetupKernels: Kernels {
    /// A matrix in compressed rows, in device memory.
    type Sparse<T: Real>: Memory;
    /// The symbolic phase of a product.
    type ProductPlan: Debug + Send + Sync;

    /// Copies a matrix to the device.
    ///
    /// # Errors
    /// If the device does not compute in this number type, or has not enough memory.
    fn upload_sparse<T: Real>(&self, host: &Csr<T>) -> Result<Self::Sparse<T>, DeviceError>;

    /// Copies a matrix to the host.
    fn download_sparse<T: Real>(&self, a: &Self::Sparse<T>) -> Result<Csr<T>, DeviceError>;

    /// The size of a matrix.
    fn size<T: Real>(&self, a: &Self::Sparse<T>) -> SparseSize;

    /// The symbolic phase of C = A B: finds the pattern of C. Values are not read.
    fn plan_product<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        b: &Self::Sparse<T>,
    ) -> Result<Self::ProductPlan, DeviceError>;

    /// The numeric phase of C = A B, into a new matrix. A and B have the patterns that the plan was
    /// made for.
    ///
    /// # Panics
    /// If the sizes differ from the plan. Other patterns of the same sizes may also panic, or give
    /// arbitrary values.
    fn product<T: Real>(
        &self,
        plan: &Self::ProductPlan,
        a: &Self::Sparse<T>,
        b: &Self::Sparse<T>,
    ) -> Result<Self::Sparse<T>, DeviceError>;

    /// The numeric phase of C = A B again, for new values of A and B, into a matrix that
    /// [`product`](Self::product) returned for the same plan. Its old values are not read.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, device::{Cpu, SetupKernels}};
    /// let cpu = Cpu::new();
    /// let a = cpu.upload_sparse(&Csr::try_new(1, 1, vec![0, 1], vec![0], vec![3.0])?)?;
    /// let plan = cpu.plan_product(&a, &a)?;
    /// let mut c = cpu.product(&plan, &a, &a)?;
    /// let b = cpu.upload_sparse(&Csr::try_new(1, 1, vec![0, 1], vec![0], vec![5.0])?)?;
    /// cpu.update_product(&plan, &a, &b, &mut c)?;
    /// assert_eq!(cpu.download_sparse(&c)?.values(), [15.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`product`](Self::product).
    fn update_product<T: Real>(
        &self,
        plan: &Self::ProductPlan,
        a: &Self::Sparse<T>,
        b: &Self::Sparse<T>,
        c: &mut Self::Sparse<T>,
    ) -> Result<(), DeviceError>;

    /// T = Aᵀ
    fn transpose<T: Real>(&self, a: &Self::Sparse<T>) -> Result<Self::Sparse<T>, DeviceError>;

    /// The matrix as one that vectors are multiplied by, in its own number type.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, device::{Cpu, Kernels, SetupKernels}};
    /// let cpu = Cpu::new();
    /// let a = cpu.matrix(&cpu.upload_sparse(&Csr::<f64>::identity(2)?)?)?;
    /// let (x, mut y) = (cpu.upload(&[1.0, 2.0])?, cpu.zeros(2)?);
    /// cpu.spmv(3.0, &a, &x, 0.0, &mut y);
    /// assert_eq!(cpu.to_host(y)?, [3.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn matrix<T: Real>(&self, a: &Self::Sparse<T>) -> Result<Self::Matrix<T>, DeviceError>;

    /// C = A B, if it is computed only once.
    fn product_once<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        b: &Self::Sparse<T>,
    ) -> Result<Self::Sparse<T>, DeviceError> {
        self.product(&self.plan_product(a, b)?, a, b)
    }

    /// C = R (A P), the coarse matrix of multigrid.
    fn triple_product<T: Real>(
        &self,
        r: &Self::Sparse<T>,
        a: &Self::Sparse<T>,
        p: &Self::Sparse<T>,
    ) -> Result<Self::Sparse<T>, DeviceError> {
        self.product_once(r, &self.product_once(a, p)?)
    }
}

/// The size of a host matrix.
fn size_of_host<T>(a: &Csr<T>) -> SparseSize {
    SparseSize { rows: a.rows(), cols: a.cols(), entries: a.nnz() }
}

/// An error that only a caller's mistake can cause.
#[allow(clippy::panic)] // as `Kernels`: sizes that do not match
fn expected<T, E: Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("matrices that do not fit: {error}"),
    }
}
