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

use super::Strengths;

/// The measure; it needs nothing but the row.
pub(super) struct Classical;

impl Strengths for Classical {
    #[inline]
    fn scale(&self, row: usize, diagonal: f64, columns: &[u32], values: &[f64]) -> Option<f64> {
        // Flipped, so that connections are negative whatever the sign of the diagonal.
        let sign = if diagonal < 0.0 { -1.0 } else { 1.0 };
        let least = columns.iter().zip(values).fold(0.0, |least: f64, (&column, &value)| {
            if column as usize == row { least } else { least.min(sign * value) }
        });
        (least < 0.0).then_some(sign * least)
    }

    #[inline]
    fn strength(&self, _row: usize, scale: f64, _column: u32, value: f64) -> f64 {
        value / scale
    }
}
