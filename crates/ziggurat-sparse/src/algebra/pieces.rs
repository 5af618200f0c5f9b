//! A product C = A[rows, :] · B, cut into pieces of rows that are worked on side by side.
//!
//! A piece has about so many terms A[i, j] · B[j, k], which is what a product costs; the cuts depend on the matrices
//! alone. In the symbolic phase a piece finds its columns once, into a buffer of its own: nobody has to count them
//! first. It also notes between which columns they lie, and so whether its rows are collected in a window or in a hash
//! table, and keeps that for the numeric phase. How a row is collected is told in `accumulator.rs`.

use std::ops::Range;

use super::accumulator::{ColumnHash, ColumnWindow, FindColumns, SumValues, ValueHash, ValueWindow};
use super::pattern::Pattern;
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::Real;
use crate::parallel::split_row;

/// Terms in a piece: some hundred microseconds of work.
const PIECE_TERMS: usize = 256 * 1024;

/// Columns by which a piece's buffer grows.
const COLUMN_ROOM: usize = 32 * 1024;

/// Widest window, in columns: 1 MiB of `f64`, about a core's second-level cache.
const MAX_WINDOW: usize = 128 * 1024;

/// The pattern of a product, piece by piece.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    rows: Range<usize>,
    cols: usize,
    pieces: Vec<Piece>,
}

/// Which matrix of a numeric phase has another pattern than the symbolic phase saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Foreign {
    Left,
    Result,
}

impl Foreign {
    /// The error that says so, where A is called `left`.
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
struct Piece {
    /// As rows of A.
    rows: Range<usize>,
    /// Of these rows of A; `None` if nobody asked for it.
    mark: Option<u64>,
    /// Between which columns the entries of C lie.
    span: Range<u32>,
    /// Whether rows are collected in a window over that span.
    in_window: bool,
    /// Where its entries begin in C.
    begin: usize,
    /// Where each row ends, counted from there. A piece of more than one row is far from 2^32 terms.
    ends: Vec<u32>,
    columns: Vec<u32>,
}

impl Pieces {
    /// The symbolic phase, for matrices that fit together. When the numeric phase may see other matrices, the rows of
    /// A are marked.
    pub(super) fn find(
        a: Pattern<'_>,
        rows: Range<usize>,
        b: Pattern<'_>,
        cols: usize,
        marked: bool,
    ) -> Pieces {
        let mut pieces = cut(a, rows.clone(), b, cols, marked);
        let mut begin = 0;
        for piece in &mut pieces {
            piece.begin = begin;
            begin += piece.columns.len();
        }
        Pieces { rows, cols, pieces }
    }

    /// The rows of C, as rows of A.
    pub(super) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Columns of C.
    pub(super) fn cols(&self) -> usize {
        self.cols
    }

    /// Entries of C.
    pub(super) fn nnz(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.begin + piece.ends.last().map_or(0, |&end| end as usize))
    }

    /// The numeric phase, into a new matrix. The pattern of `b` must be the one that [`find`](Self::find) saw.
    pub(super) fn compute<T: Real>(&self, a: CsrRef<'_, T>, b: CsrRef<'_, T>) -> Result<Csr<T>, Foreign> {
        self.lay_out(|piece, columns, values| piece.compute(a, b, columns, values))
    }

    /// The numeric phase, into a matrix that has the pattern of C already.
    pub(super) fn compute_into<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        c: &mut Csr<T>,
    ) -> Result<(), Foreign> {
        if (c.rows(), c.cols(), c.nnz()) != (self.rows.len(), self.cols, self.nnz()) {
            return Err(Foreign::Result);
        }
        over_pieces(&self.pieces, Out::of(c), &|piece, out| {
            let ends = piece.ends.iter().map(|&end| piece.begin + end as usize);
            if !ends.eq(out.ends.iter().copied()) || piece.columns != out.columns {
                return Err(Foreign::Result);
            }
            piece.compute(a, b, out.columns, out.values)
        })
    }

    /// C with all values zero. It takes the columns along: from now on there is only
    /// [`compute_own`](Self::compute_own).
    pub(super) fn take_pattern<T: Real>(&mut self) -> Result<Csr<T>, Foreign> {
        let c = self.lay_out(|_, _, _| Ok(()))?;
        for piece in &mut self.pieces {
            piece.columns = Vec::new();
        }
        Ok(c)
    }

    /// The numeric phase, into the matrix that [`take_pattern`](Self::take_pattern) gave.
    pub(super) fn compute_own<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        c: &mut Csr<T>,
    ) -> Result<(), Foreign> {
        over_pieces(&self.pieces, Out::of(c), &|piece, out| piece.compute(a, b, out.columns, out.values))
    }

    /// C, with values that `fill` writes.
    fn lay_out<T: Real>(
        &self,
        fill: impl Fn(&Piece, &[u32], &mut [T]) -> Result<(), Foreign> + Sync,
    ) -> Result<Csr<T>, Foreign> {
        let (rows, nnz) = (self.rows.len(), self.nnz());
        let (mut row_ptr, mut columns, mut values) = (vec![0; rows + 1], vec![0; nnz], vec![T::zero(); nnz]);
        let out = Out { ends: &mut row_ptr[1..], columns: &mut columns, values: &mut values };
        over_pieces(&self.pieces, out, &|piece, out| {
            for (end, &planned) in out.ends.iter_mut().zip(&piece.ends) {
                *end = piece.begin + planned as usize;
            }
            out.columns.copy_from_slice(&piece.columns);
            fill(piece, out.columns, out.values)
        })?;
        Ok(Csr::from_valid_parts(rows, self.cols, row_ptr, columns, values))
    }
}

