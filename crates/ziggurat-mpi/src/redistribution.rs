//! Moves vectors and matrices between the caller's distribution of rows and the internal one.
//!
//! Both distributions are consecutive ranges in the order of ranks, so a rank keeps one range of
//! elements and sends what is before and after it. Which ranks these go to is found out once. A
//! vector then takes one message per neighbour, and none where the distributions are the same. A
//! matrix is moved once: rows that stay are copied, and the others are sent as a whole.

use std::ops::Range;
use std::sync::Arc;

use crate::comm::{Comm, Parcel, ParcelMut, Route};
use crate::error::DistributedError;
use crate::matrix::DistributedCsr;
use crate::partition::{Partition, by_owner};
use crate::rows::{GlobalRows, NamedRows, Numbering};

/// Two distributions of the same elements, and the messages between them.
#[derive(Clone, Debug)]
pub(crate) struct Redistribution {
    comm: Arc<dyn Comm>,
    given: Side,
    inside: Side,
}

/// This rank's elements in one of the distributions.
#[derive(Clone, Debug)]
struct Side {
    len: usize,
    /// The elements that this rank has in both distributions.
    kept: Range<usize>,
    /// The ranks that have the others in the other distribution.
    others: Route,
}

impl Side {
    /// Collective.
    fn new(comm: &dyn Comm, own: &Partition, other: &Partition) -> Self {
        let ids = own.own();
        let (kept, moving) = divided(&ids, &other.own());
        let owners = other.owners(comm, &moving);
        let mut others = Route::none();
        by_owner(&moving, &owners).for_each(|(owner, ids)| others.push(owner, ids.len()));
        let place = |id: u64| (id - ids.start) as usize;
        Side { len: own.len(), kept: place(kept.start)..place(kept.end), others }
    }

    /// The same for the entries of matrix rows; `row_ptr` begins with zero.
    fn of_entries(&self, row_ptr: &[usize]) -> Self {
        let kept = row_ptr[self.kept.start]..row_ptr[self.kept.end];
        // Bounds count the rows that are not kept.
        let bound = |&bound: &usize| match bound <= self.kept.start {
            true => row_ptr[bound],
            false => row_ptr[bound + self.kept.len()] - kept.len(),
        };
        let bounds = self.others.bounds.iter().map(bound).collect();
        let others = Route { peers: self.others.peers.clone(), bounds };
        Side { len: row_ptr[self.len], kept, others }
    }
}

/// The own ids that the other range has, too, and those that it lacks. If it has none, the first
/// range is empty and stands at the end of the own ids.
fn divided(own: &Range<u64>, other: &Range<u64>) -> (Range<u64>, Vec<u64>) {
    let (begin, end) = (own.start.max(other.start), own.end.min(other.end));
    let kept = if begin < end { begin..end } else { own.end..own.end };
    let moving = (own.start..kept.start).chain(kept.end..own.end).collect();
    (kept, moving)
}

impl DistributedCsr {
    /// The same square matrix with its rows distributed otherwise. Collective.
    pub(crate) fn redistributed(&self, to: &Arc<Partition>) -> Result<Self, DistributedError> {
        let comm = self.comm();
        let (kept, moving) = divided(&self.own_rows(), &to.own());
        let owners = to.owners(&**comm, &moving);
        let message = |(owner, ids): (usize, &[u64])| {
            let mut words = Vec::new();
            for &id in ids {
                let (columns, values) = self.global_row(id);
                GlobalRows::write(id, columns, values, &mut words);
            }
            (owner, words)
        };
        let messages = by_owner(&moving, &owners).map(message).collect();
        let mut others = GlobalRows::new();
        // Ranks are in the order of their rows.
        comm.deliver(messages).iter().for_each(|(_, words)| others.read(words));
        let columns = self.local_ids().into_iter().chain(others.columns.iter().copied());
        let numbering = Numbering::new(&to.own(), columns);
        let (row_ptr, columns, values) = self.among(&others, &kept, &numbering)?.into_parts();
        let rows = NamedRows { ids: numbering.ids, row_ptr, columns, values };
        Self::square(comm, to.clone(), self.block(), rows)
    }
}

impl Redistribution {
    /// Collective.
    pub(crate) fn new(comm: &Arc<dyn Comm>, given: &Partition, inside: &Partition) -> Self {
        let given_side = Side::new(&**comm, given, inside);
        Redistribution { comm: comm.clone(), inside: Side::new(&**comm, inside, given), given: given_side }
    }

    /// The same for the entries of a matrix, by its row pointers in both distributions.
    pub(crate) fn of_entries(&self, given: &[usize], inside: &[usize]) -> Self {
        let (given, inside) = (self.given.of_entries(given), self.inside.of_entries(inside));
        Redistribution { comm: self.comm.clone(), given, inside }
    }

    /// The number of elements that the caller has.
    pub(crate) fn given_len(&self) -> usize {
        self.given.len
    }

    /// From the caller's distribution to the internal one. Collective.
    pub(crate) fn inwards(&self, given: &[f64]) -> Vec<f64> {
        self.moved(&self.given, &self.inside, given)
    }

    /// From the internal distribution to the caller's. Collective.
    pub(crate) fn outwards(&self, inside: &[f64]) -> Vec<f64> {
        self.moved(&self.inside, &self.given, inside)
    }

    fn moved(&self, from: &Side, to: &Side, x: &[f64]) -> Vec<f64> {
        let outgoing = [&x[..from.kept.start], &x[from.kept.end..]].concat();
        let mut incoming = vec![0.0; to.len - to.kept.len()];
        let width = size_of::<f64>();
        self.comm.swap(
            Parcel { route: &from.others, bytes: bytemuck::cast_slice(&outgoing), width },
            ParcelMut { route: &to.others, bytes: bytemuck::cast_slice_mut(&mut incoming), width },
            &mut || {},
        );
        let (before, after) = incoming.split_at(to.kept.start);
        [before, &x[from.kept.clone()], after].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    #[test]
    fn one_rank_keeps_everything() {
        let comm: Arc<dyn Comm> = Arc::new(Alone);
        let rows = Partition::try_new(&Alone, 3).unwrap();
        let vectors = Redistribution::new(&comm, &rows, &rows);
        assert_eq!(vectors.inwards(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        let entries = vectors.of_entries(&[0, 2, 2, 5], &[0, 2, 2, 5]);
        assert_eq!((entries.given_len(), entries.outwards(&[1.0; 5]).len()), (5, 5));
    }

    #[test]
    fn bounds_of_entries_skip_what_is_kept() {
        // Row 0 goes to rank 0, rows 1 and 2 stay, rows 3 and 4 go to rank 2.
        let side = Side { len: 5, kept: 1..3, others: Route { peers: vec![0, 2], bounds: vec![0, 1, 3] } };
        let entries = side.of_entries(&[0, 4, 5, 7, 8, 10]);
        assert_eq!((entries.len, entries.kept), (10, 4..7));
        assert_eq!(entries.others, Route { peers: vec![0, 2], bounds: vec![0, 4, 7] });
    }
}
