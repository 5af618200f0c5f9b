//! Two-stage interpolation, for aggressive coarsening (Yang, *On long-range interpolation operators
//! for aggressive coarsening*, 2010).
//!
//! [Aggressive coarsening](crate::coarsen::aggressive) splits twice: C₁ is the set of rows that the
//! first pass of PMIS keeps, C₂ ⊂ C₁ the set that the second pass keeps. All rows are interpolated
//! from C₁, and C₁ from C₂, in both cases by [extended+i](super::extended_i) on the original
//! matrix:
//!
//! ```text
//! P = P₁ P₂,        P₁: C₁ → all rows,        P₂: C₂ → C₁
//! ```
//!
//! A matrix on C₁ is not needed: the rows of C₁ are not neighbours, but each has a row of C₂ within
//! two connections, which extended+i reaches. P₁, P₂ and P are each truncated. An entry of P₁ for a
//! row of C₁ that has no interpolation is removed in the same way as by truncation.
//!
//! Cost: extended+i to all rows, which is never stored, because each of its rows is multiplied by
//! P₂ immediately; and extended+i to C₁. On a 7-point grid it takes two to three times as long as
//! [multipass](super::multipass) and saves one iteration in four.

use std::ops::Range;

use ziggurat_sparse::algebra::RowTruncation;
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel};

use super::collapse::{FineRow, Rows, check};
use super::extended_i::DistanceTwo;
use super::weights::Weights;
use super::{InterpolationError, Symmetry, Truncation};
use crate::coarsen::Splitting;
use crate::strength::StrongGraph;

/// Builds interpolation to the rows `rows` of `a` from the coarse rows of `second`, via the
/// coarse rows of `first`.
///
/// `strong`, `first` and `second` cover all of `a`, halo included: `strong` has the dimensions of
/// `a`, and the splittings have one row per column of `a`. The coarse rows of `second` are also
/// coarse in `first`. Rows up to three connections away are read, so the halo must contain them.
///
/// ```
/// use ziggurat_amg::{coarsen::{Point, Splitting}, interpolate::{Symmetry, Truncation, two_stage}, strength::StrongGraph};
/// use ziggurat_sparse::Csr;
/// // Five rows on a line; every other row is kept first, then the ends: linear interpolation.
/// let a = Csr::try_new(5, 5, vec![0, 2, 5, 8, 11, 13], vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4],
///     vec![1., -1., -1., 2., -1., -1., 2., -1., -1., 2., -1., -1., 1.])?;
/// let strong = StrongGraph::try_new(5, vec![0, 1, 3, 5, 7, 8], vec![1, 0, 2, 1, 3, 2, 4, 3])?;
/// let every = |k: usize| Splitting::new(5, move |row| if row % k == 0 { Point::Coarse } else { Point::Fine });
/// let p = two_stage(a.view(), a.all_rows(), &strong, &every(2), &every(4), Symmetry::Symmetric, Truncation::default())?;
/// assert!((p.row(1).1[0] - 0.75).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if `truncation` is invalid, if `strong` or a splitting does not match `a`, if
/// `second` keeps a row that `first` does not, or if `a` does not have the requested rows.
pub fn two_stage(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    first: &Splitting,
    second: &Splitting,
    symmetry: Symmetry,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    let truncation = RowTruncation::new(truncation)?;
    check(a, &rows, strong, first)?;
    check(a, &rows, strong, second)?;
    check_nested(first, second)?;
    let p2 = to_first(a, strong, first, second, symmetry, &truncation)?;
    let of = Rows::new(a, strong, first, symmetry, &DistanceTwo)?;
    let kept = second.coarse_rows();
    let scratch = || (of.scratch(&truncation), Weights::new(kept, truncation.clone()));
    let write = |(fine, weights): &mut (FineRow, Weights), row: usize, entries: &mut Entries<f64>| {
        if let Some(index) = first.coarse_index(row) {
            let (columns, values) = p2.row(index as usize);
            entries.extend(columns, values);
            return;
        }
        weights.begin();
        let (mut sum, mut reached) = (0.0, 0.0);
        let (members, shares) = of.of_fine(fine, row);
        for (&member, &share) in members.iter().zip(shares) {
            let (columns, values) = p2.row(member as usize);
            sum += share;
            reached += if columns.is_empty() { 0.0 } else { share };
            for (&column, &value) in columns.iter().zip(values) {
                weights.add(column, share * value);
            }
        }
        let factor = if reached == sum || reached == 0.0 { 1.0 } else { sum / reached };
        weights.write(factor, entries);
    };
    Ok(Csr::collect(a.row_ptr(), rows, kept, scratch, write)?)
}

/// P₂: one row for each coarse row of `first`. It is empty if the row is not a row of `a` (at the
/// edge of a halo).
fn to_first(
    a: CsrRef<'_, f64>,
    strong: &StrongGraph,
    first: &Splitting,
    second: &Splitting,
    symmetry: Symmetry,
    truncation: &RowTruncation,
) -> Result<Csr<f64>, MatrixError> {
    let points = first.coarse_points();
    let of = Rows::new(a, strong, second, symmetry, &DistanceTwo)?;
    let mut work = Vec::with_capacity(points.len() + 1);
    work.push(0);
    for (index, &row) in points.iter().enumerate() {
        let entries = if (row as usize) < a.rows() { a.row(row as usize).0.len() } else { 0 };
        work.push(work[index] + entries);
    }
    let scratch = || of.scratch(truncation);
    let write = |fine: &mut FineRow, index: usize, entries: &mut Entries<f64>| {
        let row = points[index] as usize;
        if row < a.rows() {
            of.write(fine, row, entries);
        }
    };
    Csr::collect(&work, 0..points.len(), second.coarse_rows(), scratch, write)
}

/// Checks that the second splitting keeps only rows that the first one keeps.
fn check_nested(first: &Splitting, second: &Splitting) -> Result<(), MatrixError> {
    let in_both = |&row: &usize| first.coarse_index(row).is_some() & second.coarse_index(row).is_some();
    let counts = parallel::map_pieces(0..first.rows(), parallel::PIECE, &|rows| rows.filter(in_both).count());
    let found: usize = counts.into_iter().sum();
    if found != second.coarse_rows() {
        let what = "coarse rows of the second splitting that are coarse in the first";
        return Err(MatrixError::Mismatch { what, expected: second.coarse_rows(), found });
    }
    Ok(())
}
