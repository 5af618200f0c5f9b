//! The choice of a matrix format: the one with the fewest bytes, because products are memory-bound.
//!
//! ```text
//! CSR: (s + 4) nnz + 8 n                                                s: bytes of a stored value
//! BSR: s nnz_filled + 4 nnz_filled / b² + 8 n / b
//! delta-SELL: s nnz_padded + (¼ + 0, 1, 2 or 4) nnz_padded + ¾ n, as planned
//! tiles: (16 s + 6) tiles + 2 n
//! ```
//!
//! Every format plans itself ([`HostMatrix::plan`]), so a new one is considered without a change
//! here. A matrix of blocks needs one column index per block. Where the columns of neighbouring
//! rows are close together, delta-SELL needs at most one byte of index per entry. Gauss–Seidel
//! accesses rows one after the other, which delta-SELL does not support, so its levels are BSR or
//! CSR. Tiles are planned only if a sample of them is dense. Cost: one pass over the pattern for
//! every format considered, and one to write the chosen format.

use ziggurat_sparse::Store;
use ziggurat_sparse::choice;
use ziggurat_sparse::device::{HostMatrix, MatrixFormat};
use ziggurat_sparse::matrix::{FormatPlan, ScaleFactors, has_dense_tiles};

use super::part::OwnMatrix;
use crate::multigrid::FormatCandidates;
use crate::{Cancel, SetupError};

/// The formats that lowering may choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formats {
    /// All formats that the devices support.
    #[default]
    FewestBytes,
    /// Compressed sparse rows, for comparisons.
    Csr,
    /// Tiles of 4 by 4, for the matrix units of GPUs. Levels whose rows are accessed one after the
    /// other are in compressed rows.
    Tiles,
}

/// How lowering stores matrices. The defaults suit all but comparisons.
///
/// ```
/// use ziggurat_amg::{Coarsest, Formats, Lowering};
/// let lowering = Lowering::default();
/// assert_eq!((lowering.formats, lowering.scaled, lowering.coarsest), (Formats::FewestBytes, true, Coarsest::Auto));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lowering<'a> {
    /// The formats to choose from.
    pub formats: Formats,
    /// Whether levels are scaled into the range of a reduced precision. Without scaling, 16-bit
    /// numbers overflow in most units; turn it off for comparisons only.
    pub scaled: bool,
    /// How the coarsest level is solved.
    pub coarsest: Coarsest,
    /// When to stop before all levels are lowered. Not for levels with remote columns, which
    /// processes lower together.
    pub cancel: Option<&'a Cancel>,
}

impl Lowering<'_> {
    /// Succeeds unless lowering has to stop before a step that takes this many seconds.
    pub(crate) fn check_for(&self, seconds: f64) -> Result<(), SetupError> {
        self.cancel.map_or(Ok(()), |cancel| cancel.check_for(seconds))
    }
}

choice! {
    /// How the coarsest level is solved. All but `auto` and `smoothed` are refused where the level
    /// is too large for them, singular, or shared by several processes.
    ///
    /// ```
    /// use ziggurat_amg::Coarsest;
    /// assert_eq!("sparse".parse(), Ok(Coarsest::Sparse));
    /// assert!(Coarsest::Dense.is_direct() && !Coarsest::Auto.is_direct());
    /// ```
    Coarsest, "coarsest":
    /// Inverted or factorised if it is small, smoothed otherwise.
    Auto = "auto",
    /// Inverted if it is small, factorised otherwise, never smoothed.
    Direct = "direct",
    /// A dense inverse, by which vectors are multiplied.
    Dense = "dense",
    /// Sparse factors: Cholesky, or LU if that fails.
    Sparse = "sparse",
    /// Sweeps of the smoother, as on all other levels.
    Smoothed = "smoothed",
}

impl Coarsest {
    /// Whether the level is solved exactly or the solver refused.
    pub const fn is_direct(self) -> bool {
        matches!(self, Coarsest::Direct | Coarsest::Dense | Coarsest::Sparse)
    }
}

impl Default for Lowering<'_> {
    fn default() -> Self {
        Lowering { formats: Formats::default(), scaled: true, coarsest: Coarsest::default(), cancel: None }
    }
}

/// Constraints on the format of a matrix: the requested formats, and how the matrix is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatConstraints {
    pub formats: Formats,
    /// The block size; 1 for a scalar matrix.
    pub block: usize,
    /// Whether rows are accessed one after the other.
    pub row_by_row: bool,
}

