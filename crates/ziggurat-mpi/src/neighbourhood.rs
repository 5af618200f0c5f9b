//! The rows of other ranks that a rank has copies of, and the exchange of their values: a halo.
//!
//! Local rows are numbered in the order of their global ids (see [`ziggurat_amg::halo`]). So own
//! rows are a range, with halo rows before and after it, and the rows of one neighbour are
//! contiguous in the halo. Ids have 64 bits, local numbers 32. The unknowns of a node stay
//! together: the halo consists of whole nodes.
//!
//! Cost: 8 bytes per halo node and 4 per node sent. Construction takes four rounds of unexpected
//! messages.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use ziggurat_amg::SetupError;
use ziggurat_amg::halo::{Halo, Message, Processes};
use ziggurat_sparse::device::Memory;
use ziggurat_sparse::{Csr, MatrixError, Store};

use crate::comm::{Comm, Parcel, ParcelMut, Route};
use crate::error::agree_as;
use crate::partition::{Partition, by_owner};

/// A rank's own nodes and the nodes of its halo. For a [`Distributed`](crate::Distributed) device
/// it is also the [halo](ziggurat_sparse::device::Halo) of a product.
#[derive(Clone, Debug)]
pub(crate) struct Neighbourhood {
    comm: Arc<dyn Comm>,
    /// Which rank owns which rows.
    partition: Arc<Partition>,
    /// Own nodes.
    own: Range<u64>,
    /// Unknowns per node.
    block: usize,
    /// The nodes of other ranks, in increasing order; the first `below` precede the own ones.
    others: Vec<u64>,
    below: usize,
    /// Where the values of `others` come from, in their order.
    receive: Route,
    /// Where own values are sent, and which.
    send: Route,
    send_nodes: Vec<u32>,
}

impl Neighbourhood {
    /// The halo of the nodes that contain the rows `ids`, which are increasing; own nodes are
    /// skipped. Collective.
    pub(crate) fn new(
        comm: &Arc<dyn Comm>,
        rows: &Arc<Partition>,
        block: usize,
        ids: impl Iterator<Item = u64>,
    ) -> Self {
        let width = block as u64;
        let own = rows.own().start / width..rows.own().end / width;
        let mut others: Vec<u64> = ids.map(|id| id / width).filter(|node| !own.contains(node)).collect();
        others.dedup();
        debug_assert!(others.windows(2).all(|pair| pair[0] < pair[1]), "ids increase");
        let below = others.partition_point(|&node| node < own.start);
        let first_rows: Vec<u64> = others.iter().map(|node| node * width).collect();
        let owners = rows.owners(&**comm, &first_rows);
        let (mut receive, mut questions) = (Route::none(), Vec::new());
        for (owner, nodes) in by_owner(&others, &owners) {
            receive.push(owner, nodes.len());
            questions.push((owner, nodes.to_vec()));
        }
        let (mut send, mut send_nodes) = (Route::none(), Vec::new());
        for (peer, nodes) in comm.deliver(questions) {
            send.push(peer, nodes.len());
            send_nodes.extend(nodes.into_iter().map(|node| (node - own.start) as u32));
        }
        let (comm, partition) = (comm.clone(), rows.clone());
        Neighbourhood { comm, partition, own, block, others, below, receive, send, send_nodes }
    }

    /// The neighbourhood behind a halo of [`Distributed`](crate::Distributed).
    pub(crate) fn of(halo: &Arc<dyn Memory>) -> &Self {
        let memory: &dyn Any = &**halo;
        memory.downcast_ref().unwrap_or_else(|| unreachable!("the halo of another device: {memory:?}"))
    }

    /// The communicator of the ranks that share these rows.
    pub(crate) fn comm(&self) -> &Arc<dyn Comm> {
        &self.comm
    }

