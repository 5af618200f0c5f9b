//! Hybrid interpolation: adds as few coarse rows at distance two as possible (Isotton, thesis on
//! Chronos, 2.2.3, algorithm 4).
//!
//! It applies the formula of [extended+i](super::extended_i) to a smaller set. The set starts as C,
//! the coarse rows that i depends on. Fine neighbours that depend on none of C are uncovered. While
//! there are uncovered neighbours, the coarse row that most of them depend on is added to the set
//! and covers them:
//!
//! ```text
//! Ĉ = C;   F' = { k ∈ F : C_k ∩ Ĉ = ∅ }
//! while F' ≠ ∅:   c = the coarse row in most C_k, k ∈ F';   Ĉ += c;   F' −= { k : c ∈ C_k }
//! ```
//!
//! A fine neighbour that depends on no coarse row cannot be covered and is excluded from F'. Ties
//! are broken by the larger hash of the global id.
//!
//! Cost: see `collapse.rs`; in addition, for each row and each coarse row that is added, a search
//! of the coarse rows of the uncovered neighbours. Rows are longer than in classical and
//! shorter than in extended+i interpolation.

use std::ops::Range;

use ziggurat_sparse::hash::hash_id;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::collapse::{CoarseEntries, FineRow, InterpolatorySet, interpolate};
use super::{InterpolationError, Symmetry, Truncation};
use crate::coarsen::Splitting;
use crate::halo::Halo;
use crate::strength::StrongGraph;

struct Covering<'a, H> {
    halo: &'a H,
    /// The local row of every coarse row.
    points: Vec<u32>,
}

impl<H: Halo> InterpolatorySet for Covering<'_, H> {
    const PLUS_I: bool = true;

    fn extend(&self, row: &mut FineRow, neighbours: &CoarseEntries) {
        // The coarse rows that uncovered neighbours depend on, once per neighbour.
        let mut wanted = std::mem::take(&mut row.wanted);
        loop {
            wanted.clear();
            for &(neighbour, _) in row.fine() {
                let set = neighbours.strong(neighbour);
                if !set.iter().any(|&coarse| row.contains(coarse)) {
                    wanted.extend_from_slice(set);
                }
            }
            wanted.sort_unstable();
            let most = wanted
                .chunk_by(|x, y| x == y)
                .max_by(|x, y| x.len().cmp(&y.len()).then_with(|| self.hash(x[0]).cmp(&self.hash(y[0]))));
            match most {
                Some(most) => row.insert(most[0]),
                None => break,
            }
        }
        row.wanted = wanted;
    }
}

impl<H: Halo> Covering<'_, H> {
    fn hash(&self, coarse: u32) -> u64 {
        hash_id(self.halo.global_id(self.points[coarse as usize] as usize))
    }
}

/// Builds interpolation to the rows `rows` of `a`, from the coarse rows that each row depends on,
/// and from as few others as are needed to cover every fine row that it depends on.
///
/// `strong` and `splitting` cover all of `a`, halo included: `strong` has the dimensions of `a`,
/// and `splitting` has one row per column of `a`. The rows of neighbours are read, so the halo must
/// contain them. `halo` provides the global ids that break ties.
///
/// ```
/// use ziggurat_amg::{coarsen::pmis, halo::Whole, interpolate::{Symmetry, Truncation, extended_i, hybrid}};
/// use ziggurat_amg::strength::{Strength, strong_connections};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:20".parse::<Problem>()?.matrix()?;
/// let whole = Whole::new(a.rows());
/// let strong = strong_connections(a.view(), a.all_rows(), &Strength::classical(), &[], &whole)?;
/// let splitting = pmis(&strong, &whole)?;
/// let p = hybrid(a.view(), a.all_rows(), &strong, &splitting, &whole, Symmetry::Symmetric, Truncation::default())?;
/// assert!(p.nnz() < extended_i(a.view(), a.all_rows(), &strong, &splitting, Symmetry::Symmetric, Truncation::default())?.nnz());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if `truncation` is invalid, if `strong`, `splitting` or `halo` does not match
/// `a`, or if `a` does not have the requested rows.
pub fn hybrid<H: Halo>(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    halo: &H,
    symmetry: Symmetry,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    if halo.local() != a.cols() {
        let what = "local rows (one per matrix column)";
        return Err(MatrixError::Mismatch { what, expected: a.cols(), found: halo.local() }.into());
    }
    let covering = Covering { halo, points: splitting.coarse_points() };
    interpolate(a, rows, strong, splitting, symmetry, truncation, &covering)
}
