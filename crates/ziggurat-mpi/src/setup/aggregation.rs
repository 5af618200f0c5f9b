//! Smoothed aggregation on many ranks: strength, MIS-2, tentative interpolation, smoothing.
//!
//! Aggregates reach across ranks. The owner of an aggregate's root collects its members' rows of the near-kernel, decomposes them as one process
//! would, and sends the members' rows of tentative interpolation home.

use rayon::prelude::*;
use ziggurat_amg::SmoothedAggregation;
use ziggurat_amg::coarsen::{Aggregates, mis2, node_matrix};
use ziggurat_amg::halo::Halo;
use ziggurat_amg::interpolate::{NearKernel, Tentative, smoothed, tentative};
use ziggurat_amg::strength::strong_connections;
use ziggurat_amg::{SetupError, spectral_radius_of_parts};
use ziggurat_sparse::{Csr, Dense};

use super::{Coarser, at, named};
use crate::error::{DistributedError, agree};
use crate::matrix::{DistributedCsr, sorted};
use crate::partition::Partition;

/// The id of a node that no aggregate has.
pub(super) const NOBODY: u64 = u64::MAX;

pub(super) fn coarser(
    method: &SmoothedAggregation,
    a: &DistributedCsr,
    kernel: &NearKernel,
    index: usize,
) -> Result<Coarser, DistributedError> {
    let comm = &**a.comm();
    let wide = a.extended(1)?;
    let halo = wide.around.nodes();
    let nodes = nodes(&wide, kernel.block())?;
    let nodes = nodes.as_ref().map_or(wide.view(), Csr::view);
    let strong = strong_connections(nodes, nodes.all_rows(), &method.strength, &[], &halo)
        .map_err(|error| at(index, "strength", error.into()))?;
    let aggregates =
        mis2(&strong, Some(nodes), &halo).map_err(|error| at(index, "MIS-2 aggregation", error.into()))?;
    let roots: Vec<u64> = aggregates.of()[halo.owned()]
        .iter()
        .map(
            |&aggregate| {
                if aggregate == Aggregates::NONE { NOBODY } else { aggregates.roots()[aggregate as usize] }
            },
        )
        .collect();
    let own = halo.owned();
    let is_root = |(node, &root): (usize, &u64)| root == halo.global_id(own.start + node);
    let count = roots.iter().enumerate().filter(|&found| is_root(found)).count();
    let natural = Partition::try_new(comm, count * kernel.count())?;
    let tent = decompose(a, &roots, kernel, &natural)?;
    let radius = spectral_radius_of_parts(a.view(), &a.around.rows())
        .map_err(|error| at(index, "spectral radius", a.globally(error)))?;
    let (ids, local) = tent.around(&wide, kernel)?;
    let found = smoothed(wide.view(), wide.own.clone(), nodes, &local.0, &local.1, &method.smoothing(radius));
    let found = found.map_err(|error| at(index, "smoothed interpolation", error.into()));
    let p = agree(comm, found)?;
    let k = kernel.count() as u64;
    let p = named(p, ids.into_iter().flat_map(|first| first..first + k).collect());
    Ok(Coarser { p, natural, block: kernel.count(), kernel: Some(tent.coarse), radius: Some(radius) })
}

/// The matrix of nodes, local rows and columns; `None` where that is the matrix itself.
pub(super) fn nodes(a: &DistributedCsr, block: usize) -> Result<Option<Csr<f64>>, DistributedError> {
    if block == 1 {
        return Ok(None);
    }
    let made = node_matrix(a.view(), block, 0..a.local.rows() / block);
    Ok(Some(agree(&**a.comm(), made)?))
}

/// Tentative interpolation of own nodes.
pub(super) struct OwnTentative {
    /// For each own node, the first coarse row of its aggregate; [`NOBODY`] if it has none.
    pub first: Vec<u64>,
    /// For each own node, block × k values.
    pub values: Vec<f64>,
    /// The near-kernel of natural coarse rows, row by row.
    pub coarse: Vec<f64>,
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
    let elsewhere = sorted(roots.iter().copied().filter(|root| *root != NOBODY && !own_nodes.contains(root)));
    let rows: Vec<u64> = elsewhere.iter().map(|root| root * block as u64).collect();
    let owners = a.rows.owners(comm, &rows);
    let owner = |root: &u64| elsewhere.binary_search(root).ok().map(|at| owners[at]);
    let mut sent: Vec<(usize, usize)> = Vec::new();
    for (node, root) in roots.iter().enumerate() {
        if let Some(owner) = owner(root) {
            sent.push((owner, node));
        }
    }
    sent.sort_unstable();
    let mut messages: Vec<(usize, Vec<u64>)> = Vec::new();
    for group in sent.chunk_by(|x, y| x.0 == y.0) {
        let words = group.iter().flat_map(|&(_, node)| {
            let values = (0..width).map(move |place| value(node, place).to_bits());
            [roots[node], first_node + node as u64].into_iter().chain(values)
        });
        messages.push((group[0].0, words.collect()));
    }
    let received = comm.deliver(messages);

