//! The communicator of a single process: nothing is sent.

use std::sync::Arc;

use super::{Comm, Parcel, ParcelMut};

/// The communicator of one process, without MPI.
///
/// ```
/// use ziggurat_mpi::{Alone, Comm};
/// assert_eq!(Alone.deliver(vec![(0, vec![7])]), [(0, vec![7])]); // a message to itself
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Comm for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn sum(&self, _: &mut [u64]) {}

    fn sum_reals(&self, _: &mut [f64]) {}

    fn largest(&self, _: &mut [f64]) {}

    fn before(&self, _: u64) -> u64 {
        0
    }

    fn deliver(&self, messages: Vec<(usize, Vec<u64>)>) -> Vec<(usize, Vec<u64>)> {
        messages
    }

    fn swap(&self, _: Parcel<'_>, _: ParcelMut<'_>, meanwhile: &mut dyn FnMut()) {
        meanwhile();
    }

    fn broadcast(&self, _: usize, _: &mut Vec<u64>) {}

    fn gather(&self, words: &[u64]) -> Vec<Vec<u64>> {
        vec![words.to_vec()]
    }

    fn subset(&self, member: bool) -> Option<Arc<dyn Comm>> {
        member.then(|| Arc::new(Alone) as Arc<dyn Comm>)
    }

    fn machine(&self) -> Arc<dyn Comm> {
        Arc::new(Alone)
    }

    fn failure(&self, own: Option<&str>) -> Option<(usize, String)> {
        own.map(|message| (0, message.to_owned()))
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn abort(&self, _: &str) {}
}
