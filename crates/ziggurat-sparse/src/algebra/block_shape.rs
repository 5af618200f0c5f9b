//! The sizes of the blocks in a product of blocks.

use std::ops::Range;

/// Blocks of `rows` x `inner` times blocks of `inner` x `cols`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockShape {
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) cols: usize,
}

impl BlockShape {
    /// Scalars: blocks of one entry.
    pub(super) const SCALAR: BlockShape = BlockShape { rows: 1, inner: 1, cols: 1 };

    /// Entries of a block of C.
    pub(super) fn entries(self) -> usize {
        self.rows * self.cols
    }

    /// Multiplications per product of two blocks.
    pub(super) fn terms(self) -> usize {
        self.rows * self.inner * self.cols
    }

    /// The rows of unknowns that belong to rows of nodes.
    pub(super) fn rows_of(self, nodes: &Range<usize>) -> Range<usize> {
        nodes.start * self.rows..nodes.end * self.rows
    }
}
