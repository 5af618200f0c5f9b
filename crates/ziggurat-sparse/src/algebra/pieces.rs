//! A product C = A[rows, :] · B, split into pieces of rows that are computed in parallel.
//!
//! All pieces have about the same number of terms A[i, j] · B[j, k], which is the cost of a
//! product; the cuts depend only on the matrices. See `piece.rs` for the computation of one piece.
//!
//! A product of block-full matrices (`node_pattern.rs`) is split and its pattern found by nodes,
//! and the result is stored by unknowns. Here and in `Piece`, rows, columns and entries refer to
//! nodes unless stated otherwise. In a product of scalars both are the same.

use std::ops::Range;

use super::block_shape::BlockShape;
use super::node_pattern::NodePattern;
use super::pattern::Pattern;
use super::piece::{Blocks, Foreign, Piece, Size};
use crate::matrix::{Csr, CsrRef};
use crate::number::Real;
use crate::parallel::{join, over_chunks, split_row};

/// Terms per piece: a few hundred microseconds of work.
const PIECE_TERMS: usize = 256 * 1024;

/// Multiplications within blocks that take as long as one term of a product of scalars, because
/// they need no lookup.
const TERMS_AT_ONCE: usize = 8;

/// The pattern of a product, piece by piece.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    blocks: Blocks,
    rows: Range<usize>,
    cols: usize,
    pieces: Vec<Piece>,
}

/// Whether the rows of A are marked, because a numeric phase may get another matrix. Some callers
/// check that themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Marked {
    Yes,
    No,
}

impl Pieces {
    /// The symbolic phase, for matrices of matching extents.
    pub(super) fn find(
        a: Pattern<'_>,
        rows: Range<usize>,
        b: Pattern<'_>,
        cols: usize,
        marked: Marked,
    ) -> Pieces {
        let mut pieces = cut(a, rows.clone(), b, cols, PIECE_TERMS);
        if marked == Marked::Yes {
            over_chunks(&mut pieces, 1, &|_, pieces| {
                pieces.iter_mut().for_each(|piece| piece.mark = Some(a.mark_of(piece.rows.clone())));
            });
        }
        let right = NodePattern { row_ptr: vec![0], columns: vec![] };
        Pieces {
            blocks: Blocks { shape: BlockShape::SCALAR, right },
            rows,
            cols,
            pieces: in_sequence(pieces),
        }
    }

    /// The symbolic phase for block-full matrices, given by their node patterns. `cols` counts
    /// nodes, `rows` are rows of unknowns. Nothing is marked: the caller checks the matrices.
    pub(super) fn find_blocks(
        rows: Range<usize>,
        a_nodes: Pattern<'_>,
        b_nodes: NodePattern,
        cols: usize,
        shape: BlockShape,
    ) -> Pieces {
        let rows = rows.start / shape.rows..rows.end / shape.rows;
        let terms = PIECE_TERMS / (shape.terms() / TERMS_AT_ONCE).max(1);
        let pieces = cut(a_nodes, rows.clone(), (&b_nodes).into(), cols, terms.max(1));
        Pieces { blocks: Blocks { shape, right: b_nodes }, rows, cols, pieces: in_sequence(pieces) }
    }

    /// The rows of C, as rows of A, in unknowns.
    pub(super) fn rows(&self) -> Range<usize> {
        self.blocks.shape.rows_of(&self.rows)
    }

    /// Columns of C, in unknowns.
    pub(super) fn cols(&self) -> usize {
        self.cols * self.blocks.shape.cols
    }

    /// Entries of C, in unknowns.
    pub(super) fn nnz(&self) -> usize {
        self.pieces.last().map_or(0, Piece::end) * self.blocks.shape.entries()
    }

    /// The node pattern of C, if the pieces still hold it.
    pub(super) fn nodes(&self) -> NodePattern {
        let entries = self.pieces.last().map_or(0, Piece::end);
        let (mut row_ptr, mut columns) =
            (Vec::with_capacity(self.rows.len() + 1), Vec::with_capacity(entries));
        row_ptr.push(0);
        for piece in &self.pieces {
            row_ptr.extend(piece.ends.iter().map(|&end| piece.begin + end as usize));
            columns.extend_from_slice(&piece.columns);
        }
        NodePattern { row_ptr, columns }
    }

