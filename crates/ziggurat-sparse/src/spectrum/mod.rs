//! Bounds on the spectrum of D⁻¹A, where D is the diagonal of A, as needed by Chebyshev smoothing,
//! damped Jacobi and smoothed aggregation.
//!
//! | | gives | for | passes over A |
//! |---|---|---|---|
//! | [`gershgorin()`] | a rigorous upper bound, often pessimistic | any A | 1 |
//! | [`lanczos()`], [`lanczos_jacobi`] | both ends and a sharp upper bound | symmetric A, positive diagonal | about 12 |
//! | [`power()`], [`power_jacobi`] | the spectral radius, from below | any A | about 20 |
//!
//! [`lanczos()`] and [`power()`] are independent of the matrix format: the caller supplies the
//! operator and the inner product. A distributed caller exchanges the halo in the former, reduces
//! over the ranks in the latter, and uses [`JacobiScaled`] for its own rows in both. The `_jacobi`
//! functions do this for a local matrix.
//!
//! D⁻¹A is not symmetric even if A is, but it is self-adjoint in the inner product (x, y) = Σ dᵢ xᵢ
//! yᵢ, which is used throughout. It has the same eigenvalues as D^-1/2 A D^-1/2 and needs no
//! diagonal entries of the halo.

mod error;
mod gershgorin;
mod jacobi_scaled;
mod lanczos;
mod power;
mod tridiagonal;

pub use error::SpectrumError;
pub use gershgorin::gershgorin;
pub use jacobi_scaled::JacobiScaled;
pub use lanczos::{LANCZOS_STEPS, LanczosBounds, LanczosOperator, lanczos, lanczos_jacobi, lanczos_with};
pub use power::{POWER_STEPS, PowerEstimate, power, power_jacobi};

/// The norm from its square; rejects values that are not finite. Step 0 is the start vector.
fn check_norm(step: usize, square: f64) -> Result<f64, SpectrumError> {
    let norm = square.sqrt();
    if norm.is_finite() { Ok(norm) } else { Err(SpectrumError::NotFinite { step, norm }) }
}

#[cfg(test)]
mod tests;
