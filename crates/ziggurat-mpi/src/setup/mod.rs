//! Setup on many ranks: level by level, with the kernels of `ziggurat-amg`.
//!
//! A step fetches the rows of others that it reads, runs the kernel that one process runs on all rows, over its own
//! rows, and sends home what belongs to others. Rows and columns are in the order of global ids everywhere, and sums over ranks are
//! exact, so the hierarchy has the same bits for any number of ranks.
//!
//! **Agglomeration.** The rows of a coarse level are owned by whoever owns their roots, with bounds moved to multiples of a *grain*
//! ([`GRAIN`] nodes). A level of fewer grains than ranks therefore lives on fewer ranks, in a communicator of these, and the
//! coarsest on one; the others have empty levels there, and wait in the prolongation.

mod aggregation;
mod classical;
mod pairwise;
mod tentative;

use std::sync::Arc;

use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::smoother::{ChebyshevBase, Smoother, SmootherData};
use ziggurat_amg::{
    COARSE_FALLBACK_SMOOTHER, Coarsening, CoarseningStop, HierarchyConfig, MAX_SPARSE_ROWS, SetupError,
    spectral_radius_of_parts,
};
use ziggurat_sparse::{Csr, Dense};

use crate::comm::{Alone, Comm};
use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::product::{Factor, times};
use crate::rows::{GlobalRows, NamedRows, send_home};

/// Nodes that are never cut apart: sums of Lanczos are formed over so many rows, and a rank that owned fewer would wait for
/// messages most of the time.
pub(crate) const GRAIN: usize = 512;

/// The id of a node that no aggregate has.
const NOBODY: u64 = u64::MAX;

/// One level, as this rank has it.
#[derive(Debug)]
pub(crate) struct Level {
    /// The ranks that have rows of it (on the finest level: all).
    pub comm: Arc<dyn Comm>,
    pub a: DistributedCsr,
    pub radius: Option<f64>,
    /// Of the level's own smoother, or of what takes the place of a direct solve.
    pub smoother: Option<SmootherData>,
    /// Restriction and prolongation; their messages go through this level's communicator.
    pub transfer: Option<(DistributedCsr, DistributedCsr)>,
}

/// What a distributed hierarchy is built of and by.
pub(crate) struct Plan<'a> {
    pub config: &'a HierarchyConfig,
    pub smoother: Smoother,
    pub symmetry: Symmetry,
}

/// What a coarsening gives.
struct Coarser {
    /// Own rows of P.
    p: NamedRows,
    /// Coarse rows as they come about: with the owners of their roots.
    natural: Partition,
    /// Unknowns per coarse node.
    block: usize,
    /// The near-kernel of the natural coarse rows, row by row; `None` where the method keeps none.
    kernel: Option<Vec<f64>>,
    radius: Option<f64>,
}

/// The levels from here on: as many on every rank, empty where it has no rows of them.
pub(crate) fn build(
    a: DistributedCsr,
    kernel: &NearKernel,
    plan: &Plan<'_>,
    index: usize,
) -> Result<Vec<Level>, DistributedError> {
    let comm = a.comm().clone();
    if a.global_rows() <= plan.config.coarse_rows as u64 || index + 1 >= plan.config.max_levels {
        return Ok(vec![last(a)?]);
    }
    let coarser = match &plan.config.coarsening {
        Coarsening::SmoothedAggregation(method) => aggregation::coarser(method, &a, kernel, index)?,
        Coarsening::Pairwise(method) => pairwise::coarser(method, &a, kernel, index)?,
        Coarsening::Classical(method) => classical::coarser(method, &a, plan.symmetry, index)?,
        _ => {
            let (what, instead) = ("this coarsening", "use sa, classical or pairwise");
            return Err(DistributedError::NotDistributed { what, instead });
        }
    };
    if CoarseningStop::after(a.global_rows(), coarser.natural.global()).is_some() {
        return Ok(vec![last(a)?]);
    }
    let target = Arc::new(target(&*comm, &coarser, index + 1, plan));
    let Coarser { p, natural, block, kernel: values, radius } = coarser;
    let p = DistributedCsr::rectangular(&comm, a.rows.clone(), target.clone(), block, p)?;
    let r = p.transposed(a.block())?;
    let product = triple_product(&r, &a, &p)?;
    let count = block * usize::from(values.is_some());
    let values = moved(&*comm, &natural, &target, count, &values.unwrap_or_default());
    let smoother = Some(smoother(plan.smoother, &a, radius)?);
    let mut level = Level { comm: comm.clone(), a, radius, smoother, transfer: Some((r, p)) };
    let below = match comm.subset(!target.is_empty()) {
        Some(comm) => next(&comm, &target, block, product, &values, count)
            .and_then(|(a, kernel)| build(a, &kernel, plan, index + 1)),
        // The others go on; here is nothing left to do but to hear how they fared.
        None => Ok(Vec::new()),
    };
    let mut below = agree(&*comm, below)?;
    let count = comm.most(below.len() as f64) as usize;
    if below.is_empty() {
        below = (1..=count)
            .map(|k| empty(block, (k < count).then_some(plan.smoother)))
            .collect::<Result<_, _>>()?;
    }
    let on_several =
        below.len() == 1 && below[0].comm.size() > 1 && target.global() <= MAX_SPARSE_ROWS as u64;
    if comm.any(on_several) {
        below = vec![onto_one_rank(&mut level, &below[0], &target, block)?];
    }
    below.insert(0, level);
    Ok(below)
}

