//! The node pattern of a matrix with several unknowns per node.
//!
//! A matrix is *block-full* for m x n blocks if its rows come in groups of m with the same columns,
//! and these columns in full groups of n that begin at multiples of n: node I is connected to node
//! J by a full block or not at all. Elasticity matrices and their smoothed aggregation coarsenings
//! are block-full. With nodes instead of unknowns, the pattern of such a matrix is m n times
//! smaller, and a symbolic product costs m n times less.
//!
//! The values of block (I, J) need no other layout than CSR: the rows of node I are consecutive and
//! equally long, and the n columns of the block are adjacent in each.
//!
//! Cost: one pass over the columns to check, and one over the first row of every node.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pattern::Pattern;
use crate::matrix::{count_rows, in_full_blocks};
use crate::parallel::over_values;

/// Larger blocks are not considered: such matrices are dense.
const LARGEST: usize = 1024;

/// The positions of the blocks of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodePattern {
    /// Where each block row begins, and where the last one ends.
    pub(super) row_ptr: Vec<usize>,
    /// The nodes of the blocks.
    pub(super) columns: Vec<u32>,
}

impl<'a> From<&'a NodePattern> for Pattern<'a> {
    fn from(nodes: &'a NodePattern) -> Self {
        Pattern { row_ptr: &nodes.row_ptr, columns: &nodes.columns }
    }
}

impl NodePattern {
    /// The node pattern of these rows of a matrix with `cols` columns; `None` if they are not
    /// block-full. Nodes before the first of `rows` have empty rows, so that nodes keep their
    /// numbers.
    pub(super) fn find(
        a: Pattern<'_>,
        rows: Range<usize>,
        cols: usize,
        block_rows: usize,
        block_cols: usize,
    ) -> Option<NodePattern> {
        let divides =
            |block: usize, extent: usize| (1..=LARGEST).contains(&block) && extent.is_multiple_of(block);
        if !(divides(block_rows, rows.start) && divides(block_rows, rows.end) && divides(block_cols, cols)) {
            return None;
        }
        let width = block_cols as u32;
        let nodes = rows.start / block_rows..rows.end / block_rows;
        let full = AtomicBool::new(true);
        let count = |(): &mut (), node: usize| {
            if node < nodes.start || !full.load(Ordering::Relaxed) {
                return 0;
            }
            let first = a.row(node * block_rows);
            let whole = in_full_blocks(first, block_cols)
                && (1..block_rows).all(|k| a.row(node * block_rows + k) == first);
            if !whole {
                full.store(false, Ordering::Relaxed);
            }
            first.len() / block_cols
        };
        let row_ptr = count_rows(0..nodes.end, || (), count);
        if !full.into_inner() {
            return None;
        }
        let mut columns = vec![0; row_ptr[nodes.end]];
        over_values(&row_ptr, 0..nodes.end, &mut columns, &|piece, columns| {
            let offset = row_ptr[piece.start];
            for node in piece.start.max(nodes.start)..piece.end {
                let blocks = a.row(node * block_rows).chunks_exact(block_cols);
                for (column, block) in columns[row_ptr[node] - offset..].iter_mut().zip(blocks) {
                    *column = block[0] / width;
                }
            }
        });
        Some(NodePattern { row_ptr, columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::testing::{blocks_of, of_extents};
    use crate::matrix::Csr;
    use proptest::prelude::*;

    fn nodes_of(a: &Csr<f64>, rows: Range<usize>, m: usize, n: usize) -> Option<NodePattern> {
        NodePattern::find(a.view().into(), rows, a.cols(), m, n)
    }

    #[test]
    fn what_is_not_full_is_seen() {
        let nodes = Csr::try_new(2, 2, vec![0, 1, 3], vec![1, 0, 1], vec![1.0; 3]).unwrap();
        let a = blocks_of(&nodes, 3, 2, |_, _, _| 1.0);
        assert!(nodes_of(&a, 0..6, 3, 2).is_some());
        for (rows, m, n) in
            [(0..6, 3, 4), (0..6, 2, 2), (0..6, 4, 2), (1..4, 3, 2), (0..5, 3, 2), (0..6, 0, 2), (0..6, 3, 0)]
        {
            assert_eq!(nodes_of(&a, rows.clone(), m, n), None, "{rows:?} by {m} x {n}");
        }
        // One entry removed or moved: an incomplete block, rows that differ, a block that begins at
        // an odd column.
        let (row_ptr, columns, values) = a.clone().into_parts();
        let shifted = columns.iter().map(|column| column + 1).collect();
        let shifted = Csr::try_new(6, 6, row_ptr.clone(), shifted, values.clone()).unwrap();
        assert_eq!(nodes_of(&shifted, 0..6, 3, 2), None);
        for entry in 0..a.nnz() {
            let (mut row_ptr, mut columns) = (row_ptr.clone(), columns.clone());
            columns.remove(entry);
            row_ptr.iter_mut().filter(|begin| **begin > entry).for_each(|begin| *begin -= 1);
            let less = Csr::try_new(6, 4, row_ptr, columns, vec![1.0; a.nnz() - 1]).unwrap();
            assert_eq!(nodes_of(&less, 0..6, 3, 2), None, "without entry {entry}");
            // A range of rows is checked independently of the others.
            assert_eq!(nodes_of(&less, 0..3, 3, 2).is_some(), entry >= 6);
            assert_eq!(nodes_of(&less, 3..6, 3, 2).is_some(), entry < 6);
        }
    }

    proptest! {
        #[test]
        fn finds_the_nodes_that_blocks_were_made_of(
            (nodes, m, n) in (0..9usize, 1..9usize, 1..5usize, 1..5usize)
                .prop_flat_map(|(rows, cols, m, n)| (of_extents(rows, cols), Just(m), Just(n)))
        ) {
            let a = blocks_of(&nodes, m, n, |_, _, _| 1.0);
            let found = nodes_of(&a, a.all_rows(), m, n).unwrap();
            prop_assert_eq!(&found.row_ptr[..], nodes.row_ptr());
            prop_assert_eq!(&found.columns[..], nodes.columns());
            if nodes.rows() > 1 {
                let rest = nodes_of(&a, m..a.rows(), m, n).unwrap();
                let cut = nodes.row_ptr()[1];
                prop_assert_eq!(&rest.columns[..], &nodes.columns()[cut..]);
                prop_assert_eq!(rest.row_ptr[1..].iter().map(|begin| begin + cut).collect::<Vec<_>>(), &nodes.row_ptr()[1..]);
            }
        }
    }
}
