//! Sparse product: C = A[rows, :] · B, row by row (Gustavson, 1978), in two phases.
//!
//! Row i of C is Σ_j A[i, j] · B[j, :]. The *symbolic* phase finds the columns of every row of C and is kept as a
//! [`ProductPlan`]; the *numeric* phase computes the values, and can be repeated for new values of A and B.
//!
//! The rows are cut into pieces of about equal numbers of terms A[i, j] · B[j, k], which is what the product costs. A
//! piece finds its columns once, into a buffer of its own: nobody has to count them first. The buffers stay apart in
//! the plan; only the result is one array. How a row is collected is told in `accumulator.rs`.
//!
//! Cost: one step per term in each phase, and sorting the columns of each row of C in the symbolic one. Memory: the
//! plan takes 4 bytes per entry and per row of C.

use std::ops::Range;

use super::accumulator::{ColumnHash, ColumnWindow, FindColumns, SumValues, ValueHash, ValueWindow};
use super::check_rows;
use super::pattern::Pattern;
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::{Real, Store};
use crate::parallel::split_row;

/// Terms in a piece: some hundred microseconds of work.
const PIECE_TERMS: usize = 256 * 1024;

/// Widest window, in columns: 1 MiB of `f64`, about a core's second-level cache.
const MAX_WINDOW: usize = 128 * 1024;

/// C = A[rows, :] · B as far as the patterns decide it: the symbolic phase, done once. [`compute`](Self::compute) and
/// [`compute_into`](Self::compute_into) are the numeric phase.
///
/// C has an entry wherever the patterns give one, even where the values cancel: so the pattern of C does not depend on
/// values, and is symmetric when it should be.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::ProductPlan};
/// let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
/// let plan = ProductPlan::new(a.view(), a.all_rows(), a.view())?;
/// let mut c = plan.compute(a.view(), a.view())?;
/// assert_eq!(c.row(0), (&[0, 1][..], &[1.0, 8.0][..]));
///
/// let mut twice = a.clone();
/// twice.values_mut().iter_mut().for_each(|value| *value *= 2.0);
/// plan.compute_into(twice.view(), a.view(), &mut c)?; // new values, same pattern: nothing is allocated
/// assert_eq!(c.row(0), (&[0, 1][..], &[2.0, 16.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProductPlan {
    rows: Range<usize>,
    /// Columns of A, rows of B.
    inner: usize,
    cols: usize,
    mark_of_b: u64,
    pieces: Vec<Piece>,
}

/// Some consecutive rows of C.
#[derive(Clone, Debug)]
struct Piece {
    /// As rows of A.
    rows: Range<usize>,
    /// Of these rows of A.
    mark: u64,
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

impl ProductPlan {
    /// The symbolic phase. Values are not read.
    ///
    /// # Errors
    /// If `a` has not as many columns as `b` has rows, or not the rows asked for.
    pub fn new<S: Store, U: Store>(
        a: CsrRef<'_, S>,
        rows: Range<usize>,
        b: CsrRef<'_, U>,
    ) -> Result<ProductPlan, MatrixError> {
        check_rows(a, &rows)?;
        same("rows of the right factor", a.cols(), b.rows())?;
        let (inner, cols) = (b.rows(), b.cols());
        let (mut pieces, mark_of_b) =
            rayon::join(|| cut(a.into(), rows.clone(), b.into(), cols), || Pattern::from(b).mark());
        let mut begin = 0;
        for piece in &mut pieces {
            piece.begin = begin;
            begin += piece.columns.len();
        }
        Ok(ProductPlan { rows, inner, cols, mark_of_b, pieces })
    }

    /// Rows of C.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Columns of C.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entries of C.
    pub fn nnz(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.begin + piece.columns.len())
    }

