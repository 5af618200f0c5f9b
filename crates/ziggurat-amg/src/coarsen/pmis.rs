//! PMIS: parallel modified independent set (De Sterck, Yang & Heys, *Reducing complexity in
//! parallel algebraic multigrid preconditioners*, 2006), after Luby's algorithm.
//!
//! The measure of a row is the number of rows that depend on it strongly, plus a fraction that is
//! unique to the row, here from the hash of its global id. Rows that no other row depends on are
//! fine. Then the following two steps are repeated until every row is decided:
//!
//! 1. an undecided row whose measure exceeds every undecided neighbour's (a row that it
//!    depends on, or that depends on it) becomes coarse;
//! 2. an undecided row that depends on a coarse row becomes fine.
//!
//! In a symmetric graph the coarse rows are a maximal independent set. Rows without a connection in
//! either direction are fine and are not interpolated: the smoother solves them.
//!
//! The steps need not be synchronised in rounds. A row can only become fine because of a row of
//! greater measure, since a row of smaller measure waits for it; and rows that depend on it can
//! delay the decision but not change it. So the result is the unique fixed point of
//!
//! ```text
//! row i is fine  ⇔  it depends on a coarse row of greater measure
//! ```
//!
//! and a row can be decided as soon as all rows of greater measure that it depends on are decided:
//! by any thread, in any order, regardless of which other rows have been decided by then. The
//! result does not depend on the number of threads or processes.
//!
//! Cost: sweeps over the undecided rows. A row that waits for another row checks only that row
//! until it is decided, so each connection is visited about twice in total.

use std::hint::select_unpredictable;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ziggurat_sparse::device::coarse_measure;
use ziggurat_sparse::{MatrixError, parallel};

use super::{Point, Splitting};
use crate::halo::Halo;
use crate::strength::StrongGraph;

/// Number of rows whose undecided rows share one list.
const CHUNK: usize = 16 * 1024;

/// Maximum number of parts in which influences are counted: each may need one counter per column.
const MAX_PARTS: usize = 16;

/// The key of a row encodes its measure and its state. Fine rows have this key: their measure is no
/// longer needed.
const FINE: u64 = 0;

/// Coarse rows have this bit set in addition to their measure. The key of an undecided row is its
/// measure.
const COARSE: u64 = 1;

/// Splits rows into coarse and fine by PMIS.
///
/// `strong` contains the connections of the owned rows and of the halo rows that depend on them;
/// its columns are the local rows. In one process that is the whole graph.
///
/// ```
/// use ziggurat_amg::{coarsen::pmis, halo::Whole, strength::StrongGraph};
/// // A path of three rows. Two rows depend on the middle one.
/// let path = StrongGraph::try_new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1])?;
/// assert_eq!(pmis(&path, &Whole::new(3))?.coarse_points(), [1]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// Returns an error if the graph does not match the halo.
pub fn pmis<H: Halo>(strong: &StrongGraph, halo: &H) -> Result<Splitting, MatrixError> {
    split(strong, halo, Point::Fine)
}

/// PMIS in which rows without a connection become `isolated`.
pub(super) fn split<H: Halo>(
    strong: &StrongGraph,
    halo: &H,
    isolated: Point,
) -> Result<Splitting, MatrixError> {
    check(strong, halo)?;
    let owned = halo.owned();
    let distributed = halo.any(owned.len() < halo.local());
    let keys = keys(strong, halo, isolated);
    if distributed {
        exchange(&keys, halo);
    }
    let is_open = |&row: &usize| {
        let key = keys[row].load(Relaxed);
        key != FINE && key & COARSE == 0
    };
    let mut waiting = parallel::map_pieces(owned, CHUNK, &|rows| {
        let open = rows.filter(is_open);
        open.map(|row| Waiting { row: row as u32, on: NO_ROW }).collect::<Vec<_>>()
    });
    while halo.any(waiting.iter().any(|rows| !rows.is_empty())) {
        parallel::over_chunks(&mut waiting, 1, &|_, lists| {
            lists[0].retain_mut(|waiting| match waiting.decide(strong, halo, &keys) {
                Some(key) => {
                    keys[waiting.row as usize].store(key, Relaxed);
                    false
                }
                None => true,
            });
        });
        if distributed {
            exchange(&keys, halo);
        }
    }
    let is_coarse = |row: usize| keys[row].load(Relaxed) & COARSE != 0;
    let point = |row| if is_coarse(row) { Point::Coarse } else { Point::Fine };
    Ok(Splitting::new(keys.len(), point))
}

