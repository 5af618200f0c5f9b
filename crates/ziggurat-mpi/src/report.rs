//! What each level looks like over all ranks: who has it, and what its messages cost.
//!
//! Counts are gathered among the ranks of a level. Those of the coarsest know all levels; the lowest of them tells the others.

use ziggurat_amg::StoredLevel;
use ziggurat_amg::halo::Halo;

use crate::comm::Comm;
use crate::setup::Level;

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
#[derive(Clone, Debug, PartialEq)]
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
    pub(crate) fn facts(levels: &[Level]) -> Vec<(std::sync::Arc<dyn Comm>, Facts)> {
        let of_level = |level: &Level| {
            let a = &level.a;
            let halo = a.around.halo_rows() as u64;
            let mut sums = [a.own_nnz() as u64, u64::from(!a.own.is_empty()), halo, a.fingerprint()];
            let mut most = [a.around.rows().owned().len() as f64, halo as f64, a.around.neighbours() as f64];
            level.comm.sum(&mut sums);
            level.comm.largest(&mut most);
            (level.comm.clone(), Facts { sums, most, rows: a.global_rows() })
        };
        levels.iter().map(of_level).collect()
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
                format: stored.format.format().to_owned(),
                bytes: bytes[0],
                transfer_bytes: bytes[1],
                reason: stored.format.to_string(),
            }
        };
        let mine: Vec<LevelReport> = facts.into_iter().zip(stored).map(of_level).collect();
        // Whoever has rows of the coarsest level has all of them; one without rows has an empty last one.
        let known = mine.iter().filter(|level| level.rows > 0).count();
        let most = comm.most(known as f64);
        let lowest = -comm.most(if known as f64 == most { -(comm.rank() as f64) } else { f64::NEG_INFINITY });
        let mut words: Vec<u64> =
            mine.iter().filter(|level| level.rows > 0).flat_map(LevelReport::words).collect();
        comm.broadcast(lowest as usize, &mut words);
        let mut levels = Vec::new();
        let mut left = &words[..];
        while let Some((level, rest)) = LevelReport::read(left) {
            levels.push(level);
            left = rest;
        }
        levels
    }

    fn words(&self) -> Vec<u64> {
        let numbers = [
            self.rows,
            self.nnz,
            self.fingerprint,
            self.ranks,
            self.rows_most,
            self.halo_rows,
            self.halo_rows_most,
            self.messages_most,
            self.bytes_most,
            self.bytes,
            self.transfer_bytes,
        ];
        let texts = [&self.storage, &self.working, &self.format, &self.reason];
        let texts = texts
            .into_iter()
            .flat_map(|text| [text.len() as u64].into_iter().chain(text.bytes().map(u64::from)));
        numbers.into_iter().chain(texts).collect()
    }

    fn read(words: &[u64]) -> Option<(LevelReport, &[u64])> {
        let (numbers, mut left) = words.split_at_checked(11)?;
        let mut text = || {
            let (length, rest) = left.split_first()?;
            let (bytes, rest) = rest.split_at_checked(*length as usize)?;
            left = rest;
            Some(
                String::from_utf8_lossy(&bytes.iter().map(|&byte| byte as u8).collect::<Vec<_>>())
                    .into_owned(),
            )
        };
        let (storage, working, format, reason) = (text()?, text()?, text()?, text()?);
        let level = LevelReport {
            rows: numbers[0],
            nnz: numbers[1],
            fingerprint: numbers[2],
            ranks: numbers[3],
            rows_most: numbers[4],
            halo_rows: numbers[5],
            halo_rows_most: numbers[6],
            messages_most: numbers[7],
            bytes_most: numbers[8],
            bytes: numbers[9],
            transfer_bytes: numbers[10],
            storage,
            working,
            format,
            reason,
        };
        Some((level, left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let level = LevelReport {
            rows: 1,
            nnz: 2,
            fingerprint: u64::MAX,
            ranks: 3,
            rows_most: 4,
            halo_rows: 5,
            halo_rows_most: 6,
            messages_most: 7,
            bytes_most: 8,
            storage: "f16".into(),
            working: "f32".into(),
            format: "delta-sell".into(),
            bytes: 9,
            transfer_bytes: 10,
            reason: "delta-sell 1 MB < csr 2 MB — so".into(),
        };
        let words = [level.words(), level.words()].concat();
        let (first, rest) = LevelReport::read(&words).unwrap();
        assert_eq!((&first, LevelReport::read(rest).unwrap()), (&level, (level.clone(), &[][..])));
        assert_eq!(LevelReport::read(&[]), None);
    }
}
