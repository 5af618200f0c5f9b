//! Symmetric strength, for aggregation (Vaněk, Mandel & Brezina, 1996):
//!
//! ```text
//! s_ij = |a_ij| / √(|a_ii| |a_jj|)
//! ```
//!
//! The measure ignores signs and is invariant under symmetric scaling of rows and columns. The
//! graph is symmetric if the matrix is. A connection of a row with zero diagonal is infinitely
//! strong.
//!
//! Cost: one pass over the entries, and one square root per row. Processes exchange the diagonal.

use ziggurat_sparse::{CsrRef, MatrixError, parallel};

use super::{RowFacts, Strengths};
use crate::halo::Halo;

/// The measure, with 1/√|a_jj| for every column: multiplication is faster than division.
pub(super) struct Symmetric {
    scales: Vec<f64>,
}

impl Symmetric {
    pub(super) fn new<H: Halo>(a: CsrRef<'_, f64>, halo: &H) -> Result<Self, MatrixError> {
        let owned = halo.owned();
        if owned.end > a.rows() || halo.local() < a.cols() {
            let what = "local rows (one per matrix column)";
            return Err(MatrixError::Mismatch { what, expected: a.cols(), found: halo.local() });
        }
        let mut scales = vec![0.0; halo.local()];
        scales[owned.clone()].copy_from_slice(&a.diagonal(owned.clone()));
        parallel::over_pieces(&mut scales[owned], &|_, scales: &mut [f64]| {
            scales.iter_mut().for_each(|scale| *scale = scale.abs().sqrt().recip());
        });
        halo.exchange(&mut scales);
        Ok(Symmetric { scales })
    }
}

impl Strengths for Symmetric {
    #[inline]
    fn scale(&self, row: usize, _facts: &RowFacts) -> Option<f64> {
        Some(self.scales[row])
    }

    #[inline]
    fn strength(&self, _row: usize, scale: f64, column: u32, value: f64) -> f64 {
        value.abs() * (scale * self.scales[column as usize])
    }
}
