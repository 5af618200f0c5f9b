//! Statistics of each level over all ranks: its distribution, and the cost of its messages.
//!
//! Counts are reduced over the ranks of a level. The ranks of the coarsest level know all levels;
//! the lowest of them broadcasts the result.

use serde::{Deserialize, Serialize};
use ziggurat::events::LevelSummary;
use ziggurat_amg::halo::Halo;
use ziggurat_amg::{Level, StoredLevel};

use crate::comm::Comm;
use crate::matrix::DistributedCsr;

/// A level of a distributed hierarchy.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat::SolverConfig;
/// use ziggurat_mpi::{Alone, Comm, DistributedCsr, DistributedSolver};
/// let comm: Arc<dyn Comm> = Arc::new(Alone);
/// let a = DistributedCsr::generate(&comm, "poisson3d:12".parse()?)?;
/// let solver = DistributedSolver::new(&a, SolverConfig::default())?;
/// let finest = &solver.levels()[0];
/// assert_eq!((finest.rows, finest.ranks, finest.halo_rows), (1728, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelReport {
    /// Rows on all ranks.
    pub rows: u64,
    /// Entries on all ranks.
    pub nnz: u64,
    /// The sum of the bits of all entries, modulo 2^64. It is the same for the same matrix,
    /// whatever the distribution of its rows.
    pub fingerprint: u64,
    /// Number of ranks that own rows.
    pub ranks: u64,
    /// The maximum number of rows on one rank.
    pub rows_most: u64,
    /// Halo rows of a product with the matrix, summed over all ranks.
    pub halo_rows: u64,
    /// The maximum number of halo rows on one rank.
    pub halo_rows_most: u64,
    /// The maximum number of messages that one rank receives in a product.
    pub messages_most: u64,
    /// The maximum number of bytes that one rank receives in a product, in the level's working
    /// precision.
    pub bytes_most: u64,
    /// The precision of its matrices.
    pub storage: String,
    /// The precision of its vectors and arithmetic.
    pub working: String,
    /// The format of its matrix, on the lowest rank that has rows of it.
    pub format: String,
    /// Bytes of its matrix on all ranks.
    pub bytes: u64,
    /// Bytes of restriction and prolongation on all ranks.
    pub transfer_bytes: u64,
    /// Bytes of the smoother's matrices on all ranks.
    pub smoother_bytes: u64,
    /// The formats that were considered, on the lowest rank that has rows of it.
    pub reason: String,
}

/// Counts of a level over its ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelFacts {
    sums: [u64; 4],
    most: [f64; 3],
    rows: u64,
}

impl LevelReport {
    /// Counts over the ranks of each level. An empty last level, on a rank without rows of it,
    /// counts nothing.
    pub(crate) fn facts(levels: &[Level<DistributedCsr>]) -> Vec<(std::sync::Arc<dyn Comm>, LevelFacts)> {
        let of_level = |level: &Level<DistributedCsr>| {
            let a = level.distributed_matrix();
            let halo = a.around.halo_rows() as u64;
            let mut sums = [a.own_nnz() as u64, u64::from(!a.own.is_empty()), halo, a.fingerprint()];
            let mut most = [a.around.rows().owned().len() as f64, halo as f64, a.around.neighbours() as f64];
            a.comm().sum(&mut sums);
            a.comm().largest(&mut most);
            (a.comm().clone(), LevelFacts { sums, most, rows: a.global_rows() })
        };
        levels.iter().map(of_level).collect()
    }

    /// The level as setup logs it.
    pub(crate) fn summary(&self) -> LevelSummary<'_> {
        LevelSummary {
            rows: self.rows,
            nnz: self.nnz,
            storage: &self.storage,
            working: &self.working,
            format: &self.reason,
        }
    }

    /// All levels, on every rank.
    pub(crate) fn gather(
        comm: &dyn Comm,
        facts: Vec<(std::sync::Arc<dyn Comm>, LevelFacts)>,
        stored: &[StoredLevel],
    ) -> Vec<LevelReport> {
        let of_level = |((comm, facts), stored): ((std::sync::Arc<dyn Comm>, LevelFacts), &StoredLevel)| {
            let bytes = [stored.format.bytes(), stored.transfer_bytes, stored.smoother_bytes];
            let mut bytes = bytes.map(|bytes| bytes as u64);
            comm.sum(&mut bytes);
            let [rows_most, halo_most, messages_most] = facts.most.map(|most| most as u64);
            let width = if stored.working == ziggurat_sparse::Kind::F64 { 8 } else { 4 };
            LevelReport {
                rows: facts.rows,
                nnz: facts.sums[0],
                fingerprint: facts.sums[3],
                ranks: facts.sums[1],
                rows_most,
                halo_rows: facts.sums[2],
                halo_rows_most: halo_most,
                messages_most,
                bytes_most: halo_most * width,
                storage: stored.storage.name().to_owned(),
                working: stored.working.name().to_owned(),
                format: stored.format.format().to_string(),
                bytes: bytes[0],
                transfer_bytes: bytes[1],
                smoother_bytes: bytes[2],
                reason: stored.format.to_string(),
            }
        };
        let mine: Vec<LevelReport> = facts.into_iter().zip(stored).map(of_level).collect();
        // A rank with rows of the coarsest level has all levels; on other ranks the last level is
        // empty.
        let known = mine.iter().filter(|level| level.rows > 0).count();
        let most = comm.most(known as f64);
        let root = comm.lowest(known as f64 == most).unwrap_or(0);
        let json = serde_json::to_string(&mine[..known]).unwrap_or_default();
        // The text was written by the same program, so it can be parsed.
        serde_json::from_str(&comm.announce(root, &json)).unwrap_or_default()
    }
}
