//! Aggressive coarsening: two passes of PMIS, the second on the coarse rows of the first and the
//! strong paths between them.
//!
//! Two coarse rows of the first pass are connected if there are enough strong paths of length at
//! most two from one to the other (Stüben, *Algebraic multigrid: an introduction with
//! applications*, 1999: strength "with respect to (p, 2)"; his A1 requires one path, A2 two). On a
//! 7-point grid one path keeps one row in sixteen, two paths keep one in twelve, and plain PMIS
//! keeps one in three. Interpolation must then reach further: use
//! [two-stage](crate::interpolate::two_stage) or [multipass](crate::interpolate::multipass)
//! interpolation.
//!
//! A coarse row of the first pass that has no other coarse row within reach stays coarse, since
//! there is no row to interpolate it from.
//!
//! Cost: for each coarse row of the first pass, the connections of its neighbours; then PMIS on a
//! quarter of the rows.

use std::ops::Range;

use bytemuck::Pod;
use serde::{Deserialize, Serialize};
use ziggurat_sparse::MatrixError;

use super::pmis::split;
use super::{FINE, Point, Splitting, pmis};
use crate::halo::Halo;
use crate::rank::ranks;
use crate::strength::StrongGraph;

/// How many strong paths of length at most two are required to connect two coarse rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// One path (Stüben's A1): the fastest coarsening.
    #[default]
    One,
    /// Two paths (Stüben's A2): fewer rows are connected, more are kept.
    Two,
}

/// Splits rows into coarse and fine by two passes of PMIS.
///
/// `strong` contains the connections of the owned rows and of the halo rows up to three connections
/// away; its columns are the local rows. In one process that is the whole graph.
///
/// ```
/// use ziggurat_amg::coarsen::{Paths, aggressive, pmis};
/// use ziggurat_amg::{halo::Whole, strength::StrongGraph};
/// // A ring of 60 rows.
/// let columns = (0..60u32).flat_map(|row| {
///     let (left, right) = ((row + 59) % 60, (row + 1) % 60);
///     [left.min(right), left.max(right)]
/// });
/// let ring = StrongGraph::try_new(60, (0..=60).map(|row| 2 * row).collect(), columns.collect())?;
/// let whole = Whole::new(60);
/// assert!(aggressive(&ring, &whole, Paths::One)?.coarse_rows() < pmis(&ring, &whole)?.coarse_rows());
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// Returns an error if the graph does not match the halo.
pub fn aggressive<H: Halo>(strong: &StrongGraph, halo: &H, paths: Paths) -> Result<Splitting, MatrixError> {
    coarsen_again(strong, &pmis(strong, halo)?, halo, paths)
}

/// The second pass alone: selects the coarse rows of `first` that stay coarse. For [two-stage
/// interpolation](crate::interpolate::two_stage), which needs both splittings.
///
/// ```
/// use ziggurat_amg::coarsen::{Paths, aggressive, coarsen_again, pmis};
/// use ziggurat_amg::{halo::Whole, strength::StrongGraph};
/// let path = StrongGraph::try_new(5, vec![0, 1, 3, 5, 7, 8], vec![1, 0, 2, 1, 3, 2, 4, 3])?;
/// let whole = Whole::new(5);
/// let first = pmis(&path, &whole)?;
/// assert_eq!(coarsen_again(&path, &first, &whole, Paths::One)?, aggressive(&path, &whole, Paths::One)?);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// Returns an error if the graph does not match the halo, or the splitting does not match the
/// graph.
pub fn coarsen_again<H: Halo>(
    strong: &StrongGraph,
    first: &Splitting,
    halo: &H,
    paths: Paths,
) -> Result<Splitting, MatrixError> {
    if first.rows() != strong.cols() || first.rows() != halo.local() {
        let what = "rows of the first splitting (one per local row and per column of the strong graph)";
        return Err(MatrixError::Mismatch { what, expected: strong.cols(), found: first.rows() });
    }
    let points = first.coarse_points();
    let graph = distance_two(strong, first, &points, paths)?;
    let fine = halo.owned();
    let before = |end: usize| points.partition_point(|&row| (row as usize) < end);
    let owned = before(fine.start)..before(fine.end);
    let distributed = halo.any(fine.len() < halo.local());
    let coarse = CoarseHalo { fine: halo, points: &points, owned, distributed };
    let second = split(&graph, &coarse, Point::Coarse)?;
    Ok(Splitting::new(first.rows(), |row| match first.coarse_index(row) {
        Some(index) => second.point(index as usize),
        None => Point::Fine,
    }))
}

