//! Smoothed aggregation on many ranks: strength, MIS-2, tentative interpolation, smoothing.
//!
//! Aggregates reach across ranks; `tentative.rs` says what becomes of them.

use ziggurat_amg::coarsen::{Aggregates, mis2, node_matrix};
use ziggurat_amg::halo::Halo;
use ziggurat_amg::interpolate::{NearKernel, smoothed};
use ziggurat_amg::strength::strong_connections;
use ziggurat_amg::{SmoothedAggregation, spectral_radius_of_parts};
use ziggurat_sparse::Csr;

use super::tentative::decompose;
use super::{Coarser, NOBODY, at, named};
use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;

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
        .map_err(|error| at(index, "spectral radius", a.globally(error)));
    let radius = agree(comm, radius)?;
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
