//! FC-Jacobi: Jacobi steps of the fine rows alone, and of the coarse rows alone.
//!
//! ```text
//! x_F ← x_F + ω D_F⁻¹(b − A x)_F,  twice;    x_C ← x_C + ω D_C⁻¹(b − A x)_C
//! ```
//!
//! Coarse rows are those that the next level keeps. After a correction by approximate ideal
//! restriction, the error is in the fine rows, so the fine rows come first (T. A. Manteuffel et
//! al., see `hierarchy/air.rs`). In pre-smoothing the order is the reverse, so that the transpose
//! of a cycle is a cycle. On a level without a next one, all rows are fine. Cost per sweep: three
//! passes over the matrix, two from a zero guess.

use std::ops::Range;

use ziggurat_sparse::CsrRef;

use super::SmootherData;
use super::jacobi::inverse_diagonal;
use crate::SetupError;

/// ω / a_ii
pub(super) fn data(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    omega: Option<f64>,
) -> Result<SmootherData, SetupError> {
    let omega = omega.unwrap_or(1.0);
    let diagonal = inverse_diagonal(a, rows)?.into_iter().map(|d| omega * d).collect();
    Ok(SmootherData::FineCoarse(diagonal))
}
