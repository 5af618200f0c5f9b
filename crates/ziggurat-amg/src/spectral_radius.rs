//! ρ(D⁻¹A): how far a smoother may step, and how far a prolongator is smoothed.
//!
//! The smaller of two bounds: Gershgorin's, which is proved and exact for the Laplacian of a grid, and that of Lanczos in the
//! inner product of D, which is sharper for most other matrices. Four steps of Lanczos tell whether Gershgorin's bound is
//! nearly reached; only if not, more steps are made. Few steps err to the safe side: what they have not found yet is in
//! the residual that is added. Where the diagonal has both signs Lanczos does not apply, and power iteration takes its
//! place. Costs about six passes over the matrix, or ten.

use ziggurat_sparse::CsrRef;
use ziggurat_sparse::spectrum::{SpectrumError, gershgorin, lanczos_jacobi_until, power_jacobi};

use crate::SetupError;

/// Steps after which a bound is known to be reached or not.
const FIRST_STEPS: usize = 4;

/// Steps for an estimate: enough for two digits on grid problems, where the top of the spectrum is dense.
const STEPS: usize = 8;

/// A bound is nearly reached where a value of this part of it has been found after the first steps.
const REACHED: f64 = 0.88;

/// An upper estimate of the spectral radius of D⁻¹A.
pub(crate) fn spectral_radius(a: CsrRef<'_, f64>) -> Result<f64, SetupError> {
    let proved = gershgorin(a, a.all_rows())?;
    let reached = REACHED * proved;
    match lanczos_jacobi_until(a, STEPS, FIRST_STEPS, reached) {
        Ok(bounds) if bounds.steps <= FIRST_STEPS && bounds.largest >= reached => Ok(proved),
        Ok(bounds) => Ok(bounds.upper.min(proved)),
        Err(SpectrumError::Matrix(error)) => Err(error.into()),
        Err(_) => {
            let found = power_jacobi(a, STEPS)?.radius;
            Ok(if found >= reached { proved } else { found.min(proved) })
        }
    }
}