/// Own rows of R·(A·P).
fn triple_product(
    r: &DistributedCsr,
    a: &DistributedCsr,
    p: &DistributedCsr,
) -> Result<NamedRows, DistributedError> {
    let NamedRows { ids, row_ptr, columns, values } = times(a, &p.factor())?;
    let ap = agree(&**a.comm(), Csr::try_new(a.own.len(), ids.len(), row_ptr, columns, values))?;
    times(r, &Factor::of(&a.rows, &p.cols, &ap, &ids))
}

/// The next level's matrix and near-kernel, with those who have rows of it.
fn next(
    comm: &Arc<dyn Comm>,
    target: &Partition,
    block: usize,
    product: NamedRows,
    values: &[f64],
    count: usize,
) -> Result<(DistributedCsr, NearKernel), DistributedError> {
    let rows = Arc::new(Partition::with_range(&**comm, target.own(), target.global()));
    let mut a = DistributedCsr::square(comm, rows, block, product)?;
    let kernel = near_kernel(values, block, count, a.own.len(), false)?;
    if count > 0 {
        revive(&mut a, &kernel);
    }
    Ok((a, kernel))
}

/// Moves a level that turned out to be the last one onto one rank, which solves it directly; what leads to it changes with it.
fn onto_one_rank(
    finer: &mut Level,
    level: &Level,
    rows: &Partition,
    block: usize,
) -> Result<Level, DistributedError> {
    let comm = finer.comm.clone();
    let target = Arc::new(rows.aligned(&*comm, rows.global()));
    let product = send_home(&*comm, &target, level.a.entries());
    if let Some((_, p)) = finer.transfer.take() {
        let p =
            DistributedCsr::rectangular(&comm, finer.a.rows.clone(), target.clone(), block, p.own_named())?;
        finer.transfer = Some((p.transposed(finer.a.block())?, p));
    }
    match comm.subset(!target.is_empty()) {
        Some(comm) => {
            let rows = Arc::new(Partition::with_range(&*comm, target.own(), target.global()));
            last(DistributedCsr::square(&comm, rows, block, product.named(&target.own()))?)
        }
        None => empty(block, None),
    }
}

/// A level without a next one. Where several ranks have it, it is smoothed instead of solved.
fn last(a: DistributedCsr) -> Result<Level, DistributedError> {
    let comm = a.comm().clone();
    let distributed = comm.total(u64::from(!a.rows.is_empty())) > 1;
    let smoother = if distributed { Some(smoother(COARSE_FALLBACK_SMOOTHER, &a, None)?) } else { None };
    Ok(Level { comm, a, radius: None, smoother, transfer: None })
}

/// Where the rows of a coarse level go.
fn target(comm: &dyn Comm, coarser: &Coarser, index: usize, plan: &Plan<'_>) -> Partition {
    let rows = coarser.natural.global();
    let last = rows <= plan.config.coarse_rows as u64
        || index + 1 >= plan.config.max_levels && rows <= MAX_SPARSE_ROWS as u64;
    // The coarsest level is solved on one rank.
    let grain = if last { rows } else { grain(coarser.block, plan.smoother) };
    coarser.natural.aligned(comm, grain)
}

/// Rows that are never cut apart.
pub(crate) fn grain(block: usize, smoother: Smoother) -> u64 {
    let rows = (GRAIN * block) as u64;
    match smoother {
        // Blocks of Gauss–Seidel do not depend on ranks.
        Smoother::GaussSeidel { block } => least_common_multiple(rows, block.max(1) as u64),
        _ => rows,
    }
}

