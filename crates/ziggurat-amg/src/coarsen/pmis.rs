//! PMIS: parallel modified independent set (De Sterck, Yang & Heys, *Reducing complexity in parallel algebraic multigrid
//! preconditioners*, 2006), after Luby's algorithm.
//!
//! The measure of a row is the number of rows that depend on it strongly, plus a fraction of its own, here from the hash
//! of its global id. Rows that nobody depends on are fine. Then, in rounds, until every row is decided:
//!
//! 1. an undecided row whose measure exceeds that of every undecided neighbour (one that it depends on, or that depends
//!    on it) becomes coarse;
//! 2. an undecided row that depends on a coarse one becomes fine.
//!
//! In a symmetric graph the coarse rows are a maximal independent set. Rows without a connection in either direction
//! are fine and are not interpolated: the smoother solves them.
//!
//! A round reads what the round before has decided, so threads and processes give one result. Step 1 looks at connections
//! from their tail and remembers who lost against whom, so that the transpose of the graph is not needed.
//!
//! Cost: every connection is looked at twice per round as long as its row is undecided. Most rows are decided in the
//! first two of about log(rows) rounds.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;
use ziggurat_sparse::MatrixError;
use ziggurat_sparse::hash::hash_id;

use super::{Point, Splitting};
use crate::halo::Halo;
use crate::strength::StrongGraph;

/// Rows that share a list of the undecided.
const CHUNK: usize = 16 * 1024;

/// The key of a decided row. An undecided row's key lies between: it is ordered as its measure is.
const FINE: u64 = 0;
const COARSE: u64 = u64::MAX;

/// Coarse and fine rows by PMIS.
///
/// `strong` has the connections of a process's own rows and of the halo rows that depend on them; its columns are the local
/// rows. In one process that is the whole graph.
///
/// ```
/// use ziggurat_amg::{coarsen::pmis, halo::Whole, strength::StrongGraph};
/// // A path of three rows: its middle, or both its ends.
/// let path = StrongGraph::try_new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1])?;
/// assert_eq!(pmis(&path, &Whole::new(3))?.coarse_points(), [1]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the graph does not fit the halo.
pub fn pmis<H: Halo>(strong: &StrongGraph, halo: &H) -> Result<Splitting, MatrixError> {
    split(strong, halo, Point::Fine)
}

/// PMIS, and what becomes of rows without a connection.
pub(super) fn split<H: Halo>(
    strong: &StrongGraph,
    halo: &H,
    isolated: Point,
) -> Result<Splitting, MatrixError> {
    check(strong, halo)?;
    let owned = halo.owned();
    let mut keys = keys(strong, halo, isolated);
    let mut undecided: Vec<Vec<u32>> = keys[..owned]
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, keys)| {
            let is_open = |&place: &usize| keys[place] != FINE && keys[place] != COARSE;
            (0..keys.len()).filter(is_open).map(|place| (chunk * CHUNK + place) as u32).collect()
        })
        .collect();
    let beaten: Vec<AtomicBool> = (0..keys.len()).into_par_iter().map(|_| AtomicBool::new(false)).collect();

    while halo.any(undecided.iter().any(|rows| !rows.is_empty())) {
        let outside: Vec<u32> = (owned..strong.rows())
            .filter(|&row| keys[row] != FINE && keys[row] != COARSE)
            .map(|row| row as u32)
            .collect();
        undecided.par_iter().chain([&outside]).for_each(|rows| compare(strong, halo, &keys, rows, &beaten));

        keys[..owned].par_chunks_mut(CHUNK).zip(&undecided).for_each(|(keys, rows)| {
            for &row in rows {
                if !beaten[row as usize].swap(false, Relaxed) {
                    keys[row as usize % CHUNK] = COARSE;
                }
            }
        });
        halo.exchange(&mut keys);

        let now_fine: Vec<Vec<u32>> =
            undecided.par_iter_mut().map(|rows| take_dependent(strong, &keys, rows)).collect();
        keys[..owned].par_chunks_mut(CHUNK).zip(&now_fine).for_each(|(keys, rows)| {
            for &row in rows {
                keys[row as usize % CHUNK] = FINE;
            }
        });
        halo.exchange(&mut keys);
    }
    Ok(Splitting::new(keys.len(), |row| if keys[row] == COARSE { Point::Coarse } else { Point::Fine }))
}

