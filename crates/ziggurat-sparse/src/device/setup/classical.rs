//! The steps of classical coarsening on a device.
//!
//! ```text
//! strong connections ▸ coarse rows (PMIS) ────────────────▸ extended+i ▸ P
//!                      ▸ paths between them ▸ coarse rows ▸ extended+i, twice ▸ P₁ P₂
//! ```
//!
//! The steps are those that `ziggurat-amg` has for the host, where they also work for ranks; the
//! formulas are given there. Matrices need not be symmetric, but every row has an entry on the
//! diagonal. Coarse rows are a matrix J with a one in each coarse row, in the column of its number
//! on the next level: products with it select rows or renumber columns. What both must agree on is
//! here: the order in which rows become coarse.

use super::SetupKernels;
use crate::algebra::Truncation;
use crate::device::DeviceError;
use crate::hash::hash_id;
use crate::number::Real;

/// Which connections are strong by the classical measure: those with a_ij / m_i at least the
/// threshold, where m_i is the largest entry of the row whose sign differs from the diagonal.
///
/// ```
/// use ziggurat_sparse::device::ClassicalStrength;
/// let usual = ClassicalStrength { threshold: 0.25, max_row_sum: Some(0.9) };
/// assert!(usual.threshold < 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassicalStrength {
    /// The threshold, between 0 and 1.
    pub threshold: f64,
    /// A row has no strong connections if the magnitude of its sum is more than this fraction of
    /// its diagonal.
    pub max_row_sum: Option<f64>,
}

/// The largest number of dependent rows that is counted.
const MOST_DEPENDENTS: u32 = (1 << 24) - 1;

/// The measure of a row in PMIS: how many rows depend on it, then 39 bits of the hash of its
/// number. Of rows with the same measure, the last comes first. The lowest bit is zero.
///
/// ```
/// use ziggurat_sparse::device::coarse_measure;
/// assert!(coarse_measure(3, 7) > coarse_measure(2, 8));
/// assert_ne!(coarse_measure(3, 7), coarse_measure(3, 8));
/// assert_eq!(coarse_measure(3, 7) & 1, 0);
/// ```
#[inline]
pub fn coarse_measure(dependents: u32, row: u64) -> u64 {
    u64::from(dependents.min(MOST_DEPENDENTS)) << 40 | hash_id(row) >> 25 << 1
}

/// A backend that also coarsens matrices by the classical method.
///
/// ```
/// use ziggurat_sparse::device::{ClassicalKernels, ClassicalStrength, DeviceError, Reference, SetupKernels};
/// use ziggurat_sparse::algebra::Truncation;
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::Csr;
///
/// /// Interpolation for a symmetric matrix, by any backend.
/// fn interpolation<K: ClassicalKernels>(k: &K, a: &Csr<f64>) -> Result<Csr<f64>, DeviceError> {
///     let a = k.upload_sparse(a)?;
///     let strong = k.dependences(&a, &ClassicalStrength { threshold: 0.25, max_row_sum: None })?;
///     let coarse = k.coarse_rows(&strong, None)?;
///     k.download_sparse(&k.extended_i(&a, &strong, &coarse, None, true, Truncation::default())?)
/// }
/// let a = "neumann3d:5".parse::<Problem>()?.matrix()?;
/// let p = interpolation(&Reference, &a)?;
/// for row in p.all_rows() {
///     assert!((p.row(row).1.iter().sum::<f64>() - 1.0).abs() < 1e-12); // constants
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ClassicalKernels: SetupKernels {
    /// The strong connections, each with its entry, and the diagonal.
    fn dependences<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        strength: &ClassicalStrength,
    ) -> Result<Self::Sparse<T>, DeviceError>;

    /// The coarse rows of a graph by PMIS. Entries on the diagonal are not connections.
    ///
    /// A row that no row depends on is fine. Another row is fine if it depends on a coarse row with
    /// a larger [measure](coarse_measure), and coarse otherwise.
    ///
    /// In a second pass, `again` is the transposed matrix of the coarse rows of the first, which
    /// are the rows of the graph. Their measures have the numbers of the first pass, and a row
    /// without any connection stays coarse, because there is none to interpolate it from.
    fn coarse_rows<T: Real>(
        &self,
        strong: &Self::Sparse<T>,
        again: Option<&Self::Sparse<T>>,
    ) -> Result<Self::Sparse<T>, DeviceError>;

    /// The coarse rows that are connected by at least `least` strong paths of one or two steps, as
    /// a graph of the coarse rows. Its values are the numbers of paths; its diagonal is empty.
    fn paths<T: Real>(
        &self,
        strong: &Self::Sparse<T>,
        coarse: &Self::Sparse<T>,
        least: u32,
    ) -> Result<Self::Sparse<T>, DeviceError>;

    /// Extended+i interpolation, truncated; if `to` is given, only to the rows that have an entry
    /// there, and the other rows are empty. A coarse row is a row of the identity. A symmetric
    /// matrix is not searched for the entry opposite to another. A row without coarse rows to
    /// interpolate from is empty, and so is one whose ã_ii is zero.
    fn extended_i<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        strong: &Self::Sparse<T>,
        coarse: &Self::Sparse<T>,
        to: Option<&Self::Sparse<T>>,
        symmetric: bool,
        truncation: Truncation,
    ) -> Result<Self::Sparse<T>, DeviceError>;

    /// Two-stage interpolation P₁ P₂ with truncated rows; P₂ has a row for each coarse row of
    /// `first`. Entries of P₁ in the columns of rows of P₂ that are empty are removed first, and
    /// the others of their row multiplied so that its sum stays, unless theirs is zero. The coarse
    /// rows of `first`, which P₁ takes over from P₂, are not truncated again.
    fn two_stage<T: Real>(
        &self,
        p1: &Self::Sparse<T>,
        p2: &Self::Sparse<T>,
        first: &Self::Sparse<T>,
        truncation: Truncation,
    ) -> Result<Self::Sparse<T>, DeviceError>;
}
