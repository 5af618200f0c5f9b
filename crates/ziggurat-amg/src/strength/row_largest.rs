//! Strength relative to the row's largest connection, whatever the signs:
//!
//! ```text
//! s_ij = |a_ij| / max_{k≠i} |a_ik|
//! ```
//!
//! Rows are judged each by its own scale, as in the classical measure, but signs do not count, so it suits the norms of
//! blocks as well. It says along which connections interpolation must be smoothed: a row at the border of a stiff
//! region hangs on that region, though the region does not feel the row, and the symmetric measure would call the
//! connection weak.
//!
//! Cost: one pass over the entries.

use super::{RowFacts, Strengths};

/// The measure; it needs nothing but the row.
pub(super) struct RowLargest;

impl Strengths for RowLargest {
    #[inline]
    fn scale(&self, _row: usize, facts: &RowFacts) -> Option<f64> {
        (facts.largest > 0.0).then_some(facts.largest)
    }

    #[inline]
    fn strength(&self, _row: usize, scale: f64, _column: u32, value: f64) -> f64 {
        value.abs() / scale
    }
}
