//! Checks a claim of convergence where rounding could hide a larger residual.
//!
//! ```text
//! |fl(b − A x) − (b − A x)|_i ≤ (k_i + 2) u (|b_i| + Σ_j |a_ij| |x_j|)
//!                       |b_i| ≤ |r_i| + Σ_j |a_ij| |x_j|
//! ```
//!
//! for rows of k_i entries and the unit roundoff u. If the residual and this bound together are
//! within the tolerance, the solve has converged. Otherwise, as for a very large x, which a nearly
//! singular matrix has, the residual that an iteration computes may be small, even zero, by chance.
//! Then it is computed once more, each element to ten digits ([`Part::accurate_residual`]), and
//! that value is reported and decides. So is a residual of zero, which may have underflowed.
//!
//! If the accurate residual exceeds the tolerance by no more than a hundredth, the iteration goes
//! on towards a lower one. Cost: one pass over x, and rarely a pass over the matrix.

use std::fmt;

use ziggurat_amg::Part;
use ziggurat_krylov::{KrylovReport, Observer, Progress, StopReason, Stopping, System};
use ziggurat_sparse::device::{Device, DeviceExt, Vector};

use super::iteration::on_all_processes;
use super::units::Unit;
use super::watch::joined;
use super::{Iteration, Raise, Solution, SolveError, SolveOptions};

/// Rounding may change the reported residual by this fraction of the tolerance.
const NEGLIGIBLE: f64 = 0.005;

/// The relative error of a norm, together with the error of the first term of the bound.
const NORM_ERROR: f64 = 1e-9;

/// A residual up to this multiple of the tolerance is one that rounding has moved across it.
const CLOSE: f64 = 1.01;

/// The tolerance of the iterations after that, as a fraction of the given one.
const LOWER: f64 = 0.8;

/// Norms between these have neither overflowed nor underflowed.
const SAFE: std::ops::Range<f64> = 1e-120..1e120;

/// The projection of b is known up to this fraction of ‖b‖.
const PROJECTION_ERROR: f64 = 1e-13;

/// If what was left out of b is less than this fraction of the tolerance, the residual of b itself
/// has to be within the tolerance.
const NO_ROOM: f64 = 0.99;

/// A linear system as its rows are in host memory, by which solutions are certified.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat::HostSystem;
/// use ziggurat::amg::Part;
/// use ziggurat::sparse::Csr;
/// let a = Arc::new(Csr::<f64>::identity(2)?);
/// let part = || Part::from(&a);
/// // Each row has one entry, of size 1.
/// let system = HostSystem { a: &part, largest_row_error: 3.0, b: &[1.0, 1.0] };
/// assert_eq!((system.a)().own.rows(), system.b.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HostSystem<'a> {
    /// The rows of this process. They are only asked for if needed.
    pub a: &'a dyn Fn() -> Part<'a>,
    /// As in [`MatrixKind`](crate::diagnose::MatrixKind::largest_row_error), over all processes.
    pub largest_row_error: f64,
    /// The right-hand side of these rows.
    pub b: &'a [f64],
}

impl fmt::Debug for HostSystem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSystem").field("rows", &self.b.len()).finish_non_exhaustive()
    }
}

/// The tolerance and ‖b‖ in units in which they neither overflow nor underflow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) unit: f64,
    pub(super) b_norm: f64,
    pub(super) target: f64,
}

impl Scale {
    /// Collective.
    pub(super) fn of(
        device: &dyn Device,
        b: &[f64],
        stopping: &Stopping,
        initial_residual: f64,
    ) -> Result<Self, SolveError> {
        let largest = device.largest_of_all(largest(b));
        let unit = largest.log2().floor().clamp(-1000.0, 1000.0).exp2();
        let b: Vec<f64> = b.iter().map(|b| b / unit).collect();
        let b_norm = norm(device, &b)?;
        let stopping = Unit::new(unit).stopping(stopping);
        let target = stopping.target(b_norm, initial_residual / unit);
        // A tolerance relative to a guess that overflowed is none.
        Ok(Scale { unit, b_norm, target: if target.is_finite() { target } else { 0.0 } })
    }

