//! How a solve went, as C reads it.

use std::ffi::c_char;

use ziggurat::krylov::KrylovReport;

use crate::status::{Failure, Status};

/// Bytes of the name of a stop reason, with the zero at its end.
const REASON_BYTES: usize = 32;

/// How a solve went: `ziggurat_report` of the headers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Number of iterations.
    pub iterations: i64,
    /// ‖b − A x‖ / ‖b‖, computed anew from the caller's b.
    pub relative_residual: f64,
    /// The part of b that a singular matrix cannot reach, relative to ‖b‖.
    pub left_out: f64,
    /// Seconds of setup.
    pub setup_seconds: f64,
    /// Seconds of the iteration.
    pub solve_seconds: f64,
    /// Number of levels.
    pub levels: i64,
    /// Entries on all levels, relative to the finest.
    pub operator_complexity: f64,
    /// Why the iteration stopped, such as `converged` or `max_iterations`.
    pub stop_reason: [c_char; REASON_BYTES],
}

impl Report {
    /// Of an iteration, and of the levels that it used.
    pub fn new(done: &KrylovReport, setup_seconds: f64, levels: usize, operator_complexity: f64) -> Self {
        Report {
            iterations: done.iterations as i64,
            relative_residual: done.relative_residual,
            left_out: done.left_out,
            setup_seconds,
            solve_seconds: done.seconds,
            levels: levels as i64,
            operator_complexity,
            stop_reason: name(done.reason.name()),
        }
    }

    /// The status of a solve.
    ///
    /// # Errors
    /// If it has not converged.
    pub fn status(done: &KrylovReport) -> Result<Status, Failure> {
        if done.reason.is_converged() {
            return Ok(Status::Ok);
        }
        let residual = done.relative_residual;
        let text = format!("not converged: {}; the relative residual is {residual:.2e}", done.reason);
        Err(Failure::new(Status::NotConverged, text))
    }
}

/// A name in an array of characters, with a zero at its end.
fn name(text: &str) -> [c_char; REASON_BYTES] {
    let mut name = [0; REASON_BYTES];
    for (place, byte) in name[..REASON_BYTES - 1].iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    name
}
