//! The steps of smoothed and of plain aggregation on a device.
//!
//! ```text
//! matrix of nodes ▸ strong connections ▸ MIS-2 aggregates ▸ tentative interpolation ▸ 1 − ω D⁻¹ A_F
//!                 ▸ pairs                                 ▸ tentative interpolation
//! ```
//!
//! [`SetupKernels`] computes the products that follow, P = (1 − ω D⁻¹ A_F) P_tent and Pᵀ A P. The
//! steps are those that `ziggurat-amg` has for the host, where they also work for ranks; results
//! are the same up to rounding. What both must agree on is here: the order in which rows become
//! roots, how rows choose an aggregate, and when a vector depends on others.
//!
//! **Several unknowns per node.** A node has b consecutive rows, and the near-kernel has k vectors.
//! Aggregates consist of nodes, and each becomes a node with k unknowns. With one unknown, the
//! matrix of nodes is the matrix itself.

use super::SetupKernels;
use crate::device::DeviceError;
use crate::number::Real;

/// The unit of the votes for an aggregate: the strongest connection of a row has this many. Votes
/// are whole numbers, so that their sums do not depend on the order.
pub const VOTE_UNITS: f64 = (1u64 << 40) as f64;

/// A row without strong connections becomes an aggregate of its own if the sum of its off-diagonal
/// magnitudes is at least this fraction of its diagonal: the smoother alone would not solve it.
pub const LONE: f64 = 0.5;

/// A block of rows is 2^3 times as long as most connections.
const BLOCK_FACTOR: u32 = 3;

/// Matrices with at least this many rows are judged by a sample of them.
const SAMPLED_FROM: u64 = 1 << 16;

/// A row of a large matrix is in the sample if its number times this, in 32 bits, has no digit from
/// [`SAMPLE_SHIFT`] on: one row in 16 (Knuth's multiplicative hash).
pub const SAMPLE_FACTOR: u32 = 2_654_435_761;

/// See [`SAMPLE_FACTOR`].
pub const SAMPLE_SHIFT: u32 = 28;

/// Whether a row of a matrix with `rows` rows is one of those whose connections decide how many are
/// the strongest: all rows of a small matrix, one in 16 of a large one.
///
/// ```
/// use ziggurat_sparse::device::is_sampled;
/// assert!((0..1000).all(|row| is_sampled(row, 1000)));
/// let sampled = (0..160_000).filter(|&row| is_sampled(row, 160_000)).count();
/// assert!(sampled.abs_diff(10_000) < 10);
/// ```
#[inline]
pub fn is_sampled(row: u64, rows: u64) -> bool {
    rows < SAMPLED_FROM || (row as u32).wrapping_mul(SAMPLE_FACTOR) >> SAMPLE_SHIFT == 0
}

/// Which connections are strong: |a_ij| / √(a_ii a_jj) is at least the threshold.
///
/// ```
/// use ziggurat_sparse::device::SymmetricStrength;
/// let strength = SymmetricStrength { threshold: 0.08, most: None, sampled: false };
/// assert_eq!(strength.rank(100, 460), None);
/// let strongest = SymmetricStrength { most: Some(4.0), ..strength };
/// assert_eq!(strongest.rank(100, 460), Some(400));
/// assert_eq!(strongest.rank(160_000, 1_000_000), Some(640_000));
/// let sampled = SymmetricStrength { sampled: true, ..strongest }.rank(160_000, 1_000_000);
/// assert!(sampled.is_some_and(|rank| rank.abs_diff(40_000) < 40));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SymmetricStrength {
    /// The threshold, between 0 and 1.
    pub threshold: f64,
    /// Of the connections above the threshold, only the strongest ones: this many per row on
    /// average.
    pub most: Option<f64>,
    /// Whether the average is over the [sampled](is_sampled) rows, instead of all.
    pub sampled: bool,
}

impl SymmetricStrength {
    /// Whether the connections of a row count for the average.
    #[inline]
    pub fn counts(&self, row: u64, rows: u64) -> bool {
        !self.sampled || is_sampled(row, rows)
    }

