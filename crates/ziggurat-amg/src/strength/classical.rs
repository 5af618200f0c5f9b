//! Classical strength (Ruge & Stüben, 1987): row i depends strongly on j if −a_ij is large compared
//! with the other −a_ik of the row,
//!
//! ```text
//! s_ij = a_ij / m_i,        m_i = min_{k≠i} a_ik   (the maximum, if a_ii < 0)
//! ```
//!
//! An entry with the same sign as the diagonal is not a connection: error does not vary slowly
//! along it. If no entry has the opposite sign, the row has no connections. Each row has its own
//! scale, so a strong connection need not be strong in the other direction.
//!
//! Cost: one pass over the entries.

use super::{RowFacts, Strengths};

/// The measure. It needs only the entries of the row.
pub(super) struct Classical;

impl Strengths for Classical {
    #[inline]
    fn needs_facts(&self) -> bool {
        true
    }

    #[inline]
    fn scale(&self, _row: usize, facts: &RowFacts) -> Option<f64> {
        // The sign is opposite to the diagonal's, so this is not the diagonal itself.
        let scale = if facts.diagonal < 0.0 { facts.most } else { facts.least };
        (scale != 0.0).then_some(scale)
    }

    #[inline]
    fn strength(&self, _row: usize, scale: f64, _column: u32, value: f64) -> f64 {
        value / scale
    }
}
