//! ℓ1-Jacobi: x ← x + D₁⁻¹(b − A x), D₁ = diag(Σ_j |a_ij|), with the sign of a_ii.
//!
//! For a symmetric positive definite A the spectrum of D₁⁻¹A lies in (0, 1], so the sweep converges
//! without a damping parameter and without an estimate of the spectrum (Baker, Falgout, Kolev &
//! Yang, 2011). The price is a smaller step than with Jacobi where A is diagonally dominant.
//! Cost per sweep: the same as Jacobi.

use std::ops::Range;

use ziggurat_sparse::{CsrRef, MatrixError, parallel};

use crate::SetupError;

/// sign(a_ii) / Σ_j |a_ij|
pub(super) fn diagonal(a: CsrRef<'_, f64>, rows: Range<usize>) -> Result<Vec<f64>, SetupError> {
    let sum = |row: usize| a.row(row).1.iter().map(|value| value.abs()).sum::<f64>();
    let inverse = parallel::collect(rows.len(), |place| {
        let row = rows.start + place;
        sum(row).recip().copysign(a.get(row, row).unwrap_or(0.0))
    });
    match parallel::first_position(&inverse, |inverse| !inverse.is_finite() || *inverse == 0.0) {
        Some(place) => {
            let row = rows.start + place;
            Err(MatrixError::ZeroDiagonal { row, value: sum(row) }.into())
        }
        None => Ok(inverse),
    }
}
