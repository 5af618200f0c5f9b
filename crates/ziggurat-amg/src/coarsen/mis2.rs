//! MIS-2 aggregation: aggregates around the rows of a maximal set in which any two rows are more
//! than two connections apart (Bell, Dalton & Olson, *Exposing fine-grained parallelism in
//! algebraic multigrid methods*, 2012; Kelley & Rajamanickam, *Parallel, portable algorithms for
//! distance-2 maximal independent set and graph coarsening*, 2022).
//!
//! 1. **Roots**: in the order of a fixed priority, a row becomes a root unless there is already a
//!    root within two connections of it.
//! 2. The neighbours of a root join its aggregate. No row is a neighbour of two roots.
//! 3. Every other row has a neighbour that belongs to an aggregate. It joins the aggregate to which
//!    it is most strongly connected: the one with the largest Σ |a_ij| over its rows, and among
//!    equals the one whose root has the lowest id.
//!
//! **Priority.** Bell et al. use random priorities. A row then waits for few others, but the set
//! has gaps: aggregates become large and uneven, and smoothed aggregation needs more iterations. A
//! sweep in the order of the rows packs roots closely if the numbering is regular (8.3 rows per
//! aggregate on a 7-point grid), but every row waits for the one before it. Therefore rows are
//! grouped into blocks of 2^b consecutive global ids, and the order is: first the even blocks, then
//! the odd ones, each in the order of its rows. Blocks wait only for their neighbours, and the
//! packing matches the sweep's except at every second block boundary. A block is eight times as
//! long as most connections reach (a dozen planes of a grid), so a large matrix has many blocks and
//! only a small part of the rows lies near a boundary.
//!
//! The set of roots depends only on the graph and the priority. Threads and processes decide rows
//! in any order as soon as that is possible: a row is decided only by rows that are themselves
//! decided, so no decision can come too early. Hence the result is the same for any number of
//! threads and processes.
//!
//! Cost: about four passes over the connections, some of them over a subset of the rows.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use ziggurat_sparse::device::{LONE, VOTE_UNITS, block_bits, root_key};
use ziggurat_sparse::{CsrRef, MatrixError, parallel};

use super::aggregates::{Aggregates, NO_ROOT};
use super::undirected::undirected;
use crate::halo::Halo;
use crate::strength::StrongGraph;

/// Number of rows whose undecided rows share one list.
const CHUNK: usize = 16 * 1024;

/// States of a row.
const OPEN: u8 = 0;
const ROOT: u8 = 1;
const OUT: u8 = 2;

