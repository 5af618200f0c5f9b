//! Checks a claim of convergence where rounding could hide a larger residual.
//!
//! ```text
//! |fl(b − A x) − (b − A x)|_i ≤ c u (|b_i| + Σ_j |a_ij| |x_j|)
//! ```
//!
//! where u is the unit roundoff. If x is very large, as for a nearly singular matrix, this bound
//! exceeds the tolerance, and the residual that an iteration computes may be small, even zero, by
//! chance. Then the residual is computed once more with twice the precision, and that value is
//! reported and decides. In all other cases the bound shows that this could not change the result.
//! Cost: one pass over x, and rarely a pass over the matrix.

use ziggurat_amg::Part;
use ziggurat_krylov::{KrylovReport, StopReason, Stopping};
use ziggurat_sparse::device::{Device, DeviceError};

/// Rounding may change the residual by this fraction of the tolerance.
const NEGLIGIBLE: f64 = 0.005;

/// c: sums of few terms, whose errors have random signs.
const ERRORS: f64 = 4.0;

/// Confirms or corrects the report on a solution: `x` and `b` are the elements of own rows, in host
/// memory, and `largest_row_sum` is max_i Σ_j |a_ij| over all processes. Collective.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat::amg::Part;
/// use ziggurat::krylov::{StopReason, Stopping};
/// use ziggurat::sparse::{Csr, device::Cpu};
/// let a = Arc::new(Csr::<f64>::identity(2)?);
/// let b = [1.0, 1.0];
/// let solution = ziggurat::Solver::new(a.clone(), Default::default())?.solve(&b)?;
/// let check = |largest_row_sum, x: &[f64]| {
///     let (report, part) = (solution.report.clone(), Part::from(&a));
///     ziggurat::certified(report, &Cpu::new(), || part, largest_row_sum, &Stopping::default(), &b, x)
/// };
/// assert_eq!(check(1.0, &solution.x)?.reason, StopReason::Converged);
/// // With rows this large, rounding could hide a wrong x, so the residual is computed again.
/// assert_eq!(check(1e9, &solution.x)?.reason, StopReason::Converged);
/// assert_eq!(check(1e9, &[1.0, 2.0])?.reason, StopReason::Stagnated);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the device fails.
pub fn certified<'a, D: Device>(
    report: KrylovReport,
    device: &D,
    a: impl FnOnce() -> Part<'a, D>,
    largest_row_sum: f64,
    stopping: &Stopping,
    b: &[f64],
    x: &[f64],
) -> Result<KrylovReport, DeviceError> {
    let mut report = report;
    // If b was projected, most of the residual is what was left out, whatever the rounding.
    let projected = stopping.project_rhs && report.left_out * report.b_norm > report.target;
    if !report.reason.is_converged() || report.b_norm == 0.0 || projected {
        return Ok(report);
    }
    // A power of two near ‖b‖, which may have overflowed.
    let unit = report.b_norm.log2().floor().clamp(-1000.0, 1000.0).exp2();
    let b_norm = report.b_norm / unit;
    let target = report.target / unit;
    let largest = device.largest_of_all(x.iter().fold(0.0_f64, |most, x| most.max(x.abs())) / unit);
    let mut rows = [x.len() as i64];
    device.sum_of_all(&mut rows);
    let rounding = ERRORS * (0.5 * f64::EPSILON) * largest_row_sum * largest * (rows[0] as f64).sqrt();
    if rounding <= NEGLIGIBLE * target {
        return Ok(report);
    }
    let r = a().accurate_residual(device, unit, x, b);
    let residual = device.norm(&device.upload(&r)?);
    (report.residual, report.relative_residual) = (residual * unit, residual / b_norm);
    if residual.is_nan() || residual > (1.0 + NEGLIGIBLE) * target {
        report.reason = StopReason::Stagnated;
    }
    Ok(report)
}
