//! Reverse Cuthill–McKee: an ordering that reduces the bandwidth.
//!
//! Vertices are numbered breadth-first, visiting the unnumbered neighbours of a vertex by
//! increasing degree (E. Cuthill & J. McKee, *Reducing the bandwidth of sparse symmetric matrices*,
//! 1969). The numbering is then reversed, which preserves the bandwidth and never increases the
//! profile (A. George, 1971; W.-H. Liu & A. Sherman, 1976). The search starts at a
//! pseudo-peripheral vertex, found by repeated searches: each starts from a vertex of least degree
//! in the last level of the previous one, until the number of levels stops growing (A. George & J.
//! Liu, *An implementation of a pseudoperipheral node finder*, 1979).
//!
//! Components are ordered separately and keep their relative order, by first row. Ties are broken
//! by the smaller index, so the result depends only on the matrix. The cost is three or four serial
//! breadth-first passes over the graph, plus sorting neighbours by degree. The check for pattern
//! symmetry is parallel.

use std::ops::Range;

use super::symmetrised::Symmetrised;
use super::{Permutation, check_square};
use crate::number::Store;
use crate::parallel::collect;
use crate::{CsrRef, MatrixError};

/// Maximum number of searches for a start vertex. Three or four are typical; the limit avoids
/// quadratic cost for adversarial graphs in which each search gains one level.
const MAX_SEARCHES: usize = 8;

/// Orders a square local matrix. Under MPI, each process orders its own rows.
///
/// All stored entries count, including explicit zeros, because the ordering is about memory access.
/// For a nonsymmetric pattern, the pattern of A + Aᵀ is used.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::{bandwidth, permute_symmetric, reverse_cuthill_mckee}};
/// // A path 0 - 3 - 1 - 2.
/// let (row_ptr, columns) = (vec![0, 1, 3, 4, 6], vec![3, 2, 3, 1, 0, 1]);
/// let a = Csr::try_new(4, 4, row_ptr, columns, vec![-1.0; 6])?;
/// let order = reverse_cuthill_mckee(a.view())?;
/// assert_eq!(bandwidth(a.view()), 3);
/// assert_eq!(bandwidth(permute_symmetric(a.view(), &order)?.view()), 1);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn reverse_cuthill_mckee<T: Store>(a: CsrRef<'_, T>) -> Result<Permutation, MatrixError> {
    check_square(a)?;
    let graph = Symmetrised::new(a);
    let mut search = Search {
        degree: collect(a.rows(), |vertex| graph.neighbours(vertex as u32).count() as u32),
        graph,
        seen: vec![false; a.rows()],
        order: Vec::with_capacity(a.rows()),
    };
    for vertex in 0..a.rows() as u32 {
        if !search.seen[vertex as usize] {
            let begin = search.order.len();
            let start = search.pseudo_peripheral(vertex);
            search.breadth_first(start, true);
            search.order[begin..].reverse();
        }
    }
    Ok(Permutation::from_valid_order(search.order))
}

struct Search<'a, T> {
    graph: Symmetrised<'a, T>,
    degree: Vec<u32>,
    /// Whether a vertex is in `order`.
    seen: Vec<bool>,
    /// The vertices numbered so far; also the queue of the current search.
    order: Vec<u32>,
}

