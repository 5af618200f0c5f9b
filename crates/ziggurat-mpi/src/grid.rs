//! Structured grids on ranks: coarsening of a slab of planes.
//!
//! A rank owns consecutive rows, which are points in the order of planes. To interpolate them, and
//! to form its rows of the coarse matrix, it needs the planes around them, too:
//!
//! ```text
//! own rows and own coarse rows ▸ the coarse planes that they refer to, and 3 on either side
//!                              ▸ the fine planes between these: a grid of its own
//! ```
//!
//! It fetches the rows of these planes that others own, and coarsens the slab as one process
//! coarsens a grid (`GridMatrix::coarsen`). What is cut off at the ends of the slab changes only
//! planes that the rank does not use: a coarse plane depends on two planes on either side of it,
//! one for each axis within planes, and the weights of the outermost of these on one more. So the
//! rows have the bits of one process. Transfers are stored in compressed rows, as with other
//! methods.
//!
//! Cost: coarsening, a copy of the own rows by directions, and messages with up to nine planes from
//! either side. A grid with fewer planes than that per rank is mostly copied to every rank.

use std::ops::Range;

use ziggurat_amg::{SetupError, Stages, is_ragged};
use ziggurat_sparse::grid::{Grid, GridMatrix, GridPattern};
use ziggurat_sparse::{ExactSum, MatrixError};

use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::rows::{GlobalRows, NamedRows};

/// The coarse planes on either side of those in use that a slab contains.
const MARGIN: usize = 3;

/// The prolongation of own rows, and own rows of the coarse matrix.
pub(crate) struct GridStep {
    pub(crate) p: NamedRows,
    pub(crate) product: NamedRows,
}

/// This rank's part of the sums of `ziggurat_sparse::grid::axis_strengths`.
pub(crate) fn axis_strengths(a: &DistributedCsr, pattern: &GridPattern) -> [ExactSum; 3] {
    let (own, places) = (a.own_rows(), pattern.places());
    ziggurat_sparse::grid::axis_strengths(pattern, own.start as usize..own.end as usize, |point, values| {
        let _only_neighbours = places.spread(point, entries(a, point), values);
    })
}

/// The columns and values of an own row.
fn entries(a: &DistributedCsr, row: usize) -> impl Iterator<Item = (usize, f64)> {
    let (columns, values) = a.global_row(row as u64);
    columns.map(|column| column as usize).zip(values.iter().copied())
}

/// The coarse points whose fine points a rank owns. Collective.
pub(crate) fn natural(a: &DistributedCsr, pattern: &GridPattern, axes: &[usize]) -> Partition {
    let coarse = pattern.coarse(axes).grid;
    let before = |row: u64| coarse_before(pattern.grid, coarse, axes, row as usize) as u64;
    let own = a.own_rows();
    Partition::with_range(&**a.comm(), before(own.start)..before(own.end), coarse.len() as u64)
}

/// The number of coarse points before a fine one.
fn coarse_before(fine: Grid, coarse: Grid, axes: &[usize], point: usize) -> usize {
    let at = fine.position(point);
    let mut number = 0;
    for axis in [2, 1, 0] {
        let is_coarsened = axes.contains(&axis);
        let before = if is_coarsened { at[axis] / 2 } else { at[axis] };
        number += before * coarse.stride(axis);
        if is_coarsened && at[axis].is_multiple_of(2) {
            break; // the plane or line itself has no coarse points
        }
    }
    number
}

/// Coarsens the grid of a matrix along some axes; `target` are the owners of the coarse rows.
/// `None` if the coarse grid would not resolve the coefficients, or if there are no axes.
/// Collective.
pub(crate) fn coarsened(
    a: &DistributedCsr,
    pattern: &GridPattern,
    axes: &[usize],
    target: &Partition,
    stages: &mut Stages,
) -> Result<Option<GridStep>, SetupError> {
    if axes.is_empty() {
        return Ok(None);
    }
    let comm = a.comm();
    let stage = stages.begin("stencils");
    let slab = Slab::new(pattern, axes, &a.own_rows(), &target.own());
    let made = slab.matrix(a);
    let matrix = agree(&**comm, made.map_err(DistributedError::from))?;
    stages.end(stage);
    let stage = stages.begin("Galerkin product");
    let coarsened = matrix.and_then(|matrix| matrix.coarsen(axes));
    stages.end(stage);
    let counts = match &coarsened {
        Some((p, _)) => p.sided_points(slab.own_planes(&a.own_rows())),
        None => vec![Default::default(); axes.len()],
    };
    if is_ragged(&counts, &a.around.rows()) {
        return Ok(None);
    }
    let Some((p, coarse)) = coarsened else {
        let none = || GlobalRows::new().named(&(0..0));
        return Ok(Some(GridStep { p: none(), product: none() }));
    };
    let stage = stages.begin("interpolation");
    let ids: Vec<u64> = slab.coarse_ids().collect();
    let p = p.rows_to_csr(within(&a.own_rows(), slab.first()));
    stages.end(stage);
    let product = coarse.rows_to_csr(within(&target.own(), slab.first_coarse()));
    Ok(Some(GridStep { p: NamedRows::of(p, ids.clone()), product: NamedRows::of(product, ids) }))
}

/// Ids as numbers from `first` on. A rank without rows may have its empty range anywhere.
fn within(ids: &Range<u64>, first: usize) -> Range<usize> {
    if ids.is_empty() { 0..0 } else { ids.start as usize - first..ids.end as usize - first }
}

