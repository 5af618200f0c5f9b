//! Tentative interpolation of aggregates that reach across ranks.
//!
//! The owner of an aggregate's root collects its members' rows of the near-kernel, decomposes them as one process would (`tentative` of
//! `ziggurat-amg`), and sends members' rows home. Members stand in the order of their ids, so the decomposition has the same bits.
//! Cost: two rounds of messages with the owners of roots nearby, of as many numbers as the members there have.

use rayon::prelude::*;
use ziggurat_amg::SetupError;
use ziggurat_amg::coarsen::Aggregates;
use ziggurat_amg::halo::Halo;
use ziggurat_amg::interpolate::{NearKernel, Tentative, tentative};
use ziggurat_sparse::Dense;

use super::NOBODY;
use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::rows::sorted;

/// Tentative interpolation of own nodes.
pub(super) struct OwnTentative {
    /// For each own node, the first coarse row of its aggregate; [`NOBODY`] if it has none.
    pub first: Vec<u64>,
    /// For each own node, block × k values.
    pub values: Vec<f64>,
    /// The near-kernel of natural coarse rows, row by row.
    pub coarse: Vec<f64>,
}

/// A node of an aggregate whose root is own.
#[derive(Clone, Copy)]
struct Member<'a> {
    node: u64,
    root: u64,
    /// Its values of the near-kernel, if they came from another rank.
    sent: Option<&'a [u64]>,
}

/// Cuts the near-kernel up by aggregates. `roots` has the root of each own node; `natural` the coarse rows of own roots.
pub(super) fn decompose(
    a: &DistributedCsr,
    roots: &[u64],
    kernel: &NearKernel,
    natural: &Partition,
) -> Result<OwnTentative, DistributedError> {
    let comm = &**a.comm();
    let (block, k) = (kernel.block(), kernel.count());
    let width = block * k;
    let first_node = a.own_rows().start / block as u64;
    let own_nodes = first_node..a.own_rows().end / block as u64;
    let value = |node: usize, place: usize| kernel.vectors().column(place % k)[node * block + place / k];

    // Members of others' aggregates go to these.
    let guests = guests(a, roots, kernel);
    let mut messages: Vec<(usize, Vec<u64>)> = Vec::new();
    for group in guests.chunk_by(|x, y| x.0 == y.0) {
        let words = group.iter().flat_map(|&(_, node)| {
            let values = (0..width).map(move |place| value(node, place).to_bits());
            [roots[node], first_node + node as u64].into_iter().chain(values)
        });
        messages.push((group[0].0, words.collect()));
    }
    let received = comm.deliver(messages);

    // All members of own aggregates: those of lower ranks have lower ids, those of higher ranks higher ones.
    let visitors = |lower: bool| {
        let from = received.iter().filter(move |(from, _)| (*from < comm.rank()) == lower);
        let members = from.flat_map(|(_, words)| words.chunks_exact(2 + width));
        members.map(|words| Member { node: words[1], root: words[0], sent: Some(&words[2..]) })
    };
    let hosts = own_nodes.clone().zip(roots).filter(|(_, root)| own_nodes.contains(root));
    let hosts = hosts.map(|(node, &root)| Member { node, root, sent: None });
    let members: Vec<Member<'_>> = visitors(true).chain(hosts).chain(visitors(false)).collect();
    let is_root = |&(node, root): &(u64, &u64)| node == *root;
    let own_roots: Vec<u64> = own_nodes.clone().zip(roots).filter(is_root).map(|found| found.0).collect();
    let number = |root: u64| own_roots.partition_point(|&other| other < root);
    let of: Vec<u32> = members.par_iter().map(|member| number(member.root) as u32).collect();
    let mut vectors = Dense::zeros(members.len() * block, k)?;
    for c in 0..k {
        let given = kernel.vectors().column(c);
        let to = vectors.column_mut(c).par_chunks_exact_mut(block).zip(&members);
        to.for_each(|(to, member)| match member.sent {
            None => to.copy_from_slice(&given[(member.node - first_node) as usize * block..][..block]),
            Some(words) => {
                let sent = words.iter().skip(c).step_by(k);
                to.iter_mut().zip(sent).for_each(|(to, &bits)| *to = f64::from_bits(bits));
            }
        });
    }
    let made = numbered(own_roots.len(), of).and_then(|aggregates| {
        let kernel = NearKernel::part(vectors, block, kernel.is_constant())?;
        Ok(tentative(&aggregates, &kernel)?)
    });
    let made = agree(comm, made)?;

    // Results go home.
    let coarse_row = |root: u64| natural.own().start + (number(root) * k) as u64;
    let q = |place: usize| &made.values()[place * width..(place + 1) * width];
    let answer = |(from, words): &(usize, Vec<u64>)| {
        let answers = words.chunks_exact(2 + width).flat_map(|member| {
            let place = members.partition_point(|other| other.node < member[1]);
            [coarse_row(member[0])].into_iter().chain(q(place).iter().map(|value| value.to_bits()))
        });
        (*from, answers.collect())
    };
    let answers = comm.deliver(received.iter().map(answer).collect());
    let mut own = OwnTentative {
        first: vec![NOBODY; roots.len()],
        values: vec![0.0; roots.len() * width],
        coarse: row_by_row(made.coarse_kernel()),
    };
    for (place, member) in members.iter().enumerate().filter(|(_, member)| member.sent.is_none()) {
        let node = (member.node - first_node) as usize;
        own.first[node] = coarse_row(member.root);
        own.values[node * width..(node + 1) * width].copy_from_slice(q(place));
    }
    let answers = answers.iter().flat_map(|(_, words)| words.chunks_exact(1 + width));
    for (&(_, node), answer) in guests.iter().zip(answers) {
        own.first[node] = answer[0];
        let values = &mut own.values[node * width..(node + 1) * width];
        values.iter_mut().zip(&answer[1..]).for_each(|(value, &bits)| *value = f64::from_bits(bits));
    }
    Ok(own)
}

