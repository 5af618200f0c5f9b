//! Classical strength (Ruge & Stüben, 1987): row i depends strongly on j if −a_ij is large among the row's −a_ik,
//!
//! ```text
//! s_ij = a_ij / m_i,        m_i = min_{k≠i} a_ik   (the maximum, if a_ii < 0)
//! ```
//!
//! An entry of the sign of the diagonal is no connection: error does not vary slowly along it. Where no entry is
//! opposed to the diagonal the row has no connections. Rows are judged each by its own scale, so a strong connection
//! need not be strong the other way round.
//!
//! Cost: one pass over the entries.

use super::{RowFacts, Strengths};

/// The measure; it needs nothing but the row.
pub(super) struct Classical;

impl Strengths for Classical {
    #[inline]
    fn scale(&self, _row: usize, facts: &RowFacts) -> Option<f64> {
        // Opposed to the diagonal, so it is not the diagonal itself.
        let scale = if facts.diagonal < 0.0 { facts.most } else { facts.least };
        (scale != 0.0).then_some(scale)
    }

    #[inline]
    fn strength(&self, _row: usize, scale: f64, _column: u32, value: f64) -> f64 {
        value / scale
    }
}
