//! One-point interpolation: a fine row takes the value of one coarse row.
//!
//! ```text
//! w_ij = 1 for the coarse row j with the largest |a_ij| that i depends on
//! ```
//!
//! Too inaccurate where restriction is its transpose. With an approximate ideal restriction, which
//! is accurate for any interpolation, it keeps coarse levels sparse (T. A. Manteuffel et al., see
//! [`ideal_restriction`](super::ideal_restriction())). Cost: one pass over the matrix.

use std::ops::Range;

use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::collapse::{check, in_order};
use crate::coarsen::Splitting;
use crate::strength::StrongGraph;

/// Builds interpolation to the rows `rows` of `a`. A fine row that depends on no coarse row is
/// empty.
///
/// ```
/// use ziggurat_amg::{coarsen::{Point, Splitting}, interpolate::one_point, strength::StrongGraph};
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(3, 3, vec![0, 1, 4, 5], vec![0, 0, 1, 2, 2], vec![1., -1., 3., -2., 1.])?;
/// let strong = StrongGraph::try_new(3, vec![0, 0, 2, 2], vec![0, 2])?;
/// let splitting = Splitting::new(3, |row| if row % 2 == 0 { Point::Coarse } else { Point::Fine });
/// let p = one_point(a.view(), a.all_rows(), &strong, &splitting)?;
/// assert_eq!(p.columns(), [0, 1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `strong` or `splitting` does not match `a`, or `a` does not have the requested rows.
pub fn one_point(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
) -> Result<Csr<f64>, MatrixError> {
    check(a, &rows, strong, splitting)?;
    let collect = |(): &mut (), row: usize, entries: &mut Entries<f64>| {
        if let Some(coarse) = splitting.coarse_index(row) {
            return entries.push(coarse, 1.0);
        }
        let (columns, values) = a.row(row);
        let mut is_strong = in_order(strong.row(row));
        let mut strongest = (0.0, None);
        for (&column, value) in columns.iter().zip(values) {
            let coarse = splitting.coarse_index(column as usize).filter(|_| is_strong(column));
            // The first of equal ones.
            if coarse.is_some() && value.abs() > strongest.0 {
                strongest = (value.abs(), coarse);
            }
        }
        if let (_, Some(coarse)) = strongest {
            entries.push(coarse, 1.0);
        }
    };
    Csr::collect(a.row_ptr(), rows, splitting.coarse_rows(), || (), collect)
}
