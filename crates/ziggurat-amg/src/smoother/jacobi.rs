//! Damped Jacobi: x ← x + ω D⁻¹(b − A x).
//!
//! The error component along an eigenvector of D⁻¹A with eigenvalue λ is multiplied by 1 − ωλ. With
//! ω = 1.6 / ρ the upper three quarters of the spectrum are damped by a factor of at most 0.6,
//! which makes it the Chebyshev polynomial of degree 1 for that part. (4 / (3ρ) suits the upper
//! half, which is less than aggregation leaves to the smoother.) Cost per sweep: one pass over the
//! matrix, none from a zero guess.
//!
//! An estimate of ρ takes as long as ten sweeps. Coarsening that smooths interpolation has made it;
//! plain aggregation has not. Then each row has the step of SPAI-0, if that is proved to converge
//! (`spai0.rs`): on M-matrices it is as large as 1.6 / ρ, and as effective.

use std::ops::Range;

use ziggurat_sparse::{CsrRef, MatrixError, parallel};

use crate::SetupError;

/// ω ρ(D⁻¹A)
pub(super) const DAMPING: f64 = 1.6;

/// ω / a_ii
pub(super) fn diagonal(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    omega: Option<f64>,
    radius: f64,
) -> Result<Vec<f64>, SetupError> {
    let mut inverse = inverse_diagonal(a, rows)?;
    let omega = omega.unwrap_or(DAMPING / radius);
    parallel::over_pieces(&mut inverse, &|_, inverse| inverse.iter_mut().for_each(|d| *d *= omega));
    Ok(inverse)
}

/// 1 / a_ii; a row without a usable diagonal entry is an error that names it.
pub(super) fn inverse_diagonal(a: CsrRef<'_, f64>, rows: Range<usize>) -> Result<Vec<f64>, SetupError> {
    let mut diagonal = a.diagonal(rows.clone());
    let unusable = |d: &f64| !(d.recip().is_finite() && d.is_finite());
    if let Some(at) = parallel::first_position(&diagonal, unusable) {
        return Err(MatrixError::ZeroDiagonal { row: rows.start + at, value: diagonal[at] }.into());
    }
    parallel::over_pieces(&mut diagonal, &|_, diagonal| diagonal.iter_mut().for_each(|d| *d = d.recip()));
    Ok(diagonal)
}
