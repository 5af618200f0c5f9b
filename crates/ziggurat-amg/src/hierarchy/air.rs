//! Classical coarsening with approximate ideal restriction (AIR), for transport and convection.
//!
//! ```text
//! R = [Z I]  (`ideal_restriction.rs`),   A_c = R A P,   then relaxation of the fine rows
//! ```
//!
//! Where information flows in one direction, A is far from symmetric, and the transpose of a good
//! interpolation is not a good restriction. AIR computes R from A instead. The cycle does not
//! smooth before the correction, because an ideal restriction needs no smooth residual; afterwards
//! it relaxes the fine rows twice and the coarse ones once (`fc_jacobi.rs`). T. A. Manteuffel,
//! S. Münzenmaier, J. Ruge and B. S. Southworth, *Nonsymmetric reduction-based algebraic
//! multigrid*, SIAM J. Sci. Comput. 41, 2019.
//!
//! Coarsening is not aggressive: a fine row must have coarse rows close by. Cost: classical setup,
//! and a small dense system per coarse row.

use serde::{Deserialize, Serialize};
use ziggurat_sparse::CsrRef;

use super::matrix::Restriction;
use crate::coarsen::Splitting;
use crate::halo::Processes;
use crate::interpolate::{Interpolation, ideal_restriction};
use crate::strength::{Filter, Measure, Strength, strong_connections};
use crate::{OutOfRange, SetupError};

/// How approximate ideal restriction is computed.
///
/// ```
/// use ziggurat_amg::Air;
/// let parameters = Air { distance: 3, ..Air::default() };
/// assert_eq!(parameters.check().unwrap_err().to_string(), "`distance` is 3; it must be from 1 to 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Air {
    /// Connections of at least this fraction of the largest one in a row count, from 0 to 1. Lower
    /// than for coarsening, because what restriction leaves out is not corrected.
    pub threshold: f64,
    /// How many connections away the fine rows of a coarse row may be: 1 or 2.
    pub distance: usize,
    /// The interpolation.
    pub interpolation: Interpolation,
}

impl Default for Air {
    fn default() -> Self {
        Air { threshold: 0.15, distance: 2, interpolation: Interpolation::ClassicalModified }
    }
}

impl Air {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless_in("threshold", self.threshold, 0.0..=1.0)?;
        OutOfRange::unless_in("distance", self.distance, 1..=2)
    }

    /// The restriction to own coarse rows.
    pub(super) fn restrict<H: Processes>(
        &self,
        a: CsrRef<'_, f64>,
        kept: &Splitting,
        halo: &H,
    ) -> Result<Restriction, SetupError> {
        let filter = Filter::Threshold(self.threshold);
        let strength = Strength { measure: Measure::Classical, filter, max_row_sum: None };
        let strong = strong_connections(a, a.all_rows(), &strength, &[], halo)?;
        let rows = ideal_restriction(a, halo.owned(), &strong, kept, self.distance)?;
        let ids = match halo.is_whole() {
            true => Vec::new(),
            false => (0..halo.local()).map(|row| halo.global_id(row)).collect(),
        };
        Ok(Restriction { rows, ids })
    }
}
