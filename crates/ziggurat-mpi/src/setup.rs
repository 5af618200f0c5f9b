//! Distributed setup: what it adds to the level loop of `ziggurat-amg`, in particular the
//! distribution of coarse rows.
//!
//! A step fetches the rows of other ranks that it reads, runs the kernel of one process on its own
//! rows, and sends results to the owners of their rows. Rows and columns are in the order of global
//! ids everywhere, and sums over ranks are exact. So the hierarchy has the same bits on any number
//! of ranks.
//!
//! **Agglomeration.** The rows of a coarse level belong to the owners of their roots, with bounds
//! moved to multiples of a *grain* ([`GRAIN`] nodes). A level of fewer grains than ranks is
//! distributed over fewer ranks, with a communicator of their own, and the coarsest is on one rank.
//! The other ranks hold empty levels there, and wait in the prolongation.

use std::borrow::Cow;
use std::sync::Arc;

use ziggurat_amg::coarsen::NO_ROOT;
use ziggurat_amg::halo::{Halo, Processes};
use ziggurat_amg::interpolate::NearKernel;
use ziggurat_amg::smoother::Smoother;
use ziggurat_amg::{
    Built, CoarseningStop, Coarser, Descent, GridLevel, Level, LevelMatrix, MAX_SPARSE_ROWS, Restriction,
    Setup, SetupError, Stages,
};
use ziggurat_sparse::grid::GridPattern;
use ziggurat_sparse::{Csr, CsrRef, Dense, ExactSum};

use crate::comm::{Alone, Comm};
use crate::error::{DistributedError, agree};
use crate::grid;
use crate::matrix::DistributedCsr;
use crate::neighbourhood::Items;
use crate::partition::Partition;
use crate::rows::{GlobalRows, NamedRows, send_home};
use crate::triple_product::triple_product;

/// Nodes per grain, which is never divided between ranks. The sums of Lanczos are formed over this
/// many rows, and a rank with fewer nodes would mostly wait for messages.
pub(crate) const GRAIN: usize = 512;

/// Restriction and prolongation. Their messages use the communicator of the finer level.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub(crate) r: DistributedCsr,
    pub(crate) p: DistributedCsr,
    /// Own coarse rows whose columns of P are zero; they get a diagonal entry.
    pub(crate) dead: Vec<u32>,
}

impl LevelMatrix for DistributedCsr {
    type Halo<'a> = Items<'a>;
    type Transfer = Transfer;

