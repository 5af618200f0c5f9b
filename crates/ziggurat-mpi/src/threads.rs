//! How many threads a rank has: the rule of [`ziggurat::threads`], where ranks divide cores.
//!
//! Ranks of a machine may be bound to cores of their own, or to the same ones, or not at all. Each
//! rank marks its cores; the sums over the machine say how many ranks share a core, and a rank gets
//! its part of each. Three reductions over the ranks of a machine, and four over all ranks.

use ziggurat::threads;

use crate::comm::Comm;

/// The threads of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Threads of this rank. All ranks have the same number, unless callers give several.
    pub count: usize,
    /// If a machine has fewer cores for the ranks than they have threads: its threads and its
    /// cores.
    pub crowded: Option<(usize, usize)>,
}

impl Threads {
    /// The number of threads by the rule of [`ziggurat::threads`]: the number that the caller
    /// gives, which may differ between ranks, else the variables as they are set on rank 0, else
    /// the cores to which ranks are bound, divided by the ranks that share them. Starts no thread:
    /// the program builds rayon's global pool, with the thread that calls MPI in it
    /// (`use_current_thread`). Collective.
    ///
    /// ```
    /// use ziggurat_mpi::{Alone, Threads};
    /// let threads = Threads::of_ranks(&Alone, Some(1));
    /// assert_eq!((threads.count, threads.crowded), (1, None));
    /// ```
    pub fn of_ranks(comm: &dyn Comm, given: Option<usize>) -> Threads {
        // Launchers may pass variables to the ranks of the first machine only.
        let mut requested = vec![threads::requested().unwrap_or(0) as u64];
        comm.broadcast(0, &mut requested);
        let requested = requested.first().map(|&number| number as usize).filter(|&number| number > 0);
        let machine = comm.machine();
        let own = Cores::of_process();
        let (part, cores) = own.divided(&*machine);
        // The slowest rank decides how long a solve takes, so more threads on another one are of
        // no use.
        let part = -comm.most(-(part as f64)) as usize;
        let count = threads::count(given.or(requested).or(Some(part)));
        let together = machine.total(count as u64) as usize;
        let crowded = comm.lowest(together > cores).map(|rank| {
            let mut found = vec![together as u64, cores as u64];
            comm.broadcast(rank, &mut found);
            (found[0] as usize, found[1] as usize)
        });
        Threads { count, crowded }
    }
}

/// The cores that a process may use.
struct Cores {
    /// Whether it may use each core of the machine.
    bound_to: Vec<bool>,
    /// As many at a time: a container may have a limit.
    usable: usize,
}

impl Cores {
    fn of_process() -> Cores {
        let usable = threads::cores();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        // Without a list, the first ones: then ranks are bound to nothing, and share all.
        let bound_to = mask(&status).unwrap_or_else(|| vec![true; usable]);
        Cores { bound_to, usable }
    }

    /// The part of this rank, and the cores of all ranks of the machine. Collective.
    fn divided(&self, machine: &dyn Comm) -> (usize, usize) {
        let most = machine.most(self.bound_to.len() as f64) as usize;
        let mut ranks_of_core: Vec<u64> = self.bound_to.iter().map(|&bound| u64::from(bound)).collect();
        ranks_of_core.resize(most, 0);
        machine.sum(&mut ranks_of_core);
        self.part(&ranks_of_core)
    }

    /// The part of this rank, and the cores of all ranks, given how many ranks may use each core.
    fn part(&self, ranks_of_core: &[u64]) -> (usize, usize) {
        let own = self.bound_to.iter().filter(|&&bound| bound).count().max(1);
        let limit = (self.usable as f64 / own as f64).min(1.0);
        let parts = self.bound_to.iter().zip(ranks_of_core).filter(|(bound, _)| **bound);
        let part: f64 = parts.map(|(_, &ranks)| 1.0 / ranks.max(1) as f64).sum();
        let cores = ranks_of_core.iter().filter(|&&ranks| ranks > 0).count();
        // Thirds may sum to slightly less than one.
        let whole = |part: f64| (part * limit + 1e-6).floor().max(1.0) as usize;
        (whole(part), whole(cores as f64))
    }
}

/// The cores in the line `Cpus_allowed` of `/proc/self/status`: 32 bits in each group of digits,
/// the lowest cores last.
fn mask(status: &str) -> Option<Vec<bool>> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?;
    let groups = line.trim().split(',').rev();
    let groups: Vec<u32> =
        groups.map(|group| u32::from_str_radix(group, 16)).collect::<Result<_, _>>().ok()?;
    let bits = groups.iter().flat_map(|group| (0..u32::BITS).map(move |bit| group >> bit & 1 == 1));
    let mut bound_to: Vec<bool> = bits.collect();
    bound_to.truncate(bound_to.iter().rposition(|&bound| bound)? + 1);
    Some(bound_to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    #[test]
    fn masks_are_read_from_the_lowest_core_on() {
        let read = |text: &str| {
            let bound = mask(&format!("Name:\tx\nCpus_allowed:\t{text}\nCpus_allowed_list:\t0\n"))?;
            Some(
                bound
                    .iter()
                    .enumerate()
                    .filter_map(|(core, &bound)| bound.then_some(core))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(read("3"), Some(vec![0, 1]));
        assert_eq!(read("a"), Some(vec![1, 3]));
        assert_eq!(read("00000001,80000000"), Some(vec![31, 32]));
        assert_eq!((read("0"), read("many"), mask("")), (None, None, None));
    }

    #[test]
    fn one_rank_has_what_one_process_has() {
        assert_eq!(Cores::of_process().divided(&Alone).0, threads::cores());
        assert_eq!(Threads::of_ranks(&Alone, None).count, threads::count(None));
        assert_eq!(Threads::of_ranks(&Alone, Some(3)).count, 3);
    }

    #[test]
    fn ranks_divide_the_cores_that_they_share() {
        let unbound = Cores { bound_to: vec![true; 8], usable: 8 };
        for (ranks, part) in [(1, 8), (2, 4), (3, 2), (4, 2), (8, 1), (20, 1)] {
            assert_eq!(unbound.part(&[ranks; 8]), (part, 8), "{ranks} ranks");
        }
        // Two cores are shared with another rank, which is bound to them.
        assert_eq!(unbound.part(&[1, 1, 1, 1, 1, 1, 2, 2]), (7, 8));
        // The last two of four cores; other ranks have the first two.
        let bound = Cores { bound_to: vec![false, false, true, true], usable: 2 };
        assert_eq!(bound.part(&[1, 1, 1, 1]), (2, 4));
        assert_eq!(bound.part(&[5, 5, 2, 2]), (1, 4));
    }

    #[test]
    fn limits_of_a_container_hold() {
        let half = Cores { bound_to: vec![true; 8], usable: 4 };
        assert_eq!(half.divided(&Alone), (4, 4));
        let none = Cores { bound_to: Vec::new(), usable: 1 };
        assert_eq!(none.divided(&Alone), (1, 1));
    }
}