    // All members of own aggregates, in the order of their ids: own nodes are in order, those of lower ranks come before them
    // and those of higher ranks after.
    let is_root = |&(node, root): &(u64, &u64)| node == *root;
    let own_roots: Vec<u64> = own_nodes.clone().zip(roots).filter(is_root).map(|found| found.0).collect();
    let rank = comm.rank();
    let guests = |lower: bool| {
        let from = received.iter().filter(move |(from, _)| (*from < rank) == lower);
        from.flat_map(|(_, words)| words.chunks_exact(2 + width)).map(|member| (member[1], member[0]))
    };
    let hosts = own_nodes.clone().zip(roots.iter().copied()).filter(|(_, root)| own_nodes.contains(root));
    let members: Vec<(u64, u64)> = guests(true).chain(hosts).chain(guests(false)).collect();
    let guests_before = guests(true).count();
    let number = |root: u64| own_roots.partition_point(|&other| other < root) as u32;
    let of = members.par_iter().map(|&(_, root)| number(root)).collect();
    let mut vectors = Dense::zeros(members.len() * block, k)?;
    let guests_values = |lower: bool| {
        let from = received.iter().filter(move |(from, _)| (*from < rank) == lower);
        from.flat_map(|(_, words)| words.chunks_exact(2 + width)).map(|member| &member[2..])
    };
    let hosts_count = members.len() - guests_before - guests(false).count();
    for c in 0..k {
        let column = vectors.column_mut(c);
        let mut rows = column.chunks_exact_mut(block);
        let mut put = |values: &[u64]| {
            let row = rows.next().into_iter().flatten().enumerate();
            row.for_each(|(unknown, to)| *to = f64::from_bits(values[unknown * k + c]));
        };
        guests_values(true).for_each(&mut put);
        let given = kernel.vectors().column(c);
        let hosts = members[guests_before..guests_before + hosts_count].iter();
        for ((node, _), to) in hosts.zip(&mut rows) {
            to.copy_from_slice(&given[(node - first_node) as usize * block..][..block]);
        }
        let mut put = |values: &[u64]| {
            let row = rows.next().into_iter().flatten().enumerate();
            row.for_each(|(unknown, to)| *to = f64::from_bits(values[unknown * k + c]));
        };
        guests_values(false).for_each(&mut put);
    }
    let made = Aggregates::try_new(own_roots.len(), of)
        .map_err(|_| SetupError::CoarseSolve {
            rows: own_roots.len(),
            reason: "an aggregate without a root".into(),
        })
        .and_then(|aggregates| {
            let kernel = NearKernel::part(vectors, block, kernel.is_constant())?;
            Ok(tentative(&aggregates, &kernel)?)
        });
    let made = agree(comm, made)?;

    // Results go home.
    let q = |node: u64| {
        let at = members.partition_point(|member| member.0 < node);
        &made.values()[at * width..(at + 1) * width]
    };
    let coarse_row =
        |root: u64| natural.own().start + (own_roots.partition_point(|&other| other < root) * k) as u64;
    let answer = |(from, words): &(usize, Vec<u64>)| {
        let members = words.chunks_exact(2 + width);
        let answers = members.flat_map(|member| {
            [coarse_row(member[0])].into_iter().chain(q(member[1]).iter().map(|value| value.to_bits()))
        });
        (*from, answers.collect())
    };
    let answers = comm.deliver(received.iter().map(answer).collect());
    let mut own = OwnTentative {
        first: vec![NOBODY; roots.len()],
        values: vec![0.0; roots.len() * width],
        coarse: row_by_row(made.coarse_kernel()),
    };
    for (place, &(node, root)) in members.iter().enumerate().skip(guests_before).take(hosts_count) {
        let node = (node - first_node) as usize;
        own.first[node] = coarse_row(root);
        own.values[node * width..(node + 1) * width]
            .copy_from_slice(&made.values()[place * width..(place + 1) * width]);
    }
    let answers = answers.iter().flat_map(|(_, words)| words.chunks_exact(1 + width));
    for (&(_, node), answer) in sent.iter().zip(answers) {
        own.first[node] = answer[0];
        let values = &mut own.values[node * width..(node + 1) * width];
        values.iter_mut().zip(&answer[1..]).for_each(|(value, &bits)| *value = f64::from_bits(bits));
    }
    Ok(own)
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
        let aggregates = Aggregates::try_new(ids.len(), first.iter().map(number).collect()).map_err(|_| {
            SetupError::CoarseSolve { rows: ids.len(), reason: "aggregates without nodes".into() }
        });
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