impl FormatConstraints {
    fn allows(&self, format: MatrixFormat) -> bool {
        let requested = match self.formats {
            Formats::FewestBytes => true,
            Formats::Tiles if !self.row_by_row => format == MatrixFormat::Tiles,
            Formats::Csr | Formats::Tiles => format == MatrixFormat::Csr,
        };
        requested && (self.block > 1 || !format.has_blocks()) && (!self.row_by_row || format.is_row_by_row())
    }

    /// Why some formats are not considered.
    fn why(&self) -> Option<&'static str> {
        if self.row_by_row {
            Some("Gauss–Seidel accesses rows one after the other")
        } else if self.formats != Formats::FewestBytes {
            Some("no other format was requested")
        } else {
            None
        }
    }
}

/// A matrix times its factors, stored as `S` in the format with the fewest bytes that satisfies the
/// constraints.
pub(crate) fn host_matrix<S: Store>(
    a: OwnMatrix<'_>,
    factors: ScaleFactors<'_>,
    constraints: FormatConstraints,
) -> (HostMatrix<S>, FormatCandidates) {
    let on_grid = match a {
        _ if constraints.formats != Formats::FewestBytes || constraints.row_by_row => None,
        OwnMatrix::Rows(_) => None,
        OwnMatrix::Grid(a) => Some(HostMatrix::from(a.scaled_dia::<S>(factors))),
        OwnMatrix::Transfer(a) => HostMatrix::from(a.clone()).scaled_as(factors),
    };
    if let Some(made) = on_grid {
        let considered = FormatCandidates::only(made.format().into(), made.bytes(), "a structured grid");
        return (made, considered);
    }
    let a = &*a.csr();
    let mut plans: Vec<(MatrixFormat, FormatPlan<'_, HostMatrix<S>>)> = Vec::new();
    for &format in MatrixFormat::ALL.iter().filter(|&&format| constraints.allows(format)) {
        // With at most one byte per entry beside the value, a search for less does not pay.
        if plans.iter().any(|(_, plan)| plan.bytes() <= a.nnz() * (size_of::<S>() + 1)) {
            break;
        }
        if format == MatrixFormat::Tiles && !plans.is_empty() && !has_dense_tiles(a.view()) {
            continue;
        }
        plans.extend(HostMatrix::plan(format, a, constraints.block).map(|plan| (format, plan)));
    }
    plans.sort_by_key(|(_, plan)| plan.bytes());
    let candidates = plans.iter().map(|&(format, ref plan)| (format.into(), plan.bytes())).collect();
    let made = match plans.into_iter().next() {
        Some((_, plan)) => plan.fill(factors),
        None => factors.apply(a.view()).into(),
    };
    (made, FormatCandidates { candidates, why: constraints.why() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::{Csr, f16};

    fn matrix(name: &str) -> Arc<Csr<f64>> {
        Arc::new(name.parse::<Problem>().unwrap().matrix().unwrap())
    }

    fn chosen<S: Store>(
        a: &Arc<Csr<f64>>,
        formats: Formats,
        block: usize,
        row_by_row: bool,
    ) -> FormatCandidates {
        let (made, considered) = host_matrix::<S>(
            OwnMatrix::Rows(a),
            ScaleFactors::ONE,
            FormatConstraints { formats, block, row_by_row },
        );
        assert_eq!((made.format().into(), made.bytes()), (considered.format(), considered.bytes()));
        considered
    }

    #[test]
    fn the_format_with_the_fewest_bytes_is_chosen_and_its_bytes_are_exact() {
        let (poisson, elasticity) = (matrix("poisson3d:20"), matrix("elasticity3d:6"));
        assert_eq!(chosen::<f16>(&poisson, Formats::FewestBytes, 1, false).format().name(), "dia");
        assert_eq!(chosen::<f64>(&poisson, Formats::FewestBytes, 1, true).format().name(), "csr");
        assert_eq!(chosen::<f64>(&poisson, Formats::Csr, 1, false).format().name(), "csr");
        assert_eq!(chosen::<f64>(&poisson, Formats::Tiles, 1, false).format().name(), "tiles");
        assert_eq!(chosen::<f64>(&poisson, Formats::Tiles, 1, true).format().name(), "csr");
        assert_eq!(chosen::<f16>(&elasticity, Formats::FewestBytes, 3, false).format().name(), "bsr");
        assert_eq!(chosen::<f16>(&elasticity, Formats::FewestBytes, 3, true).format().name(), "bsr");
        let reasons = chosen::<f16>(&elasticity, Formats::FewestBytes, 3, false).to_string();
        assert!(reasons.starts_with("bsr 0.") && reasons.contains(" < csr "), "{reasons}");
    }
}
