//! The pattern of A + Aᵀ without its diagonal, as adjacency of each vertex.
//!
//! Most matrices have a symmetric pattern, so nothing is copied: the neighbours of a row are its
//! stored columns, followed by the few rows that refer to it without a mirrored entry. Finding
//! these costs one binary search per entry, in parallel, and memory only for the missing ones.

use crate::CsrRef;
use crate::parallel::{map_pieces, merge_sort};

/// Rows per task.
const GRAIN: usize = 1024;

/// The neighbours of every vertex of a square matrix.
pub(super) struct Symmetrised<'a, T> {
    a: CsrRef<'a, T>,
    /// (j, i) for every stored (i, j) without a stored (j, i); sorted.
    missing: Vec<(u32, u32)>,
    /// Start of the missing entries of each row; empty if none are missing.
    starts: Vec<usize>,
}

impl<'a, T: Sync> Symmetrised<'a, T> {
    pub(super) fn new(a: CsrRef<'a, T>) -> Self {
        debug_assert_eq!(a.rows(), a.cols());
        let unmirrored = |row: usize| {
            let columns = a.row(row).0.iter();
            columns.map(move |&column| (column, row as u32)).filter(move |&(column, row)| {
                column != row && a.row(column as usize).0.binary_search(&row).is_err()
            })
        };
        let mut missing =
            map_pieces(a.all_rows(), GRAIN, &|rows| rows.flat_map(unmirrored).collect::<Vec<_>>()).concat();
        merge_sort(&mut missing, &|pairs| pairs.sort());
        let mut starts = Vec::new();
        if !missing.is_empty() {
            starts.reserve_exact(a.rows() + 1);
            let mut next = 0;
            for row in 0..=a.rows() {
                while next < missing.len() && (missing[next].0 as usize) < row {
                    next += 1;
                }
                starts.push(next);
            }
        }
        Symmetrised { a, missing, starts }
    }

    /// The vertices that share an entry with `vertex` in either triangle, each once, in unspecified
    /// order.
    pub(super) fn neighbours(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let row = vertex as usize;
        let extra = match self.starts.get(row..row + 2) {
            Some(bounds) => &self.missing[bounds[0]..bounds[1]],
            None => &[],
        };
        let stored = self.a.row(row).0.iter().copied().filter(move |&column| column != vertex);
        stored.chain(extra.iter().map(|&(_, row)| row))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{grid, on_threads, scattered};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_symmetric_pattern_costs_no_memory() {
        let a = grid(9, 9);
        let graph = Symmetrised::new(a.view());
        assert_eq!((graph.missing.capacity(), graph.starts.capacity()), (0, 0));
    }

    proptest! {
        #[test]
        fn neighbours_are_those_of_either_triangle(n in 0usize..60, degree in 0usize..6, seed in any::<u64>()) {
            let a = scattered(n, degree, seed);
            let graph = on_threads(2, || Symmetrised::new(a.view()));
            for vertex in 0..n {
                let mut found: Vec<u32> = graph.neighbours(vertex as u32).collect();
                found.sort_unstable();
                let expected: Vec<u32> = (0..n)
                    .filter(|&other| other != vertex)
                    .filter(|&other| a.get(vertex, other).is_some() || a.get(other, vertex).is_some())
                    .map(|other| other as u32)
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
