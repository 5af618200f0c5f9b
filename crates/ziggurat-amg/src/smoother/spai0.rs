//! SPAI-0: x ← x + M(b − A x) with the diagonal M that minimises ‖I − M A‖_F, that is m_i = a_ii /
//! Σ_j a_ij².
//!
//! The sparsest of the sparse approximate inverses (Bröker & Grote, 2002). It has no parameters,
//! like ℓ1-Jacobi, and is closer to Jacobi where rows are dominated by their diagonal. It converges
//! for a symmetric positive definite A if ρ(M A) < 2, which Gershgorin's bound
//!
//! ```text
//! ρ(M A) ≤ max_i a_ii Σ_j |a_ij| / Σ_j a_ij²
//! ```
//!
//! proves for every matrix with weakly dominant diagonal, since m_i a_ii < 1. Cost per sweep: the
//! same as Jacobi.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use ziggurat_sparse::{CsrRef, MatrixError, parallel};

use crate::SetupError;

/// The bound on ρ(M A) up to which a sweep counts as proved to converge.
pub(super) const PROVED: f64 = 1.99;

/// The diagonal of M if Gershgorin's bound proves that a sweep converges in all of `rows`.
pub(super) fn proved_diagonal(a: CsrRef<'_, f64>, rows: Range<usize>) -> Option<Vec<f64>> {
    let of_row = |place: &mut usize, row: usize| {
        let values = a.row(row).1;
        let (sum, squares) =
            values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x.abs(), squares + x * x));
        let weight = a.get_near(row, row, place).unwrap_or(0.0) / squares;
        (weight > 0.0 && weight.is_finite() && weight * sum <= PROVED).then_some(weight)
    };
    let mut weights = parallel::zeros(rows.len());
    let failed = AtomicBool::new(false); // then the weights of other rows are not needed
    parallel::over_pieces(&mut weights, &|first, weights| {
        let mut place = 0;
        for (weight, row) in weights.iter_mut().zip(rows.start + first..) {
            match of_row(&mut place, row) {
                Some(proved) if !failed.load(Ordering::Relaxed) => *weight = proved,
                _ => return failed.store(true, Ordering::Relaxed),
            }
        }
    });
    (!failed.into_inner()).then_some(weights)
}

/// a_ii / Σ_j a_ij²
pub(super) fn diagonal(a: CsrRef<'_, f64>, rows: Range<usize>) -> Result<Vec<f64>, SetupError> {
    let weights = parallel::collect(rows.len(), |place| {
        let row = rows.start + place;
        let squares: f64 = a.row(row).1.iter().map(|value| value * value).sum();
        a.get(row, row).unwrap_or(0.0) / squares
    });
    match parallel::first_position(&weights, |weight| !weight.is_finite() || *weight == 0.0) {
        Some(at) => Err(MatrixError::ZeroDiagonal { row: rows.start + at, value: weights[at] }.into()),
        None => Ok(weights),
    }
}
