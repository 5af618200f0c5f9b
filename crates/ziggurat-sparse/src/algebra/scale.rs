//! Diagonal scaling: D A, A D, D A D and L A[rows, :] R, with the diagonals given as vectors.
//!
//! Scaling by powers of two is exact. Cost: one pass over the matrix; in place, only the values are
//! written.

use std::ops::Range;

use super::{check_extent, check_rows};
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::Real;
use crate::parallel::over_values;

const FACTORS_OF_ROWS: &str = "factors, one per row";
const FACTORS_OF_COLUMNS: &str = "factors, one per column";

/// Multiplies row i by `factors[i]`, in place: D A.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::scale_rows};
/// let mut a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
/// scale_rows(&mut a, &[10.0, 0.5])?;
/// assert_eq!(a.values(), [10.0, 20.0, 1.5]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the number of factors is not the number of rows.
pub fn scale_rows<T: Real>(a: &mut Csr<T>, factors: &[T]) -> Result<(), MatrixError> {
    check_extent(FACTORS_OF_ROWS, a.rows(), factors.len())?;
    change(a, |row, _, value| factors[row] * value);
    Ok(())
}

/// Multiplies column j by `factors[j]`, in place: A D.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::scale_columns};
/// let mut a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
/// scale_columns(&mut a, &[10.0, 0.5])?;
/// assert_eq!(a.values(), [10.0, 1.0, 1.5]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the number of factors is not the number of columns.
pub fn scale_columns<T: Real>(a: &mut Csr<T>, factors: &[T]) -> Result<(), MatrixError> {
    check_extent(FACTORS_OF_COLUMNS, a.cols(), factors.len())?;
    change(a, |_, column, value| value * factors[column]);
    Ok(())
}

/// Multiplies entry (i, j) by `factors[i] * factors[j]`, in place: D A D. A symmetric matrix stays
/// symmetric to the last bit.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::scale_symmetric};
/// // D = diag(A)^(-1/2) makes the diagonal one.
/// let mut a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0_f64, 1.0, 1.0, 16.0])?;
/// let diagonal = a.view().diagonal(a.all_rows());
/// let d: Vec<f64> = diagonal.iter().map(|value| value.sqrt().recip()).collect();
/// scale_symmetric(&mut a, &d)?;
/// assert_eq!(a.values(), [1.0, 0.125, 0.125, 1.0]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the matrix is not square, or the number of factors is not the number of rows.
pub fn scale_symmetric<T: Real>(a: &mut Csr<T>, factors: &[T]) -> Result<(), MatrixError> {
    check_extent(FACTORS_OF_ROWS, a.rows(), factors.len())?;
    check_extent(FACTORS_OF_COLUMNS, a.cols(), factors.len())?;
    // The factors are multiplied first: their product is the same for (i, j) and (j, i).
    change(a, |row, column, value| (factors[row] * factors[column]) * value);
    Ok(())
}

/// The rows `rows` of A, with entry (i, j) multiplied by `left[i] * right[j]`, as a new matrix. The
/// indices of `left` are rows of the whole of `a`, not relative to `rows.start`.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::scaled};
/// let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
/// let c = scaled(a.view(), 0..1, &[2.0, 1.0], &[1.0, 8.0])?;
/// assert_eq!(c.row(0), (&[0, 1][..], &[2.0, 32.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the numbers of factors differ from the numbers of rows and columns, or the range of rows is
/// out of bounds.
pub fn scaled<T: Real>(
    a: CsrRef<'_, T>,
    rows: Range<usize>,
    left: &[T],
    right: &[T],
) -> Result<Csr<T>, MatrixError> {
    check_rows(a, &rows)?;
    check_extent(FACTORS_OF_ROWS, a.rows(), left.len())?;
    check_extent(FACTORS_OF_COLUMNS, a.cols(), right.len())?;
    Ok(Csr::assemble(
        rows,
        a.cols(),
        || (),
        |(), row| a.row(row).0.len(),
        |(), row, columns, values| {
            let (old_columns, old_values) = a.row(row);
            columns.copy_from_slice(old_columns);
            for ((value, &column), &old) in values.iter_mut().zip(old_columns).zip(old_values) {
                *value = (left[row] * right[column as usize]) * old;
            }
        },
    ))
}

/// Replaces every value by `new(row, column, value)`.
fn change<T: Real>(a: &mut Csr<T>, new: impl Fn(usize, usize, T) -> T + Sync) {
    let rows = a.all_rows();
    let (row_ptr, columns, values) = a.parts_mut();
    let (row_ptr, columns) = (&*row_ptr, &*columns);
    over_values(row_ptr, rows, values, &|rows, values| {
        let offset = row_ptr[rows.start];
        for row in rows {
            let entries = row_ptr[row]..row_ptr[row + 1];
            let values = &mut values[entries.start - offset..entries.end - offset];
            for (value, &column) in values.iter_mut().zip(&columns[entries]) {
                *value = new(row, column as usize, *value);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::product;
    use crate::algebra::testing::{of_extents, on_threads, poisson3d, range_within};
    use proptest::prelude::*;

    fn diagonal(values: &[f64]) -> Csr<f64> {
        let mut d = Csr::identity(values.len()).unwrap();
        d.values_mut().copy_from_slice(values);
        d
    }

    #[test]
    fn a_vector_of_the_wrong_length_is_refused() {
        let mut a = Csr::try_new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0, 1.0]).unwrap();
        let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found });
        assert_eq!(scale_rows(&mut a, &[1.0; 3]), mismatch("factors, one per row", 2, 3));
        assert_eq!(scale_columns(&mut a, &[1.0; 2]), mismatch("factors, one per column", 3, 2));
        assert_eq!(scale_symmetric(&mut a, &[1.0; 2]), mismatch("factors, one per column", 3, 2));
        assert!(scaled(a.view(), 0..2, &[1.0; 2], &[1.0; 2]).is_err());
        assert!(scaled(a.view(), 0..3, &[1.0; 2], &[1.0; 3]).is_err());
    }

    #[test]
    fn symmetric_scaling_keeps_symmetry_to_the_last_bit_on_any_number_of_threads() {
        let a = poisson3d(30);
        let d: Vec<f64> = (0..a.rows()).map(|k| 1.1 + (k as f64).sin()).collect();
        let run = || {
            let mut s = a.clone();
            scale_symmetric(&mut s, &d).unwrap();
            s
        };
        let s = on_threads(1, run);
        assert_eq!(on_threads(2, run), s);
        assert_eq!(crate::algebra::transpose(s.view(), s.all_rows()), s);
    }

    proptest! {
        #[test]
        fn scaling_is_multiplying_by_a_diagonal(
            (a, rows) in (0..12usize, 0..12usize).prop_flat_map(|(m, n)| (of_extents(m, n), range_within(m)))
        ) {
            let left: Vec<f64> = (0..a.rows()).map(|k| 2.0 + k as f64).collect();
            let right: Vec<f64> = (0..a.cols()).map(|k| 3.0 - k as f64).collect();
            let da = product(diagonal(&left).view(), a.all_rows(), a.view()).unwrap();
            let dad = product(da.view(), a.all_rows(), diagonal(&right).view()).unwrap();

            let mut c = a.clone();
            scale_rows(&mut c, &left).unwrap();
            prop_assert_eq!(&c, &da);
            scale_columns(&mut c, &right).unwrap();
            prop_assert_eq!(&c, &dad);
            let part = scaled(a.view(), rows.clone(), &left, &right).unwrap();
            for k in 0..rows.len() {
                prop_assert_eq!(part.row(k), dad.row(rows.start + k));
            }
        }
    }
}