/// Aggregates the local rows by MIS-2.
///
/// `graph` contains the strong connections of the owned rows and of the halo rows that depend on
/// them; its columns are the local rows. In one process that is the whole graph. The directions of
/// the connections are ignored. `a` gives the strength of a connection by the magnitude of the
/// entry; without it all connections are equally strong.
///
/// Rows without strong connections are left out. If `a` is given and such a row has significant
/// entries, it becomes an aggregate of one row instead.
///
/// ```
/// use ziggurat_amg::{coarsen::mis2, halo::Whole, strength::StrongGraph};
/// // A path of five rows: the first row becomes a root, then the fourth.
/// let path = StrongGraph::try_new(5, vec![0, 1, 3, 5, 7, 8], vec![1, 0, 2, 1, 3, 2, 4, 3])?;
/// let aggregates = mis2(&path, None, &Whole::new(5))?;
/// assert_eq!(aggregates.of(), [0, 0, 1, 1, 1]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// Returns an error if graph, matrix and halo do not match.
pub fn mis2<H: Halo>(
    graph: &StrongGraph,
    a: Option<CsrRef<'_, f64>>,
    halo: &H,
) -> Result<Aggregates, MatrixError> {
    let (owned, local) = (halo.owned(), halo.local());
    if let Some(a) = a
        && (a.rows() < owned.end || a.cols() != local)
    {
        let what = "matrix columns (one per local row)";
        return Err(MatrixError::Mismatch { what, expected: local, found: a.cols() });
    }
    let graph = &*undirected(graph, halo)?;
    let state = independent_set(graph, halo);

    let taken_by = |row: usize| match state[row] {
        ROOT => halo.global_id(row),
        _ => {
            let root = graph.row(row).iter().find(|&&column| state[column as usize] == ROOT);
            root.map_or(NO_ROOT, |&root| halo.global_id(root as usize))
        }
    };
    let mut taken = vec![NO_ROOT; local];
    parallel::over_pieces(&mut taken[owned.clone()], &|first, taken| {
        taken.iter_mut().zip(owned.start + first..).for_each(|(taken, row)| *taken = taken_by(row));
    });
    halo.exchange(&mut taken);

    let mut roots = taken.clone();
    parallel::over_pieces(&mut roots[owned.clone()], &|first, roots| {
        let mut scratch = (Vec::new(), Vec::new());
        for (row, root) in (owned.start + first..).zip(roots).filter(|(_, root)| **root == NO_ROOT) {
            *root = match a {
                Some(a) if graph.row(row).is_empty() => stands_alone(a, row).then(|| halo.global_id(row)),
                _ => strongest(graph, a, &taken, row, &mut scratch),
            }
            .unwrap_or(NO_ROOT);
        }
    });
    halo.exchange(&mut roots);
    Ok(Aggregates::from_roots(&roots, halo))
}

/// The root of the aggregate to which a row is most strongly connected. The scratch memory holds
/// the aggregates near the row with their weights, and the sizes of its connections.
fn strongest(
    graph: &StrongGraph,
    a: Option<CsrRef<'_, f64>>,
    taken: &[u64],
    row: usize,
    (candidates, sizes): &mut (Vec<(u64, u64)>, Vec<f64>),
) -> Option<u64> {
    candidates.clear();
    let mut add = |root: u64, weight: u64| {
        if root == NO_ROOT {
            return;
        }
        match candidates.iter_mut().find(|(other, _)| *other == root) {
            Some((_, sum)) => *sum += weight,
            None => candidates.push((root, weight)),
        }
    };
    let columns = graph.row(row);
    match a {
        None => columns.iter().for_each(|&column| add(taken[column as usize], 1)),
        Some(a) => {
            let (entries, values) = a.row(row);
            sizes.clear();
            let mut place = 0;
            // Both are in increasing order. A connection may have an entry on the other side only.
            sizes.extend(columns.iter().map(|column| {
                while entries.get(place).is_some_and(|entry| entry < column) {
                    place += 1;
                }
                if entries.get(place) == Some(column) { values[place].abs() } else { 0.0 }
            }));
            let largest = sizes.iter().copied().fold(0.0, f64::max);
            for (column, size) in columns.iter().zip(&*sizes) {
                // At least 1, so that a connection without a matrix entry also counts.
                add(taken[*column as usize], (size / largest * VOTE_UNITS) as u64 + 1);
            }
        }
    }
    candidates.iter().min_by_key(|(root, weight)| (u64::MAX - weight, *root)).map(|(root, _)| *root)
}

/// Whether a row without strong connections has significant entries.
fn stands_alone(a: CsrRef<'_, f64>, row: usize) -> bool {
    let (columns, values) = a.row(row);
    let diagonal = a.get(row, row).unwrap_or(0.0).abs();
    let others = columns.iter().zip(values).filter(|(column, _)| **column as usize != row);
    // In whole numbers, so that the sum does not depend on the order of the columns, which differs
    // between processes.
    let units = |value: f64| (value.abs() / diagonal * VOTE_UNITS) as u64;
    let sum = others.fold(0u64, |sum, (_, value)| sum.saturating_add(units(*value)));
    sum >= (LONE * VOTE_UNITS) as u64
}

/// The order in which rows may become roots.
struct Priority {
    block_bits: u32,
}