    /// States a residual norm in these units.
    pub(super) fn report(&self, residual: f64, report: &mut KrylovReport) {
        report.relative_residual = if self.b_norm == 0.0 { residual } else { residual / self.b_norm };
        report.residual = residual * self.unit;
        if residual > 0.0 {
            report.residual = report.residual.max(f64::from_bits(1));
        }
        if let Some((_, last)) = report.verified.last_mut() {
            *last = report.residual;
        }
    }
}

/// The largest size of own elements.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// The norm of a vector in host memory, also if squares of its elements underflow. Collective.
pub(super) fn norm(device: &dyn Device, x: &[f64]) -> Result<f64, SolveError> {
    let largest = device.largest_of_all(largest(x));
    if largest == 0.0 || SAFE.contains(&largest) {
        return Ok(device.norm(&on_all_processes(device, device.upload(x))?));
    }
    let unit = largest.log2().floor().clamp(-1000.0, 1000.0).exp2();
    let scaled: Vec<f64> = x.iter().map(|x| x / unit).collect();
    Ok(unit * device.norm(&on_all_processes(device, device.upload(&scaled))?))
}

impl Iteration {
    /// As [`solve`](Self::solve), and verifies a claim of convergence by the matrix in host memory.
    /// Collective.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_certified(
        &self,
        system: &HostSystem<'_>,
        guess: Option<Vector>,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
        raise: &Raise<'_>,
    ) -> Result<Solution<Vec<f64>>, SolveError> {
        let (device, stopping) = (&*self.device, &options.stopping);
        let before = device.traffic();
        let upload = |host: &[f64]| on_all_processes(device, device.upload(host));
        let observing = observer.as_mut().map(|observer| &mut **observer as &mut Observer<'_>);
        let solution = self.solve(upload(system.b)?, guess, options, observing, raise)?;
        let x = on_all_processes(device, device.to_host(solution.x))?;
        let (report, goal) = self.certified(solution.report, system, stopping, &x)?;
        let mut first = Solution { x, report, promotion: solution.promotion, traffic: None };
        let iterations = first.report.iterations;
        if let Some(goal) = goal.filter(|_| iterations < stopping.max_iterations) {
            let mut rest = options.clone();
            rest.stopping = rest.stopping.with_target(LOWER * goal);
            rest.stopping.max_iterations -= iterations;
            let left = |limit| f64::max(limit - first.report.seconds, 0.0);
            rest.stopping.max_seconds = stopping.max_seconds.map(left);
            let mut from_there = observer.map(|observer| {
                move |progress: &Progress| {
                    let mut progress = *progress;
                    progress.iteration += iterations;
                    observer(&progress)
                }
            });
            let observing = from_there.as_mut().map(|observer| observer as &mut Observer<'_>);
            let guess = Some(upload(&first.x)?);
            let second = self.solve(upload(system.b)?, guess, &rest, observing, raise)?;
            first = self.better(first, second, system, stopping)?;
        }
        first.traffic = super::traffic_since(device, before);
        Ok(first)
    }

    /// The better one of a solution that exceeds the tolerance and of what further iterations have
    /// made of it. The tolerance of the caller decides, not the lower one.
    fn better(
        &self,
        first: Solution<Vec<f64>>,
        second: Solution<Vector>,
        system: &HostSystem<'_>,
        stopping: &Stopping,
    ) -> Result<Solution<Vec<f64>>, SolveError> {
        let Solution { x, report, promotion, .. } = second;
        let x = on_all_processes(&*self.device, self.device.to_host(x))?;
        let mut report = joined(first.report.clone(), report);
        let ended = report.reason;
        if ended == StopReason::Interrupted {
            return Ok(Solution { x, report, promotion: promotion.or(first.promotion), traffic: None });
        }
        report.reason = StopReason::Converged;
        let (mut report, _) = self.certified(report, system, stopping, &x)?;
        let promotion = promotion.or(first.promotion);
        if report.reason.is_converged() {
            return Ok(Solution { x, report, promotion, traffic: None });
        }
        if !ended.is_converged() {
            report.reason = ended;
        }
        let before = &first.report;
        if report.residual < before.residual {
            return Ok(Solution { x, report, promotion, traffic: None });
        }
        (report.residual, report.relative_residual) = (before.residual, before.relative_residual);
        report.reason = before.reason;
        Ok(Solution { x: first.x, report, promotion, traffic: None })
    }

    /// Confirms or corrects the report on a solution. If it exceeds the tolerance by no more than
    /// rounding, also returns what was to be reached. Collective.
    fn certified(
        &self,
        mut report: KrylovReport,
        system: &HostSystem<'_>,
        stopping: &Stopping,
        x: &[f64],
    ) -> Result<(KrylovReport, Option<f64>), SolveError> {
        let device = &*self.device;
        let claims = report.reason.is_converged();
        // The solution for b = 0 is exactly 0.
        if report.b_norm == 0.0 || !(claims || report.residual == 0.0) {
            return Ok((report, None));
        }
        let largest_x = device.largest_of_all(largest(x));
        let mut rows = [x.len() as i64];
        device.sum_of_all(&mut rows);
        let rounding = f64::EPSILON * system.largest_row_error * largest_x * (rows[0] as f64).sqrt();
        let KrylovReport { residual, target, b_norm, .. } = report;
        let is_safe = SAFE.contains(&residual) && SAFE.contains(&b_norm);
        let is_small = rounding <= NEGLIGIBLE * target && residual * (1.0 + NORM_ERROR) + rounding <= target;
        if claims && is_safe && is_small {
            return Ok((report, None));
        }
        let scale = Scale::of(device, system.b, stopping, report.initial_residual)?;
        let r = (system.a)().accurate_residual(device, scale.unit, x, system.b);
        let residual = norm(device, &r)?;
        scale.report(residual, &mut report);
        if !claims || residual <= scale.target {
            return Ok((report, None));
        }
        let projects = stopping.project_rhs && report.left_out * scale.b_norm > NO_ROOM * scale.target;
        let (residual, target) = match projects {
            true => self.projected(&r, system.b, &scale, stopping, report.initial_residual)?,
            false => (residual, scale.target),
        };
        if residual <= target {
            return Ok((report, None));
        }
        report.reason = StopReason::Stagnated;
        Ok((report, (residual <= CLOSE * target).then_some(target * scale.unit)))
    }

    /// ‖b_R − A x‖ and its tolerance in the given units, where r = b − A x, and b_R is the
    /// projection of b onto the range of A. Collective.
    fn projected(
        &self,
        r: &[f64],
        b: &[f64],
        scale: &Scale,
        stopping: &Stopping,
        initial_residual: f64,
    ) -> Result<(f64, f64), SolveError> {
        let device = &*self.device;
        let b: Vec<f64> = b.iter().map(|b| b / scale.unit).collect();
        let mut projected = on_all_processes(device, device.upload(&b))?;
        let with_empty_rows = self.kernel_with_empty_rows(&projected)?;
        let kernel = with_empty_rows.as_deref().unwrap_or(&self.kernel.vectors);
        let system = System::new(&*self.matrix).kernel(kernel);
        let outside = system.project(device, &mut projected);
        let inside = device.norm(&projected);
        let projected = on_all_processes(device, device.to_host::<f64>(projected))?;
        // b − b_R is what is left out.
        let left = r.iter().zip(&b).zip(&projected).map(|((r, b), projected)| r - (b - projected));
        let residual = norm(device, &left.collect::<Vec<_>>())?;
        let initial = initial_residual / scale.unit;
        let initial = (initial.powi(2) - outside.powi(2)).max(0.0).sqrt();
        let target = Unit::new(scale.unit).stopping(stopping).target(inside, initial);
        Ok((residual, target.max(PROJECTION_ERROR * scale.b_norm)))
    }
}
