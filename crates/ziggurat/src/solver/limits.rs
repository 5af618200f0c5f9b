//! Limits of time and requests to stop, where no Krylov method looks at them: in setup, and in the
//! setup of a stronger preconditioner during a solve.
//!
//! One [`Cancel`] serves both. Setup has it from the builder, with the time limit of the
//! configuration from its beginning; a solve has it with the time limit of its options. If there is
//! no time for a stronger preconditioner, the solve goes on without, and its report says that time
//! was the reason, if it was. Granularity: a stage of a level ([`Cancel`]), an iteration, and a
//! factorisation, which is not begun if it is expected to take longer.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use ziggurat_amg::{Cancel, SetupError};
use ziggurat_krylov::{KrylovReport, Observer, Progress, StopReason};

use super::{SolveError, SolveOptions};
use crate::config::SolverConfig;

/// The limits of a setup that begins now.
pub(super) fn of_setup(cancel: &Cancel, config: &SolverConfig) -> Cancel {
    config.stopping.max_seconds.map_or_else(|| cancel.clone(), |seconds| cancel.within(seconds))
}

/// Asks before a stage of the finest level.
pub(super) fn before(stage: &'static str, cancel: &Cancel) -> Result<(), SetupError> {
    cancel.check().map_err(|source| SetupError::Level { level: 0, stage, source: Box::new(source) })
}

/// The limits of a solve, and which of them has stopped it.
pub(super) struct SolveLimits {
    pub(super) cancel: Cancel,
    reached: OnceLock<StopReason>,
}

impl SolveLimits {
    /// The limits of a solve that begins now.
    pub(super) fn new(cancel: &Cancel, options: &SolveOptions) -> Self {
        let seconds = options.stopping.max_seconds;
        let cancel = seconds.map_or_else(|| cancel.clone(), |seconds| cancel.within(seconds));
        SolveLimits { cancel, reached: OnceLock::new() }
    }

    /// A stronger preconditioner, or none if there is no time for it.
    pub(super) fn unless_cancelled<T>(
        &self,
        made: Result<Option<T>, SolveError>,
    ) -> Result<Option<T>, SolveError> {
        match made {
            Err(SolveError::Setup(error)) if error.is_cancelled() => {
                tracing::warn!(target: "ziggurat::solve", "the preconditioner is not changed: {error}");
                if let Some(reason) = reason(&error) {
                    let _ = self.reached.set(reason);
                }
                Ok(None)
            }
            made => made,
        }
    }

    /// Calls the observer, unless it is time to stop.
    pub(super) fn watch(
        &self,
        progress: &Progress,
        observer: Option<&mut &mut Observer<'_>>,
    ) -> ControlFlow<()> {
        if let Err(error) = self.cancel.check() {
            let _ = self.reached.set(reason(&error).unwrap_or(StopReason::TimeLimit));
            return ControlFlow::Break(());
        }
        observer.map_or(ControlFlow::Continue(()), |observer| observer(progress))
    }

    /// The report, with the limit that has stopped the solve.
    pub(super) fn told(&self, mut report: KrylovReport) -> KrylovReport {
        if let Some(reached) = self.reached.get()
            && !report.reason.is_converged()
        {
            report.reason = *reached;
        }
        report
    }
}

/// The reason to stop that an error of a cancelled setup states; `None` if time is left, but not
/// enough for a step.
fn reason(error: &SetupError) -> Option<StopReason> {
    match error.cause() {
        SetupError::TimeLimit { .. } => Some(StopReason::TimeLimit),
        SetupError::Interrupted => Some(StopReason::Interrupted),
        _ => None,
    }
}

impl SolveError {
    /// The reason to stop that the error states: the reported one for a solve that has not
    /// converged, and `TimeLimit` or `Interrupted` for a setup that was [cancelled](Cancel).
    ///
    /// ```
    /// use ziggurat::krylov::StopReason;
    /// use ziggurat::{SolveError, Solver};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let error = Solver::builder().max_seconds(0.0).build(&a).unwrap_err();
    /// assert_eq!(error.stop_reason(), Some(StopReason::TimeLimit));
    /// assert!(error.to_string().ends_with("the time limit of 0 s was reached; raise `stopping.max_seconds`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop_reason(&self) -> Option<StopReason> {
        match self {
            SolveError::NotConverged(report) => Some(report.reason),
            SolveError::Setup(error) if error.is_cancelled() => {
                Some(reason(error).unwrap_or(StopReason::TimeLimit))
            }
            _ => None,
        }
    }
}