    /// The number of connections of rows that count to keep, if the matrix has more entries than
    /// `most` per row.
    pub fn rank(&self, rows: usize, entries: usize) -> Option<u64> {
        let most = self.most?;
        if entries as u64 <= (most * rows as f64).round() as u64 {
            return None;
        }
        let counted = (0..rows as u64).filter(|&row| self.counts(row, rows as u64)).count();
        Some((most * counted as f64).round() as u64)
    }
}

/// A near-kernel vector counts as dependent on those before it, on an aggregate, if at most this
/// fraction of it is left without them; see [`dependent`].
const DEPENDENT: f64 = 1e-10;

/// The fraction of a near-kernel vector below which the rest of it is rounding errors, in a number
/// type.
///
/// ```
/// use ziggurat_sparse::device::dependent;
/// assert_eq!(dependent::<f64>(), 1e-10);
/// assert!(dependent::<f32>() > 1e-6);
/// ```
pub fn dependent<T: Real>() -> f64 {
    DEPENDENT.max(32.0 * T::epsilon().wide())
}

/// One step of Jacobi's method with the filtered matrix A_F, whose connections are at least
/// `filter` times the largest one in their row; the others are added to the diagonal.
///
/// ```
/// use ziggurat_sparse::device::FilteredStep;
/// let step = FilteredStep { filter: 0.1, damping: 4.0 / 3.0, radius: 2.0 };
/// assert!(step.damping / step.radius < 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilteredStep {
    /// The smallest connection that is kept, relative to the largest one in its row.
    pub filter: f64,
    /// ω ρ(D⁻¹A).
    pub damping: f64,
    /// ρ(D⁻¹A)
    pub radius: f64,
}

/// Rows become roots block by block of 2^b consecutive ones; b for a graph of which `lengths[k]`
/// connections have a length (the difference of the two rows) from 2^k to below 2^(k+1).
///
/// A block is eight times as long as most connections, that is nine out of ten.
///
/// ```
/// use ziggurat_sparse::device::block_bits;
/// assert_eq!(block_bits(&[90, 10]), 1 + 3);
/// assert_eq!(block_bits(&[89, 11]), 2 + 3);
/// ```
pub fn block_bits(lengths: &[u64]) -> u32 {
    let total: u64 = lengths.iter().sum();
    let (mut sum, mut bits) = (0, 0);
    while bits < 60.min(lengths.len()) && 10 * sum < 9 * total {
        sum += lengths[bits];
        bits += 1;
    }
    bits as u32 + BLOCK_FACTOR
}

/// The order in which rows may become roots: smaller keys first. Even blocks come before odd ones,
/// and the rows of a block are in their order. Keys of different rows differ.
///
/// ```
/// use ziggurat_sparse::device::root_key;
/// let mut rows = [0, 1, 2, 3, 4, 5];
/// rows.sort_by_key(|&row| root_key(row, 1));
/// assert_eq!(rows, [0, 1, 4, 5, 2, 3]);
/// ```
#[inline]
pub fn root_key(row: u64, block_bits: u32) -> u64 {
    (row >> block_bits.min(63) & 1) << 63 | row
}