fn check<H: Halo>(strong: &StrongGraph, halo: &H) -> Result<(), MatrixError> {
    let (owned, local) = (halo.owned(), halo.local());
    if strong.cols() != local {
        let what = "columns of the strong graph, against the rows this process knows";
        return Err(MatrixError::Mismatch { what, expected: local, found: strong.cols() });
    }
    if strong.rows() < owned || strong.rows() > local {
        let what = "rows of the strong graph, against the rows this process owns";
        return Err(MatrixError::Mismatch { what, expected: owned, found: strong.rows() });
    }
    Ok(())
}

/// The measure of every row as 24 bits of influence over 40 bits of hash; decided rows have their final key already.
fn keys<H: Halo>(strong: &StrongGraph, halo: &H, isolated: Point) -> Vec<u64> {
    let influence: Vec<AtomicU32> = (0..strong.cols()).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    strong.columns().par_iter().for_each(|&column| {
        influence[column as usize].fetch_add(1, Relaxed);
    });
    let key = |row: usize| {
        if row >= halo.owned() {
            return FINE; // its owner knows
        }
        match (influence[row].load(Relaxed), strong.row(row)) {
            (0, []) if isolated == Point::Coarse => COARSE,
            (0, _) => FINE,
            (count, _) => u64::from(count.min((1 << 24) - 2)) << 40 | hash_id(halo.global_id(row)) >> 24,
        }
    };
    let mut keys: Vec<u64> = (0..halo.local()).into_par_iter().map(key).collect();
    halo.exchange(&mut keys);
    keys
}

/// Marks the undecided rows that lose against a neighbour. Marks are only ever set, so their order does not matter.
fn compare<H: Halo>(strong: &StrongGraph, halo: &H, keys: &[u64], rows: &[u32], beaten: &[AtomicBool]) {
    for &row in rows {
        let key = keys[row as usize];
        let mut loses = false;
        for &column in strong.row(row as usize) {
            let other = keys[column as usize];
            // Forty bits of hash may agree; ids do not.
            if other > key || other == key && halo.global_id(column as usize) > halo.global_id(row as usize) {
                loses = true;
            } else if other != FINE && column != row {
                beaten[column as usize].store(true, Relaxed);
            }
        }
        if loses {
            beaten[row as usize].store(true, Relaxed);
        }
    }
}

/// Takes the rows that are coarse, or that depend on a coarse row, off the list of the undecided; returns the latter.
fn take_dependent(strong: &StrongGraph, keys: &[u64], undecided: &mut Vec<u32>) -> Vec<u32> {
    let mut fine = Vec::new();
    undecided.retain(|&row| {
        let coarse = keys[row as usize] == COARSE;
        let dependent =
            !coarse && strong.row(row as usize).iter().any(|&column| keys[column as usize] == COARSE);
        if dependent {
            fine.push(row);
        }
        !coarse && !dependent
    });
    fine
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use crate::testing::{arbitrary_graph, on_ranks, on_threads, problem, strong};
    use proptest::prelude::*;

    fn depends_on_coarse(graph: &StrongGraph, splitting: &Splitting, row: usize) -> bool {
        graph.row(row).iter().any(|&column| splitting.point(column as usize) == Point::Coarse)
    }

    /// In a symmetric graph: independent, and maximal.
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
        // Filling a lattice at random until no place is free keeps 0.364 of a square and 0.304 of a cubic one.
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
        // Strong in planes only: every plane is split by itself.
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
    fn nobody_depends_on_it_so_it_is_fine() {
        // 0 -> 1 -> 2, one way only, and 3 alone. Row 0 influences nobody.
        let graph = StrongGraph::try_new(4, vec![0, 1, 2, 2, 2], vec![1, 2]).unwrap();
        let splitting = pmis(&graph, &Whole::new(4)).unwrap();
        assert_eq!((splitting.point(0), splitting.point(3)), (Point::Fine, Point::Fine));
        // Whichever of 1 and 2 wins, 1 is coarse or depends on a coarse one.
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
                    (0..halo.owned()).map(|row| splitting.point(row)).collect()
                });
                for (row, point) in points.into_iter().enumerate() {
                    assert_eq!(point, whole.point(row), "{name}, {ranks} processes, row {row}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn symmetric_graphs_get_a_maximal_independent_set(graph in arbitrary_graph(true)) {
            assert_maximal_independent(&graph, &pmis(&graph, &Whole::new(graph.rows())).unwrap());
        }

        #[test]
        fn in_any_graph_fine_rows_depend_on_a_coarse_one_or_influence_nobody(graph in arbitrary_graph(false)) {
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