impl<T: Sync> Search<'_, T> {
    /// Appends all vertices reachable from `start`, level by level. Returns the number of levels
    /// and the range of the last level in `order`.
    fn breadth_first(&mut self, start: u32, by_degree: bool) -> (usize, Range<usize>) {
        let Search { graph, degree, seen, order } = self;
        let (mut level, mut levels) = (order.len()..order.len() + 1, 1);
        order.push(start);
        seen[start as usize] = true;
        loop {
            for at in level.clone() {
                let first_child = order.len();
                for next in graph.neighbours(order[at]) {
                    if !seen[next as usize] {
                        seen[next as usize] = true;
                        order.push(next);
                    }
                }
                if by_degree {
                    order[first_child..].sort_unstable_by_key(|&vertex| (degree[vertex as usize], vertex));
                }
            }
            if order.len() == level.end {
                return (levels, level);
            }
            level = level.end..order.len();
            levels += 1;
        }
    }

    /// A pseudo-peripheral vertex of the component of `vertex`. Restores `order` and `seen`.
    fn pseudo_peripheral(&mut self, vertex: u32) -> u32 {
        let begin = self.order.len();
        let (mut start, mut most_levels) = (vertex, 0);
        for _ in 0..MAX_SEARCHES {
            let (levels, last) = self.breadth_first(start, false);
            let farthest = self.order[last].iter().copied();
            let candidate = farthest.min_by_key(|&vertex| (self.degree[vertex as usize], vertex));
            for vertex in self.order.drain(begin..) {
                self.seen[vertex as usize] = false;
            }
            if levels <= most_levels {
                break;
            }
            (start, most_levels) = (candidate.unwrap_or(start), levels);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{grid, on_threads, scattered, shuffle};
    use super::super::{bandwidth, connected_components, permute_symmetric, profile};
    use super::*;
    use crate::Csr;
    use proptest::prelude::*;

    fn reordered(a: &Csr<f64>) -> Csr<f64> {
        permute_symmetric(a.view(), &reverse_cuthill_mckee(a.view()).unwrap()).unwrap()
    }

    #[test]
    fn a_shuffled_grid_becomes_narrow_again() {
        for (nx, ny) in [(50, 50), (20, 100), (1, 300), (7, 9)] {
            let shuffled = permute_symmetric(grid(nx, ny).view(), &shuffle(nx * ny, 1)).unwrap();
            let (b, narrow) = (reordered(&shuffled), nx.min(ny));
            assert!(bandwidth(shuffled.view()) > 5 * narrow);
            assert_eq!(bandwidth(b.view()), narrow, "{nx} x {ny}"); // optimal
        }
    }

    #[test]
    fn a_one_sided_pattern_is_symmetrised() {
        // An upper bidiagonal matrix: without the mirrored entries, searches would proceed in one
        // direction only.
        let n = 100;
        let columns = (0..n as u32).flat_map(|row| [row, row + 1]).take(2 * n - 1).collect();
        let row_ptr = (0..=n).map(|row| (2 * row).min(2 * n - 1)).collect();
        let a = Csr::try_new(n, n, row_ptr, columns, vec![1.0; 2 * n - 1]).unwrap();
        let shuffled = permute_symmetric(a.view(), &shuffle(n, 2)).unwrap();
        assert_eq!(bandwidth(reordered(&shuffled).view()), 1);
    }

    #[test]
    fn reversing_makes_the_profile_small() {
        // A star with eight leaves. The order leaf, hub, leaves has the profile 1 + 1 + 2 + ... +
        // 7; leaves, hub, leaf has 7 + 1.
        let columns = (0..9).chain((1..9).flat_map(|leaf| [0, leaf])).collect();
        let row_ptr = [0].into_iter().chain((0..9).map(|row| 9 + 2 * row)).collect();
        let hub = Csr::try_new(9, 9, row_ptr, columns, vec![1.0; 25]).unwrap();
        assert_eq!(profile(reordered(&hub).view()), 8);
    }

    #[test]
    fn edges() {
        assert!(reverse_cuthill_mckee(Csr::<f64>::identity(0).unwrap().view()).unwrap().is_empty());
        // Isolated rows keep their order.
        let loose = Csr::<f64>::identity(5).unwrap();
        assert_eq!(reverse_cuthill_mckee(loose.view()).unwrap(), Permutation::identity(5).unwrap());
        // A star: the hub follows or precedes one leaf.
        let star = Csr::try_new(9, 9, vec![0, 9, 9, 9, 9, 9, 9, 9, 9, 9], (0..9).collect(), vec![1.0; 9]);
        assert_eq!(bandwidth(reordered(&star.unwrap()).view()), 7);
        let wide = Csr::<f64>::try_new(1, 2, vec![0, 0], vec![], vec![]).unwrap();
        assert!(matches!(reverse_cuthill_mckee(wide.view()), Err(MatrixError::Mismatch { .. })));
    }

    #[test]
    fn same_order_for_any_number_of_threads() {
        let a = scattered(50_000, 3, 8);
        let order = || reverse_cuthill_mckee(a.view()).unwrap();
        assert_eq!(on_threads(1, order), on_threads(2, order));
    }

    proptest! {
        #[test]
        fn never_wider_than_the_shuffled_grid(nx in 1usize..25, ny in 1usize..25, seed in any::<u64>()) {
            let shuffled = permute_symmetric(grid(nx, ny).view(), &shuffle(nx * ny, seed)).unwrap();
            let b = reordered(&shuffled);
            prop_assert!(bandwidth(b.view()) <= bandwidth(shuffled.view()));
            prop_assert!(bandwidth(b.view()) <= nx.min(ny) + 1);
            prop_assert!(profile(b.view()) <= profile(shuffled.view()));
        }

        #[test]
        fn components_stay_together_and_in_order(n in 0usize..100, degree in 0usize..3, seed in any::<u64>()) {
            let mut a = scattered(n, degree, seed);
            a.values_mut().fill(1.0); // every stored entry connects
            let order = reverse_cuthill_mckee(a.view()).unwrap();
            let label = connected_components(a.view()).unwrap().label;
            let mut along = label.clone();
            order.apply(&label, &mut along).unwrap();
            prop_assert!(along.is_sorted());
        }
    }
}