    fn view(&self) -> CsrRef<'_, f64> {
        self.local.view()
    }

    fn block(&self) -> usize {
        self.around.block()
    }

    fn global_rows(&self) -> u64 {
        self.rows.global()
    }

    fn rows(&self) -> Items<'_> {
        self.around.rows()
    }

    fn nodes(&self) -> Items<'_> {
        self.around.nodes()
    }

    fn extended(&self, depth: usize) -> Result<Cow<'_, Self>, SetupError> {
        Ok(self.with_halo(depth)?)
    }

    fn of_nodes(&self, nodes: &Csr<f64>) -> Result<Self, SetupError> {
        let block = self.block() as u64;
        let own = self.own_rows().start / block..self.own_rows().end / block;
        let global = self.global_rows() / block;
        let rows = Arc::new(Partition::with_range(&**self.comm(), own.clone(), global));
        let halo = self.around.nodes();
        let mut home = GlobalRows::new();
        for (local, id) in halo.owned().zip(own) {
            let (columns, values) = nodes.row(local);
            home.columns.extend(columns.iter().map(|&column| halo.global_id(column as usize)));
            home.values.extend_from_slice(values);
            home.end_row(id);
        }
        let home = home.named(&rows.own());
        Ok(DistributedCsr::square(self.comm(), rows, 1, home)?)
    }

    fn aggregated(&self, roots: &[u64]) -> Result<Self, SetupError> {
        let comm = self.comm();
        let is_root = |(row, root): &(u64, &u64)| row == *root;
        let own_roots: Vec<u64> = self.own_rows().zip(roots).filter(is_root).map(|(row, _)| row).collect();
        let natural = Arc::new(Partition::try_new(&**comm, own_roots.len())?);
        let mut ids: Vec<u64> = roots.iter().copied().filter(|&id| id != NO_ROOT).collect();
        ids.sort_unstable();
        ids.dedup();
        let number = |id: u64| natural.own().start + own_roots.partition_point(|&root| root < id) as u64;
        let numbers = self.rows().ask(&ids, number);
        let mut p = GlobalRows::new();
        for (&root, id) in roots.iter().zip(self.own_rows()) {
            if let Ok(at) = ids.binary_search(&root) {
                p.columns.push(numbers[at]);
                p.values.push(1.0);
            }
            p.end_row(id);
        }
        let p = p.named(&natural.own());
        let p = DistributedCsr::rectangular(comm, self.rows.clone(), natural.clone(), 1, p)?;
        let r = p.transposed(1)?;
        Ok(DistributedCsr::square(comm, natural, 1, triple_product(&r, self, &p)?)?)
    }

    fn descend(
        &self,
        coarser: Coarser,
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Descent<Self>, SetupError> {
        let comm = self.comm().clone();
        let (coarse, block) = (&coarser.coarse, coarser.block);
        let own = coarse.first..coarse.first + coarse.own as u64;
        let natural = Partition::with_range(&*comm, own, coarse.global);
        let target = Arc::new(target(&*comm, &natural, block, stages.level() + 1, setup));
        // A single rank keeps the numbers of coarse rows.
        let ids = match comm.size() {
            1 => (0..coarse.global).collect(),
            _ => coarse.ids.clone(),
        };
        let stage = stages.begin("transpose");
        let p = NamedRows::of(coarser.p, ids);
        let p = DistributedCsr::rectangular(&comm, self.rows.clone(), target.clone(), block, p)?;
        let r = match coarser.restriction {
            None => p.transposed(self.block())?,
            Some(restriction) => restricted(self, &natural, &target, restriction)?,
        };
        stages.end(stage);
        let stage = stages.begin("Galerkin product");
        let product = triple_product(&r, self, &p)?;
        stages.end(stage);
        let kernel = coarser.kernel.as_ref();
        let vectors = kernel.map_or(0, NearKernel::count);
        let values = moved(&*comm, &natural, &target, vectors, &kernel.map(row_by_row).unwrap_or_default());
        // Where the coarse level keeps rows, none of its columns of P are zero.
        let dead = match coarser.points {
            None => dead_rows(&values, block, vectors),
            Some(_) => Vec::new(),
        };
        let coarse = CoarseRows { target, block, product, kernel: (values, vectors) };
        Ok(coarse.of(self, Transfer { r, p, dead }))
    }

    fn joined(
        &self,
        mut transfer: Transfer,
        below: Option<Result<Built<Self>, SetupError>>,
    ) -> Result<(Transfer, Built<Self>), SetupError> {
        let (comm, target, block) = (self.comm().clone(), transfer.p.cols.clone(), transfer.p.around.block());
        // A rank without rows of the next level has waited for the others.
        let below = below.unwrap_or(Ok(Built { levels: Vec::new(), stop: CoarseningStop::SmallEnough }));
        let mut below = shared(&*comm, agree(&*comm, below)?, block)?;
        let on_several = |level: &Level<DistributedCsr>| level.distributed_matrix().comm().size() > 1;
        let on_several = below.levels.len() == 1 && on_several(&below.levels[0]);
        if comm.any(on_several && target.global() <= MAX_SPARSE_ROWS as u64) {
            below.levels = vec![onto_one_rank(self, &mut transfer, &below.levels[0], &target, block)?];
        }
        Ok((transfer, below))
    }
}

impl GridLevel for DistributedCsr {
    /// Not yet: rows that arrive from other ranks are rows of one unknown.
    const SEVERAL_UNKNOWNS: bool = false;

    fn axis_strengths(&self, pattern: &GridPattern) -> [ExactSum; 3] {
        grid::axis_strengths(self, pattern)
    }

