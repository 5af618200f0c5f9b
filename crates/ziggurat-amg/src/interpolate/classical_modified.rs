//! Classical interpolation, modified: distance one (Ruge & Stüben, 1987; Henson & Yang, *BoomerAMG*, 2002).
//!
//! ```text
//! w_ij = −(a_ij + Σ_{k∈F∖F*} a_ik ā_kj / Σ_{m∈C} ā_km) / (a_ii + Σ_{n∈W∪F*} a_in),        j ∈ C
//! ```
//!
//! C are the coarse and F the fine rows that i depends on, W its other neighbours, F* those of F that have no entry in C.
//! After PMIS two fine rows that depend on each other need not share a coarse one, so F* is not empty; the modification
//! counts it as weak, where the original would divide by zero. That loses accuracy: [`extended_i`](super::extended_i) looks
//! further.
//!
//! Cost: see `collapse.rs`; rows are about as long as the number of coarse neighbours.

use std::ops::Range;

use ziggurat_sparse::{Csr, CsrRef};

use super::collapse::{InterpolatorySet, interpolate};
use super::{InterpolationError, Symmetry, Truncation};
use crate::coarsen::Splitting;
use crate::strength::StrongGraph;

struct DistanceOne;

impl InterpolatorySet for DistanceOne {
    const PLUS_I: bool = false;
}

/// Interpolation from the coarse rows that a row depends on, to the rows `rows` of `a`.
///
/// `strong` and `splitting` belong to all of `a`, halo included: a row for each row of `a`, and for each column.
///
/// ```
/// use ziggurat_amg::{coarsen::pmis, halo::Whole, interpolate::{Truncation, classical_modified}};
/// use ziggurat_amg::strength::{Strength, strong_connections};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:10".parse::<Problem>()?.matrix()?;
/// let whole = Whole::new(a.rows());
/// let strong = strong_connections(a.view(), a.all_rows(), &Strength::classical(), &[], &whole)?;
/// let splitting = pmis(&strong, &whole)?;
/// let p = classical_modified(a.view(), a.all_rows(), &strong, &splitting, Truncation::default())?;
/// assert_eq!((p.rows(), p.cols()), (100, splitting.coarse_rows()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `truncation` makes no sense, `strong` or `splitting` do not fit `a`, or it has not the rows asked for.
pub fn classical_modified(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    // Nothing is read the other way round.
    interpolate(a, rows, strong, splitting, Symmetry::General, truncation, &DistanceOne)
}