/// The graph of strong paths between coarse rows, in the numbering of the coarse rows. It has one
/// row for each coarse row among the rows of `strong`.
fn distance_two(
    strong: &StrongGraph,
    first: &Splitting,
    points: &[u32],
    paths: Paths,
) -> Result<StrongGraph, MatrixError> {
    // Only the connections of a neighbour to coarse rows matter, and they are read once for every
    // row that depends on it.
    let near = StrongGraph::collect(
        strong.row_ptr(),
        0..strong.rows(),
        points.len(),
        || (),
        |(), row, entries| {
            let columns = strong.row(row);
            entries.extend_where(columns.len(), |place| {
                let index = first.index(columns[place] as usize);
                (index, (), index != FINE)
            });
        },
    )?;
    let rows = points.partition_point(|&row| (row as usize) < strong.rows());
    let mut work = vec![0; rows + 1];
    for (index, &row) in points[..rows].iter().enumerate() {
        work[index + 1] = work[index] + strong.row(row as usize).len() * MEAN_NEAR;
    }
    StrongGraph::collect(
        &work,
        0..rows,
        points.len(),
        || Found::new(points.len()),
        |found, index, entries| {
            let row = points[index] as usize;
            found.begin(index as u32);
            let mut add = |ends: &[u32]| match paths {
                Paths::One => ends.iter().for_each(|&end| found.add_first(index as u32, end)),
                Paths::Two => ends.iter().for_each(|&end| found.add_second(index as u32, end)),
            };
            add(near.row(row));
            // The outermost halo rows are columns of the graph only: it does not contain their
            // connections.
            for &middle in strong.row(row).iter().filter(|&&middle| (middle as usize) < strong.rows()) {
                add(near.row(middle as usize));
            }
            let sorted = found.sorted();
            entries.extend_where(sorted.len(), |place| (sorted[place], (), true));
        },
    )
}

/// Typical number of coarse rows near a row, for load balancing. It affects only the run time.
const MEAN_NEAR: usize = 2;

/// The coarse rows found from one coarse row. Whether a row is new cannot be predicted, so
/// insertion is branch-free.
struct Found {
    /// The row from which each row was last found, so that nothing is cleared between rows.
    once: Vec<u32>,
    /// The row from which each was last found a second time.
    twice: Vec<u32>,
    /// The rows with enough paths. One entry longer than necessary, because a row is written before
    /// it is known to be new.
    columns: Vec<u32>,
    len: usize,
    sorted: Vec<u32>,
    ranks: Vec<u32>,
}

impl Found {
    fn new(cols: usize) -> Self {
        Found {
            once: vec![u32::MAX; cols],
            twice: vec![u32::MAX; cols],
            columns: vec![0; cols + 1],
            len: 0,
            sorted: Vec::new(),
            ranks: Vec::new(),
        }
    }

    /// Starts a new row and marks it as already found, so that it does not count.
    fn begin(&mut self, from: u32) {
        self.len = 0;
        self.once[from as usize] = from;
        self.twice[from as usize] = from;
    }

    /// Adds a row when it is found for the first time.
    #[inline]
    fn add_first(&mut self, from: u32, to: u32) {
        let last = std::mem::replace(&mut self.once[to as usize], from);
        self.columns[self.len] = to;
        self.len += usize::from(last != from);
    }

    /// Adds a row when it is found for the second time.
    #[inline]
    fn add_second(&mut self, from: u32, to: u32) {
        let again = std::mem::replace(&mut self.once[to as usize], from) == from;
        let twice = &mut self.twice[to as usize];
        self.columns[self.len] = to;
        self.len += usize::from(again & (*twice != from));
        *twice = if again { from } else { *twice };
    }

    /// The rows found, in increasing order.
    fn sorted(&mut self) -> &[u32] {
        let columns = &self.columns[..self.len];
        ranks(columns, &mut self.ranks);
        self.sorted.resize(self.len, 0);
        for (&column, &rank) in columns.iter().zip(&self.ranks) {
            self.sorted[rank as usize] = column;
        }
        &self.sorted
    }
}

/// The coarse rows of a halo. They are numbered in the order of the fine rows, so the owned ones
/// form a range.
struct CoarseHalo<'a, H> {
    fine: &'a H,
    points: &'a [u32],
    owned: Range<usize>,
    /// Whether any process has halo rows.
    distributed: bool,
}

