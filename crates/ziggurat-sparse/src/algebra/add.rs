//! Sum: C = α A[rows, :] + β B[rows, :], by merging sorted rows.
//!
//! C has an entry wherever A or B has one, even if the values cancel. Cost: each row is merged
//! twice, once to count its columns and once to write them.

use std::ops::Range;

use super::{check_extent, check_rows};
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::Real;

/// α A + β B on the rows `rows` of both.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::add};
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 1, 2], vec![1.0, 2.0, 3.0])?;
/// let b = Csr::try_new(2, 3, vec![0, 1, 3], vec![1, 0, 2], vec![10.0, 20.0, 3.0])?;
/// let c = add(1.0, a.view(), -1.0, b.view(), 0..2)?;
/// assert_eq!(c.row(0), (&[0, 1][..], &[1.0, -8.0][..]));
/// assert_eq!(c.row(1), (&[0, 2][..], &[-20.0, 0.0][..])); // a zero stays in the pattern
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the matrices differ in their number of columns, or a range of rows is out of bounds.
pub fn add<T: Real>(
    alpha: T,
    a: CsrRef<'_, T>,
    beta: T,
    b: CsrRef<'_, T>,
    rows: Range<usize>,
) -> Result<Csr<T>, MatrixError> {
    check_rows(a, &rows)?;
    check_rows(b, &rows)?;
    check_extent("columns of the second matrix", a.cols(), b.cols())?;
    Ok(Csr::assemble(
        rows,
        a.cols(),
        || (),
        |(), row| {
            let mut count = 0;
            merge(a.row(row).0, b.row(row).0, |_, _, _| count += 1);
            count
        },
        |(), row, columns, values| {
            let ((a_columns, a_values), (b_columns, b_values)) = (a.row(row), b.row(row));
            let mut out = columns.iter_mut().zip(values);
            merge(a_columns, b_columns, |column, in_a, in_b| {
                let sum = match (in_a, in_b) {
                    (Some(i), Some(j)) => alpha * a_values[i] + beta * b_values[j],
                    (Some(i), None) => alpha * a_values[i],
                    (None, Some(j)) => beta * b_values[j],
                    (None, None) => T::zero(),
                };
                if let Some((out_column, out_value)) = out.next() {
                    (*out_column, *out_value) = (column, sum);
                }
            });
        },
    ))
}

/// Calls `visit` for every column of two sorted rows, with its position in each.
#[inline]
fn merge(a: &[u32], b: &[u32], mut visit: impl FnMut(u32, Option<usize>, Option<usize>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        visit(x.min(y), (x <= y).then_some(i), (y <= x).then_some(j));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    for (i, &column) in a.iter().enumerate().skip(i) {
        visit(column, Some(i), None);
    }
    for (j, &column) in b.iter().enumerate().skip(j) {
        visit(column, None, Some(j));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::testing::{dense, of_extents, on_threads, poisson3d, range_within};
    use proptest::prelude::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        let (a, b) = (Csr::<f64>::identity(3).unwrap(), Csr::<f64>::identity(4).unwrap());
        let error = add(1.0, a.view(), 1.0, b.view(), 0..3).unwrap_err();
        let expected = MatrixError::Mismatch { what: "columns of the second matrix", expected: 3, found: 4 };
        assert_eq!(error, expected);
        assert!(add(1.0, b.view(), 1.0, a.view(), 0..4).is_err());
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        let a = poisson3d(30);
        let b = crate::algebra::product(a.view(), a.all_rows(), a.view()).unwrap();
        let sum = || add(0.1, a.view(), 0.7, b.view(), 100..26_000).unwrap();
        assert_eq!(on_threads(1, sum), on_threads(2, sum));
    }

    proptest! {
        #[test]
        fn agrees_with_the_dense_sum(
            (a, b, rows) in (0..20usize, 0..20usize)
                .prop_flat_map(|(m, n)| (of_extents(m, n), of_extents(m, n), range_within(m)))
        ) {
            let c = add(2.0, a.view(), -3.0, b.view(), rows.clone()).unwrap();
            let (x, y) = (dense(a.view()), dense(b.view()));
            for (k, row) in dense(c.view()).iter().enumerate() {
                for (column, &value) in row.iter().enumerate() {
                    let at = rows.start + k;
                    prop_assert_eq!(value, 2.0 * x[at][column] - 3.0 * y[at][column]);
                    let stored = a.get(at, column).is_some() || b.get(at, column).is_some();
                    prop_assert_eq!(c.get(k, column).is_some(), stored);
                }
            }
            prop_assert_eq!(c.rows(), rows.len());
        }
    }
}