fn check<H: Halo>(strong: &StrongGraph, halo: &H) -> Result<(), MatrixError> {
    let (owned, local) = (halo.owned(), halo.local());
    if strong.cols() != local {
        let what = "columns of the strong graph (one per local row)";
        return Err(MatrixError::Mismatch { what, expected: local, found: strong.cols() });
    }
    if strong.rows() < owned.end || strong.rows() > local {
        let what = "rows of the strong graph for the rows this process owns";
        return Err(MatrixError::Mismatch { what, expected: owned.end, found: strong.rows() });
    }
    Ok(())
}

/// Overwrites the keys of halo rows with their owners' keys.
fn exchange<H: Halo>(keys: &[AtomicU64], halo: &H) {
    let mut values: Vec<u64> = keys.iter().map(|key| key.load(Relaxed)).collect();
    halo.exchange(&mut values);
    for (key, value) in keys.iter().zip(values) {
        key.store(value, Relaxed);
    }
}

/// The key of every row: its measure, whose lowest bit is left for coarse rows. The keys of halo
/// rows come from their owners.
fn keys<H: Halo>(strong: &StrongGraph, halo: &H, isolated: Point) -> Vec<AtomicU64> {
    let (influence, owned) = (Influence::of(strong), halo.owned());
    let key = |row: usize| {
        if !owned.contains(&row) {
            return FINE;
        }
        match (influence.of_row(row), strong.row(row)) {
            (0, []) if isolated == Point::Coarse => COARSE,
            (0, _) => FINE,
            (count, _) => coarse_measure(count, halo.global_id(row)),
        }
    };
    parallel::collect(halo.local(), key).into_iter().map(AtomicU64::new).collect()
}

/// The number of rows that depend on each row, counted in parts.
struct Influence {
    /// For each part, its first column and the counts from there on.
    parts: Vec<(u32, Vec<u32>)>,
}

impl Influence {
    fn of(strong: &StrongGraph) -> Self {
        // The counts are integers, so the number of parts does not affect the sums. Neighbouring
        // rows have neighbouring columns, so each part has few counters.
        let parts = parallel::threads().min(MAX_PARTS);
        let length = strong.connections().div_ceil(parts).max(1);
        let count = |part: Range<usize>| {
            let columns = &strong.columns()[part];
            let (first, last) =
                columns.iter().fold((u32::MAX, 0), |(first, last), &c| (c.min(first), c.max(last)));
            let mut counts = vec![0; (last - first) as usize + 1];
            for &column in columns {
                counts[(column - first) as usize] += 1;
            }
            (first, counts)
        };
        Influence { parts: parallel::map_pieces(0..strong.connections(), length, &count) }
    }

    #[inline]
    fn of_row(&self, row: usize) -> u32 {
        let in_part = |(first, counts): &(u32, Vec<u32>)| {
            counts.get(row.wrapping_sub(*first as usize)).copied().unwrap_or(0)
        };
        self.parts.iter().map(in_part).sum()
    }
}

/// An undecided row, and a row of greater measure that it waits for.
struct Waiting {
    row: u32,
    on: u32,
}

/// Marks a row that does not wait for another row yet. It is not a valid row number.
const NO_ROW: u32 = u32::MAX;