    fn descend_grid(
        &mut self,
        pattern: &GridPattern,
        axes: &[usize],
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Option<Descent<Self>>, SetupError> {
        let natural = grid::natural(self, pattern, axes);
        let target = Arc::new(target(&**self.comm(), &natural, 1, stages.level() + 1, setup));
        let Some(step) = grid::coarsened(self, pattern, axes, &target, stages)? else { return Ok(None) };
        let stage = stages.begin("transpose");
        let p = DistributedCsr::rectangular(self.comm(), self.rows.clone(), target.clone(), 1, step.p)?;
        let r = p.transposed(1)?;
        stages.end(stage);
        let coarse = CoarseRows { target, block: 1, product: step.product, kernel: (Vec::new(), 0) };
        Ok(Some(coarse.of(self, Transfer { r, p, dead: Vec::new() })))
    }
}

/// The rows of a coarse level, on the ranks that own them.
struct CoarseRows {
    target: Arc<Partition>,
    block: usize,
    product: NamedRows,
    /// The near-kernel, row by row, and its number of vectors.
    kernel: (Vec<f64>, usize),
}

impl CoarseRows {
    /// The matrix of the next level, on the ranks that own rows of it. Collective.
    fn of(self, fine: &DistributedCsr, transfer: Transfer) -> Descent<DistributedCsr> {
        let CoarseRows { target, block, product, kernel: (values, vectors) } = self;
        let next = fine.comm().subset(!target.is_empty()).map(|comm| {
            coarse_matrix(&comm, &target, block, product, (&values, vectors), &transfer.dead)
                .map_err(SetupError::from)
        });
        Descent { transfer, next }
    }
}

/// Makes the number of levels the same on every rank: a rank without rows of a level holds an empty
/// one, and receives the reason why coarsening stopped.
fn shared(
    comm: &dyn Comm,
    mut below: Built<DistributedCsr>,
    block: usize,
) -> Result<Built<DistributedCsr>, DistributedError> {
    let known = !below.levels.is_empty();
    let stop = CoarseningStop::ALL.iter().position(|stop| *stop == below.stop).unwrap_or(0);
    let stop = comm.most(if known { stop as f64 } else { -1.0 });
    let count = comm.most(below.levels.len() as f64) as usize;
    if !known {
        below.levels = (1..=count).map(|level| empty(block, level < count)).collect::<Result<_, _>>()?;
        below.stop = CoarseningStop::ALL[stop.max(0.0) as usize];
    }
    Ok(below)
}

/// A restriction whose rows are known where coarse rows have their roots, in the distribution of
/// the coarse level. Collective.
fn restricted(
    fine: &DistributedCsr,
    natural: &Partition,
    target: &Arc<Partition>,
    restriction: Restriction,
) -> Result<DistributedCsr, DistributedError> {
    let Restriction { rows, ids } = restriction;
    let id = |column: u32| if ids.is_empty() { u64::from(column) } else { ids[column as usize] };
    let mut entries = Vec::with_capacity(rows.nnz());
    for (row, coarse) in natural.own().enumerate() {
        let (columns, values) = rows.row(row);
        entries.extend(columns.iter().zip(values).map(|(&column, &value)| (coarse, id(column), value)));
    }
    let home = send_home(&**fine.comm(), target, entries).named(&fine.own_rows());
    DistributedCsr::rectangular(fine.comm(), target.clone(), fine.rows.clone(), fine.block(), home)
}

/// The next level's matrix and near-kernel, on the ranks that own rows of it.
fn coarse_matrix(
    comm: &Arc<dyn Comm>,
    target: &Partition,
    block: usize,
    product: NamedRows,
    (values, count): (&[f64], usize),
    dead: &[u32],
) -> Result<(DistributedCsr, NearKernel), DistributedError> {
    let rows = Arc::new(Partition::with_range(&**comm, target.own(), target.global()));
    let mut a = DistributedCsr::square(comm, rows, block, product)?;
    let kernel = agree(&**comm, near_kernel(values, block, count, a.own.len(), false))?;
    if count > 0 {
        set_dead_diagonal(&mut a, dead);
    }
    Ok((a, kernel))
}

/// The own coarse rows whose own near-kernel vector is zero there, given its values row by row.
fn dead_rows(values: &[f64], block: usize, count: usize) -> Vec<u32> {
    let rows = values.chunks_exact(count.max(1)).enumerate();
    rows.filter(|(row, values)| values.get(row % block) == Some(&0.0)).map(|(row, _)| row as u32).collect()
}

/// Moves a last level to one rank, which solves it directly, and adapts the transfer to it.
fn onto_one_rank(
    finer: &DistributedCsr,
    transfer: &mut Transfer,
    level: &Level<DistributedCsr>,
    rows: &Partition,
    block: usize,
) -> Result<Level<DistributedCsr>, DistributedError> {
    let comm = finer.comm().clone();
    let target = Arc::new(rows.aligned(&*comm, rows.global()));
    let product = send_home(&*comm, &target, level.distributed_matrix().entries());
    let p = transfer.p.own_named();
    let p = DistributedCsr::rectangular(&comm, finer.rows.clone(), target.clone(), block, p)?;
    let mut is_dead = vec![0.0; rows.len()];
    transfer.dead.iter().for_each(|&row| is_dead[row as usize] = 1.0);
    let is_dead = moved(&*comm, rows, &target, 1, &is_dead);
    let dead = (0..).zip(is_dead).filter(|(_, is_dead)| *is_dead == 1.0).map(|(row, _)| row).collect();
    let r = send_home(&*comm, &target, transfer.r.entries()).named(&finer.own_rows());
    let r = DistributedCsr::rectangular(&comm, target.clone(), finer.rows.clone(), finer.block(), r)?;
    *transfer = Transfer { r, p, dead };
    match comm.subset(!target.is_empty()) {
        Some(comm) => {
            let rows = Arc::new(Partition::with_range(&*comm, target.own(), target.global()));
            let product = product.named(&target.own());
            Ok(Level::last(DistributedCsr::square(&comm, rows, block, product)?))
        }
        None => empty(block, false),
    }
}

/// The distribution of the rows of a coarse level.
fn target(comm: &dyn Comm, natural: &Partition, block: usize, level: usize, setup: &Setup<'_>) -> Partition {
    let rows = natural.global();
    let last = rows <= setup.config.coarse_rows as u64
        || level + 1 >= setup.config.max_levels && rows <= MAX_SPARSE_ROWS as u64;
    // The coarsest level is solved on one rank.
    natural.aligned(comm, if last { rows } else { grain(block, setup.row_multiple) })
}

/// Rows per grain, which is never divided between ranks: a multiple of `row_multiple`. Saturates: a
/// matrix without rows may have blocks of any size.
pub(crate) fn grain(block: usize, row_multiple: u64) -> u64 {
    least_common_multiple((GRAIN as u64).saturating_mul(block as u64), row_multiple)
}

/// The rows that smoothers treat together, which must not depend on ranks: a common multiple of
/// their blocks.
pub(crate) fn row_multiple(smoothers: impl Iterator<Item = Smoother>) -> u64 {
    smoothers.map(|smoother| smoother.rows_together() as u64).fold(1, least_common_multiple)
}

fn least_common_multiple(x: u64, y: u64) -> u64 {
    let (mut greatest, mut rest) = (x, y);
    while rest != 0 {
        (greatest, rest) = (rest, greatest % rest);
    }
    (x / greatest).saturating_mul(y)
}

/// A level without rows, on a rank that does not take part in it; with a transfer if another level
/// follows.
pub(crate) fn empty(block: usize, followed: bool) -> Result<Level<DistributedCsr>, DistributedError> {
    let comm: Arc<dyn Comm> = Arc::new(Alone);
    let rows = Arc::new(Partition::try_new(&*comm, 0)?);
    let a = DistributedCsr::square(&comm, rows, block, GlobalRows::new().named(&(0..0)))?;
    let transfer = Transfer { r: a.clone(), p: a.clone(), dead: Vec::new() };
    Ok(if followed { Level::with_transfer(a, transfer) } else { Level::last(a) })
}

/// Moves `count` values per row from one distribution of rows to another.
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

/// A near-kernel from its values, row by row; constants if there are none.
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

/// Sets the diagonal entry of dead own rows to the largest diagonal entry on any rank, as
/// `set_dead_diagonal` in `ziggurat-amg` does. Collective.
pub(crate) fn set_dead_diagonal(a: &mut DistributedCsr, dead: &[u32]) {
    let diagonal = a.view().diagonal(a.own.clone());
    let largest = diagonal.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let largest = a.comm().most(largest);
    let scale = if largest > 0.0 { largest } else { 1.0 };
    for &row in dead {
        let local = a.own.start + row as usize;
        let begin = a.local.row_ptr()[local];
        if let Ok(place) = a.local.row(local).0.binary_search(&(local as u32)) {
            Arc::make_mut(&mut a.local).values_mut()[begin + place] = scale;
        }
    }
}

/// The values of a near-kernel, row by row.
pub(crate) fn row_by_row(kernel: &NearKernel) -> Vec<f64> {
    let vectors = kernel.vectors();
    (0..vectors.rows()).flat_map(|row| vectors.columns().map(move |column| column[row])).collect()
}