    /// The numeric phase, into a new matrix.
    ///
    /// # Errors
    /// If the patterns of `a` and `b` are not those the plan was made for.
    pub fn compute<T: Real>(&self, a: CsrRef<'_, T>, b: CsrRef<'_, T>) -> Result<Csr<T>, MatrixError> {
        self.check(a, b)?;
        let nnz = self.nnz();
        let (mut row_ptr, mut columns, mut values) =
            (vec![0; self.rows() + 1], vec![0; nnz], vec![T::zero(); nnz]);
        let out = Out { ends: &mut row_ptr[1..], columns: &mut columns, values: &mut values };
        over_pieces(&self.pieces, out, &|piece, out| {
            for (end, &planned) in out.ends.iter_mut().zip(&piece.ends) {
                *end = piece.begin + planned as usize;
            }
            out.columns.copy_from_slice(&piece.columns);
            piece.compute(a, b, out.values)
        })?;
        Ok(Csr::from_valid_parts(self.rows(), self.cols, row_ptr, columns, values))
    }

    /// The numeric phase, into a matrix that [`compute`](Self::compute) has given before.
    ///
    /// # Errors
    /// If the patterns of `a` and `b` are not those the plan was made for, or that of `c` is not the product's. The
    /// values of `c` are then undefined, its pattern is as before.
    pub fn compute_into<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        c: &mut Csr<T>,
    ) -> Result<(), MatrixError> {
        self.check(a, b)?;
        for (what, expected, found) in [
            ("rows of the product", self.rows(), c.rows()),
            ("columns of the product", self.cols, c.cols()),
            ("entries of the product", self.nnz(), c.nnz()),
        ] {
            same(what, expected, found)?;
        }
        let (row_ptr, columns, values) = c.parts_mut();
        let out = Out { ends: &mut row_ptr[1..], columns, values };
        over_pieces(&self.pieces, out, &|piece, out| {
            let ends = piece.ends.iter().map(|&end| piece.begin + end as usize);
            if !ends.eq(out.ends.iter().copied()) || piece.columns != out.columns {
                return Err(MatrixError::OtherPattern { what: "the matrix to hold the product" });
            }
            piece.compute(a, b, out.values)
        })
    }

    /// Checks all of `a` and `b` but the rows of `a`, which every piece checks for itself.
    fn check<T: Real>(&self, a: CsrRef<'_, T>, b: CsrRef<'_, T>) -> Result<(), MatrixError> {
        check_rows(a, &self.rows)?;
        same("columns of the left factor", self.inner, a.cols())?;
        same("rows of the right factor", self.inner, b.rows())?;
        same("columns of the right factor", self.cols, b.cols())?;
        if Pattern::from(b).mark() == self.mark_of_b {
            Ok(())
        } else {
            Err(MatrixError::OtherPattern { what: "the right factor" })
        }
    }
}

/// C = A[rows, :] · B, once. Rows of C are sorted; entries that cancel are kept as zeros.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::product};
/// let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
/// let c = product(a.view(), 1..2, a.view())?; // the second row only
/// assert_eq!((c.rows(), c.row(0)), (1, (&[1][..], &[9.0][..])));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If `a` has not as many columns as `b` has rows, or not the rows asked for.
pub fn product<T: Real>(
    a: CsrRef<'_, T>,
    rows: Range<usize>,
    b: CsrRef<'_, T>,
) -> Result<Csr<T>, MatrixError> {
    ProductPlan::new(a, rows, b)?.compute(a, b)
}

fn same(what: &'static str, expected: usize, found: usize) -> Result<(), MatrixError> {
    if expected == found { Ok(()) } else { Err(MatrixError::Mismatch { what, expected, found }) }
}

