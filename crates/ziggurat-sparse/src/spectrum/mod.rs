//! Bounds of the spectrum of D⁻¹A, where D is the diagonal of A: what Chebyshev smoothing, the damping of Jacobi and
//! smoothed aggregation are built from.
//!
//! | | gives | for | passes over A |
//! |---|---|---|---|
//! | [`gershgorin()`] | a proven upper bound, often pessimistic | any A | 1 |
//! | [`lanczos()`], [`lanczos_jacobi`] | both ends and a sharp upper bound | symmetric A, positive diagonal | about 12 |
//! | [`power()`], [`power_jacobi`] | the spectral radius, from below | any A | about 20 |
//!
//! [`lanczos()`] and [`power()`] know nothing of matrices: the caller says how to apply the operator and how to take an inner
//! product. A distributed caller exchanges the halo in the one and reduces over the ranks in the other, and uses
//! [`JacobiScaled`] for its own rows in both. The `_jacobi` functions do so for a matrix that one process holds.
//!
//! D⁻¹A is not symmetric even where A is, but it is self-adjoint in the inner product (x, y) = Σ dᵢ xᵢ yᵢ, so everything
//! works with that product. It has the eigenvalues of D^-1/2 A D^-1/2 and needs no diagonal entries of the halo.

mod error;
mod gershgorin;
mod jacobi_scaled;
mod lanczos;
mod power;
mod tridiagonal;

pub use error::SpectrumError;
pub use gershgorin::gershgorin;
pub use jacobi_scaled::JacobiScaled;
pub use lanczos::{LANCZOS_STEPS, LanczosBounds, lanczos, lanczos_jacobi};
pub use power::{POWER_STEPS, PowerEstimate, power, power_jacobi};

/// The norm from its square, refusing what is not a finite number; 0 is the start vector's step.
fn check_norm(step: usize, square: f64) -> Result<f64, SpectrumError> {
    let norm = square.sqrt();
    if norm.is_finite() { Ok(norm) } else { Err(SpectrumError::NotFinite { step, norm }) }
}

#[cfg(test)]
mod tests;