/// Cuts `rows` into pieces and finds the columns of each.
fn cut(a: Pattern<'_>, rows: Range<usize>, b: Pattern<'_>, cols: usize, marked: bool) -> Vec<Piece> {
    // By the entries of A first, which costs nothing; the small pieces then by terms, which have to be counted.
    let middle = match split_row(a.row_ptr, &rows) {
        Some(middle) => middle,
        None => {
            let size = Size::of(a, rows.clone(), b);
            if size.terms <= PIECE_TERMS || rows.len() < 2 {
                return vec![Piece::find(a, rows, b, cols, &size, marked)];
            }
            rows.start + rows.len() / 2
        }
    };
    let (mut left, mut right) = rayon::join(
        || cut(a, rows.start..middle, b, cols, marked),
        || cut(a, middle..rows.end, b, cols, marked),
    );
    left.append(&mut right);
    left
}

/// What some rows of C will take.
struct Size {
    /// Terms A[i, j] · B[j, k].
    terms: usize,
    /// Terms of the row that has most.
    terms_of_row: usize,
    /// Between which columns the entries lie.
    span: Range<u32>,
}

impl Size {
    fn of(a: Pattern<'_>, rows: Range<usize>, b: Pattern<'_>) -> Size {
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
        // No matrix has a column u32::MAX, so one beyond the last still is a u32.
        let span = if terms == 0 { 0..0 } else { first..last + 1 };
        Size { terms, terms_of_row, span }
    }
}

impl Piece {
    /// The symbolic phase.
    fn find(
        a: Pattern<'_>,
        rows: Range<usize>,
        b: Pattern<'_>,
        cols: usize,
        size: &Size,
        marked: bool,
    ) -> Piece {
        let mut piece = Piece {
            mark: marked.then(|| a.mark_of(rows.clone())),
            span: size.span.clone(),
            // Clearing a window must not cost more than the work within it.
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

    /// No row has more than `most` columns.
    fn find_columns(&mut self, a: Pattern<'_>, b: Pattern<'_>, most: usize, mut find: impl FindColumns) {
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

    /// The numeric phase, for columns that are the piece's own.
    fn compute<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        columns: &[u32],
        values: &mut [T],
    ) -> Result<(), Foreign> {
        if self.mark.is_some_and(|mark| mark != Pattern::from(a).mark_of(self.rows.clone())) {
            return Err(Foreign::Left);
        }
        if self.in_window {
            self.sum_values(a, b, columns, values, ValueWindow::new(&self.span));
        } else {
            let mut begin = 0;
            let lengths = self.ends.iter().map(|&end| end - std::mem::replace(&mut begin, end));
            let longest = lengths.max().unwrap_or(0) as usize;
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
        let mut begin = 0;
        for (row, &end) in self.rows.clone().zip(&self.ends) {
            let range = std::mem::replace(&mut begin, end as usize)..end as usize;
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

/// The part of C that belongs to some pieces.
struct Out<'a, T> {
    ends: &'a mut [usize],
    columns: &'a mut [u32],
    values: &'a mut [T],
}

impl<'a, T> Out<'a, T> {
    /// All of C.
    fn of(c: &'a mut Csr<T>) -> Self {
        let (row_ptr, columns, values) = c.parts_mut();
        Out { ends: &mut row_ptr[1..], columns, values }
    }
}

/// Calls `work` on every piece with its part of C. Of several errors the first piece's is reported.
fn over_pieces<T: Send>(
    pieces: &[Piece],
    out: Out<'_, T>,
    work: &(impl Fn(&Piece, Out<'_, T>) -> Result<(), Foreign> + Sync),
) -> Result<(), Foreign> {
    let (left, right) = match pieces {
        [] => return Ok(()),
        [piece] => return work(piece, out),
        _ => pieces.split_at(pieces.len() / 2),
    };
    let entries = right[0].begin - left[0].begin;
    let (ends_left, ends_right) = out.ends.split_at_mut(right[0].rows.start - left[0].rows.start);
    let (columns_left, columns_right) = out.columns.split_at_mut(entries);
    let (values_left, values_right) = out.values.split_at_mut(entries);
    let (left, right) = rayon::join(
        || over_pieces(left, Out { ends: ends_left, columns: columns_left, values: values_left }, work),
        || over_pieces(right, Out { ends: ends_right, columns: columns_right, values: values_right }, work),
    );
    left.and(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::product;
    use crate::algebra::testing::{on_threads, poisson3d, scattered};

    #[test]
    fn window_and_hash_and_any_number_of_threads_give_the_same_bits() {
        // Values that do not add up exactly, so that another order of summation would show.
        let mut a = poisson3d(40);
        for (k, value) in a.values_mut().iter_mut().enumerate() {
            *value *= 1.0 + (k as f64).sin();
        }
        let square = || product(a.view(), a.all_rows(), a.view()).unwrap();
        let by_window = on_threads(1, square);
        assert_eq!(on_threads(2, square), by_window);

        let pattern = Pattern::from(a.view());
        let mut pieces = Pieces::find(pattern, a.all_rows(), pattern, a.cols(), true);
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
        let pieces = Pieces::find(b.view().into(), b.all_rows(), b.view().into(), b.cols(), false);
        assert!(pieces.pieces.iter().all(|piece| !piece.in_window));
        let c = pieces.compute(b.view(), b.view()).unwrap();
        // Renumbering commutes with multiplying; integers add up exactly.
        assert_eq!(c, scattered(&product(a.view(), a.all_rows(), a.view()).unwrap(), 100_003));
        assert_eq!(on_threads(1, || product(b.view(), b.all_rows(), b.view())).unwrap(), c);
    }
}