    /// Unknowns per node.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// The rows, for steps that decide per row.
    pub(crate) fn rows(&self) -> Items<'_> {
        Items { around: self, per_node: self.block }
    }

    /// The nodes, for steps that decide per node.
    pub(crate) fn nodes(&self) -> Items<'_> {
        Items { around: self, per_node: 1 }
    }

    /// The rows of other ranks, in increasing order.
    pub(crate) fn others_rows(&self) -> Vec<u64> {
        let width = self.block as u64;
        self.others.iter().flat_map(|node| node * width..(node + 1) * width).collect()
    }

    /// The owners of halo rows, and the local rows of each.
    pub(crate) fn halo_by_owner(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let local = |place: usize| if place < self.below { place } else { place + self.own_nodes() };
        let routes = self.receive.peers.iter().zip(self.receive.bounds.windows(2));
        // The rows of one rank are all before or all after the own rows.
        routes.map(move |(&peer, bounds)| {
            let first = local(bounds[0]);
            (peer, first * self.block..(first + bounds[1] - bounds[0]) * self.block)
        })
    }

    /// Number of halo rows.
    pub(crate) fn halo_rows(&self) -> usize {
        self.others.len() * self.block
    }

    /// Number of neighbours that values come from.
    pub(crate) fn neighbours(&self) -> usize {
        self.receive.peers.len()
    }

    /// The local number of a row; `None` if it is not local.
    pub(crate) fn local(&self, row: u64) -> Option<usize> {
        let (node, unknown) = (row / self.block as u64, row as usize % self.block);
        let at = if self.own.contains(&node) {
            self.below + (node - self.own.start) as usize
        } else {
            let at = self.others.binary_search(&node).ok()?;
            if at < self.below { at } else { at + self.own_nodes() }
        };
        Some(at * self.block + unknown)
    }

    fn own_nodes(&self) -> usize {
        (self.own.end - self.own.start) as usize
    }

    /// Overwrites the values of halo nodes with their owners' values: `width` values per local
    /// node.
    pub(crate) fn exchange<T: Pod>(&self, values: &mut [T], width: usize) {
        let own = self.below * width..(self.below + self.own_nodes()) * width;
        let mut outgoing = Vec::with_capacity(self.send_nodes.len() * width);
        for &node in &self.send_nodes {
            outgoing.extend_from_slice(&values[own.start + node as usize * width..][..width]);
        }
        let mut incoming = vec![T::zeroed(); self.others.len() * width];
        self.swap(&outgoing, &mut incoming, width, &mut || {});
        let (below, above) = incoming.split_at(own.start);
        values[..own.start].copy_from_slice(below);
        values[own.end..].copy_from_slice(above);
    }

    /// Number of rows sent, each counted once per receiver.
    pub(crate) fn sent_rows(&self) -> usize {
        self.send_nodes.len() * self.block
    }

    /// Copies the values of own rows into the send buffer.
    pub(crate) fn pack<T: Pod>(&self, own: &[T], outgoing: &mut [T]) {
        for (&node, outgoing) in self.send_nodes.iter().zip(outgoing.chunks_exact_mut(self.block)) {
            outgoing.copy_from_slice(&own[node as usize * self.block..][..self.block]);
        }
    }

    /// The matrix whose product with a vector of `own` rows packs it: a one in each row.
    pub(crate) fn selection<S: Store>(&self, own: usize) -> Result<Csr<S>, MatrixError> {
        let first = |&node: &u32| node * self.block as u32;
        let columns: Vec<u32> =
            self.send_nodes.iter().flat_map(|node| first(node)..first(node) + self.block as u32).collect();
        let rows = columns.len();
        Csr::try_new(rows, own, (0..=rows).collect(), columns, vec![S::narrow(1.0); rows])
    }

    /// Sends packed values and receives the values of the halo, `width` per node.
    pub(crate) fn swap<T: Pod>(
        &self,
        outgoing: &[T],
        incoming: &mut [T],
        width: usize,
        meanwhile: &mut dyn FnMut(),
    ) {
        let width = width * size_of::<T>();
        let outgoing = Parcel { route: &self.send, bytes: bytemuck::cast_slice(outgoing), width };
        let incoming = ParcelMut { route: &self.receive, bytes: bytemuck::cast_slice_mut(incoming), width };
        self.comm.swap(outgoing, incoming, meanwhile);
    }
}

/// The nodes or the rows of a neighbourhood.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    around: &'a Neighbourhood,
    per_node: usize,
}

impl Halo for Items<'_> {
    fn owned(&self) -> Range<usize> {
        let first = self.around.below * self.per_node;
        first..first + self.around.own_nodes() * self.per_node
    }

    fn local(&self) -> usize {
        (self.around.others.len() + self.around.own_nodes()) * self.per_node
    }

    fn global_id(&self, local: usize) -> u64 {
        let (node, unknown) = (local / self.per_node, local % self.per_node);
        let Neighbourhood { others, below, own, .. } = self.around;
        let own_nodes = self.around.own_nodes();
        let node = match node {
            node if node < *below => others[node],
            node if node - below < own_nodes => own.start + (node - below) as u64,
            node => others[node - own_nodes],
        };
        node * self.per_node as u64 + unknown as u64
    }

    fn exchange<T: Pod + Send + Sync>(&self, values: &mut [T]) {
        self.around.exchange(values, self.per_node);
    }

    fn known_elsewhere(&self) -> Vec<usize> {
        let mut nodes = self.around.send_nodes.clone();
        nodes.sort_unstable();
        nodes.dedup();
        let first = |node: u32| (self.around.below + node as usize) * self.per_node;
        nodes.into_iter().flat_map(|node| first(node)..first(node) + self.per_node).collect()
    }

    fn any(&self, flag: bool) -> bool {
        self.around.comm.any(flag)
    }

    fn sum(&self, counts: &mut [u64]) {
        self.around.comm.sum(counts);
    }

    fn largest(&self, x: f64) -> f64 {
        self.around.comm.most(x)
    }
}

impl Processes for Items<'_> {
    fn exchange_rows<T: Pod + Send + Sync>(&self, values: &mut [T], width: usize) {
        self.around.exchange(values, self.per_node * width);
    }

    fn is_whole(&self) -> bool {
        self.around.comm.size() == 1
    }

    fn number(&self, count: usize) -> Result<(u64, u64), SetupError> {
        Ok(Partition::count(&*self.around.comm, count)?)
    }

    fn process(&self) -> usize {
        self.around.comm.rank()
    }

    fn owners(&self, ids: &[u64]) -> Vec<usize> {
        let rows_per_item = (self.around.block / self.per_node) as u64;
        let rows: Vec<u64> = ids.iter().map(|id| id * rows_per_item).collect();
        self.around.partition.owners(&*self.around.comm, &rows)
    }

    fn deliver(&self, messages: Vec<Message>) -> Vec<Message> {
        self.around.comm.deliver(messages)
    }

    fn agree<T>(&self, result: Result<T, SetupError>) -> Result<T, SetupError> {
        agree_as(&*self.around.comm, result)
    }
}
