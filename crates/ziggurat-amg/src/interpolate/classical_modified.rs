//! Modified classical interpolation: distance one (Ruge & Stüben, 1987; Henson & Yang, *BoomerAMG*,
//! 2002).
//!
//! ```text
//! w_ij = −(a_ij + Σ_{k∈F∖F*} a_ik ā_kj / Σ_{m∈C} ā_km) / (a_ii + Σ_{n∈W∪F*} a_in),        j ∈ C
//! ```
//!
//! C are the coarse and F the fine rows that i depends on, W its other neighbours, and F* the rows
//! of F that have no entry in C. After PMIS, two fine rows that depend on each other need not have
//! a common coarse row, so F* is not empty. The modification treats F* as weak, where the original
//! formula would divide by zero. That reduces accuracy; [`extended_i`](super::extended_i) uses
//! coarse rows at distance two instead.
//!
//! Cost: see `collapse.rs`. The length of a row is about its number of coarse neighbours.

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

/// Builds interpolation to the rows `rows` of `a`, from the coarse rows that each row depends on.
///
/// `strong` and `splitting` cover all of `a`, halo included: `strong` has the dimensions of `a`,
/// and `splitting` has one row per column of `a`.
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
/// Returns an error if `truncation` is invalid, if `strong` or `splitting` does not match `a`, or
/// if `a` does not have the requested rows.
pub fn classical_modified(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    // Entries of the transpose are not used, so symmetry does not matter.
    interpolate(a, rows, strong, splitting, Symmetry::General, truncation, &DistanceOne)
}
