//! The operator D⁻¹A on a range of rows, and its inner product.
//!
//! ```text
//! y = D⁻¹A x        (x, y) = Σᵢ |dᵢ| xᵢ yᵢ
//! ```
//!
//! For symmetric A with a positive diagonal, the operator is self-adjoint in this inner product. An
//! application costs one pass over the matrix, an inner product one pass over three vectors. Sums
//! are computed over blocks of fixed length and the block sums are added exactly, so the result is
//! bitwise the same for any number of threads and processes.

use std::ops::Range;

use super::SpectrumError;
use super::gershgorin::check_range;
use crate::graph::check_square;
use crate::hash::uniform_signed;
use crate::matrix::rounded;
use crate::number::Store;
use crate::parallel::{collect, first_position, map_pieces, over_pieces, over_rows, over_two};
use crate::{CsrRef, ExactSum, MatrixError};

/// Number of elements summed sequentially by one task. The result depends on it.
const BLOCK: usize = 512;

/// D⁻¹A for the rows that one process owns.
///
/// Row `rows.start + k` of the matrix is element `k` of a vector of owned rows. The operator is
/// applied to a vector with one element per column of the matrix, halo included.
///
/// ```
/// use ziggurat_sparse::{Csr, spectrum::JacobiScaled};
/// // [ 2 -1 ]
/// // [-1  4 ]
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 4.0])?;
/// let operator = JacobiScaled::try_new(a.view(), a.all_rows())?;
/// let mut y = [0.0; 2];
/// operator.apply(&[1.0, 1.0], &mut y);
/// assert_eq!(y, [0.5, 0.75]);
/// assert_eq!(operator.dot(&[1.0, 1.0], &y), 4.0);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug)]
pub struct JacobiScaled<'a, T> {
    a: CsrRef<'a, T>,
    rows: Range<usize>,
    diagonal: Vec<f64>,
}

impl<'a, T: Store> JacobiScaled<'a, T> {
    /// Extracts the diagonal of `rows`. Fails on the first row where it is zero, missing or not
    /// finite.
    pub fn try_new(a: CsrRef<'a, T>, rows: Range<usize>) -> Result<Self, MatrixError> {
        check_range(a, &rows)?;
        let diagonal: Vec<f64> = rounded(&a.diagonal(rows.clone()));
        match first_position(&diagonal, |&value| value == 0.0 || !value.is_finite()) {
            None => Ok(JacobiScaled { a, rows, diagonal }),
            Some(at) => Err(MatrixError::ZeroDiagonal { row: rows.start + at, value: diagonal[at] }),
        }
    }

    /// The operator for a whole matrix, which must be square.
    pub(super) fn whole(a: CsrRef<'a, T>) -> Result<Self, MatrixError> {
        check_square(a)?;
        Self::try_new(a, a.all_rows())
    }

    /// If a vector became infinite or NaN because of a matrix entry, reports that entry instead.
    pub(super) fn name_entry<R>(&self, result: Result<R, SpectrumError>) -> Result<R, SpectrumError> {
        if matches!(result, Err(SpectrumError::NotFinite { .. })) {
            self.a.check_finite()?;
        }
        result
    }

    /// Fails on the first negative diagonal entry: the operator is then not self-adjoint, and
    /// Lanczos does not apply.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, spectrum::JacobiScaled};
    /// let a = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![-2.0])?;
    /// assert!(JacobiScaled::try_new(a.view(), a.all_rows())?.check_positive().is_err());
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn check_positive(&self) -> Result<(), SpectrumError> {
        match first_position(&self.diagonal, |&value| value < 0.0) {
            None => Ok(()),
            Some(at) => {
                let (row, value) = (self.rows.start + at, self.diagonal[at]);
                Err(SpectrumError::NegativeDiagonal { row, value })
            }
        }
    }

