//! ρ(D⁻¹A): how far a smoother may step, and how far a prolongator is smoothed.
//!
//! Lanczos in the inner product of D where A can be symmetric positive definite (it converges from inside, fast, and
//! returns a bound); power iteration where the diagonal has both signs. About ten passes over the matrix.

use ziggurat_sparse::CsrRef;
use ziggurat_sparse::spectrum::{SpectrumError, lanczos_jacobi, power_jacobi};

use crate::SetupError;

/// Steps: enough for two digits on grid problems, where the top of the spectrum is dense.
const STEPS: usize = 10;

/// An upper estimate of the spectral radius of D⁻¹A.
pub(crate) fn spectral_radius(a: CsrRef<'_, f64>) -> Result<f64, SetupError> {
    match lanczos_jacobi(a, STEPS) {
        Ok(bounds) => Ok(bounds.upper),
        Err(SpectrumError::Matrix(error)) => Err(error.into()),
        Err(_) => Ok(power_jacobi(a, STEPS)?.radius),
    }
}
