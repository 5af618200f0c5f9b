//! Chebyshev smoothing: the polynomial in D⁻¹A that is smallest on [λ, Λ], the part of the spectrum
//! to be damped.
//!
//! With θ = (Λ + λ)/2, δ = (Λ − λ)/2, σ = θ/δ and ρ_0 = 1/σ, ρ_k = 1/(2σ − ρ_{k−1}), one step of
//! the recurrence is
//!
//! ```text
//! x_{k+1} = x_k + ω_k d∘(b − A x_k) + β_k (x_k − x_{k−1})
//! ω_0 = 1/θ, β_0 = 0,   ω_k = 2ρ_k/δ, β_k = ρ_k ρ_{k−1}
//! ```
//!
//! (Saad, *Iterative Methods for Sparse Linear Systems*, Alg. 12.1; the form printed in Tsai's
//! thesis does not converge.) Every step is one [`sweep`](ziggurat_sparse::device::Device::sweep).
//! Λ bounds the spectrum of D⁻¹A from above: it is 1.05 times the Lanczos bound, or exactly 1 for
//! the ℓ1 diagonal, which needs no estimate. Cost per sweep: `degree` passes over the matrix, one
//! less from a zero guess.

use std::ops::Range;

use ziggurat_sparse::CsrRef;

use super::{Relaxation, SmootherData, jacobi, l1_jacobi};
use crate::SetupError;

/// The diagonal that a Chebyshev polynomial is built on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChebyshevBase {
    /// The matrix's own diagonal; needs an estimate of the spectrum.
    #[default]
    Jacobi,
    /// The ℓ1 diagonal; its spectrum is bounded by 1.
    L1Jacobi,
}

/// Safety factor, because the estimate comes from inside the spectrum.
pub(super) const SAFETY: f64 = 1.05;

pub(super) fn data(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    degree: usize,
    base: ChebyshevBase,
    ratio: f64,
    radius: f64,
) -> Result<SmootherData, SetupError> {
    let (diagonal, upper) = match base {
        ChebyshevBase::Jacobi => (jacobi::inverse_diagonal(a, rows)?, SAFETY * radius),
        ChebyshevBase::L1Jacobi => (l1_jacobi::diagonal(a, rows)?, 1.0),
    };
    let relaxation = Relaxation::Recurrence(coefficients(degree, upper / ratio, upper));
    Ok(SmootherData::Diagonal { diagonal, relaxation })
}

/// (ω_k, β_k) for `degree` steps on [lower, upper].
pub(crate) fn coefficients(degree: usize, lower: f64, upper: f64) -> Vec<(f64, f64)> {
    let (theta, delta) = ((upper + lower) / 2.0, (upper - lower) / 2.0);
    let sigma = theta / delta;
    let mut rho = 1.0 / sigma;
    let mut steps = vec![(1.0 / theta, 0.0)];
    for _ in 1..degree {
        let next = 1.0 / (2.0 * sigma - rho);
        steps.push((2.0 * next / delta, next * rho));
        rho = next;
    }
    steps
}
