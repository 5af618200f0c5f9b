//! ℓ1-Jacobi: x ← x + D₁⁻¹(b − A x), D₁ = diag(Σ_j |a_ij|), with the sign of a_ii.
//!
//! For a symmetric positive definite A the spectrum of D₁⁻¹A lies in (0, 1], so the sweep converges
//! without a damping parameter and without an estimate of the spectrum (Baker, Falgout, Kolev &
//! Yang, 2011). The price is a smaller step than that of Jacobi where A is diagonally dominant.
//! Cost per sweep: the same as Jacobi.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_sparse::{CsrRef, MatrixError};

use crate::SetupError;

/// sign(a_ii) / Σ_j |a_ij|
pub(super) fn diagonal(a: CsrRef<'_, f64>, rows: Range<usize>) -> Result<Vec<f64>, SetupError> {
    let one = |row: usize| {
        let sum: f64 = a.row(row).1.iter().map(|value| value.abs()).sum();
        let inverse = sum.recip().copysign(a.get(row, row).unwrap_or(0.0));
        let usable = inverse.is_finite() && inverse != 0.0;
        if usable { Ok(inverse) } else { Err(MatrixError::ZeroDiagonal { row, value: sum }.into()) }
    };
    rows.into_par_iter().map(one).collect()
}