fn least_common_multiple(x: u64, y: u64) -> u64 {
    let (mut greatest, mut rest) = (x, y);
    while rest != 0 {
        (greatest, rest) = (rest, greatest % rest);
    }
    x / greatest * y
}

/// The smoother of a level, from whole rows.
fn smoother(
    kind: Smoother,
    a: &DistributedCsr,
    radius: Option<f64>,
) -> Result<SmootherData, DistributedError> {
    let needs_radius = matches!(
        kind,
        Smoother::Jacobi { omega: None } | Smoother::Chebyshev { base: ChebyshevBase::Jacobi, .. }
    );
    let radius = match radius {
        None if needs_radius => {
            let found = spectral_radius_of_parts(a.view(), &a.around.rows());
            Some(agree(&**a.comm(), found.map_err(|error| a.globally(error)))?)
        }
        radius => radius,
    };
    agree(&**a.comm(), kind.data(a.view(), a.own.clone(), radius).map_err(|error| a.globally(error)))
}

/// A level without rows, of a rank that has nothing to do with it; with a smoother if another level follows.
fn empty(block: usize, smoother: Option<Smoother>) -> Result<Level, DistributedError> {
    let comm: Arc<dyn Comm> = Arc::new(Alone);
    let rows = Arc::new(Partition::try_new(&*comm, 0)?);
    let a = DistributedCsr::square(&comm, rows, block, GlobalRows::new().named(&(0..0)))?;
    let data = match smoother {
        Some(smoother) => Some(smoother.data(a.view(), 0..0, Some(1.0))?),
        None => None,
    };
    let transfer = smoother.map(|_| (a.clone(), a.clone()));
    Ok(Level { comm, a, radius: None, smoother: data, transfer })
}

/// Values that belong to rows, `count` each, go from those who have them to those who own the rows now.
pub(crate) fn moved(
    comm: &dyn Comm,
    from: &Partition,
    to: &Partition,
    count: usize,
    values: &[f64],
) -> Vec<f64> {
    let ids: Vec<u64> = from.own().collect();
    let owners = to.owners(comm, &ids);
    let (mut messages, mut left): (Vec<(usize, Vec<u64>)>, _) = (Vec::new(), values);
    for (owner, ids) in crate::partition::by_owner(&ids, &owners) {
        let part;
        (part, left) = left.split_at(ids.len() * count);
        messages.push((owner, part.iter().map(|value| value.to_bits()).collect()));
    }
    // Ranks are in the order of their rows, before and after.
    let received = comm.deliver(messages);
    received.into_iter().flat_map(|(_, words)| words).map(f64::from_bits).collect()
}

/// A near-kernel from its values, row by row; constants where there are none.
pub(crate) fn near_kernel(
    values: &[f64],
    block: usize,
    count: usize,
    rows: usize,
    constant: bool,
) -> Result<NearKernel, DistributedError> {
    if count == 0 {
        return Ok(NearKernel::constants(rows, block)?);
    }
    let mut vectors = Dense::zeros(rows, count)?;
    for vector in 0..count {
        let of_vector = values.iter().skip(vector).step_by(count);
        vectors.column_mut(vector).iter_mut().zip(of_vector).for_each(|(to, &value)| *to = value);
    }
    Ok(NearKernel::part(vectors, block, constant)?)
}

/// Gives unknowns that stand for nothing a diagonal entry, as large as the largest on any rank: see `ziggurat-amg`. They are those
/// whose own near-kernel vector is zero at their place.
fn revive(a: &mut DistributedCsr, kernel: &NearKernel) {
    let block = kernel.block();
    let diagonal = a.view().diagonal(a.own.clone());
    let largest = diagonal.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let largest = a.comm().most(largest);
    let scale = if largest > 0.0 { largest } else { 1.0 };
    let is_dead = |row: usize| kernel.vectors().column(row % block)[row] == 0.0;
    for row in (0..a.own.len()).filter(|&row| is_dead(row)) {
        let local = a.own.start + row;
        let begin = a.local.row_ptr()[local];
        if let Ok(place) = a.local.row(local).0.binary_search(&(local as u32)) {
            a.local.values_mut()[begin + place] = scale;
        }
    }
}

/// Own rows of a matrix whose columns are named by `ids`.
fn named(p: Csr<f64>, ids: Vec<u64>) -> NamedRows {
    let (row_ptr, columns, values) = p.into_parts();
    NamedRows { ids, row_ptr, columns, values }
}

/// Names the level and the stage of a fault.
fn at(level: usize, stage: &'static str, error: SetupError) -> SetupError {
    SetupError::Level { level, stage, source: Box::new(error) }
}
