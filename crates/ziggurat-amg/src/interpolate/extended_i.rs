//! Extended+i interpolation: distance two (De Sterck, Falgout, Nolting & Yang, *Distance-two
//! interpolation for parallel algebraic multigrid*, 2008).
//!
//! ```text
//! w_ij = −(a_ij + Σ_{k∈F} a_ik ā_kj / b_ik) / ã_ii,        j ∈ Ĉ = C ∪ ⋃_{k∈F} C_k
//! b_ik = Σ_{l∈Ĉ∪{i}} ā_kl
//! ã_ii = a_ii + Σ_{n∈W∖Ĉ} a_in + Σ_{k∈F} a_ik ā_ki / b_ik
//! ```
//!
//! C are the coarse and F the fine rows that i depends on, C_k the coarse rows that k depends on,
//! and W the other neighbours of i; ā_kl is a_kl if it differs in sign from a_kk, and 0
//! otherwise. Since the set contains C_k, row i and every fine neighbour k with nonempty C_k have a
//! common coarse row. The share of a fine neighbour that refers to i itself (the "+i") stays with
//! i: in one dimension this makes the interpolation linear, as it should be.
//!
//! Cost: see `collapse.rs`. Rows are long, about 10 entries in three dimensions; truncate them to 4
//! or 5.

use std::ops::Range;

use ziggurat_sparse::{Csr, CsrRef};

use super::collapse::{InterpolatorySet, interpolate};
use super::{InterpolationError, Symmetry, Truncation};
use crate::coarsen::Splitting;
use crate::strength::StrongGraph;

/// All coarse rows that fine neighbours depend on.
pub(super) struct DistanceTwo;

impl InterpolatorySet for DistanceTwo {
    const PLUS_I: bool = true;
    const ALL_NEAR: bool = true;
}

/// Builds interpolation to the rows `rows` of `a`, from the coarse rows that each row and its fine
/// neighbours depend on.
///
/// `strong` and `splitting` cover all of `a`, halo included: `strong` has the dimensions of `a`,
/// and `splitting` has one row per column of `a`. The rows of neighbours are read, so the halo must
/// contain them.
///
/// ```
/// use ziggurat_amg::{coarsen::{Point, Splitting}, interpolate::{Symmetry, Truncation, extended_i}, strength::StrongGraph};
/// use ziggurat_sparse::Csr;
/// // Four rows on a line with coarse ends: linear interpolation.
/// let a = Csr::try_new(4, 4, vec![0, 2, 5, 8, 10], vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3],
///     vec![1., -1., -1., 2., -1., -1., 2., -1., -1., 1.])?;
/// let strong = StrongGraph::try_new(4, vec![0, 1, 3, 5, 6], vec![1, 0, 2, 1, 3, 2])?;
/// let splitting = Splitting::new(4, |row| if row % 3 == 0 { Point::Coarse } else { Point::Fine });
/// let p = extended_i(a.view(), a.all_rows(), &strong, &splitting, Symmetry::Symmetric, Truncation::default())?;
/// assert!((p.row(1).1[0] - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if `truncation` is invalid, if `strong` or `splitting` does not match `a`, or
/// if `a` does not have the requested rows.
pub fn extended_i(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    symmetry: Symmetry,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    interpolate(a, rows, strong, splitting, symmetry, truncation, &DistanceTwo)
}
