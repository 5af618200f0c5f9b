//! Iterative refinement of a solution that rounding errors keep from the tolerance.
//!
//! ```text
//! r = b − A x  to ten digits,   A d ≈ r,   x ← x + d
//! ```
//!
//! An iteration cannot see a residual below its own rounding errors, which grow with |A| |x|. An
//! accurate residual ([`Part::accurate_residual`](ziggurat_amg::Part::accurate_residual)) is
//! correct below that, and the errors of a correction are relative to d, not to x. What remains are
//! the errors of rounding x itself. J. H. Wilkinson, *Rounding Errors in Algebraic Processes*,
//! 1963; N. Higham, *Accuracy and Stability of Numerical Algorithms*, chapter 12. Cost of a
//! correction: one pass over the matrix with about 30 operations per entry, and a few iterations.

use ziggurat_krylov::{KrylovReport, Observer, Progress, StopReason};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::DeviceExt;

use super::certify::{Scale, norm as norm_of};
use super::watch::joined;
use super::{Iteration, Raise, Solution, SolveError, SolveOptions};

/// A correction must reduce the residual by this factor, or it was the last one.
const PROGRESS: f64 = 0.9;

/// The smallest tolerance of a correction. Rounding errors limit a correction as they limit the
/// solution, so more digits are of no use.
const MIN_RTOL: f64 = 1e-4;

/// Corrects a stagnated solution up to `limit` times. `residual` computes (b − A x) / unit to ten
/// digits; the unit is a power of two near the largest element of b.
pub(super) fn refined(
    iteration: &Iteration,
    limit: usize,
    options: &SolveOptions,
    b: &[f64],
    solution: Solution,
    residual: &dyn Fn(f64, &[f64]) -> Vec<f64>,
    observer: Option<&mut Observer<'_>>,
    raise: &Raise<'_>,
) -> Result<Solution, SolveError> {
    let report = &solution.report;
    let stagnated = report.reason == StopReason::Stagnated && report.left_out == 0.0;
    if limit == 0 || !stagnated || !report.residual.is_finite() || report.b_norm == 0.0 {
        return Ok(solution);
    }
    let scale = Scale::of(&*iteration.device, b, &options.stopping, report.initial_residual)?;
    refined_to(iteration, limit, options, scale, solution, residual, observer, raise)
}