impl<H: Halo> Halo for CoarseHalo<'_, H> {
    fn owned(&self) -> Range<usize> {
        self.owned.clone()
    }

    fn local(&self) -> usize {
        self.points.len()
    }

    fn global_id(&self, local: usize) -> u64 {
        self.fine.global_id(self.points[local] as usize)
    }

    fn exchange<T: Pod + Send + Sync>(&self, values: &mut [T]) {
        if !self.distributed {
            return;
        }
        // A row that is coarse here is also coarse on its owner, so the values in between are never
        // read.
        let mut fine = vec![T::zeroed(); self.fine.local()];
        for (&row, &value) in self.points.iter().zip(values.iter()) {
            fine[row as usize] = value;
        }
        self.fine.exchange(&mut fine);
        for (&row, value) in self.points.iter().zip(values) {
            *value = fine[row as usize];
        }
    }

    fn known_elsewhere(&self) -> Vec<usize> {
        let coarse = |row: usize| self.points.binary_search(&(row as u32)).ok();
        self.fine.known_elsewhere().into_iter().filter_map(coarse).collect()
    }

    fn any(&self, flag: bool) -> bool {
        self.fine.any(flag)
    }

    fn sum(&self, counts: &mut [u64]) {
        self.fine.sum(counts);
    }

    fn largest(&self, x: f64) -> f64 {
        self.fine.largest(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use crate::testing::{arbitrary_graph, on_ranks, on_threads, problem, strong};
    use proptest::prelude::*;

    /// Rows reached by at least `needed` paths of length one or two.
    fn reached(graph: &StrongGraph, row: usize, needed: usize) -> Vec<usize> {
        let mut paths = vec![0; graph.cols()];
        for &middle in graph.row(row) {
            paths[middle as usize] += 1;
            for &end in graph.row(middle as usize) {
                paths[end as usize] += 1;
            }
        }
        (0..graph.cols()).filter(|&end| end != row && paths[end] >= needed).collect()
    }

    #[test]
    fn grids_coarsen_much_faster() {
        for (name, most) in [("poisson2d:60", 0.12), ("poisson3d:25", 0.1), ("poisson3d27:20", 0.03)] {
            let graph = strong(&problem(name));
            let whole = Whole::new(graph.rows());
            let ratio = |splitting: &Splitting| splitting.coarse_rows() as f64 / splitting.rows() as f64;
            let first = pmis(&graph, &whole).unwrap();
            let one = aggressive(&graph, &whole, Paths::One).unwrap();
            let two = aggressive(&graph, &whole, Paths::Two).unwrap();
            assert!(ratio(&one) < most, "{name}: {}", ratio(&one));
            assert!(ratio(&one) < ratio(&two) && ratio(&two) < ratio(&first), "{name}: {}", ratio(&two));
        }
    }

    #[test]
    fn rows_that_cannot_be_interpolated_stay_coarse() {
        // Two separate pairs: each keeps one row, and no path leads from one to the other.
        let graph = StrongGraph::try_new(5, vec![0, 1, 2, 3, 4, 4], vec![1, 0, 3, 2]).unwrap();
        let splitting = aggressive(&graph, &Whole::new(5), Paths::One).unwrap();
        assert_eq!(splitting.coarse_rows(), 2);
        assert_eq!(splitting.point(4), Point::Fine);
    }

    #[test]
    fn same_splitting_on_any_number_of_threads_and_processes() {
        let graph = strong(&problem("jump3d:30"));
        let split = || aggressive(&graph, &Whole::new(graph.rows()), Paths::Two).unwrap();
        assert_eq!(on_threads(1, split), on_threads(2, split));

        let graph = strong(&problem("convection3d:6"));
        let whole = aggressive(&graph, &Whole::new(graph.rows()), Paths::One).unwrap();
        let points = on_ranks(3, &graph, |local, halo| {
            let splitting = aggressive(local, halo, Paths::One).unwrap();
            halo.owned().map(|row| splitting.point(row)).collect()
        });
        for (row, point) in points.into_iter().enumerate() {
            assert_eq!(point, whole.point(row), "row {row}");
        }
    }

    proptest! {
        #[test]
        fn kept_rows_are_far_apart_and_dropped_ones_have_one_in_reach(graph in arbitrary_graph(true)) {
            let whole = Whole::new(graph.rows());
            let first = pmis(&graph, &whole).unwrap();
            for (paths, needed) in [(Paths::One, 1), (Paths::Two, 2)] {
                let splitting = aggressive(&graph, &whole, paths).unwrap();
                for row in 0..graph.rows() {
                    let kept_in_reach = reached(&graph, row, needed)
                        .into_iter()
                        .any(|end| splitting.point(end) == Point::Coarse);
                    match (first.point(row), splitting.point(row)) {
                        (Point::Coarse, Point::Coarse) => prop_assert!(!kept_in_reach),
                        (Point::Coarse, Point::Fine) => prop_assert!(kept_in_reach),
                        (Point::Fine, point) => prop_assert_eq!(point, Point::Fine),
                    }
                }
            }
        }
    }
}
