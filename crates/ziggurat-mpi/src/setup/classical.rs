//! Classical coarsening on many ranks: strength, PMIS, interpolation.

use ziggurat_amg::Classical;
use ziggurat_amg::halo::Halo;
use ziggurat_amg::interpolate::{LongRange, Symmetry};
use ziggurat_amg::strength::strong_connections;

use super::{Coarser, at, named};
use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;

/// How far interpolation and the second pass of aggressive coarsening look; see `two_stage` and `coarsen_again`.
const TWO_STAGE: usize = 3;

/// Multipass goes as many rows away as it has passes. After aggressive coarsening four are usual.
const MULTIPASS: usize = 6;

pub(super) fn coarser(
    method: &Classical,
    a: &DistributedCsr,
    symmetry: Symmetry,
    index: usize,
) -> Result<Coarser, DistributedError> {
    let comm = &**a.comm();
    let depth = match method.long_range {
        _ if index >= method.aggressive_levels => 1,
        LongRange::Multipass => MULTIPASS,
        _ => TWO_STAGE,
    };
    let wide = a.extended(depth)?;
    let halo = wide.around.rows();
    let all = wide.view().all_rows();
    let strong = strong_connections(wide.view(), all, &method.strength, &[], &halo)
        .map_err(|error| at(index, "strength", error.into()))?;
    let (first, second) =
        method.split(&strong, index, &halo).map_err(|error| at(index, "coarsening", error))?;
    let kept = second.as_ref().unwrap_or(&first);

    let is_coarse = |row: &usize| kept.coarse_index(*row).is_some();
    let natural = Partition::try_new(comm, halo.owned().filter(is_coarse).count())?;
    let mut ids = vec![u64::MAX; halo.local()];
    let own_points = halo.owned().filter(is_coarse);
    own_points.zip(natural.own()).for_each(|(row, id)| ids[row] = id);
    halo.exchange(&mut ids);
    let ids: Vec<u64> = kept.coarse_points().into_iter().map(|row| ids[row as usize]).collect();

    let rows = wide.own.clone();
    let made = method.interpolate(wide.view(), rows, &strong, &first, second.as_ref(), &halo, symmetry);
    let p = agree(comm, made.map_err(|error| at(index, "interpolation", error)))?;
    let p = named(p, ids);
    Ok(Coarser { p, natural, block: 1, kernel: None, radius: None })
}
