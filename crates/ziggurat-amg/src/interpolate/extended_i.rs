//! Extended+i interpolation: distance two (De Sterck, Falgout, Nolting & Yang, *Distance-two interpolation for parallel
//! algebraic multigrid*, 2008).
//!
//! ```text
//! w_ij = −(a_ij + Σ_{k∈F} a_ik ā_kj / b_ik) / ã_ii,        b_ik = Σ_{l∈Ĉ∪{i}} ā_kl,        j ∈ Ĉ = C ∪ ⋃_{k∈F} C_k
//! ã_ii = a_ii + Σ_{n∈W∖Ĉ} a_in + Σ_{k∈F} a_ik ā_ki / b_ik
//! ```
//!
//! C are the coarse and F the fine rows that i depends on, C_k the coarse rows that k depends on, W the other neighbours of
//! i; ā_kl is a_kl if its sign is not that of a_kk, and 0 otherwise. With C_k in the set, no two fine neighbours lack a
//! common coarse row. What a fine neighbour has for i itself (the "+i") stays with i: in one dimension that makes the
//! interpolation linear, as it should be.
//!
//! Cost: see `collapse.rs`. Rows are long, about 10 entries in three dimensions: truncate them to 4 or 5.

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

/// Interpolation from the coarse rows that a row and its fine neighbours depend on, to the rows `rows` of `a`.
///
/// `strong` and `splitting` belong to all of `a`, halo included: a row for each row of `a`, and for each column. Rows of
/// neighbours are read, so the halo has them.
///
/// ```
/// use ziggurat_amg::{coarsen::{Point, Splitting}, interpolate::{Symmetry, Truncation, extended_i}, strength::StrongGraph};
/// use ziggurat_sparse::Csr;
/// // Four rows in a line, the ends coarse: linear interpolation.
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
/// If `truncation` makes no sense, `strong` or `splitting` do not fit `a`, or it has not the rows asked for.
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
