//! One piece of a product C = A[rows, :] · B: some consecutive rows, processed by one thread at a
//! time.
//!
//! In the symbolic phase a piece finds its columns in one pass, into its own buffer, without
//! counting them first. It also records the range of its columns, which decides whether its rows
//! are accumulated in a window or in a hash table, in both phases. `accumulator.rs` implements
//! both.
//!
//! A piece of a product of blocks consists of rows of *nodes*, and its columns are nodes. The
//! symbolic phase is the same; the numeric phase is in `block_product.rs`.

use std::ops::Range;

use super::accumulator::{ColumnHash, ColumnWindow, FindColumns, Places, SumValues, ValueHash, ValueWindow};
use super::block_product::BlockRows;
use super::block_shape::BlockShape;
use super::node_pattern::NodePattern;
use super::pattern::Pattern;
use crate::matrix::{CsrRef, MatrixError};
use crate::number::Real;

/// Columns by which the buffer of a piece grows.
const COLUMN_ROOM: usize = 32 * 1024;

/// The widest window, in columns: 1 MiB of `f64`, about the size of a second-level cache.
const MAX_WINDOW: usize = 128 * 1024;

/// The block structure of a product of blocks.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) shape: BlockShape,
    /// The node pattern of B; empty in a product of scalars.
    pub(super) right: NodePattern,
}

/// The matrix whose pattern changed between the symbolic and a numeric phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Foreign {
    Left,
    Result,
}

impl Foreign {
    /// The corresponding error, in which A is called `left`.
    pub(super) fn error(self, left: &'static str) -> MatrixError {
        MatrixError::OtherPattern {
            what: match self {
                Foreign::Left => left,
                Foreign::Result => "the matrix to hold the product",
            },
        }
    }
}

/// Some consecutive rows of C.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The rows, as rows of A.
    pub(super) rows: Range<usize>,
    /// The mark of these rows of A; `None` if the caller checks whole matrices.
    pub(super) mark: Option<u64>,
    /// The range of columns of C.
    span: Range<u32>,
    /// Whether rows are accumulated in a window over that range.
    pub(super) in_window: bool,
    /// Where the entries of the piece begin in C.
    pub(super) begin: usize,
    /// Where each row ends, relative to `begin`. A piece of more than one row has far fewer than
    /// 2^32 terms.
    pub(super) ends: Vec<u32>,
    pub(super) columns: Vec<u32>,
}

/// The cost of computing some rows of C.
pub(super) struct Size {
    /// The number of terms A[i, j] · B[j, k].
    pub(super) terms: usize,
    /// The number of terms of the row with the most terms.
    pub(super) terms_of_row: usize,
    /// The range of columns.
    span: Range<u32>,
}

impl Size {
    pub(super) fn of(a: Pattern<'_>, rows: Range<usize>, b: Pattern<'_>) -> Size {
        let (mut first, mut last) = (u32::MAX, 0);
        let (mut terms, mut terms_of_row) = (0, 0);
        for row in rows {
            let before = terms;
            for &j in a.row(row) {
                if let columns @ [begin, ..] = b.row(j as usize) {
                    first = first.min(*begin);
                    last = last.max(columns[columns.len() - 1]);
                    terms += columns.len();
                }
            }
            terms_of_row = terms_of_row.max(terms - before);
        }
        // No matrix has column u32::MAX, so `last + 1` does not overflow.
        let span = if terms == 0 { 0..0 } else { first..last + 1 };
        Size { terms, terms_of_row, span }
    }
}

impl Piece {
    /// The symbolic phase.
    pub(super) fn find(
        a: Pattern<'_>,
        rows: Range<usize>,
        b: Pattern<'_>,
        cols: usize,
        size: &Size,
    ) -> Piece {
        let mut piece = Piece {
            mark: None,
            span: size.span.clone(),
            // Clearing a window must not cost more than the computation.
            in_window: size.span.len() <= size.terms.min(MAX_WINDOW),
            begin: 0,
            ends: Vec::with_capacity(rows.len()),
            columns: Vec::new(),
            rows,
        };
        let most = size.terms_of_row.min(cols);
        if piece.in_window {
            let window = ColumnWindow::new(&piece.span);
            piece.find_columns(a, b, most, window);
        } else {
            piece.find_columns(a, b, most, ColumnHash::new(most));
        }
        piece
    }

    /// Finds the columns of all rows, none of which has more than `most`.
    pub(super) fn find_columns(
        &mut self,
        a: Pattern<'_>,
        b: Pattern<'_>,
        most: usize,
        mut find: impl FindColumns,
    ) {
        let mut end = 0;
        for row in self.rows.clone() {
            if self.columns.len() <= end + most {
                self.columns.resize(end + most + COLUMN_ROOM, 0);
            }
            find.begin(|| a.row(row).iter().map(|&j| b.row_len(j as usize)).sum());
            let found = &mut self.columns[end..];
            let mut len = 0;
            for &j in a.row(row) {
                len = find.add(b.row(j as usize), found, len);
            }
            found[..len].sort_unstable();
            end += len;
            self.ends.push(end as u32);
        }
        self.columns.truncate(end);
        self.columns.shrink_to_fit();
    }

