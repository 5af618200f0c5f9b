//! What each level looks like over all ranks: who has it, and what its messages cost.
//!
//! Counts are gathered among the ranks of a level. Those of the coarsest know all levels; the lowest of them tells the others.

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
    /// The sum of the bits of all entries, modulo 2^64: the same for the same matrix, however its rows are distributed.
    pub fingerprint: u64,
    /// Ranks that have rows.
    pub ranks: u64,
    /// The most rows that one rank has.
    pub rows_most: u64,
    /// Rows of others that ranks have copies of for a product with the matrix: altogether, and the most on one rank.
    pub halo_rows: u64,
    /// The most on one rank.
    pub halo_rows_most: u64,
    /// The most neighbours that one rank hears from in a product.
    pub messages_most: u64,
    /// The most bytes that one rank receives in a product, in the level's working precision.
    pub bytes_most: u64,
    /// What its matrices are stored in.
    pub storage: String,
    /// What its vectors are stored and computed in.
    pub working: String,
    /// The format of its matrix, on the lowest rank that has it.
    pub format: String,
    /// Bytes of its matrix, on all ranks.
    pub bytes: u64,
    /// Bytes of restriction and prolongation, on all ranks.
    pub transfer_bytes: u64,
    /// Which formats were considered, on the lowest rank that has it.
    pub reason: String,
}

/// The counts of a level, which its ranks know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    sums: [u64; 4],
    most: [f64; 3],
    rows: u64,
}

impl LevelReport {
    /// Counts what this rank's levels have, over their ranks. The last level of a rank that has no rows of it counts nothing.
    pub(crate) fn facts(levels: &[Level<DistributedCsr>]) -> Vec<(std::sync::Arc<dyn Comm>, Facts)> {
        let of_level = |level: &Level<DistributedCsr>| {
            let a = level.distributed_matrix();
            let halo = a.around.halo_rows() as u64;
            let mut sums = [a.own_nnz() as u64, u64::from(!a.own.is_empty()), halo, a.fingerprint()];
            let mut most = [a.around.rows().owned().len() as f64, halo as f64, a.around.neighbours() as f64];
            a.comm().sum(&mut sums);
            a.comm().largest(&mut most);
            (a.comm().clone(), Facts { sums, most, rows: a.global_rows() })
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
        facts: Vec<(std::sync::Arc<dyn Comm>, Facts)>,
        stored: &[StoredLevel],
    ) -> Vec<LevelReport> {
        let of_level = |((comm, facts), stored): ((std::sync::Arc<dyn Comm>, Facts), &StoredLevel)| {
            let mut bytes = [stored.format.bytes() as u64, stored.transfer_bytes as u64];
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
                reason: stored.format.to_string(),
            }
        };
        let mine: Vec<LevelReport> = facts.into_iter().zip(stored).map(of_level).collect();
        // Whoever has rows of the coarsest level has all of them; one without rows has an empty last one.
        let known = mine.iter().filter(|level| level.rows > 0).count();
        let most = comm.most(known as f64);
        let teller = comm.lowest(known as f64 == most).unwrap_or(0);
        let told = serde_json::to_string(&mine[..known]).unwrap_or_default();
        // What a rank of this program has written can be read.
        serde_json::from_str(&comm.announce(teller, &told)).unwrap_or_default()
    }
}