/// A backend that also coarsens matrices by aggregation.
///
/// Matrices are symmetric with a positive diagonal, up to rounding.
///
/// ```
/// use ziggurat_sparse::device::{AggregationKernels, DeviceError, Reference, SetupKernels, SymmetricStrength};
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::Csr;
///
/// /// The number of aggregates of a matrix, by any backend.
/// fn coarse_rows<K: AggregationKernels>(k: &K, a: &Csr<f64>) -> Result<usize, DeviceError> {
///     let a = k.upload_sparse(a)?;
///     let strength = SymmetricStrength { threshold: 0.08, most: None, sampled: false };
///     let strong = k.strong_connections(&a, &strength)?;
///     Ok(k.size(&k.aggregates(&strong, &a)?).cols)
/// }
/// let a = "poisson2d:10".parse::<Problem>()?.matrix()?;
/// assert_eq!(coarse_rows(&Reference, &a)?, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AggregationKernels: SetupKernels {
    /// The vector of 1/√a_ii, and the Gershgorin bound of ρ(D⁻¹A): the largest Σ_j |a_ij| / a_ii.
    fn diagonal_scales<T: Real>(&self, a: &Self::Sparse<T>) -> Result<(Self::Vector<T>, f64), DeviceError>;

    /// The strong connections, each with |a_ij|. A connection is strong if it is in either
    /// direction.
    fn strong_connections<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        strength: &SymmetricStrength,
    ) -> Result<Self::Sparse<T>, DeviceError>;

    /// MIS-2 aggregates of the rows of a graph, which has the strong connections of `a`, as a
    /// matrix with a one in the column of each row's aggregate. Rows that are left out are empty.
    ///
    /// 1. In the order of [`root_key`], a row with connections becomes a root unless there is a
    ///    root within two connections of it. The neighbours of a root join it.
    /// 2. The other rows join the aggregate with the most votes. Each of its rows among the
    ///    neighbours has [`VOTE_UNITS`] |a_ij| / max_k |a_ik| votes, rounded down, plus one. Among
    ///    equals the first counts.
    /// 3. A row without connections is an aggregate of its own if its other entries are at least
    ///    [`LONE`] times its diagonal, and left out otherwise.
    fn aggregates<T: Real>(
        &self,
        strong: &Self::Sparse<T>,
        a: &Self::Sparse<T>,
    ) -> Result<Self::Sparse<T>, DeviceError>;

    /// Pairs of rows by graph matching (the parallel graph match of Ginkgo), as a matrix with a one
    /// in the column of each row's aggregate. Rows without connections are empty. The matrix need
    /// not be symmetric.
    ///
    /// The weight of a connection is ½ (|a_ij| + |a_ji|) / max(|a_ii|, |a_jj|); among equals the
    /// smallest `i xor j` counts.
    ///
    /// 1. In each of `rounds` rounds, every row without a partner chooses the strongest neighbour
    ///    without one, if both have an entry for the other; two rows that choose each other are a
    ///    pair.
    /// 2. Every other row joins the pair of its strongest neighbour that has one, or stays alone.
    fn pairs<T: Real>(&self, a: &Self::Sparse<T>, rounds: usize) -> Result<Self::Sparse<T>, DeviceError>;

    /// The matrix of nodes with `block` rows each: the Frobenius norms of the blocks that connect
    /// them.
    fn node_matrix<T: Real>(&self, a: &Self::Sparse<T>, block: usize)
    -> Result<Self::Sparse<T>, DeviceError>;

    /// Tentative interpolation of `count` near-kernel vectors, whose elements are stored row by
    /// row.
    ///
    /// With the rows B_I of aggregate I and their thin QR decomposition B_I = Q_I R_I, P consists
    /// of the Q_I, with an entry for every vector in each row of a node that has an aggregate.
    /// Returns P, and the R_I as near-kernel of the coarse level. A vector that
    /// [depends](dependent) on those before it has a column of zeros in Q_I and a row of zeros in
    /// R_I.
    #[allow(clippy::type_complexity)] // a matrix and a vector
    fn tentative<T: Real>(
        &self,
        aggregates: &Self::Sparse<T>,
        kernel: &Self::Vector<T>,
        count: usize,
    ) -> Result<(Self::Sparse<T>, Self::Vector<T>), DeviceError>;

    /// Sets the diagonal entry of dead unknowns of Pᵀ A P, whose rows and columns are zero, to the
    /// largest diagonal entry, and returns which they are: those with a zero on the diagonal of
    /// R_I. `kernel` has the `count` near-kernel vectors of `a`.
    fn set_dead_diagonal<T: Real>(
        &self,
        a: &mut Self::Sparse<T>,
        kernel: &Self::Vector<T>,
        count: usize,
    ) -> Result<Vec<u32>, DeviceError>;

    /// 1 − ω D⁻¹ A_F, where D is the diagonal of the filtered matrix; where filtering has changed
    /// the sign of that, D is the larger of |a^F_ii| and ½ Σ_j |a^F_ij|, and ρ(D⁻¹A_F) at most 2.
    ///
    /// `nodes` is the [matrix of nodes](Self::node_matrix), or `a`. Which connections are kept is
    /// decided by its entries; others are added to the entry of the same unknown in the row's own
    /// node. All entries of that are stored.
    fn smoothing_matrix<T: Real>(
        &self,
        a: &Self::Sparse<T>,
        nodes: &Self::Sparse<T>,
        step: &FilteredStep,
    ) -> Result<Self::Sparse<T>, DeviceError>;
}
