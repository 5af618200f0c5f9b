//! Sparse product: C = A[rows, :] · B, row by row (Gustavson, 1978), in one pass or in two phases.
//!
//! Row i of C is Σ_j A[i, j] · B[j, :]. The *symbolic* phase finds the columns of every row of C
//! and is kept as a [`ProductPlan`]; the *numeric* phase computes the values, and can be repeated
//! for new values of A and B. `pieces.rs` splits the work. A product that is computed only once
//! takes a single pass ([`product`], in `row_product.rs`).
//!
//! Cost: one step per term A[i, j] · B[j, k] in each phase, and sorting the columns of each row of
//! C in the symbolic phase. Memory: the plan takes 4 bytes per entry and per row of C.

use std::ops::Range;

use super::pattern::Pattern;
use super::pieces::{Marked, Pieces};
use super::row_product::RowProduct;
use super::{check_extent, check_rows};
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::{Real, Store};

/// The symbolic phase of C = A[rows, :] · B, done once. [`compute`](Self::compute) and
/// [`compute_into`](Self::compute_into) are the numeric phase.
///
/// C has an entry wherever the patterns give one, even if the values cancel. So the pattern of C
/// does not depend on values, and is symmetric when it should be.
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
/// // New values, same pattern: nothing is allocated.
/// plan.compute_into(twice.view(), a.view(), &mut c)?;
/// assert_eq!(c.row(0), (&[0, 1][..], &[2.0, 16.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProductPlan {
    /// Columns of A, rows of B.
    inner: usize,
    mark_of_b: u64,
    pieces: Pieces,
}

const LEFT: &str = "the left factor";
const RIGHT: &str = "the right factor";

impl ProductPlan {
    /// The symbolic phase. Values are not read.
    ///
    /// # Errors
    /// If the columns of `a` do not match the rows of `b`, or the range of rows is out of bounds.
    pub fn new<S: Store, U: Store>(
        a: CsrRef<'_, S>,
        rows: Range<usize>,
        b: CsrRef<'_, U>,
    ) -> Result<ProductPlan, MatrixError> {
        check_rows(a, &rows)?;
        check_extent("rows of the right factor", a.cols(), b.rows())?;
        let pieces = Pieces::find(a.into(), rows, b.into(), b.cols(), Marked::Yes);
        Ok(ProductPlan { inner: b.rows(), mark_of_b: Pattern::from(b).mark(), pieces })
    }

    /// Rows of C.
    pub fn rows(&self) -> usize {
        self.pieces.rows().len()
    }

    /// Columns of C.
    pub fn cols(&self) -> usize {
        self.pieces.cols()
    }

    /// Entries of C.
    pub fn nnz(&self) -> usize {
        self.pieces.nnz()
    }

    /// The numeric phase, into a new matrix.
    ///
    /// # Errors
    /// If `a` or `b` has another pattern than the plan was made for.
    pub fn compute<T: Real>(&self, a: CsrRef<'_, T>, b: CsrRef<'_, T>) -> Result<Csr<T>, MatrixError> {
        self.check(a, b)?;
        self.pieces.compute(a, b).map_err(|foreign| foreign.error(LEFT))
    }

    /// The numeric phase, into a matrix that [`compute`](Self::compute) returned. Allocates only
    /// scratch memory of the threads.
    ///
    /// # Errors
    /// If `a` or `b` has another pattern than the plan was made for, or `c` has another pattern
    /// than the product. The values of `c` are then unspecified, its pattern is unchanged.
    pub fn compute_into<T: Real>(
        &self,
        a: CsrRef<'_, T>,
        b: CsrRef<'_, T>,
        c: &mut Csr<T>,
    ) -> Result<(), MatrixError> {
        self.check(a, b)?;
        self.pieces.compute_into(a, b, c).map_err(|foreign| foreign.error(LEFT))
    }

    /// Checks `a` and `b`, except for the rows of `a`, which every piece checks.
    fn check<T: Real>(&self, a: CsrRef<'_, T>, b: CsrRef<'_, T>) -> Result<(), MatrixError> {
        if a.rows() < self.pieces.rows().end || a.cols() != self.inner {
            return Err(MatrixError::OtherPattern { what: LEFT });
        }
        if b.rows() != self.inner || b.cols() != self.cols() || Pattern::from(b).mark() != self.mark_of_b {
            return Err(MatrixError::OtherPattern { what: RIGHT });
        }
        Ok(())
    }
}

/// C = A[rows, :] · B in one pass. Rows of C are sorted; entries that cancel are kept as zeros.
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
/// If the columns of `a` do not match the rows of `b`, or the range of rows is out of bounds.
pub fn product<T: Real>(
    a: CsrRef<'_, T>,
    rows: Range<usize>,
    b: CsrRef<'_, T>,
) -> Result<Csr<T>, MatrixError> {
    check_rows(a, &rows)?;
    check_extent("rows of the right factor", a.cols(), b.rows())?;
    RowProduct { a, b: &b, cols: b.cols() }.matrix(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::testing::{aggregation3d, dense, of_extents, poisson3d, range_within};
    use proptest::prelude::*;

    fn dense_product(a: &Csr<f64>, b: &Csr<f64>) -> Vec<Vec<f64>> {
        let (a, b) = (dense(a.view()), dense(b.view()));
        let cols = b.first().map_or(0, Vec::len);
        let entry = |row: &[f64], k: usize| row.iter().zip(&b).map(|(x, b)| x * b[k]).sum::<f64>();
        a.iter().map(|row| (0..cols).map(|k| entry(row, k)).collect()).collect()
    }

    #[test]
    fn edges() {
        let empty = |rows, cols| Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
        for (m, k, n) in [(0, 0, 0), (0, 3, 2), (2, 0, 3), (2, 3, 0), (1, 1, 1)] {
            let c = product(empty(m, k).view(), 0..m, empty(k, n).view()).unwrap();
            assert_eq!(c, empty(m, n));
        }
        // 1 x n times n x 1, and n x 1 times 1 x n: one long row, and all rows dense.
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
        assert_eq!(error, pattern("the matrix to hold the product"));
        let small = poisson3d(5);
        assert_eq!(refused(plan.compute(small.view(), p.view())), pattern("the left factor"));
        assert_eq!(refused(plan.compute(a.view(), a.view())), pattern("the right factor"));
        plan.compute_into(a.view(), p.view(), &mut c).unwrap();
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
            // A range of rows gives those rows of the whole product, and the pattern does not
            // depend on values.
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
