//! The undirected graph of strong connections: two rows are neighbours if either depends on the
//! other.
//!
//! Aggregation groups rows that are close to each other, so it needs an undirected graph. The
//! symmetric strength measure gives one for a symmetric matrix; otherwise the union of the graph
//! with its transpose is used. Symmetry is tested with a sum over all connections, in integers
//! modulo 2^64:
//!
//! ```text
//! Σ_(i,j)  h(i) g(j) - g(i) h(j)        g: scrambled global id, h = g²
//! ```
//!
//! A connection and its reverse cancel, in whatever order and on whichever processes they are
//! added. For a graph that is not symmetric, the sum is zero by accident with probability of about
//! 2^-64. The test therefore costs one pass over the connections and never searches for a reverse
//! connection.

use std::borrow::Cow;
use std::ops::Range;

use ziggurat_sparse::{MatrixError, parallel};

use crate::halo::Halo;
use crate::strength::StrongGraph;

/// Number of rows that one task sums over.
const CHUNK: usize = 4 * 1024;

/// Returns the graph if it is symmetric, otherwise its union with its transpose. The result is
/// complete for the owned rows.
///
/// # Errors
/// Returns an error if the graph does not match the halo.
pub(super) fn undirected<'a, H: Halo>(
    graph: &'a StrongGraph,
    halo: &H,
) -> Result<Cow<'a, StrongGraph>, MatrixError> {
    let (owned, local) = (halo.owned(), halo.local());
    if graph.cols() != local {
        let what = "columns of the strong graph (one per local row)";
        return Err(MatrixError::Mismatch { what, expected: local, found: graph.cols() });
    }
    if graph.rows() < owned.end || graph.rows() > local {
        let what = "rows of the strong graph for the rows this process owns";
        return Err(MatrixError::Mismatch { what, expected: owned.end, found: graph.rows() });
    }
    // Split into halves, whose sums over all processes cannot overflow.
    let part = antisymmetry(graph, halo);
    let mut halves = [part & u64::from(u32::MAX), part >> 32];
    halo.sum(&mut halves);
    let symmetric = halves[0].wrapping_add(halves[1] << 32) == 0;
    if symmetric { Ok(Cow::Borrowed(graph)) } else { Ok(Cow::Owned(union_with_transpose(graph)?)) }
}

/// The contribution of the owned rows to the sum.
fn antisymmetry<H: Halo>(graph: &StrongGraph, halo: &H) -> u64 {
    let scramble = |row: u32| {
        let mixed = (halo.global_id(row as usize) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    };
    let of_row = |row: usize| {
        let (mut sum_g, mut sum_h) = (0u64, 0u64);
        for &column in graph.row(row) {
            let g = scramble(column);
            sum_g = sum_g.wrapping_add(g);
            sum_h = sum_h.wrapping_add(g.wrapping_mul(g));
        }
        let g = scramble(row as u32);
        g.wrapping_mul(g).wrapping_mul(sum_g).wrapping_sub(g.wrapping_mul(sum_h))
    };
    let of_rows = |rows: Range<usize>| rows.map(of_row).fold(0, u64::wrapping_add);
    parallel::map_pieces(halo.owned(), CHUNK, &of_rows).into_iter().fold(0, u64::wrapping_add)
}

fn union_with_transpose(graph: &StrongGraph) -> Result<StrongGraph, MatrixError> {
    let transpose = graph.transpose();
    StrongGraph::collect(
        graph.row_ptr(),
        0..graph.rows(),
        graph.cols(),
        || (),
        |(), row, entries| {
            let (mut left, mut right) =
                (graph.row(row).iter().peekable(), transpose.row(row).iter().peekable());
            loop {
                let next = match (left.peek(), right.peek()) {
                    (Some(&&a), Some(&&b)) => a.min(b),
                    (Some(&&a), None) | (None, Some(&&a)) => a,
                    (None, None) => break,
                };
                left.next_if(|&&column| column == next);
                right.next_if(|&&column| column == next);
                if next as usize != row {
                    entries.push(next, ());
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use crate::testing::{arbitrary_graph, on_ranks};
    use proptest::prelude::*;

    fn has(graph: &StrongGraph, row: usize, column: usize) -> bool {
        graph.row(row).contains(&(column as u32))
    }

    proptest! {
        #[test]
        fn a_symmetric_graph_is_kept(graph in arbitrary_graph(true)) {
            let undirected = undirected(&graph, &Whole::new(graph.rows())).unwrap();
            prop_assert!(matches!(undirected, Cow::Borrowed(_)));
        }

        #[test]
        fn every_connection_goes_both_ways(graph in arbitrary_graph(false)) {
            let rows = graph.rows();
            let undirected = undirected(&graph, &Whole::new(rows)).unwrap();
            for row in 0..rows {
                for column in 0..rows {
                    let either = has(&graph, row, column) || has(&graph, column, row);
                    prop_assert_eq!(has(&undirected, row, column), either, "{} {}", row, column);
                }
            }
        }
    }

    #[test]
    fn one_missing_reverse_is_noticed_anywhere() {
        // A cycle of 3000 rows, connected in both directions except for one missing connection.
        let rows = 3000;
        let neighbours = |row: usize| {
            let mut pair = [(row + 1) % rows, (row + rows - 1) % rows].map(|column| column as u32);
            pair.sort_unstable();
            pair
        };
        for missing in [0, 1234, rows - 1] {
            let mut columns: Vec<u32> = (0..rows).flat_map(neighbours).collect();
            columns.remove(2 * missing);
            let row_ptr = (0..=rows).map(|row| 2 * row - usize::from(row > missing)).collect();
            let graph = StrongGraph::try_new(rows, row_ptr, columns).unwrap();
            let mended = undirected(&graph, &Whole::new(rows)).unwrap();
            assert_eq!(mended.row(missing), neighbours(missing));
        }
    }

    #[test]
    fn processes_agree_on_what_is_symmetric() {
        // A path whose connections all point in one direction.
        let graph = StrongGraph::try_new(4, vec![0, 1, 2, 3, 3], vec![1, 2, 3]).unwrap();
        let lengths = on_ranks(2, &graph, |local, halo| {
            let undirected = undirected(local, halo).unwrap();
            halo.owned().map(|row| undirected.row(row).len()).collect()
        });
        assert_eq!(lengths, [1, 2, 2, 1]);
    }
}