impl Priority {
    /// Chooses the block length from the numbering of this graph. Samples every eighth row, by
    /// global id.
    fn of<H: Halo>(graph: &StrongGraph, halo: &H) -> Self {
        let count = |rows: Range<usize>| {
            let mut lengths = vec![0u64; 64];
            for row in rows {
                let id = halo.global_id(row);
                if id % 8 == 0 {
                    for &column in graph.row(row) {
                        let distance = id.abs_diff(halo.global_id(column as usize));
                        lengths[distance.checked_ilog2().unwrap_or(0) as usize] += 1;
                    }
                }
            }
            lengths
        };
        let mut lengths = [0; 64];
        for part in parallel::map_pieces(halo.owned(), CHUNK, &count) {
            lengths.iter_mut().zip(part).for_each(|(sum, length)| *sum += length);
        }
        halo.sum(&mut lengths);
        Priority { block_bits: block_bits(&lengths) }
    }

    /// Smaller keys come first. Keys of different ids differ.
    #[inline]
    fn key(&self, id: u64) -> u64 {
        root_key(id, self.block_bits)
    }
}

/// The state of the local rows while roots are determined.
struct Sweep<'a, H> {
    graph: &'a StrongGraph,
    halo: &'a H,
    priority: Priority,
    /// Only the task that has a row in its list writes the state of that row, and only once.
    state: Vec<AtomicU8>,
    /// Whether the row is a root or a neighbour of one.
    covered: Vec<AtomicBool>,
    /// For halo rows: the smallest key of the undecided rows among the row and its neighbours.
    first_open: Vec<u64>,
    /// Rows that are halo rows of other processes.
    shared: Vec<usize>,
}

/// The state of every local row: [`ROOT`], or [`OUT`].
fn independent_set<H: Halo>(graph: &StrongGraph, halo: &H) -> Vec<u8> {
    let (owned, local) = (halo.owned(), halo.local());
    let zeros = || parallel::zeros::<u8>(local).into_iter();
    let mut sweep = Sweep {
        graph,
        halo,
        priority: Priority::of(graph, halo),
        state: zeros().map(|_| AtomicU8::new(OPEN)).collect(),
        covered: zeros().map(|_| AtomicBool::new(false)).collect(),
        first_open: Vec::new(),
        shared: halo.known_elsewhere(),
    };
    let list = |rows: Range<usize>| rows.map(|row| row as u32);
    // Exchanges are collective, so either all processes take part or none.
    let distributed = halo.any(local > owned.len());
    let mut open: Vec<Vec<u32>> = if distributed {
        sweep.exchange();
        parallel::map_pieces(owned, CHUNK, &|rows| list(rows).collect())
    } else {
        // The first sweep needs no list.
        parallel::map_pieces(owned, CHUNK, &|rows| list(rows).filter(|&row| !sweep.decide(row)).collect())
    };
    while halo.any(open.iter().any(|rows| !rows.is_empty())) {
        parallel::over_chunks(&mut open, 1, &|_, lists| lists[0].retain(|&row| !sweep.decide(row)));
        if distributed {
            sweep.exchange();
        }
    }
    sweep.state.into_iter().map(AtomicU8::into_inner).collect()
}

