//! Pairwise aggregation on many ranks: pairs, pairs of pairs, and interpolation that is constant on each.
//!
//! Every pass but the last is a level of its own: its pairs are joined by a Galerkin product with ones, whose rows stay with the
//! owners of the pairs' roots.

use std::sync::Arc;

use ziggurat_amg::Pairwise;
use ziggurat_amg::coarsen::{Aggregates, MATCHING_ROUNDS, pairwise};
use ziggurat_amg::halo::Halo;
use ziggurat_amg::interpolate::NearKernel;

use super::aggregation::nodes;
use super::tentative::decompose;
use super::{Coarser, NOBODY, at, triple_product};
use crate::error::DistributedError;
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::rows::{GlobalRows, sorted};

pub(super) fn coarser(
    method: &Pairwise,
    a: &DistributedCsr,
    kernel: &NearKernel,
    index: usize,
) -> Result<Coarser, DistributedError> {
    let comm = a.comm();
    let (block, k) = (kernel.block(), kernel.count());
    // The root of each own node, by its id among the rows of the last pass; then by its id among nodes.
    let mut present = node_level(a, block)?;
    let mut roots: Vec<u64> = present.rows.own().collect();
    let mut origins: Vec<u64> = roots.clone();
    for pass in 0..method.passes.max(1) {
        let found = pair(&present, index)?;
        // What a node's row of this pass has become.
        let ids = sorted(roots.iter().copied().filter(|&id| id != NOBODY));
        let begin = present.own_rows().start;
        let became = present.rows.ask(&**comm, &ids, |id| found[(id - begin) as usize]);
        let next = |id: u64| ids.binary_search(&id).map_or(NOBODY, |at| became[at]);
        roots.iter_mut().for_each(|root| *root = next(*root));
        let own_roots: Vec<u64> =
            present.own_rows().zip(&found).filter(|(row, root)| row == *root).map(|both| both.0).collect();
        // The node that a root of this pass stands for.
        origins = own_roots.iter().map(|root| origins[(root - begin) as usize]).collect();
        if pass + 1 == method.passes.max(1) {
            let ids = sorted(roots.iter().copied().filter(|&id| id != NOBODY));
            let origin = |id: u64| origins[own_roots.partition_point(|&root| root < id)];
            let nodes = present.rows.ask(&**comm, &ids, origin);
            let node = |id: u64| ids.binary_search(&id).map_or(NOBODY, |at| nodes[at]);
            roots.iter_mut().for_each(|root| *root = node(*root));
            break;
        }
        let natural = Arc::new(Partition::try_new(&**comm, own_roots.len())?);
        let number = |id: u64| natural.own().start + own_roots.partition_point(|&root| root < id) as u64;
        let ids = sorted(roots.iter().copied().filter(|&id| id != NOBODY));
        let numbers = present.rows.ask(&**comm, &ids, number);
        let renumber = |id: u64| ids.binary_search(&id).map_or(NOBODY, |at| numbers[at]);
        roots.iter_mut().for_each(|root| *root = renumber(*root));
        present = joined(&present, &found, &own_roots, &natural)?;
    }
    let own_nodes = a.own_rows().start / block as u64..a.own_rows().end / block as u64;
    let count = own_nodes.zip(&roots).filter(|(node, root)| node == *root).count();
    let natural = Partition::try_new(&**comm, count * k)?;
    let tent = decompose(a, &roots, kernel, &natural)?;
    let mut p = GlobalRows::new();
    for (row, id) in a.own_rows().enumerate() {
        if tent.first[row / block] != NOBODY {
            p.columns.extend((0..k as u64).map(|c| tent.first[row / block] + c));
            p.values.extend_from_slice(&tent.values[row * k..(row + 1) * k]);
        }
        p.end_row(id);
    }
    let p = p.named(&natural.own());
    Ok(Coarser { p, natural, block: k, kernel: Some(tent.coarse), radius: None })
}

/// The matrix of nodes.
fn node_level(a: &DistributedCsr, block: usize) -> Result<DistributedCsr, DistributedError> {
    let Some(nodes) = nodes(a, block)? else { return Ok(a.clone()) };
    let own = a.own_rows().start / block as u64..a.own_rows().end / block as u64;
    let rows = Arc::new(Partition::with_range(&**a.comm(), own.clone(), a.global_rows() / block as u64));
    let halo = a.around.nodes();
    let mut home = GlobalRows::new();
    for (local, id) in halo.owned().zip(own) {
        let (columns, values) = nodes.row(local);
        home.columns.extend(columns.iter().map(|&column| halo.global_id(column as usize)));
        home.values.extend_from_slice(values);
        home.end_row(id);
    }
    let home = home.named(&rows.own());
    DistributedCsr::square(a.comm(), rows, 1, home)
}

/// The root of each own row's pair, or [`NOBODY`].
fn pair(a: &DistributedCsr, index: usize) -> Result<Vec<u64>, DistributedError> {
    let wide = a.extended(1)?;
    let halo = wide.around.rows();
    let aggregates = pairwise(wide.view(), MATCHING_ROUNDS, &halo)
        .map_err(|error| at(index, "pairwise aggregation", error.into()))?;
    let root = |&aggregate: &u32| match aggregate {
        Aggregates::NONE => NOBODY,
        aggregate => aggregates.roots()[aggregate as usize],
    };
    Ok(aggregates.of()[halo.owned()].iter().map(root).collect())
}

/// Pᵀ A P, P being 1 where a row is in a pair.
fn joined(
    a: &DistributedCsr,
    roots: &[u64],
    own_roots: &[u64],
    natural: &Arc<Partition>,
) -> Result<DistributedCsr, DistributedError> {
    let comm = a.comm();
    let ids = sorted(roots.iter().copied().filter(|&id| id != NOBODY));
    let number = |id: u64| natural.own().start + own_roots.partition_point(|&root| root < id) as u64;
    let numbers = a.rows.ask(&**comm, &ids, number);
    let mut p = GlobalRows::new();
    for (&root, id) in roots.iter().zip(a.own_rows()) {
        if let Ok(at) = ids.binary_search(&root) {
            p.columns.push(numbers[at]);
            p.values.push(1.0);
        }
        p.end_row(id);
    }
    let p = DistributedCsr::rectangular(comm, a.rows.clone(), natural.clone(), 1, p.named(&natural.own()))?;
    let r = p.transposed(1)?;
    DistributedCsr::square(comm, natural.clone(), 1, triple_product(&r, a, &p)?)
}