/// Consecutive planes of a grid.
struct Slab<'a> {
    pattern: &'a GridPattern,
    /// The planes, and the planes of the coarse grid that they contain.
    planes: Range<usize>,
    coarse_planes: Range<usize>,
    coarse: Grid,
}

impl<'a> Slab<'a> {
    /// The planes that a rank needs for its rows of the grid and of the coarse grid.
    fn new(pattern: &'a GridPattern, axes: &[usize], own: &Range<u64>, target: &Range<u64>) -> Self {
        let coarse = pattern.coarse(axes).grid;
        let (planes, is_coarsened) = (pattern.grid.points()[2], axes.contains(&2));
        let halved = |plane: usize| if is_coarsened { plane / 2 } else { plane };
        let last = coarse.points()[2] - 1;
        // The coarse planes that own rows interpolate from: those on both sides of an even plane.
        let of_own = (!own.is_empty()).then(|| {
            let [first, end] = [own.start, own.end - 1].map(|id| pattern.grid.position(id as usize)[2]);
            halved(first.saturating_sub(usize::from(is_coarsened)))..=halved(end).min(last)
        });
        let of_target = (!target.is_empty()).then(|| {
            let [first, end] = [target.start, target.end - 1].map(|id| coarse.position(id as usize)[2]);
            first..=end
        });
        let used = [of_own, of_target].into_iter().flatten();
        let used = used.reduce(|one, other| *one.start().min(other.start())..=*one.end().max(other.end()));
        let Some(used) = used else {
            return Slab { pattern, planes: 0..0, coarse_planes: 0..0, coarse };
        };
        let coarse_planes = used.start().saturating_sub(MARGIN)..(used.end() + MARGIN + 1).min(last + 1);
        let planes = match is_coarsened {
            true => 2 * coarse_planes.start..(2 * coarse_planes.end + 1).min(planes),
            false => coarse_planes.clone(),
        };
        Slab { pattern, planes, coarse_planes, coarse }
    }

    /// The number of the first point.
    fn first(&self) -> usize {
        self.planes.start * self.pattern.grid.stride(2)
    }

    /// The number of the first coarse point.
    fn first_coarse(&self) -> usize {
        self.coarse_planes.start * self.coarse.stride(2)
    }

    /// The numbers of all coarse points.
    fn coarse_ids(&self) -> Range<u64> {
        let plane = self.coarse.stride(2);
        (self.coarse_planes.start * plane) as u64..(self.coarse_planes.end * plane) as u64
    }

    /// The planes, counted from the first one, whose first point is one of the rank's. Every plane
    /// of the grid is one of these on one rank.
    fn own_planes(&self, own: &Range<u64>) -> Range<usize> {
        if own.is_empty() {
            return 0..0;
        }
        let plane = self.pattern.grid.stride(2);
        let [first, end] = [own.start, own.end].map(|id| (id as usize).div_ceil(plane));
        first - self.planes.start..end - self.planes.start
    }

    /// The matrix of the slab, without the entries that leave it; `None` if it is empty.
    /// Collective.
    fn matrix(&self, a: &DistributedCsr) -> Result<Option<GridMatrix>, MatrixError> {
        let plane = self.pattern.grid.stride(2);
        let (first, len) = (self.first(), self.planes.len() * plane);
        let ids = first as u64..(first + len) as u64;
        let own = a.own_rows();
        let others: Vec<u64> =
            (ids.start..ids.end.min(own.start)).chain(ids.start.max(own.end)..ids.end).collect();
        let others: GlobalRows = a.fetch(&others);
        if ids.is_empty() {
            return Ok(None);
        }
        let below = others.ids.partition_point(|&id| id < own.start);
        let [nx, ny, _] = self.pattern.grid.points();
        let grid = Grid::new([nx, ny, self.planes.len()]);
        let pattern = GridPattern::new(grid, self.pattern.stencil.clone());
        let row = |point: usize| {
            let id = (first + point) as u64;
            let (own_row, other) = match () {
                () if own.contains(&id) => (Some(entries(a, id as usize)), None),
                () if id < own.start => (None, Some(others.row((id - ids.start) as usize))),
                () => (None, Some(others.row(below + (id - ids.start.max(own.end)) as usize))),
            };
            let other = other.into_iter().flat_map(|(columns, values)| {
                columns.iter().map(|&column| column as usize).zip(values.iter().copied())
            });
            let all = own_row.into_iter().flatten().chain(other);
            let within = all.map(move |(column, value)| (column.wrapping_sub(first), value));
            within.filter(move |&(column, _)| column < len)
        };
        GridMatrix::from_rows(&pattern, row).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_points_are_counted_as_the_coarse_grid_numbers_them() {
        let fine = Grid::new([5, 4, 7]);
        for axes in [&[0, 1, 2][..], &[2], &[0], &[1, 0], &[2, 0]] {
            let coarse = axes.iter().fold(fine, |grid, &axis| grid.coarse(axis));
            let mut expected = 0;
            for point in 0..fine.len() {
                assert_eq!(coarse_before(fine, coarse, axes, point), expected, "{axes:?}, point {point}");
                let at = fine.position(point);
                expected += usize::from(axes.iter().all(|&axis| at[axis] % 2 == 1));
            }
            assert_eq!(coarse_before(fine, coarse, axes, fine.len()), expected);
            assert_eq!(expected, coarse.len());
        }
    }
}
