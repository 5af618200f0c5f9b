//! The distribution of rows: every rank owns a range, in the order of ranks.
//!
//! A rank knows its own range. The owner of another row is found in a distributed directory: ids
//! are divided into as many equal slots as there are ranks, and rank s keeps the ranges that
//! overlap slot s (the assumed partition of Baker, Falgout & Yang, 2006). So no rank holds a list
//! of all ranks. Cost of a query: two rounds of unexpected messages.

use std::ops::Range;

use crate::comm::Comm;
use crate::error::DistributedError;

/// A distribution of the ids `0..global` over ranks.
///
/// ```
/// use ziggurat_mpi::{Alone, Partition};
/// let partition = Partition::try_new(&Alone, 10)?;
/// assert_eq!((partition.own(), partition.global()), (0..10, 10));
/// # Ok::<(), ziggurat_mpi::DistributedError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Partition {
    own: Range<u64>,
    global: u64,
    size: usize,
    /// The ranges that overlap this rank's slot: their first ids, in increasing order, and their
    /// owners.
    directory: Vec<(u64, usize)>,
}

impl Partition {
    /// This rank owns `count` ids; ranges are in the order of ranks.
    ///
    /// # Errors
    /// If there are more ids than 64 bits can count.
    pub fn try_new(comm: &dyn Comm, count: usize) -> Result<Self, DistributedError> {
        let (begin, global) = Self::count(comm, count)?;
        Ok(Self::with_range(comm, begin..begin + count as u64, global))
    }

    /// The first id of this rank if it owns `count` ids, and the number of ids on all ranks.
    pub(crate) fn count(comm: &dyn Comm, count: usize) -> Result<(u64, u64), DistributedError> {
        let count = count as u64;
        let begin = comm.before(count);
        // Summed in halves, so that an overflow is detected.
        let mut halves = [count & 0xffff_ffff, count >> 32];
        comm.sum(&mut halves);
        let global = u128::from(halves[0]) + (u128::from(halves[1]) << 32);
        let global = u64::try_from(global).map_err(|_| DistributedError::TooManyRows)?;
        Ok((begin, global))
    }

    /// This rank owns the range `own`; ranges are consecutive, in the order of ranks.
    pub(crate) fn with_range(comm: &dyn Comm, own: Range<u64>, global: u64) -> Self {
        let mut partition = Partition { own, global, size: comm.size(), directory: Vec::new() };
        let messages = if partition.own.is_empty() {
            Vec::new()
        } else {
            let slots = partition.slot(partition.own.start)..=partition.slot(partition.own.end - 1);
            slots.map(|slot| (slot, vec![partition.own.start])).collect()
        };
        let received = comm.deliver(messages);
        partition.directory = received.into_iter().map(|(owner, first)| (first[0], owner)).collect();
        partition
    }

    /// Ranges of nearly equal length, in multiples of `grain`.
    pub(crate) fn even(comm: &dyn Comm, global: u64, grain: u64) -> Self {
        let grains = global.div_ceil(grain);
        let bound = |rank: usize| {
            let grains = u128::from(grains) * rank as u128 / comm.size() as u128;
            (grains as u64 * grain).min(global)
        };
        Self::with_range(comm, bound(comm.rank())..bound(comm.rank() + 1), global)
    }

    /// The same ids, with every bound moved to the nearest multiple of `grain`. If there are fewer
    /// grains than ranks, some ranks get nothing: this is how coarse levels move to fewer ranks.
    pub(crate) fn aligned(&self, comm: &dyn Comm, grain: u64) -> Self {
        let bound = |id: u64| {
            if id == self.global { id } else { ((id + grain / 2) / grain * grain).min(self.global) }
        };
        // The first bound is zero and the last one the end; an empty range starts where the next
        // one does.
        Self::with_range(comm, bound(self.own.start)..bound(self.own.end), self.global)
    }

    /// The ids of this rank.
    pub fn own(&self) -> Range<u64> {
        self.own.clone()
    }

    /// The number of ids of this rank.
    pub fn len(&self) -> usize {
        (self.own.end - self.own.start) as usize
    }

    /// Whether this rank owns nothing.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// The number of ids on all ranks.
    pub fn global(&self) -> u64 {
        self.global
    }

    /// The slot of the directory that contains an id.
    fn slot(&self, id: u64) -> usize {
        (u128::from(id) * self.size as u128 / u128::from(self.global.max(1))) as usize
    }

    /// The owner of each of `ids`, which are increasing. Collective.
    ///
    /// # Panics
    /// If an id is not below [`global`](Self::global).
    pub fn owners(&self, comm: &dyn Comm, ids: &[u64]) -> Vec<usize> {
        assert!(ids.last().is_none_or(|&last| last < self.global), "an id is outside the partition");
        let groups: Vec<&[u64]> = ids.chunk_by(|x, y| self.slot(*x) == self.slot(*y)).collect();
        let questions = groups.iter().map(|group| (self.slot(group[0]), group.to_vec())).collect();
        let owner = |&id: &u64| {
            let at = self.directory.partition_point(|&(first, _)| first <= id);
            self.directory[at - 1].1 as u64
        };
        let asked = comm.deliver(questions);
        let answers = asked.into_iter().map(|(from, ids)| (from, ids.iter().map(owner).collect())).collect();
        let answers = comm.deliver(answers);
        // Slots increase with ids, and answers arrive in the order of slots.
        answers.into_iter().flat_map(|(_, owners)| owners).map(|owner| owner as usize).collect()
    }
}

/// Splits increasing ids, whose owners increase too, by owner.
pub(crate) fn by_owner<'a>(ids: &'a [u64], owners: &'a [usize]) -> impl Iterator<Item = (usize, &'a [u64])> {
    let mut left = ids;
    owners.chunk_by(|x, y| x == y).map(move |group| {
        let part;
        (part, left) = left.split_at(group.len());
        (group[0], part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    #[test]
    fn one_rank_owns_all_ids() {
        let partition = Partition::try_new(&Alone, 7).unwrap();
        assert_eq!(partition.owners(&Alone, &[0, 3, 6]), [0, 0, 0]);
        assert_eq!(partition.aligned(&Alone, 4).own(), 0..7);
        assert_eq!(Partition::even(&Alone, 0, 4).own(), 0..0);
    }

    #[test]
    fn ids_are_grouped_by_owner() {
        let groups: Vec<_> = by_owner(&[1, 2, 5, 9], &[0, 0, 2, 3]).collect();
        assert_eq!(groups, [(0, &[1, 2][..]), (2, &[5][..]), (3, &[9][..])]);
    }
}