    /// A start vector for the owned rows, the first of which has the global index
    /// `first_global_id`. It depends only on global indices and the diagonal, not on the
    /// distribution of rows, and has no preferred direction in this inner product.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, spectrum::JacobiScaled};
    /// let a = Csr::<f64>::identity(4)?;
    /// let whole = JacobiScaled::try_new(a.view(), 0..4)?.start_vector(100);
    /// let lower_half = JacobiScaled::try_new(a.view(), 2..4)?.start_vector(102);
    /// assert_eq!(whole[2..], lower_half);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn start_vector(&self, first_global_id: u64) -> Vec<f64> {
        collect(self.diagonal.len(), |k| {
            uniform_signed(first_global_id.wrapping_add(k as u64)) / self.diagonal[k].abs().sqrt()
        })
    }

    /// y = D⁻¹A x for the owned rows.
    ///
    /// # Panics
    /// If `x` has fewer elements than the matrix has columns, or the length of `y` is not the
    /// number of owned rows.
    pub fn apply(&self, x: &[f64], y: &mut [f64]) {
        assert!(x.len() >= self.a.cols() && y.len() == self.rows.len(), "vectors that fit the matrix");
        over_rows(&|row| self.a.row_ptr()[row], self.rows.clone(), 1, y, &|rows, y| {
            for (row, y) in rows.zip(y) {
                let (columns, values) = self.a.row(row);
                let entries = columns.iter().zip(values);
                let sum: f64 = entries.map(|(&column, value)| value.wide() * x[column as usize]).sum();
                *y = sum / self.diagonal[row - self.rows.start];
            }
        });
    }

    /// Computes y = D⁻¹A x as [`apply`](Self::apply) and (x, y) as [`dot`](Self::dot), in one pass.
    /// Requires that all rows are owned.
    pub(super) fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        sum_of_blocks(y, &|first, y| {
            let mut sum = 0.0;
            for (k, y) in y.iter_mut().enumerate() {
                let (columns, values) = self.a.row(self.rows.start + first + k);
                let entries = columns.iter().zip(values);
                let image: f64 = entries.map(|(&column, value)| value.wide() * x[column as usize]).sum();
                let diagonal = self.diagonal[first + k];
                *y = image / diagonal;
                sum += diagonal.abs() * x[first + k] * *y;
            }
            sum
        })
    }

    /// Computes y ← a y + b v + c u and (y, y) as [`dot`](Self::dot), in one pass.
    pub(super) fn combine_dot(&self, a: f64, y: &mut [f64], b: f64, v: &[f64], c: f64, u: &[f64]) -> f64 {
        sum_of_blocks(y, &|first, y| {
            let range = first..first + y.len();
            combine_block(a, y, b, &v[range.clone()], c, &u[range.clone()]);
            y.iter().zip(&self.diagonal[range]).map(|(y, d)| d.abs() * y * y).sum()
        })
    }

    /// (x, y) = Σ |dᵢ| xᵢ yᵢ over the owned rows.
    ///
    /// # Panics
    /// If the lengths of the vectors are not the number of owned rows.
    pub fn dot(&self, x: &[f64], y: &[f64]) -> f64 {
        self.exact_dot(x, y).rounded()
    }

    /// The contribution of this process to (x, y). Under MPI, add the digits of all contributions:
    /// the result is bitwise the same for any distribution of rows in which each process starts at
    /// a multiple of 512.
    ///
    /// # Panics
    /// If the lengths of the vectors are not the number of owned rows.
    pub fn exact_dot(&self, x: &[f64], y: &[f64]) -> ExactSum {
        assert!(x.len() == self.rows.len() && y.len() == x.len(), "vectors of the owned rows");
        let block = |range: Range<usize>| -> f64 {
            let (d, x, y) = (&self.diagonal[range.clone()], &x[range.clone()], &y[range]);
            d.iter().zip(x).zip(y).map(|((d, x), y)| d.abs() * x * y).sum()
        };
        map_pieces(0..x.len(), BLOCK, &block).into_iter().collect()
    }
}

/// Calls `work` with blocks of `y`, each with the index of its first element, and adds the results
/// exactly.
fn sum_of_blocks(y: &mut [f64], work: &(dyn Fn(usize, &mut [f64]) -> f64 + Sync)) -> f64 {
    let mut sums = vec![0.0; y.len().div_ceil(BLOCK)];
    over_two(y, &mut sums, [BLOCK, 1], &|index, y, sum| sum[0] = work(index * BLOCK, y));
    sums.into_iter().collect::<ExactSum>().rounded()
}

/// y ← a y + b v + c u, in one pass.
pub(super) fn combine(a: f64, y: &mut [f64], b: f64, v: &[f64], c: f64, u: &[f64]) {
    over_pieces(y, &|first, y| combine_block(a, y, b, &v[first..], c, &u[first..]));
}

fn combine_block(a: f64, y: &mut [f64], b: f64, v: &[f64], c: f64, u: &[f64]) {
    for ((y, v), u) in y.iter_mut().zip(v).zip(u) {
        *y = a * *y + b * v + c * u;
    }
}

/// Divides every element by `norm`.
pub(super) fn normalise(x: &mut [f64], norm: f64) {
    over_pieces(x, &|_, x| x.iter_mut().for_each(|x| *x /= norm));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    #[test]
    fn a_range_of_rows_with_a_halo() {
        // Row 1 is owned; it reads columns 0 and 2 of a vector of three.
        let a = Csr::try_new(2, 3, vec![0, 1, 4], vec![0, 0, 1, 2], vec![7.0, 1.0, -2.0, 3.0]).unwrap();
        let operator = JacobiScaled::try_new(a.view(), 1..2).unwrap();
        let mut y = [0.0];
        operator.apply(&[1.0, 10.0, 100.0], &mut y);
        assert_eq!(y, [(1.0 - 20.0 + 300.0) / -2.0]);
        assert_eq!(operator.dot(&[3.0], &[5.0]), 30.0);
        let fault = SpectrumError::NegativeDiagonal { row: 1, value: -2.0 };
        assert_eq!(operator.check_positive(), Err(fault));
    }

    #[test]
    fn a_missing_diagonal_is_named() {
        let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0]).unwrap();
        let fault = JacobiScaled::try_new(a.view(), 0..2).unwrap_err();
        assert_eq!(fault, MatrixError::ZeroDiagonal { row: 1, value: 0.0 });
        assert!(matches!(JacobiScaled::try_new(a.view(), 0..3), Err(MatrixError::Mismatch { .. })));
    }

    #[test]
    fn the_start_vector_does_not_know_how_rows_are_distributed() {
        let a = Csr::<f64>::identity(10).unwrap();
        let whole = JacobiScaled::try_new(a.view(), 0..10).unwrap().start_vector(0);
        let part = JacobiScaled::try_new(a.view(), 4..10).unwrap().start_vector(4);
        assert_eq!(whole[4..], part);
    }
}