/// Cuts `rows` into pieces of about [`PIECE_TERMS`] and finds the columns of each. The cuts depend on the matrices
/// alone.
fn cut(a: Pattern<'_>, rows: Range<usize>, b: Pattern<'_>, cols: usize) -> Vec<Piece> {
    // By the entries of A first, which costs nothing; the small pieces then by terms, which have to be counted.
    let middle = match split_row(a.row_ptr, &rows) {
        Some(middle) => middle,
        None => {
            let size = Size::of(a, rows.clone(), b);
            if size.terms <= PIECE_TERMS || rows.len() < 2 {
                return vec![Piece::find(a, rows, b, cols, &size)];
            }
            rows.start + rows.len() / 2
        }
    };
    let (mut left, mut right) =
        rayon::join(|| cut(a, rows.start..middle, b, cols), || cut(a, middle..rows.end, b, cols));
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
    /// The symbolic phase of one piece.
    fn find(a: Pattern<'_>, rows: Range<usize>, b: Pattern<'_>, cols: usize, size: &Size) -> Piece {
        let mut piece = Piece {
            mark: a.mark_of(rows.clone()),
            // Clearing a window must not cost more than the work within it.
            in_window: size.span.len() <= size.terms.min(MAX_WINDOW),
            span: size.span.clone(),
            begin: 0,
            ends: Vec::with_capacity(rows.len()),
            columns: Vec::new(),
            rows,
        };
        if piece.in_window {
            let window = ColumnWindow::new(&piece.span);
            piece.find_columns(a, b, window);
        } else {
            piece.find_columns(a, b, ColumnHash::new(size.terms_of_row.min(cols)));
        }
        piece
    }

    fn find_columns(&mut self, a: Pattern<'_>, b: Pattern<'_>, mut found: impl FindColumns) {
        for row in self.rows.clone() {
            found.begin(|| a.row(row).iter().map(|&j| b.row(j as usize).len()).sum());
            for &j in a.row(row) {
                found.add(b.row(j as usize));
            }
            self.columns.extend_from_slice(found.sorted());
            self.ends.push(self.columns.len() as u32);
        }
        self.columns.shrink_to_fit();
    }

    /// The numeric phase of one piece.
    fn compute<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        values: &mut [T],
    ) -> Result<(), MatrixError> {
        if Pattern::from(a).mark_of(self.rows.clone()) != self.mark {
            return Err(MatrixError::OtherPattern { what: "the left factor" });
        }
        if self.in_window {
            self.sum_values(a, b, values, ValueWindow::new(&self.span));
        } else {
            let mut begin = 0;
            let lengths = self.ends.iter().map(|&end| end - std::mem::replace(&mut begin, end));
            let longest = lengths.max().unwrap_or(0) as usize;
            self.sum_values(a, b, values, ValueHash::new(longest));
        }
        Ok(())
    }

    fn sum_values<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        values: &mut [T],
        mut row_sums: impl SumValues<T>,
    ) {
        let mut begin = 0;
        for (row, &end) in self.rows.clone().zip(&self.ends) {
            let range = std::mem::replace(&mut begin, end as usize)..end as usize;
            let (columns, values) = (&self.columns[range.clone()], &mut values[range]);
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

/// The part of a result that belongs to some pieces.
struct Out<'a, T> {
    ends: &'a mut [usize],
    columns: &'a mut [u32],
    values: &'a mut [T],
}

/// Calls `work` on every piece with its part of the result. Of several errors the first piece's is reported.
fn over_pieces<T: Send>(
    pieces: &[Piece],
    out: Out<'_, T>,
    work: &(impl Fn(&Piece, Out<'_, T>) -> Result<(), MatrixError> + Sync),
) -> Result<(), MatrixError> {
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
    use crate::algebra::testing::{aggregation3d, dense, of_extents, on_threads, poisson3d, range_within};
    use proptest::prelude::*;

    fn dense_product(a: &Csr<f64>, b: &Csr<f64>) -> Vec<Vec<f64>> {
        let (a, b) = (dense(a.view()), dense(b.view()));
        let cols = b.first().map_or(0, Vec::len);
        let entry = |row: &[f64], k: usize| row.iter().zip(&b).map(|(x, b)| x * b[k]).sum::<f64>();
        a.iter().map(|row| (0..cols).map(|k| entry(row, k)).collect()).collect()
    }

    /// `a` with its rows and columns renumbered by a stride, so that neighbours are far apart.
    fn scattered(a: &Csr<f64>, stride: usize) -> Csr<f64> {
        let place = |k: usize, extent: usize| k * stride % extent;
        let mut triplets = Vec::new();
        for row in 0..a.rows() {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                triplets.push((place(row, a.rows()), place(column as usize, a.cols()) as u32, value));
            }
        }
        triplets.sort_by_key(|&(row, column, _)| (row, column));
        let mut row_ptr = vec![0; a.rows() + 1];
        for &(row, ..) in &triplets {
            row_ptr[row + 1] += 1;
        }
        for row in 0..a.rows() {
            row_ptr[row + 1] += row_ptr[row];
        }
        let (columns, values) = triplets.into_iter().map(|(_, column, value)| (column, value)).unzip();
        Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values).unwrap()
    }

    #[test]
    fn edges() {
        let empty = |rows, cols| Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
        for (m, k, n) in [(0, 0, 0), (0, 3, 2), (2, 0, 3), (2, 3, 0), (1, 1, 1)] {
            let c = product(empty(m, k).view(), 0..m, empty(k, n).view()).unwrap();
            assert_eq!(c, empty(m, n));
        }
        // 1 x n times n x 1, and n x 1 times 1 x n: one long row, and every row dense.
        let n = 700u32;
        let row = Csr::try_new(1, 700, vec![0, 700], (0..n).collect(), vec![1.0; 700]).unwrap();
        let column = Csr::try_new(700, 1, (0..=700).collect(), vec![0; 700], vec![2.0; 700]).unwrap();
        let inner = product(row.view(), 0..1, column.view()).unwrap();
        assert_eq!(inner.row(0), (&[0][..], &[1400.0][..]));
        let outer = product(column.view(), 0..700, row.view()).unwrap();
        assert_eq!(outer.nnz(), 490_000);
        assert!(outer.values().iter().all(|&value| value == 2.0));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (a, p) = (poisson3d(6), aggregation3d(6));
        let mismatch = |what, expected, found| MatrixError::Mismatch { what, expected, found };
        let refused = |result: Result<Csr<f64>, _>| result.unwrap_err();
        assert_eq!(
            refused(product(p.view(), p.all_rows(), a.view())),
            mismatch("rows of the right factor", 8, 216)
        );
        let what = "rows of the matrix, for the range asked for";
        assert_eq!(refused(product(a.view(), 0..217, p.view())), mismatch(what, 217, 216));
        let backwards = Range { start: 3, end: 1 };
        assert!(product(a.view(), backwards, p.view()).is_err());

        let plan = ProductPlan::new(a.view(), a.all_rows(), p.view()).unwrap();
        let mut c = plan.compute(a.view(), p.view()).unwrap();
        assert_eq!((plan.rows(), plan.cols(), plan.nnz()), (c.rows(), c.cols(), c.nnz()));
        // The same sizes, other columns.
        let other = |m: &Csr<f64>| {
            let (row_ptr, columns, values) = m.clone().into_parts();
            let turned = columns.iter().map(|&column| m.cols() as u32 - 1 - column).collect();
            Csr::from_unsorted(m.rows(), m.cols(), row_ptr, turned, values).unwrap()
        };
        let (other_a, other_p, mut other_c) = (other(&a), other(&p), other(&c));
        let pattern = |what| MatrixError::OtherPattern { what };
        assert_eq!(refused(plan.compute(other_a.view(), p.view())), pattern("the left factor"));
        assert_eq!(refused(plan.compute(a.view(), other_p.view())), pattern("the right factor"));
        let error = plan.compute_into(a.view(), p.view(), &mut other_c).unwrap_err();
        assert_eq!(error, pattern("the matrix to hold the product"));
        let error = plan.compute_into(a.view(), p.view(), &mut other_a.clone()).unwrap_err();
        assert_eq!(error, mismatch("columns of the product", 8, 216));
        plan.compute_into(a.view(), p.view(), &mut c).unwrap();
    }

    #[test]
    fn window_and_hash_and_any_number_of_threads_give_the_same_bits() {
        // Values that do not add up exactly, so that another order of summation would show.
        let mut a = poisson3d(40);
        for (k, value) in a.values_mut().iter_mut().enumerate() {
            *value *= 1.0 + (k as f64).sin();
        }
        let a2 = on_threads(1, || product(a.view(), a.all_rows(), a.view())).unwrap();
        let plan = on_threads(1, || ProductPlan::new(a.view(), a.all_rows(), a.view())).unwrap();
        assert!(plan.pieces.len() > 4 && plan.pieces.iter().all(|piece| piece.in_window));
        assert_eq!(on_threads(2, || product(a.view(), a.all_rows(), a.view())).unwrap(), a2);

        let mut by_hash = plan.clone();
        for piece in &mut by_hash.pieces {
            piece.in_window = false;
            let size = Size::of(Pattern::from(a.view()), piece.rows.clone(), Pattern::from(a.view()));
            let found = std::mem::take(&mut piece.columns);
            piece.ends.clear();
            let hash = ColumnHash::new(size.terms_of_row);
            piece.find_columns(a.view().into(), a.view().into(), hash);
            assert_eq!(piece.columns, found);
        }
        assert_eq!(by_hash.compute(a.view(), a.view()).unwrap(), a2);
    }

    #[test]
    fn far_apart_columns_go_by_hash() {
        let a = poisson3d(60);
        let b = scattered(&a, 100_003);
        let plan = ProductPlan::new(b.view(), b.all_rows(), b.view()).unwrap();
        assert!(plan.pieces.iter().all(|piece| !piece.in_window));
        let c = plan.compute(b.view(), b.view()).unwrap();
        // Renumbering commutes with multiplying; integers add up exactly.
        assert_eq!(c, scattered(&product(a.view(), a.all_rows(), a.view()).unwrap(), 100_003));
        assert_eq!(on_threads(1, || product(b.view(), b.all_rows(), b.view())).unwrap(), c);
    }

    proptest! {
        #[test]
        fn agrees_with_the_dense_product(
            (a, b, rows) in (0..20usize, 0..20usize, 0..20usize)
                .prop_flat_map(|(m, k, n)| (of_extents(m, k), of_extents(k, n), range_within(m)))
        ) {
            let c = product(a.view(), a.all_rows(), b.view()).unwrap();
            let checked = Csr::try_new(
                a.rows(), b.cols(), c.row_ptr().to_vec(), c.columns().to_vec(), c.values().to_vec());
            prop_assert_eq!(checked.as_ref(), Ok(&c));
            if b.rows() > 0 {
                prop_assert_eq!(dense(c.view()), dense_product(&a, &b));
            }
            // A range of rows is those rows of the whole; and the pattern is the pattern of the patterns.
            let part = product(a.view(), rows.clone(), b.view()).unwrap();
            prop_assert_eq!(part.rows(), rows.len());
            for k in 0..rows.len() {
                prop_assert_eq!(part.row(k), c.row(rows.start + k));
            }
            let plan = ProductPlan::new(a.view(), rows, b.view()).unwrap();
            let mut ones = plan.compute(a.view(), b.view()).unwrap();
            let one = |m: &Csr<f64>| {
                let mut m = m.clone();
                m.values_mut().fill(1.0);
                m
            };
            plan.compute_into(one(&a).view(), one(&b).view(), &mut ones).unwrap();
            prop_assert!(ones.values().iter().all(|&value| value >= 1.0));
        }
    }
}