    /// Where the entries of the piece end in C.
    pub(super) fn end(&self) -> usize {
        self.begin + self.ends.last().map_or(0, |&end| end as usize)
    }

    /// The entries of each row, relative to `begin`.
    fn row_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut begin = 0;
        self.ends.iter().map(move |&end| std::mem::replace(&mut begin, end as usize)..end as usize)
    }

    /// Writes the pattern of the piece's rows of C, in unknowns.
    pub(super) fn write_pattern(&self, shape: BlockShape, ends: &mut [usize], columns: &mut [u32]) {
        let rows = self.row_ranges().zip(ends.chunks_exact_mut(shape.rows));
        for (range, ends) in rows {
            let (first, len) = ((self.begin + range.start) * shape.entries(), range.len() * shape.cols);
            for (k, end) in ends.iter_mut().enumerate() {
                *end = first + (k + 1) * len;
            }
            if shape == BlockShape::SCALAR || len == 0 {
                continue;
            }
            let entries = range.start * shape.entries()..range.end * shape.entries();
            for row in columns[entries].chunks_exact_mut(len) {
                for (block, &node) in row.chunks_exact_mut(shape.cols).zip(&self.columns[range.clone()]) {
                    for (k, column) in block.iter_mut().enumerate() {
                        *column = node * shape.cols as u32 + k as u32;
                    }
                }
            }
        }
        if shape == BlockShape::SCALAR {
            columns.copy_from_slice(&self.columns);
        }
    }

    /// Whether a pattern, in unknowns, equals the pattern of the piece's rows of C.
    pub(super) fn has_pattern(&self, shape: BlockShape, ends: &[usize], columns: &[u32]) -> bool {
        let ends_right = self.row_ranges().zip(ends.chunks_exact(shape.rows)).all(|(range, ends)| {
            let (first, len) = ((self.begin + range.start) * shape.entries(), range.len() * shape.cols);
            ends.iter().enumerate().all(|(k, &end)| end == first + (k + 1) * len)
        });
        if shape == BlockShape::SCALAR || !ends_right {
            return ends_right && self.columns == columns;
        }
        self.row_ranges().filter(|range| !range.is_empty()).all(|range| {
            let entries = range.start * shape.entries()..range.end * shape.entries();
            let nodes = &self.columns[range];
            // Columns increase, so the first and the last column of a block determine the others.
            let block_right = |(block, &node): (&[u32], &u32)| {
                let first = node * shape.cols as u32;
                block[0] == first && block[shape.cols - 1] == first + (shape.cols as u32 - 1)
            };
            let row_right = |row: &[u32]| row.chunks_exact(shape.cols).zip(nodes).all(block_right);
            columns[entries].chunks_exact(nodes.len() * shape.cols).all(row_right)
        })
    }

    /// The numeric phase, for the columns of this piece.
    pub(super) fn compute<T: Real>(
        &self,
        blocks: &Blocks,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        columns: &[u32],
        values: &mut [T],
    ) -> Result<(), Foreign> {
        let shape = blocks.shape;
        if self.mark.is_some_and(|mark| mark != Pattern::from(a).mark_of(shape.rows_of(&self.rows))) {
            return Err(Foreign::Left);
        }
        let longest = self.row_ranges().map(|range| range.len()).max().unwrap_or(0);
        let window = self.in_window.then_some(&self.span);
        if shape != BlockShape::SCALAR {
            let (rows, ends, places) = (self.rows.clone(), &self.ends[..], Places::new(window, longest));
            let (a, a_values) = (a.into(), a.values());
            let (b_nodes, b_values) = ((&blocks.right).into(), b.values());
            BlockRows { rows, ends, longest, places, a, a_values, b_nodes, b_values, columns, values }
                .compute(shape);
        } else if let Some(span) = window {
            self.sum_values(a, b, columns, values, ValueWindow::new(span));
        } else {
            self.sum_values(a, b, columns, values, ValueHash::new(longest));
        }
        Ok(())
    }

    fn sum_values<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        columns: &[u32],
        values: &mut [T],
        mut row_sums: impl SumValues<T>,
    ) {
        for (row, range) in self.rows.clone().zip(self.row_ranges()) {
            let (columns, values) = (&columns[range.clone()], &mut values[range]);
            row_sums.begin(columns, values);
            let (a_columns, a_values) = a.row(row);
            for (&j, &scale) in a_columns.iter().zip(a_values) {
                let (b_columns, b_values) = b.row(j as usize);
                row_sums.add(scale, b_columns, b_values, values);
            }
            row_sums.end(columns, values);
        }
    }
}