/// Own nodes whose root is another rank's: that rank, and the node; by rank.
fn guests(a: &DistributedCsr, roots: &[u64], kernel: &NearKernel) -> Vec<(usize, usize)> {
    let block = kernel.block() as u64;
    let own_nodes = a.own_rows().start / block..a.own_rows().end / block;
    let elsewhere = sorted(roots.iter().copied().filter(|root| *root != NOBODY && !own_nodes.contains(root)));
    let rows: Vec<u64> = elsewhere.iter().map(|root| root * block).collect();
    let owners = a.rows.owners(&**a.comm(), &rows);
    let owner = |root: &u64| elsewhere.binary_search(root).ok().map(|at| owners[at]);
    let sent = roots.iter().enumerate().filter_map(|(node, root)| Some((owner(root)?, node)));
    let mut sent: Vec<(usize, usize)> = sent.collect();
    sent.sort_unstable();
    sent
}

/// Aggregates by their numbers, which are ours: a fault would be one of this crate.
fn numbered(count: usize, of: Vec<u32>) -> Result<Aggregates, SetupError> {
    Aggregates::try_new(count, of)
        .map_err(|error| SetupError::CoarseSolve { rows: count, reason: error.to_string() })
}

impl OwnTentative {
    /// The same for all nodes that `wide` knows: the first coarse row of each aggregate met, and the aggregates by these numbers.
    pub(super) fn around(
        &self,
        wide: &DistributedCsr,
        kernel: &NearKernel,
    ) -> Result<(Vec<u64>, (Aggregates, Tentative)), DistributedError> {
        let (halo, width) = (wide.around.nodes(), kernel.block() * kernel.count());
        let own = halo.owned();
        let mut first = vec![NOBODY; halo.local()];
        first[own.clone()].copy_from_slice(&self.first);
        wide.around.exchange(&mut first, 1);
        let mut values = vec![0.0; halo.local() * width];
        values[own.start * width..own.end * width].copy_from_slice(&self.values);
        wide.around.exchange(&mut values, width);
        let ids = sorted(first.iter().copied().filter(|&id| id != NOBODY));
        let number = |&id: &u64| ids.binary_search(&id).map_or(Aggregates::NONE, |at| at as u32);
        let aggregates = numbered(ids.len(), first.iter().map(number).collect());
        let made = aggregates.and_then(|aggregates| {
            let tentative = Tentative::from_rows(&aggregates, kernel.block(), kernel.count(), values)?;
            Ok((aggregates, tentative))
        });
        Ok((ids, agree(&**wide.comm(), made)?))
    }
}

/// The values of a near-kernel, row by row.
fn row_by_row(kernel: &NearKernel) -> Vec<f64> {
    let vectors = kernel.vectors();
    (0..vectors.rows()).flat_map(|row| vectors.columns().map(move |column| column[row])).collect()
}