    /// The numeric phase, into a new matrix. `b` must have the pattern that was passed to
    /// [`find`](Self::find).
    pub(super) fn compute<T: Real>(&self, a: CsrRef<'_, T>, b: CsrRef<'_, T>) -> Result<Csr<T>, Foreign> {
        self.lay_out(&|piece, columns, values| piece.compute(&self.blocks, a, b, columns, values))
    }

    /// The numeric phase, into a matrix that already has the pattern of C.
    pub(super) fn compute_into<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        c: &mut Csr<T>,
    ) -> Result<(), Foreign> {
        if (c.rows(), c.cols(), c.nnz()) != (self.rows().len(), self.cols(), self.nnz()) {
            return Err(Foreign::Result);
        }
        over_pieces(self.blocks.shape, &self.pieces, Out::of(c), &|piece, out| {
            if !piece.has_pattern(self.blocks.shape, out.ends, out.columns) {
                return Err(Foreign::Result);
            }
            piece.compute(&self.blocks, a, b, out.columns, out.values)
        })
    }

    /// C with all values zero. This moves the columns out of the pieces, so that only
    /// [`compute_own`](Self::compute_own) can be called afterwards.
    pub(super) fn take_pattern<T: Real>(&mut self) -> Result<Csr<T>, Foreign> {
        let c = self.lay_out(&|_, _, _| Ok(()))?;
        for piece in &mut self.pieces {
            piece.columns = Vec::new();
        }
        Ok(c)
    }

    /// The numeric phase, into the matrix that [`take_pattern`](Self::take_pattern) returned.
    pub(super) fn compute_own<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        c: &mut Csr<T>,
    ) -> Result<(), Foreign> {
        over_pieces(self.blocks.shape, &self.pieces, Out::of(c), &|piece, out| {
            piece.compute(&self.blocks, a, b, out.columns, out.values)
        })
    }

    /// C, with values written by `fill`.
    fn lay_out<T: Real>(
        &self,
        fill: &(dyn Fn(&Piece, &[u32], &mut [T]) -> Result<(), Foreign> + Sync),
    ) -> Result<Csr<T>, Foreign> {
        let (rows, nnz) = (self.rows().len(), self.nnz());
        let (mut row_ptr, mut columns, mut values) = (vec![0; rows + 1], vec![0; nnz], vec![T::zero(); nnz]);
        let out = Out { ends: &mut row_ptr[1..], columns: &mut columns, values: &mut values };
        over_pieces(self.blocks.shape, &self.pieces, out, &|piece, out| {
            piece.write_pattern(self.blocks.shape, out.ends, out.columns);
            fill(piece, out.columns, out.values)
        })?;
        Ok(Csr::from_valid_parts(rows, self.cols(), row_ptr, columns, values))
    }
}

/// Splits `rows` into pieces of at most `terms` terms and finds the columns of each.
fn cut(a: Pattern<'_>, rows: Range<usize>, b: Pattern<'_>, cols: usize, terms: usize) -> Vec<Piece> {
    // First by the entries of A, which costs nothing; then small pieces by terms, which have to be
    // counted.
    let middle = match split_row(a.row_ptr, &rows) {
        Some(middle) => middle,
        None => {
            let size = Size::of(a, rows.clone(), b);
            if size.terms <= terms || rows.len() < 2 {
                return vec![Piece::find(a, rows, b, cols, &size)];
            }
            rows.start + rows.len() / 2
        }
    };
    let (mut left, mut right) =
        join(|| cut(a, rows.start..middle, b, cols, terms), || cut(a, middle..rows.end, b, cols, terms));
    left.append(&mut right);
    left
}