/// The same to the target of the given scale.
fn refined_to(
    iteration: &Iteration,
    limit: usize,
    options: &SolveOptions,
    scale: Scale,
    mut solution: Solution,
    residual: &dyn Fn(f64, &[f64]) -> Vec<f64>,
    mut observer: Option<&mut Observer<'_>>,
    raise: &Raise<'_>,
) -> Result<Solution, SolveError> {
    let device = &*iteration.device;
    let Scale { unit, b_norm, target } = scale;
    let mut r = residual(unit, &solution.x);
    let mut norm = norm_of(device, &r)?;
    if !norm.is_finite() {
        return Ok(solution);
    }
    for _ in 0..limit {
        if norm <= target {
            break;
        }
        let report = &solution.report;
        let left = options.stopping.max_iterations.saturating_sub(report.iterations);
        let seconds = options.stopping.max_seconds.map(|limit| limit - report.seconds);
        if left == 0 || seconds.is_some_and(|seconds| seconds <= 0.0) {
            break;
        }
        let mut rest = options.clone();
        let rtol = (0.5 * target / norm).clamp(MIN_RTOL, 0.5);
        rest.stopping = rest.stopping.with_target(0.0).rtol(rtol);
        (rest.stopping.max_iterations, rest.stopping.max_seconds) = (left, seconds);
        let (before, start) = (report.iterations, norm);
        let mut from_there = observer.as_mut().map(|observer| {
            move |progress: &Progress| {
                let mut progress = *progress;
                progress.iteration += before;
                let residual = progress.relative_residual * start;
                (progress.residual, progress.relative_residual) = (residual * unit, residual / b_norm);
                progress.target = target * unit;
                observer(&progress)
            }
        });
        let observing = from_there.as_mut().map(|observer| observer as &mut Observer<'_>);
        let correction = iteration.solve(device.upload(&r)?, None, &rest, observing, raise)?;
        let d = device.to_host::<f64>(correction.x)?;
        let x: Vec<f64> = solution.x.iter().zip(&d).map(|(x, d)| x + d * unit).collect();
        let left_over = residual(unit, &x);
        let norm_then = norm_of(device, &left_over)?;
        solution.report = corrected(solution.report, correction.report, unit);
        if solution.report.reason == StopReason::Interrupted {
            break;
        }
        solution.report.reason = StopReason::Stagnated;
        let better = norm_then < norm;
        let enough = norm_then < PROGRESS * norm;
        if better {
            (solution.x, r, norm) = (x, left_over, norm_then);
        }
        if !enough {
            break;
        }
    }
    scale.report(norm, &mut solution.report);
    if norm <= target {
        solution.report.reason = StopReason::Converged;
    }
    Ok(solution)
}

/// Corrections by factors if refinement is not configured. Each costs a substitution.
const STEPS_BY_FACTORS: usize = 3;

/// They are made if the residual is at most this many times the tolerance.
const CLOSE: f64 = 10.0;

/// Corrects a stagnated solution by sparse factors whose residual is close to the tolerance, also
/// if refinement is not configured. It counts as converged only if the residual is below the
/// tolerance both when it is accurate and as double precision has it, which is what a caller would
/// compute. The larger one is reported.
pub(super) fn refined_by_factors(
    iteration: &Iteration,
    options: &SolveOptions,
    b: &[f64],
    solution: Solution,
    residual: &dyn Fn(f64, &[f64]) -> Vec<f64>,
    observer: Option<&mut Observer<'_>>,
    raise: &Raise<'_>,
) -> Result<Solution, SolveError> {
    let report = &solution.report;
    let is_close = report.residual <= CLOSE * report.target;
    if report.reason != StopReason::Stagnated || !is_close || report.left_out != 0.0 || report.b_norm == 0.0 {
        return Ok(solution);
    }
    let (device, matrix) = (&*iteration.device, &iteration.matrix);
    let scale = Scale::of(device, b, &options.stopping, report.initial_residual)?;
    let stricter = Scale { target: 0.5 * scale.target, ..scale };
    let steps = STEPS_BY_FACTORS;
    let mut solution = refined_to(iteration, steps, options, stricter, solution, residual, observer, raise)?;
    let report = &mut solution.report;
    if report.reason == StopReason::Interrupted {
        return Ok(solution);
    }
    let in_units = |vector: &[f64]| vector.iter().map(|x| x / scale.unit).collect::<Vec<f64>>();
    let (b, x) = (device.upload(&in_units(b))?, device.upload(&in_units(&solution.x))?);
    let mut r = device.zeros(Kind::F64, solution.x.len())?;
    let mut work = matrix.workspace(device, Kind::F64)?;
    matrix.residual(device, &x, &b, &mut r, &mut work);
    let plain = device.norm(&r);
    device.finish()?;
    let accurate = norm_of(device, &residual(scale.unit, &solution.x))?;
    // Not `max`, which ignores NaN.
    let larger = if plain <= accurate { accurate } else { plain };
    scale.report(larger, report);
    report.reason = if larger <= scale.target { StopReason::Converged } else { StopReason::Stagnated };
    Ok(solution)
}

/// Adds the report of a correction, whose right-hand side was in `unit`s.
fn corrected(first: KrylovReport, mut correction: KrylovReport, unit: f64) -> KrylovReport {
    let (b_norm, left_out, target) = (first.b_norm, first.left_out, first.target);
    correction.history.iter_mut().for_each(|norm| *norm *= unit);
    correction.verified.iter_mut().for_each(|(_, norm)| *norm *= unit);
    let mut report = joined(first, correction);
    (report.b_norm, report.left_out, report.target) = (b_norm, left_out, target);
    report
}
