//! Who owns which rows: every rank a range, in the order of ranks.
//!
//! A rank knows its own range. Whoever wants to know the owner of another row asks the rank that keeps that part of the directory:
//! ids are cut into as many equal slots as there are ranks, and rank s keeps the ranges that reach into slot s (Baker, Falgout &
//! Yang's assumed partition, 2006). So nobody holds a list of all ranks. Cost of a question: two rounds of unexpected
//! messages.

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
    /// The ranges that reach into this rank's slot: their first ids, increasing, and their owners.
    directory: Vec<(u64, usize)>,
}

impl Partition {
    /// Every rank owns so many ids, in the order of ranks.
    ///
    /// # Errors
    /// If there are more ids than 64 bits can count.
    pub fn try_new(comm: &dyn Comm, count: usize) -> Result<Self, DistributedError> {
        let (begin, global) = Self::count(comm, count)?;
        Ok(Self::with_range(comm, begin..begin + count as u64, global))
    }

    /// The first id of this rank where every rank owns `count` ids, and how many ids there are.
    pub(crate) fn count(comm: &dyn Comm, count: usize) -> Result<(u64, u64), DistributedError> {
        let count = count as u64;
        let begin = comm.before(count);
        // Halves, so that an overflow is seen.
        let mut halves = [count & 0xffff_ffff, count >> 32];
        comm.sum(&mut halves);
        let global = u128::from(halves[0]) + (u128::from(halves[1]) << 32);
        let global = u64::try_from(global).map_err(|_| DistributedError::TooManyRows)?;
        Ok((begin, global))
    }

    /// Every rank owns a range; ranges follow one another in the order of ranks.
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

    /// As equal ranges as multiples of `grain` allow.
    pub(crate) fn even(comm: &dyn Comm, global: u64, grain: u64) -> Self {
        let grains = global.div_ceil(grain);
        let bound = |rank: usize| {
            let grains = u128::from(grains) * rank as u128 / comm.size() as u128;
            (grains as u64 * grain).min(global)
        };
        Self::with_range(comm, bound(comm.rank())..bound(comm.rank() + 1), global)
    }

    /// The same ids, with every bound moved to the nearest multiple of `grain`. Where there are fewer grains than ranks, some
    /// ranks end up with nothing: this is how a coarse level comes to live on fewer ranks.
    pub(crate) fn aligned(&self, comm: &dyn Comm, grain: u64) -> Self {
        let bound = |id: u64| {
            if id == self.global { id } else { ((id + grain / 2) / grain * grain).min(self.global) }
        };
        // The first rank's bound is zero, the last one's the end; empty ranges have theirs where the next one begins.
        Self::with_range(comm, bound(self.own.start)..bound(self.own.end), self.global)
    }

    /// The ids of this rank.
    pub fn own(&self) -> Range<u64> {
        self.own.clone()
    }

    /// How many ids this rank owns.
    pub fn len(&self) -> usize {
        (self.own.end - self.own.start) as usize
    }

    /// Whether this rank owns nothing.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// How many ids there are.
    pub fn global(&self) -> u64 {
        self.global
    }

    /// The slot of the directory that an id belongs to.
    fn slot(&self, id: u64) -> usize {
        (u128::from(id) * self.size as u128 / u128::from(self.global.max(1))) as usize
    }

    /// The owner of each of `ids`, which increase. All ranks call it.
    ///
    /// # Panics
    /// If an id is not below [`global`](Self::global).
    pub fn owners(&self, comm: &dyn Comm, ids: &[u64]) -> Vec<usize> {
        assert!(ids.last().is_none_or(|&last| last < self.global), "ids of this partition");
        let groups: Vec<&[u64]> = ids.chunk_by(|x, y| self.slot(*x) == self.slot(*y)).collect();
        let questions = groups.iter().map(|group| (self.slot(group[0]), group.to_vec())).collect();
        let owner = |&id: &u64| {
            let at = self.directory.partition_point(|&(first, _)| first <= id);
            self.directory[at - 1].1 as u64
        };
        let asked = comm.deliver(questions);
        let answers = asked.into_iter().map(|(from, ids)| (from, ids.iter().map(owner).collect())).collect();
        let answers = comm.deliver(answers);
        // Slots increase with ids, and answers come in the order of slots.
        answers.into_iter().flat_map(|(_, owners)| owners).map(|owner| owner as usize).collect()
    }
}

/// Ids that increase, and so do their owners: the part of each owner.
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
    fn one_rank_owns_all_of_it() {
        let partition = Partition::try_new(&Alone, 7).unwrap();
        assert_eq!(partition.owners(&Alone, &[0, 3, 6]), [0, 0, 0]);
        assert_eq!(partition.aligned(&Alone, 4).own(), 0..7);
        assert_eq!(Partition::even(&Alone, 0, 4).own(), 0..0);
    }

    #[test]
    fn groups_are_those_of_owners() {
        let groups: Vec<_> = by_owner(&[1, 2, 5, 9], &[0, 0, 2, 3]).collect();
        assert_eq!(groups, [(0, &[1, 2][..]), (2, &[5][..]), (3, &[9][..])]);
    }
}