/// Sets where each piece begins.
fn in_sequence(mut pieces: Vec<Piece>) -> Vec<Piece> {
    let mut begin = 0;
    for piece in &mut pieces {
        piece.begin = begin;
        begin += piece.columns.len();
    }
    pieces
}

/// The part of C that belongs to some pieces, in unknowns.
struct Out<'a, T> {
    ends: &'a mut [usize],
    columns: &'a mut [u32],
    values: &'a mut [T],
}

impl<'a, T> Out<'a, T> {
    /// All of C.
    fn of(c: &'a mut Csr<T>) -> Self
    where
        T: Clone,
    {
        let (row_ptr, columns, values) = c.parts_mut();
        Out { ends: &mut row_ptr[1..], columns, values }
    }
}

/// Calls `work` on every piece with its part of C. If several pieces fail, the error of the first
/// one is returned.
fn over_pieces<T: Send>(
    shape: BlockShape,
    pieces: &[Piece],
    out: Out<'_, T>,
    work: &(dyn Fn(&Piece, Out<'_, T>) -> Result<(), Foreign> + Sync),
) -> Result<(), Foreign> {
    let (left, right) = match pieces {
        [] => return Ok(()),
        [piece] => return work(piece, out),
        _ => pieces.split_at(pieces.len() / 2),
    };
    let entries = (right[0].begin - left[0].begin) * shape.entries();
    let rows = (right[0].rows.start - left[0].rows.start) * shape.rows;
    let (ends_left, ends_right) = out.ends.split_at_mut(rows);
    let (columns_left, columns_right) = out.columns.split_at_mut(entries);
    let (values_left, values_right) = out.values.split_at_mut(entries);
    let out_left = Out { ends: ends_left, columns: columns_left, values: values_left };
    let out_right = Out { ends: ends_right, columns: columns_right, values: values_right };
    let (left, right) =
        join(|| over_pieces(shape, left, out_left, work), || over_pieces(shape, right, out_right, work));
    left.and(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::accumulator::ColumnHash;
    use crate::algebra::product;
    use crate::algebra::testing::{on_threads, poisson3d, scattered};

    #[test]
    fn window_and_hash_and_any_number_of_threads_give_the_same_bits() {
        // Values whose sums are not exact, so that another order of summation would show.
        let mut a = poisson3d(40);
        for (k, value) in a.values_mut().iter_mut().enumerate() {
            *value *= 1.0 + (k as f64).sin();
        }
        let square = || product(a.view(), a.all_rows(), a.view()).unwrap();
        let by_window = on_threads(1, square);
        assert_eq!(on_threads(2, square), by_window);

        let pattern = Pattern::from(a.view());
        let mut pieces = Pieces::find(pattern, a.all_rows(), pattern, a.cols(), Marked::Yes);
        assert!(pieces.pieces.len() > 4 && pieces.pieces.iter().all(|piece| piece.in_window));
        for piece in &mut pieces.pieces {
            piece.in_window = false;
            let found = std::mem::take(&mut piece.columns);
            piece.ends.clear();
            let size = Size::of(pattern, piece.rows.clone(), pattern);
            piece.find_columns(pattern, pattern, size.terms_of_row, ColumnHash::new(size.terms_of_row));
            assert_eq!(piece.columns, found);
        }
        assert_eq!(pieces.compute(a.view(), a.view()).unwrap(), by_window);
    }

    #[test]
    fn columns_far_apart_go_by_hash() {
        let a = poisson3d(52); // more columns than a window may have
        let b = scattered(&a, 100_003);
        let pieces = Pieces::find(b.view().into(), b.all_rows(), b.view().into(), b.cols(), Marked::No);
        assert!(pieces.pieces.iter().all(|piece| !piece.in_window));
        let c = pieces.compute(b.view(), b.view()).unwrap();
        // Renumbering commutes with multiplication; sums of integers are exact.
        assert_eq!(c, scattered(&product(a.view(), a.all_rows(), a.view()).unwrap(), 100_003));
        assert_eq!(on_threads(1, || product(b.view(), b.all_rows(), b.view())).unwrap(), c);
    }
}
