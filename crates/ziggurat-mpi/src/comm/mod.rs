//! Who else is computing: ranks that send each other messages.
//!
//! Everything above is written against [`Comm`]. [`Alone`] is one process; [`Mpi`] is a communicator of MPI, the world's or a
//! caller's. Every method is *collective*: all ranks of the communicator call it, in the same order. Calls come from one thread at
//! a time, that which entered the library.

mod alone;
mod mpi;

use std::fmt;
use std::sync::Arc;

pub use self::mpi::{Mpi, MpiError, Session};
pub use alone::Alone;

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

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Overwrites every number by its sum over all ranks, modulo 2^64.
    fn sum(&self, numbers: &mut [u64]);

    /// Overwrites every number by its sum over all ranks: the same bits on each.
    fn sum_reals(&self, numbers: &mut [f64]);

    /// Overwrites every number by the largest that a rank has; NaN if any is NaN.
    fn largest(&self, numbers: &mut [f64]);

    /// The sum of what lower ranks have.
    fn before(&self, count: u64) -> u64;

    /// Sends messages to ranks that do not expect them. Returns what came, by the rank it came from; nobody sends two to one.
    fn deliver(&self, messages: Vec<(usize, Vec<u64>)>) -> Vec<(usize, Vec<u64>)>;

    /// Sends to and receives from neighbours that know of each other, and calls `meanwhile` while messages are under way.
    fn swap(&self, outgoing: Parcel<'_>, incoming: ParcelMut<'_>, meanwhile: &mut dyn FnMut());

    /// Everybody gets what `root` has.
    fn broadcast(&self, root: usize, words: &mut Vec<u64>);

    /// Rank 0 gets what each rank has, in their order; others get nothing.
    fn gather(&self, words: &[u64]) -> Vec<Vec<u64>>;

    /// The communicator of those ranks that are members, in the same order; `None` for the others.
    fn subset(&self, member: bool) -> Option<Arc<dyn Comm>>;
}

/// The neighbours that something goes to or comes from, and how much: elements `bounds[k]..bounds[k + 1]` are those of
/// `peers[k]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub(crate) peers: Vec<usize>,
    pub(crate) bounds: Vec<usize>,
}

impl Route {
    /// To or from nobody.
    pub(crate) fn none() -> Self {
        Route { peers: Vec::new(), bounds: vec![0] }
    }

    /// Elements altogether.
    pub(crate) fn len(&self) -> usize {
        self.bounds[self.bounds.len() - 1]
    }

    /// Appends a neighbour and its number of elements.
    pub(crate) fn push(&mut self, peer: usize, elements: usize) {
        self.peers.push(peer);
        self.bounds.push(self.len() + elements);
    }
}

/// What goes to each neighbour of a route: `bytes` has `width` bytes for every element.
#[derive(Clone, Copy, Debug)]
pub struct Parcel<'a> {
    pub(crate) route: &'a Route,
    pub(crate) bytes: &'a [u8],
    pub(crate) width: usize,
}

/// Where to put what comes from each neighbour of a route: `bytes` has `width` bytes for every element.
#[derive(Debug)]
pub struct ParcelMut<'a> {
    pub(crate) route: &'a Route,
    pub(crate) bytes: &'a mut [u8],
    pub(crate) width: usize,
}

/// What every communicator can do with the above.
impl dyn Comm + '_ {
    /// Whether any rank says yes.
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

    /// What `root` says, to everybody.
    pub(crate) fn announce(&self, root: usize, text: &str) -> String {
        let mut words: Vec<u64> = text.bytes().map(u64::from).collect();
        self.broadcast(root, &mut words);
        String::from_utf8_lossy(&words.iter().map(|&word| word as u8).collect::<Vec<u8>>()).into_owned()
    }

    /// The lowest of the ranks that are `willing`, if any is.
    pub(crate) fn lowest(&self, willing: bool) -> Option<usize> {
        let lowest = self.most(if willing { -(self.rank() as f64) } else { f64::NEG_INFINITY });
        (lowest > f64::NEG_INFINITY).then_some(-lowest as usize)
    }

    /// The largest that any rank has.
    pub fn most(&self, number: f64) -> f64 {
        let mut most = [number];
        self.largest(&mut most);
        most[0]
    }
}