impl Waiting {
    /// The new key of the row, if it can already be decided. Usually it is enough to check the row
    /// it waits for.
    #[inline]
    fn decide<H: Halo>(&mut self, strong: &StrongGraph, halo: &H, keys: &[AtomicU64]) -> Option<u64> {
        if self.on != NO_ROW {
            let other = keys[self.on as usize].load(Relaxed);
            if other & COARSE != 0 {
                return Some(FINE);
            }
            if other != FINE {
                return None;
            }
        }
        let row = self.row as usize;
        let key = keys[row].load(Relaxed);
        // Which of two measures is greater cannot be predicted, so the loop is branch-free. `seen`
        // is the bitwise or of all greater keys. `greatest` is the largest of them; it is undecided
        // unless `seen` has the coarse bit.
        let (mut seen, mut on_equal) = (0, false);
        let (mut greatest, mut on) = (key | COARSE, NO_ROW);
        for &column in strong.row(row) {
            let other = keys[column as usize].load(Relaxed);
            seen |= select_unpredictable(other > key | COARSE, other, 0);
            on_equal |= other | COARSE == key | COARSE;
            on = select_unpredictable(other > greatest, column, on);
            greatest = select_unpredictable(other > greatest, other, greatest);
        }
        if on_equal {
            // All bits of the hash agree, or the row depends on itself. Ids break the tie.
            for &column in strong.row(row) {
                let other = keys[column as usize].load(Relaxed);
                if other | COARSE == key | COARSE && halo.global_id(column as usize) > halo.global_id(row) {
                    seen |= other;
                    on = column;
                }
            }
        }
        self.on = on;
        match (seen & COARSE, on) {
            (0, NO_ROW) => Some(key | COARSE),
            (0, _) => None,
            _ => Some(FINE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use crate::testing::{arbitrary_graph, on_ranks, on_threads, problem, strong};
    use proptest::prelude::*;
    use ziggurat_sparse::hash::hash_id;

    fn depends_on_coarse(graph: &StrongGraph, splitting: &Splitting, row: usize) -> bool {
        graph.row(row).iter().any(|&column| splitting.point(column as usize) == Point::Coarse)
    }

    /// In a symmetric graph, the set is independent and maximal.
    fn assert_maximal_independent(graph: &StrongGraph, splitting: &Splitting) {
        assert_eq!(splitting.rows(), graph.rows());
        for row in 0..graph.rows() {
            let connected = !graph.row(row).is_empty();
            match splitting.point(row) {
                Point::Coarse => assert!(connected && !depends_on_coarse(graph, splitting, row), "row {row}"),
                Point::Fine => assert_eq!(depends_on_coarse(graph, splitting, row), connected, "row {row}"),
            }
        }
    }

    #[test]
    fn grids_coarsen_by_a_plausible_ratio() {
        // Random sequential filling keeps 0.364 of a square lattice and 0.304 of a cubic one.
        for (name, least, most) in
            [("poisson2d:60", 0.34, 0.39), ("poisson3d:20", 0.28, 0.33), ("poisson3d27:20", 0.05, 0.09)]
        {
            let graph = strong(&problem(name));
            let splitting = pmis(&graph, &Whole::new(graph.rows())).unwrap();
            assert_maximal_independent(&graph, &splitting);
            let ratio = splitting.coarse_rows() as f64 / splitting.rows() as f64;
            assert!((least..most).contains(&ratio), "{name}: {ratio}");
        }
    }

    #[test]
    fn weak_directions_do_not_count() {
        // Strong only within planes: every plane is split on its own.
        let n = 12;
        let graph = strong(&problem("anisotropic3d:12"));
        let splitting = pmis(&graph, &Whole::new(graph.rows())).unwrap();
        assert_maximal_independent(&graph, &splitting);
        for plane in 0..n {
            let kept =
                (plane * n * n..(plane + 1) * n * n).filter(|&row| splitting.point(row) == Point::Coarse);
            assert!(kept.count() * 5 >= n * n);
        }
    }

    #[test]
    fn rows_that_no_row_depends_on_are_fine() {
        // 0 -> 1 -> 2, in one direction only, and an isolated row 3. No row depends on row 0.
        let graph = StrongGraph::try_new(4, vec![0, 1, 2, 2, 2], vec![1, 2]).unwrap();
        let splitting = pmis(&graph, &Whole::new(4)).unwrap();
        assert_eq!((splitting.point(0), splitting.point(3)), (Point::Fine, Point::Fine));
        // Whichever of 1 and 2 has the greater measure, row 1 is coarse or depends on a coarse row.
        assert!(splitting.point(1) == Point::Coarse || splitting.point(2) == Point::Coarse);
        assert_eq!(split(&graph, &Whole::new(4), Point::Coarse).unwrap().point(3), Point::Coarse);
        assert_eq!(
            pmis(&StrongGraph::try_new(0, vec![0], vec![]).unwrap(), &Whole::new(0)).unwrap().rows(),
            0
        );
    }

    #[test]
    fn a_graph_that_does_not_fit_is_refused() {
        let graph = StrongGraph::try_new(2, vec![0, 1, 2], vec![1, 0]).unwrap();
        assert!(pmis(&graph, &Whole::new(3)).is_err());
        let tall = StrongGraph::try_new(1, vec![0, 0, 0], vec![]).unwrap();
        assert!(pmis(&tall, &Whole::new(1)).is_err());
    }

    #[test]
    fn same_splitting_on_any_number_of_threads() {
        let graph = strong(&problem("jump3d:35"));
        let split = || pmis(&graph, &Whole::new(graph.rows())).unwrap();
        assert_eq!(on_threads(1, split), on_threads(2, split));
    }

    #[test]
    fn same_splitting_on_any_number_of_processes() {
        for name in ["poisson2d:15", "convection3d:6"] {
            let graph = strong(&problem(name));
            let whole = pmis(&graph, &Whole::new(graph.rows())).unwrap();
            for ranks in 2..=3 {
                let points = on_ranks(ranks, &graph, |local, halo| {
                    let splitting = pmis(local, halo).unwrap();
                    halo.owned().map(|row| splitting.point(row)).collect()
                });
                for (row, point) in points.into_iter().enumerate() {
                    assert_eq!(point, whole.point(row), "{name}, {ranks} processes, row {row}");
                }
            }
        }
    }

    /// The algorithm of the paper, in synchronous rounds.
    fn in_rounds(graph: &StrongGraph) -> Vec<Point> {
        let influences = graph.transpose();
        let n = graph.rows();
        let measure = |row: usize| (influences.row(row).len(), hash_id(row as u64) >> 25, row);
        let mut points: Vec<Option<Point>> =
            (0..n).map(|row| influences.row(row).is_empty().then_some(Point::Fine)).collect();
        while points.contains(&None) {
            let before = points.clone();
            let open = |row: usize| before[row].is_none();
            for row in (0..n).filter(|&row| open(row)) {
                let mut neighbours = graph.row(row).iter().chain(influences.row(row));
                if neighbours.all(|&other| !open(other as usize) || measure(other as usize) < measure(row)) {
                    points[row] = Some(Point::Coarse);
                }
            }
            for row in 0..n {
                let depends =
                    |point| graph.row(row).iter().any(|&other| points[other as usize] == Some(point));
                if points[row].is_none() && depends(Point::Coarse) {
                    points[row] = Some(Point::Fine);
                }
            }
        }
        points.into_iter().flatten().collect()
    }

    proptest! {
        #[test]
        fn the_fixed_point_is_what_the_rounds_of_the_paper_give(graph in arbitrary_graph(false)) {
            let splitting = pmis(&graph, &Whole::new(graph.rows())).unwrap();
            for (row, point) in in_rounds(&graph).into_iter().enumerate() {
                prop_assert_eq!(splitting.point(row), point, "row {}", row);
            }
        }

        #[test]
        fn symmetric_graphs_get_a_maximal_independent_set(graph in arbitrary_graph(true)) {
            assert_maximal_independent(&graph, &pmis(&graph, &Whole::new(graph.rows())).unwrap());
        }

        #[test]
        fn in_any_graph_fine_rows_depend_on_a_coarse_one_or_influence_none(graph in arbitrary_graph(false)) {
            let splitting = pmis(&graph, &Whole::new(graph.rows())).unwrap();
            let influences = graph.transpose();
            for row in 0..graph.rows() {
                match splitting.point(row) {
                    Point::Coarse => prop_assert!(!influences.row(row).is_empty()),
                    Point::Fine => prop_assert!(
                        influences.row(row).is_empty() || depends_on_coarse(&graph, &splitting, row)
                    ),
                }
            }
        }
    }
}
