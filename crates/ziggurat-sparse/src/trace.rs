//! Spans of setup and solve, for timelines.
//!
//! All spans have the target [`TARGET`] and the level TRACE. Setup and its stages are spans with
//! the name `stage` and the fields `stage` (its name), `level` (0 is the finest) and `rows`; the
//! whole solve is one, too. In the solve, `iteration` (fields `iteration` and `relative_residual`)
//! contains `product`, `residual` and `cycle` (field `rows`), and a cycle contains the operations
//! of its levels: `pre-smoothing`, `restriction`, `prolongation`, `post-smoothing`, `product` and
//! `coarsest solve`, with the fields `level`, `rows`, `bytes` and `gb_per_s`. `bytes` counts each
//! pass over a stored matrix and no vectors.
//!
//! If no subscriber listens at level TRACE, a span costs one relaxed atomic load. The stage that
//! began last is kept for a program that runs out of memory in it ([`last_stage`]).

use std::sync::Mutex;
use std::time::Instant;

use tracing::level_filters::LevelFilter;
use tracing::span::EnteredSpan;
use tracing::{Span, trace_span};

use crate::device::Device;

/// The target of the spans.
///
/// ```
/// assert_eq!(ziggurat_sparse::trace::TARGET, "ziggurat::trace");
/// ```
pub const TARGET: &str = "ziggurat::trace";

/// Whether a subscriber may listen to spans: whether any listens at level TRACE.
///
/// ```
/// assert!(!ziggurat_sparse::trace::is_enabled()); // there is no subscriber
/// ```
#[inline]
pub fn is_enabled() -> bool {
    LevelFilter::current() >= LevelFilter::TRACE
}

/// Begins a stage of setup, or a phase, which ends when the returned value is dropped; `None` if
/// nobody listens.
///
/// ```
/// let stage = ziggurat_sparse::trace::stage("strength", Some(0), 1000);
/// assert!(stage.is_none()); // there is no subscriber
/// ```
#[must_use = "the stage ends when this value is dropped"]
pub fn stage(stage: &'static str, level: Option<usize>, rows: u64) -> Option<EnteredSpan> {
    if let Ok(mut last) = LAST.try_lock() {
        *last = Some((stage, level));
    }
    is_enabled().then(|| trace_span!(target: TARGET, "stage", stage, level, rows).entered())
}

/// The stage that began last in any thread, whether somebody listens or not.
static LAST: Mutex<Option<(&'static str, Option<usize>)>> = Mutex::new(None);

/// The [`stage`] that began last in any thread of the process, with its level. It neither waits nor
/// allocates, so that it can be asked when there is no memory left.
///
/// ```
/// use ziggurat_sparse::trace::{last_stage, stage};
/// assert_eq!(last_stage(), None);
/// drop(stage("Galerkin product", Some(2), 1000));
/// assert_eq!(last_stage(), Some(("Galerkin product", Some(2))));
/// ```
pub fn last_stage() -> Option<(&'static str, Option<usize>)> {
    LAST.try_lock().ok().and_then(|last| *last)
}

/// Runs `work` inside a span. `span` makes the span and counts the bytes of the matrices that
/// `work` reads, 0 if unknown; it is not called if nobody listens. The span ends when the device
/// has finished the work, and its field `gb_per_s` is then set.
///
/// ```
/// use tracing::{field::Empty, trace_span};
/// use ziggurat_sparse::{device::Cpu, trace};
/// let span = || (trace_span!(target: trace::TARGET, "sum", bytes = 24, gb_per_s = Empty), 24);
/// assert_eq!(trace::in_span(&Cpu::new(), span, || 1.0 + 2.0), 3.0);
/// ```
#[inline]
pub fn in_span<T>(device: &dyn Device, span: impl FnOnce() -> (Span, usize), work: impl FnOnce() -> T) -> T {
    if !is_enabled() {
        return work();
    }
    let (span, bytes) = span();
    if span.is_disabled() {
        return work();
    }
    let _entered = span.enter();
    let start = Instant::now();
    let result = work();
    let _ = device.finish(); // the caller finishes the device at the end and gets its error
    if bytes > 0 {
        span.record("gb_per_s", bytes as f64 * 1e-9 / start.elapsed().as_secs_f64());
    }
    result
}