impl<H: Halo> Sweep<'_, H> {
    #[inline]
    fn state(&self, row: u32) -> u8 {
        self.state[row as usize].load(Relaxed)
    }

    #[inline]
    fn is_covered(&self, row: u32) -> bool {
        self.covered[row as usize].load(Relaxed)
    }

    #[inline]
    fn key(&self, row: u32) -> u64 {
        self.priority.key(self.halo.global_id(row as usize))
    }

    /// Decides an owned row, if that is already possible.
    ///
    /// Other tasks may decide rows at the same time. A state that is read too early is OPEN, so
    /// this row waits for the next round. If an update of `covered` is missed, the states of all
    /// rows within distance two, which are checked as well, still give the correct result.
    fn decide(&self, row: u32) -> bool {
        let neighbours = self.graph.row(row as usize);
        let decided = if neighbours.is_empty() || neighbours.iter().any(|&column| self.is_covered(column)) {
            OUT
        } else {
            match self.look_around(row, neighbours) {
                OPEN => return false,
                decided => decided,
            }
        };
        self.state[row as usize].store(decided, Relaxed);
        if decided == ROOT {
            self.covered[row as usize].store(true, Relaxed);
            for &column in neighbours {
                self.covered[column as usize].store(true, Relaxed);
            }
        }
        true
    }

    /// The state of a row as determined by the rows within distance two; OPEN if one with higher
    /// priority is undecided.
    fn look_around(&self, row: u32, neighbours: &[u32]) -> u8 {
        let key = self.key(row);
        let owned = self.halo.owned();
        let goes_first = |other: u32| self.key(other) < key;
        for &column in neighbours {
            match self.state(column) {
                ROOT => return OUT,
                OPEN if goes_first(column) => return OPEN,
                _ => {}
            }
            if !owned.contains(&(column as usize)) {
                if self.first_open[column as usize] < key {
                    return OPEN;
                }
                continue;
            }
            for &further in self.graph.row(column as usize) {
                match self.state(further) {
                    ROOT => return OUT,
                    OPEN if goes_first(further) => return OPEN,
                    _ => {}
                }
            }
        }
        ROOT
    }

    /// Exchanges decisions with other processes.
    fn exchange(&mut self) {
        let mut state: Vec<u8> = self.state.iter_mut().map(|state| *state.get_mut()).collect();
        self.halo.exchange(&mut state);
        for (slot, &state) in self.state.iter_mut().zip(&state) {
            *slot.get_mut() = state;
        }
        let is_covered = |row: usize| {
            let next_to_root = || self.graph.row(row).iter().any(|&column| state[column as usize] == ROOT);
            self.covered[row].load(Relaxed) || state[row] == ROOT || next_to_root()
        };
        let mut covered = vec![0u8; state.len()];
        for &row in &self.shared {
            covered[row] = u8::from(is_covered(row));
        }
        self.halo.exchange(&mut covered);
        self.covered.iter_mut().zip(covered).for_each(|(slot, covered)| *slot.get_mut() |= covered != 0);

        let first_open = |row: usize| {
            let near = self.graph.row(row).iter().copied().chain([row as u32]);
            near.filter(|&near| state[near as usize] == OPEN)
                .map(|near| self.key(near))
                .min()
                .unwrap_or(u64::MAX)
        };
        let mut first = vec![u64::MAX; state.len()];
        for &row in &self.shared {
            first[row] = first_open(row);
        }
        self.halo.exchange(&mut first);
        self.first_open = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use crate::testing::{arbitrary_graph, on_ranks, on_threads, problem, symmetric_graph};
    use proptest::prelude::*;
    use ziggurat_sparse::Csr;

    /// The rows within distance two of a row, without the row itself.
    fn within_two(graph: &StrongGraph, row: usize) -> Vec<usize> {
        let neighbours = graph.row(row).iter().map(|&column| column as usize);
        let two = neighbours.flat_map(|near| {
            graph.row(near).iter().map(|&column| column as usize).chain([near]).collect::<Vec<_>>()
        });
        two.filter(|&other| other != row).collect()
    }

    fn check_set(graph: &StrongGraph, state: &[u8]) {
        for (row, &state_of_row) in state.iter().enumerate() {
            let roots = within_two(graph, row).into_iter().filter(|&other| state[other] == ROOT).count();
            match state_of_row {
                ROOT => assert_eq!(roots, 0, "row {row} is a root near another"),
                OUT => assert!(roots > 0 || graph.row(row).is_empty(), "row {row} has no root near it"),
                _ => panic!("row {row} is undecided"),
            }
        }
    }

    #[test]
    fn a_grid_is_packed_closely() {
        // Closest packings: 5 in 2D, 7 in 3D, 27 with diagonals. Random priorities give 7.1, 11.1
        // and 46.
        for (name, most) in [("poisson2d:100", 6.3), ("poisson3d:40", 8.6), ("poisson3d27:30", 31.0)] {
            let a = problem(name);
            let graph = symmetric_graph(&a);
            let aggregates = mis2(&graph, Some(a.view()), &Whole::new(a.rows())).unwrap();
            let average = a.rows() as f64 / aggregates.count() as f64;
            assert!(average < most, "{name}: {average}");
            assert!(!aggregates.of().contains(&Aggregates::NONE));
        }
    }

    #[test]
    fn numbers_follow_the_roots() {
        let a = problem("poisson2d:30");
        let graph = symmetric_graph(&a);
        let aggregates = mis2(&graph, Some(a.view()), &Whole::new(a.rows())).unwrap();
        let state = independent_set(&graph, &Whole::new(a.rows()));
        let roots = (0..a.rows()).filter(|&row| state[row] == ROOT);
        for (number, root) in roots.enumerate() {
            assert_eq!(aggregates.get(root), Some(number as u32));
            // The neighbours of a root belong to its aggregate.
            assert!(graph.row(root).iter().all(|&near| aggregates.get(near as usize) == Some(number as u32)));
        }
    }

    #[test]
    fn aggregates_do_not_cross_weak_connections() {
        let n = 12;
        let a = problem("anisotropic3d:12");
        let aggregates = mis2(&symmetric_graph(&a), Some(a.view()), &Whole::new(a.rows())).unwrap();
        let (starts, members) = aggregates.members();
        for rows in starts.windows(2).map(|pair| &members[pair[0]..pair[1]]) {
            assert!(rows.iter().all(|row| row / (n * n) == rows[0] / (n * n)));
        }
    }

    #[test]
    fn rows_without_connections() {
        // Row 0: no off-diagonal entries. Row 1: a significant entry that is not strong. Rows 2 and
        // 3: strongly connected.
        let columns = vec![0, 1, 3, 2, 3, 1, 2, 3];
        let values = vec![1.0, 1.0, -0.9, 1.0, -1.0, -0.9, -1.0, 3.0];
        let a = Csr::try_new(4, 4, vec![0, 1, 3, 5, 8], columns, values).unwrap();
        let graph = StrongGraph::try_new(4, vec![0, 0, 0, 1, 2], vec![3, 2]).unwrap();
        let aggregates = mis2(&graph, Some(a.view()), &Whole::new(4)).unwrap();
        assert_eq!(aggregates.of(), [Aggregates::NONE, 0, 1, 1]);
        let aggregates = mis2(&graph, None, &Whole::new(4)).unwrap();
        assert_eq!(aggregates.of(), [Aggregates::NONE, Aggregates::NONE, 0, 0]);
    }

    #[test]
    fn a_leftover_row_joins_what_it_is_most_strongly_connected_to() {
        // A cycle of six rows with the roots 0 and 3, and a seventh row that is connected to 1 and
        // 5, which belong to the first root, and to 4, which belongs to the second.
        let graph = StrongGraph::try_new(
            7,
            vec![0, 2, 5, 7, 9, 12, 15, 18],
            vec![1, 5, 0, 2, 6, 1, 3, 2, 4, 3, 5, 6, 0, 4, 6, 1, 4, 5],
        )
        .unwrap();
        let with = |strength_of_4: f64| {
            let values = [-1.0, strength_of_4, -1.0, 9.0];
            let row_ptr = vec![0, 1, 2, 3, 4, 5, 6, 10];
            let columns = vec![0, 1, 2, 3, 4, 5, 1, 4, 5, 6];
            let values = [9.0; 6].into_iter().chain(values).collect();
            let a = Csr::try_new(7, 7, row_ptr, columns, values).unwrap();
            mis2(&graph, Some(a.view()), &Whole::new(7)).unwrap().get(6)
        };
        assert_eq!((with(-1.9), with(-2.0), with(-2.1)), (Some(0), Some(0), Some(1)));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let graph = StrongGraph::try_new(2, vec![0, 1, 2], vec![1, 0]).unwrap();
        assert!(mis2(&graph, None, &Whole::new(3)).is_err());
        let a = Csr::<f64>::identity(3).unwrap();
        assert!(mis2(&graph, Some(a.view()), &Whole::new(2)).is_err());
        let nothing = StrongGraph::try_new(0, vec![0], vec![]).unwrap();
        assert_eq!(mis2(&nothing, None, &Whole::new(0)).unwrap().count(), 0);
    }

    #[test]
    fn same_aggregates_on_any_number_of_threads() {
        for name in ["poisson3d:40", "convection3d:35"] {
            let a = problem(name);
            let graph = symmetric_graph(&a);
            let run = || mis2(&graph, Some(a.view()), &Whole::new(a.rows())).unwrap();
            let one = on_threads(1, run);
            for threads in [2, 3, 8] {
                assert_eq!(on_threads(threads, run), one, "{name}, {threads} threads");
            }
        }
    }

    #[test]
    fn same_aggregates_on_any_number_of_processes() {
        for name in ["poisson2d:25", "poisson3d:8", "convection3d:6"] {
            let graph = symmetric_graph(&problem(name));
            let whole = mis2(&graph, None, &Whole::new(graph.rows())).unwrap();
            // Compared by the id of the root, since numbers are local.
            let state = independent_set(
                &undirected(&graph, &Whole::new(graph.rows())).unwrap(),
                &Whole::new(graph.rows()),
            );
            let roots: Vec<u64> =
                (0..graph.rows()).filter(|&row| state[row] == ROOT).map(|row| row as u64).collect();
            let expected: Vec<u64> = whole.of().iter().map(|&aggregate| roots[aggregate as usize]).collect();
            for ranks in 2..=4 {
                let found = on_ranks(ranks, &graph, |local, halo| {
                    let aggregates = mis2(local, None, halo).unwrap();
                    let of = &aggregates.of()[halo.owned()];
                    of.iter().map(|&aggregate| aggregates.roots()[aggregate as usize]).collect()
                });
                assert_eq!(found, expected, "{name} on {ranks} processes");
            }
        }
    }

    proptest! {
        #[test]
        fn roots_are_a_maximal_set_at_distance_two(graph in arbitrary_graph(true)) {
            check_set(&graph, &independent_set(&graph, &Whole::new(graph.rows())));
        }

        #[test]
        fn every_connected_row_is_in_an_aggregate_near_its_root(graph in arbitrary_graph(false)) {
            let rows = graph.rows();
            let graph = &*undirected(&graph, &Whole::new(rows)).unwrap();
            let aggregates = mis2(graph, None, &Whole::new(rows)).unwrap();
            let state = independent_set(graph, &Whole::new(rows));
            for row in 0..rows {
                let aggregate = aggregates.get(row);
                prop_assert_eq!(aggregate.is_some(), !graph.row(row).is_empty());
                if aggregate.is_some() {
                    let near_root = within_two(graph, row).into_iter().chain([row]).any(|other| {
                        state[other] == ROOT && aggregates.get(other) == aggregate
                    });
                    prop_assert!(near_root, "row {}", row);
                }
            }
        }

        #[test]
        fn processes_find_the_same_set(graph in arbitrary_graph(true), ranks in 2..4usize) {
            let whole = independent_set(&graph, &Whole::new(graph.rows()));
            let parts = on_ranks(ranks, &graph, |local, halo| {
                independent_set(local, halo)[halo.owned()].to_vec()
            });
            prop_assert_eq!(parts, whole);
        }
    }
}
