//! Gershgorin bound on the spectral radius of D⁻¹A:
//!
//! ```text
//! ρ(D⁻¹A) ≤ ‖D⁻¹A‖∞ = maxᵢ Σⱼ |aᵢⱼ| / |aᵢᵢ|
//! ```
//!
//! Every eigenvalue lies in a disc around 1 whose radius is the sum of the off-diagonal magnitudes
//! of some row, divided by its diagonal (S. Gershgorin, 1931). It takes one pass over the matrix
//! and no vectors, and it is rigorous. It is 2 for every weakly diagonally dominant matrix with
//! equality in some row, and (nearly) exact for model problems. For rows that are far from
//! diagonally dominant (elasticity, high order) it is several times too large: see
//! [`lanczos`](super::lanczos()).

use std::ops::Range;

use crate::number::Store;
use crate::parallel::map_pieces;
use crate::{CsrRef, MatrixError};

/// Rows per task.
const GRAIN: usize = 1024;

/// The maximum of Σⱼ |aᵢⱼ| / |aᵢᵢ| over `rows`. Under MPI, the bound is the maximum over all ranks.
///
/// Fails on the first row whose diagonal entry is missing or zero, and on the first entry that is
/// not finite. Returns 0 for an empty range.
///
/// ```
/// use ziggurat_sparse::{Csr, spectrum::gershgorin};
/// // [ 2 -1 ]
/// // [-1  1 ]
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 1.0])?;
/// assert_eq!(gershgorin(a.view(), a.all_rows())?, 2.0);
/// assert_eq!(gershgorin(a.view(), 0..1)?, 1.5);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn gershgorin<T: Store>(a: CsrRef<'_, T>, rows: Range<usize>) -> Result<f64, MatrixError> {
    check_range(a, &rows)?;
    // Rows and pieces are in order, so the error returned belongs to the first faulty row.
    let of_piece = |rows: Range<usize>| largest(rows.map(|row| row_bound(a, row)));
    largest(map_pieces(rows, GRAIN, &of_piece).into_iter())
}

/// The largest of the bounds, at least 0, or the first error.
fn largest(mut bounds: impl Iterator<Item = Result<f64, MatrixError>>) -> Result<f64, MatrixError> {
    bounds.try_fold(0.0, |largest: f64, bound| Ok(largest.max(bound?)))
}

/// Rejects a row range that ends outside the matrix.
pub(super) fn check_range<T>(a: CsrRef<'_, T>, rows: &Range<usize>) -> Result<(), MatrixError> {
    if rows.end > a.rows() {
        let what = "the row range ends outside the matrix";
        return Err(MatrixError::Mismatch { what, expected: a.rows(), found: rows.end });
    }
    Ok(())
}

fn row_bound<T: Store>(a: CsrRef<'_, T>, row: usize) -> Result<f64, MatrixError> {
    let (columns, values) = a.row(row);
    let (mut sum, mut diagonal) = (0.0, 0.0);
    for (&column, value) in columns.iter().zip(values) {
        let size = value.wide().abs();
        sum += size;
        if column as usize == row {
            diagonal = size;
        }
    }
    if !sum.is_finite()
        && let Some(at) = values.iter().position(|value| !value.is_finite())
    {
        let (column, value) = (columns[at] as usize, values[at].wide());
        return Err(MatrixError::NotFinite { row, column, value });
    }
    if diagonal == 0.0 {
        return Err(MatrixError::ZeroDiagonal { row, value: 0.0 });
    }
    Ok(sum / diagonal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    fn matrix(dense: &[&[f64]]) -> Csr<f64> {
        let (rows, cols) = (dense.len(), dense[0].len());
        let columns = (0..rows).flat_map(|_| 0..cols as u32).collect();
        let row_ptr = (0..=rows).map(|row| row * cols).collect();
        Csr::try_new(rows, cols, row_ptr, columns, dense.concat()).unwrap()
    }

    #[test]
    fn the_largest_row_counts_and_signs_do_not() {
        let a = matrix(&[&[-4.0, 1.0, -1.0], &[3.0, 2.0, 0.0], &[0.0, 0.0, 9.0]]);
        assert_eq!(gershgorin(a.view(), 0..3), Ok(2.5));
        assert_eq!(gershgorin(a.view(), 2..3), Ok(1.0));
        assert_eq!(gershgorin(a.view(), 1..1), Ok(0.0));
    }

    #[test]
    fn halo_columns_count_and_halo_rows_do_not() {
        // Rows 0 and 1 are owned, columns 2 and 3 are halo, row 2 is a fetched halo row without a
        // diagonal.
        let a = matrix(&[&[2.0, 0.0, 4.0, 0.0], &[0.0, 1.0, 0.0, 3.0], &[1.0, 1.0, 0.0, 0.0]]);
        assert_eq!(gershgorin(a.view(), 0..2), Ok(4.0));
    }

    #[test]
    fn the_first_faulty_row_is_named() {
        let n = 10_000;
        let mut values = vec![1.0; n];
        values[5000] = 0.0;
        values[7000] = f64::NAN;
        let build = |values: &[f64]| {
            Csr::try_new(n, n, (0..=n).collect(), (0..n as u32).collect(), values.to_vec()).unwrap()
        };
        let a = build(&values);
        assert_eq!(gershgorin(a.view(), 0..n), Err(MatrixError::ZeroDiagonal { row: 5000, value: 0.0 }));
        let error = gershgorin(a.view(), 5001..n).unwrap_err();
        assert!(matches!(error, MatrixError::NotFinite { row: 7000, column: 7000, value } if value.is_nan()));
        assert!(matches!(gershgorin(a.view(), 0..n + 1), Err(MatrixError::Mismatch { .. })));
    }

    #[test]
    fn an_infinite_entry_is_not_a_bound() {
        let a = matrix(&[&[1.0, f64::INFINITY], &[0.0, 1.0]]);
        let fault = MatrixError::NotFinite { row: 0, column: 1, value: f64::INFINITY };
        assert_eq!(gershgorin(a.view(), 0..2), Err(fault));
    }
}
