//! Units of very small and very large right-hand sides.
//!
//! ```text
//! A x = b   ⇔   A (x/u) = b/u,   u a power of two near max |b_i|
//! ```
//!
//! Inner products square the elements of vectors, which overflows above 10¹⁵⁴ and underflows below
//! 10⁻¹⁵⁴. So where b is far from one, the iteration computes with b/u and x/u. Multiplication by a
//! power of two changes no bit of a mantissa, so the iteration runs as for a b near one. Cost: one
//! pass over b to find its largest element and, if u is not one, some passes over b and x and one
//! product with A.

use ziggurat_krylov::{KrylovReport, Progress, StopReason, Stopping};
use ziggurat_sparse::device::{Device, Vector, Vectors};

use super::SolveOptions;

/// Right-hand sides whose largest element is within 2^±64 are taken as they are.
const NEAR_ONE: f64 = 64.0;

/// A unit of vectors: a power of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit(f64);

impl Unit {
    /// The unit of a right-hand side: one if its largest element is near one, zero or not finite.
    pub(super) fn of(device: &dyn Device, b: &Vector) -> Self {
        let largest = device.norm_max(b);
        if !(largest > 0.0 && largest.is_finite()) {
            return Unit(1.0);
        }
        // Both u and 1/u are normal numbers.
        let exponent = largest.log2().floor().clamp(-1000.0, 1000.0);
        Unit(if exponent.abs() <= NEAR_ONE { 1.0 } else { exponent.exp2() })
    }

    /// A power of two as a unit.
    pub(super) fn new(power: f64) -> Self {
        Unit(power)
    }

    pub(super) fn is_one(self) -> bool {
        self.0 == 1.0
    }

    /// x ← x / u
    pub(super) fn divide(self, device: &dyn Device, x: &mut Vector) {
        scale(device, self.0.recip(), x);
    }

    /// x ← u x
    pub(super) fn multiply(self, device: &dyn Device, x: &mut Vector) {
        scale(device, self.0, x);
    }

    /// The options of the system in units of u.
    pub(super) fn options(self, options: &SolveOptions) -> SolveOptions {
        SolveOptions { stopping: self.stopping(&options.stopping), ..options.clone() }
    }

    /// The stopping criteria of the system in units of u.
    pub(super) fn stopping(self, stopping: &Stopping) -> Stopping {
        stopping.atol((stopping.atol / self.0).min(f64::MAX))
    }

    /// Progress in the units of the caller.
    pub(super) fn progress(self, progress: &Progress) -> Progress {
        let mut progress = *progress;
        progress.residual *= self.0;
        progress.target *= self.0;
        progress
    }

    /// The report in the units of the caller. `residual` is the residual norm of the returned x, in
    /// units of u. It differs from the reported one if elements of x overflowed or underflowed.
    pub(super) fn report(self, report: KrylovReport, residual: f64) -> KrylovReport {
        let mut report = report;
        let limit = report.residual.max(report.target);
        if residual.is_nan() || residual > 1.001 * limit {
            report.reason = StopReason::NotFinite;
        }
        (report.residual, report.relative_residual) = (residual, residual / report.b_norm);
        let KrylovReport { residual, initial_residual, target, b_norm, .. } = &mut report;
        for norm in [residual, initial_residual, target, b_norm] {
            *norm *= self.0;
        }
        report.history.iter_mut().for_each(|norm| *norm *= self.0);
        report.verified.iter_mut().for_each(|(_, norm)| *norm *= self.0);
        report
    }
}

/// x ← α x
fn scale(device: &dyn Device, alpha: f64, x: &mut Vector) {
    device.combine(&[], Vectors::NONE, alpha, x);
}
