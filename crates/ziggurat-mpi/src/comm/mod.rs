//! Communicators: ranks that send messages to each other.
//!
//! The rest of the crate is written against [`Comm`]. [`Alone`] is one process; [`Mpi`] is an MPI
//! communicator, the world's or a caller's. Every method is *collective* unless it says otherwise:
//! all ranks of the communicator call it, in the same order. Calls come from one thread at a time,
//! the one that entered the library.

mod alone;
mod mpi;
mod pending;
mod session;

use std::fmt;
use std::sync::Arc;

pub use self::mpi::Mpi;
pub use alone::Alone;
pub use session::{MpiError, Session};

/// The ranks that solve one system, or one level of it.
///
/// ```
/// use ziggurat_mpi::{Alone, Comm};
/// let mut count = [3];
/// Alone.sum(&mut count);
/// assert_eq!((Alone.rank(), Alone.size(), count), (0, 1, [3]));
/// ```
pub trait Comm: fmt::Debug + Send + Sync {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Overwrites every number with its sum over all ranks, modulo 2^64.
    fn sum(&self, numbers: &mut [u64]);

    /// Overwrites every number with its sum over all ranks; the bits are the same on every rank.
    fn sum_reals(&self, numbers: &mut [f64]);

    /// Overwrites every number with its maximum over all ranks; NaN if any is NaN.
    fn largest(&self, numbers: &mut [f64]);

    /// The sum of `count` over all lower ranks.
    fn before(&self, count: u64) -> u64;

    /// Sends messages whose receivers do not expect them, at most one per pair of ranks. Returns
    /// the messages received, by sender.
    fn deliver(&self, messages: Vec<(usize, Vec<u64>)>) -> Vec<(usize, Vec<u64>)>;

    /// Sends to and receives from known neighbours, and calls `meanwhile` while messages are in
    /// transit.
    fn swap(&self, outgoing: Parcel<'_>, incoming: ParcelMut<'_>, meanwhile: &mut dyn FnMut());

    /// Overwrites `words` on every rank with the words of `root`.
    fn broadcast(&self, root: usize, words: &mut Vec<u64>);

    /// Returns the words of all ranks, in their order, on rank 0, and nothing on the other ranks.
    fn gather(&self, words: &[u64]) -> Vec<Vec<u64>>;

    /// The communicator of the ranks that are members, in the same order; `None` on the others.
    fn subset(&self, member: bool) -> Option<Arc<dyn Comm>>;

    /// The communicator of the ranks on the machine of this rank, in the same order: those that
    /// share its memory.
    fn machine(&self) -> Arc<dyn Comm>;

    /// The lowest rank that has failed, and its message; `None` if no rank has failed. `own` is the
    /// message of this rank, if it has failed. Ranks may meet here from different places of the
    /// program.
    ///
    /// A rank that has failed waits only for a limited time. If a rank does not call within that
    /// time, because it waits for a message of the failed rank, the job is [aborted](Self::abort).
    fn failure(&self, own: Option<&str>) -> Option<(usize, String)>;

    /// Whether the last call was one of [`failure`](Self::failure) that found one. Then all ranks
    /// know of it.
    fn has_failed(&self) -> bool;

    /// Ends the processes of all ranks, because the others wait for messages that this rank will
    /// not send, and reports the reason. Returns only if there are no others. Not collective.
    fn abort(&self, message: &str);
}

/// The neighbours of an exchange: elements `bounds[k]..bounds[k + 1]` belong to `peers[k]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub(crate) peers: Vec<usize>,
    pub(crate) bounds: Vec<usize>,
}

impl Route {
    /// A route without neighbours.
    pub(crate) fn none() -> Self {
        Route { peers: Vec::new(), bounds: vec![0] }
    }

    /// The number of elements for all neighbours.
    pub(crate) fn len(&self) -> usize {
        self.bounds[self.bounds.len() - 1]
    }

    /// Appends a neighbour and its number of elements.
    pub(crate) fn push(&mut self, peer: usize, elements: usize) {
        self.peers.push(peer);
        self.bounds.push(self.len() + elements);
    }
}

/// The data for each neighbour of a route: `bytes` has `width` bytes per element.
#[derive(Clone, Copy, Debug)]
pub struct Parcel<'a> {
    pub(crate) route: &'a Route,
    pub(crate) bytes: &'a [u8],
    pub(crate) width: usize,
}

/// The receive buffer for each neighbour of a route: `bytes` has `width` bytes per element.
#[derive(Debug)]
pub struct ParcelMut<'a> {
    pub(crate) route: &'a Route,
    pub(crate) bytes: &'a mut [u8],
    pub(crate) width: usize,
}

/// Operations derived from the methods of the trait.
impl dyn Comm + '_ {
    /// Whether `flag` is true on any rank.
    pub fn any(&self, flag: bool) -> bool {
        let mut votes = [u64::from(flag)];
        self.sum(&mut votes);
        votes[0] > 0
    }

    /// The sum of one number over all ranks.
    pub fn total(&self, count: u64) -> u64 {
        let mut total = [count];
        self.sum(&mut total);
        total[0]
    }

    /// Sends a text from `root` to all ranks.
    pub(crate) fn announce(&self, root: usize, text: &str) -> String {
        let mut words: Vec<u64> = text.bytes().map(u64::from).collect();
        self.broadcast(root, &mut words);
        String::from_utf8_lossy(&words.iter().map(|&word| word as u8).collect::<Vec<u8>>()).into_owned()
    }

    /// The lowest rank for which `willing` is true, if any.
    pub(crate) fn lowest(&self, willing: bool) -> Option<usize> {
        let lowest = self.most(if willing { -(self.rank() as f64) } else { f64::NEG_INFINITY });
        (lowest > f64::NEG_INFINITY).then_some(-lowest as usize)
    }

    /// The maximum over all ranks.
    pub fn most(&self, number: f64) -> f64 {
        let mut most = [number];
        self.largest(&mut most);
        most[0]
    }
}
