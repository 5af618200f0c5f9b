//! C = A · B in one pass, row by row (Gustavson, 1978): the columns and values of a row are found
//! together.
//!
//! Row i of C is Σ_j A[i, j] · B[j, :], summed in a sparse accumulator. For a single product this
//! takes half as long as a symbolic and a numeric phase. B can be anything with rows, such as a
//! product that was left in pieces.
//!
//! Cost: one step per term A[i, j] · B[j, k], and sorting the columns of each row if sorted rows
//! are required.

use std::ops::Range;

use super::sparse_accumulator::{HashAccumulator, SparseAccumulator, SumRow};
use crate::matrix::{CollectedRows, Csr, CsrRef, MatrixError};
use crate::number::Real;

/// Rows whose columns lie within this distance stay in a second-level cache when every column has
/// its own sum.
const NEAR: usize = 64 * 1024;

/// Number of rows sampled to estimate how far apart the columns of a row are.
const SAMPLES: usize = 64;

/// A right factor.
pub(super) trait Rows<T>: Sync {
    /// Columns and values of a row.
    fn row(&self, row: usize) -> (&[u32], &[T]);
}

impl<T: Sync> Rows<T> for CsrRef<'_, T> {
    #[inline]
    fn row(&self, row: usize) -> (&[u32], &[T]) {
        CsrRef::row(self, row)
    }
}

impl<T: Sync> Rows<T> for CollectedRows<T> {
    #[inline]
    fn row(&self, row: usize) -> (&[u32], &[T]) {
        CollectedRows::row(self, row)
    }
}

/// A product of matrices with matching extents.
pub(super) struct RowProduct<'a, T, B> {
    pub(super) a: CsrRef<'a, T>,
    pub(super) b: &'a B,
    /// The columns of B.
    pub(super) cols: usize,
}

impl<T: Real, B: Rows<T>> RowProduct<'_, T, B> {
    /// These rows of C.
    pub(super) fn matrix(&self, rows: Range<usize>) -> Result<Csr<T>, MatrixError> {
        if is_local(self.a, self.b, self.cols, &rows) {
            self.matrix_by(rows, || SparseAccumulator::new(self.cols))
        } else {
            self.matrix_by(rows, || HashAccumulator::new(self.cols))
        }
    }

    fn matrix_by<S: SumRow<T>>(
        &self,
        rows: Range<usize>,
        sums: impl Fn() -> S + Sync,
    ) -> Result<Csr<T>, MatrixError> {
        Csr::collect(self.a.row_ptr(), rows, self.cols, sums, |sums, row, entries| {
            self.sum(sums, row);
            sums.sort_row();
            sums.drain_row(entries);
        })
    }

    /// All rows of C, for use in another product: the columns of a row are not sorted.
    pub(super) fn in_pieces(&self) -> CollectedRows<T> {
        if is_local(self.a, self.b, self.cols, &self.a.all_rows()) {
            self.in_pieces_by(|| SparseAccumulator::new(self.cols))
        } else {
            self.in_pieces_by(|| HashAccumulator::new(self.cols))
        }
    }

    fn in_pieces_by<S: SumRow<T>>(&self, sums: impl Fn() -> S + Sync) -> CollectedRows<T> {
        CollectedRows::collect(self.a.row_ptr(), self.a.rows(), sums, |sums, row, entries| {
            self.sum(sums, row);
            sums.drain_row(entries);
        })
    }

    #[inline(always)]
    fn sum(&self, sums: &mut impl SumRow<T>, row: usize) {
        let (columns, values) = self.a.row(row);
        sums.begin_row(|| columns.iter().map(|&j| self.b.row(j as usize).0.len()).sum());
        for (&j, &scale) in columns.iter().zip(values) {
            let (columns, values) = self.b.row(j as usize);
            sums.add_row(scale, columns, values);
        }
    }
}

/// Whether the columns of most rows of a product a · b with `cols` columns are close to each other.
pub(super) fn is_local<T: Real, B: Rows<T>>(
    a: CsrRef<'_, T>,
    b: &B,
    cols: usize,
    rows: &Range<usize>,
) -> bool {
    if cols <= NEAR {
        return true;
    }
    let samples = rows.clone().step_by((rows.len() / SAMPLES).max(1));
    let near = |row: usize| {
        let (mut first, mut last) = (u32::MAX, 0);
        for &j in a.row(row).0 {
            for &column in b.row(j as usize).0 {
                (first, last) = (first.min(column), last.max(column));
            }
        }
        last.saturating_sub(first) as usize <= NEAR
    };
    2 * samples.clone().filter(|&row| near(row)).count() >= samples.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::ProductPlan;
    use crate::algebra::testing::{on_threads, poisson3d, scattered};

    /// C by a symbolic and a numeric phase.
    fn in_two_phases(a: &Csr<f64>) -> Csr<f64> {
        ProductPlan::new(a.view(), a.all_rows(), a.view()).unwrap().compute(a.view(), a.view()).unwrap()
    }

    #[test]
    fn the_same_bits_as_in_two_phases_on_any_number_of_threads() {
        // More columns than `NEAR`, and values whose sums are not exact.
        let mut a = poisson3d(52);
        for (k, value) in a.values_mut().iter_mut().enumerate() {
            *value *= 1.0 + (k as f64).sin();
        }
        for (a, local) in [(scattered(&a, 100_003), false), (a, true)] {
            let (view, rows) = (a.view(), a.all_rows());
            let product = RowProduct { a: view, b: &view, cols: a.cols() };
            assert_eq!(is_local(view, &view, a.cols(), &rows), local);
            let expected = in_two_phases(&a);
            assert_eq!(on_threads(1, || product.matrix(rows.clone())).unwrap(), expected);
            assert_eq!(on_threads(2, || product.matrix(rows.clone())).unwrap(), expected);
            let pieces = product.in_pieces();
            for row in rows {
                let (columns, values) = pieces.row(row);
                let mut entries: Vec<_> = columns.iter().copied().zip(values.iter().copied()).collect();
                entries.sort_unstable_by_key(|entry| entry.0);
                let (columns, values) = expected.row(row);
                assert!(entries.into_iter().eq(columns.iter().copied().zip(values.iter().copied())));
            }
        }
    }
}
