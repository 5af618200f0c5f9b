//! C = R[rows, :] · A · P in one pass, without storing A·P.
//!
//! ```text
//! C[I, :] = Σ_i R[I, i] · (Σ_j A[i, j] · P[j, :])
//! ```
//!
//! A row of A·P is computed where it is needed and added at once. It is needed once if every
//! column of R has at most one entry, as in plain aggregation, where the rows of an aggregate
//! belong to no other. Otherwise it would be computed several times, and storing A·P is cheaper.
//! Additions have the same order as in the two products, so the result has the same bits.
//!
//! Cost: one step per entry of A, and one per entry of A·P. Memory: only C.

use std::ops::Range;

use super::row_product::is_local;
use super::sparse_accumulator::{HashAccumulator, SparseAccumulator, SumRow};
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::Real;

/// The three factors.
pub(super) struct FusedTripleProduct<'a, T> {
    pub(super) r: CsrRef<'a, T>,
    pub(super) a: CsrRef<'a, T>,
    pub(super) p: CsrRef<'a, T>,
}

impl<T: Real> FusedTripleProduct<'_, T> {
    /// Whether this way takes less time than two products: P has at most one entry per row, and R
    /// refers to each row of A once on average.
    pub(super) fn pays(&self) -> bool {
        let one_at_most = |row: &[usize]| row[1] - row[0] <= 1;
        self.p.nnz() <= self.p.rows()
            && self.r.nnz() <= self.a.rows()
            && self.p.row_ptr().windows(2).all(one_at_most)
    }

    pub(super) fn matrix(&self, rows: Range<usize>) -> Result<Csr<T>, MatrixError> {
        let cols = self.p.cols();
        if is_local(self.a, &self.p, cols, &self.a.all_rows()) {
            self.matrix_by(rows, || (SparseAccumulator::new(cols), SparseAccumulator::new(cols)))
        } else {
            self.matrix_by(rows, || (HashAccumulator::new(cols), HashAccumulator::new(cols)))
        }
    }

    fn matrix_by<S: SumRow<T>>(
        &self,
        rows: Range<usize>,
        sums: impl Fn() -> (S, S) + Sync,
    ) -> Result<Csr<T>, MatrixError> {
        let entries_of = |row: usize| self.a.row(row).0.len();
        Csr::collect(self.r.row_ptr(), rows, self.p.cols(), sums, |(fine, coarse), row, entries| {
            let (members, weights) = self.r.row(row);
            coarse.begin_row(|| members.iter().map(|&i| entries_of(i as usize)).sum());
            for (&i, &weight) in members.iter().zip(weights) {
                let (columns, values) = self.a.row(i as usize);
                fine.begin_row(|| columns.len());
                fine.reserve(columns.len());
                for (&j, &value) in columns.iter().zip(values) {
                    // At most one entry per row.
                    let place = self.p.row_ptr()[j as usize];
                    if place < self.p.row_ptr()[j as usize + 1] {
                        fine.add_one(self.p.columns()[place], value * self.p.values()[place]);
                    }
                }
                fine.move_to(weight, coarse);
            }
            coarse.sort_row();
            coarse.drain_row(entries);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::row_product::RowProduct;
    use crate::algebra::testing::{aggregation3d, on_threads, poisson3d, scattered};
    use crate::algebra::transpose;

    fn in_two_products(r: &Csr<f64>, a: &Csr<f64>, p: &Csr<f64>) -> Csr<f64> {
        let p = p.view();
        let ap = RowProduct { a: a.view(), b: &p, cols: p.cols() }.in_pieces();
        RowProduct { a: r.view(), b: &ap, cols: p.cols() }.matrix(r.all_rows()).unwrap()
    }

    #[test]
    fn the_same_bits_as_two_products_on_any_number_of_threads() {
        for n in [13, 122] {
            // Values whose sums are not exact, and rows that belong to no aggregate. With the
            // larger grid there are more columns than a window, far apart.
            let mut a = poisson3d(n);
            for (k, value) in a.values_mut().iter_mut().enumerate() {
                *value *= 1.0 + (k as f64).sin();
            }
            let all = aggregation3d(n);
            let p = Csr::collect(
                all.row_ptr(),
                all.all_rows(),
                all.cols(),
                || (),
                |(), row, entries| {
                    if row % 7 != 3 {
                        entries.push(all.row(row).0[0], 0.3 + (row % 5) as f64);
                    }
                },
            )
            .unwrap();
            let a = if n > 100 { scattered(&a, 100_003) } else { a };
            let r = transpose(p.view(), p.all_rows());
            let product = FusedTripleProduct { r: r.view(), a: a.view(), p: p.view() };
            assert!(product.pays());
            let expected = in_two_products(&r, &a, &p);
            for threads in [1, 2] {
                assert_eq!(on_threads(threads, || product.matrix(r.all_rows())).unwrap(), expected);
            }
            assert_eq!(product.matrix(2..5).unwrap().row(1), expected.row(3));
        }
        let a = poisson3d(4);
        assert!(!FusedTripleProduct { r: a.view(), a: a.view(), p: a.view() }.pays());
    }
}
