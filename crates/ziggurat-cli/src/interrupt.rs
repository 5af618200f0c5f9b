//! Ctrl-C during a solve: the first one asks the iteration to stop, the second one ends the
//! process.
//!
//! `SIGTERM`, which batch systems and MPI launchers send before they kill a job, counts as a
//! Ctrl-C. Signals are caught only while a system is iterated. Before that there is nothing to
//! write, so they end the process as usual, which is faster than to cancel a setup. While they are
//! caught, the solver looks at the flag in every iteration, and between the stages in which it sets
//! up a stronger preconditioner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use ziggurat::Cancel;

/// Requests to stop.
#[derive(Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches signals from now on. Where that is impossible, they end the process.
    pub(crate) fn catch() -> Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| register(&requested()));
        Interrupt(requested())
    }

    /// Cancels what a solver does if a signal is caught.
    pub(crate) fn cancel() -> Cancel {
        Cancel::on(requested())
    }

    /// Whether a signal has arrived.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The flag that signals set, once they are caught.
fn requested() -> Arc<AtomicBool> {
    static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    REQUESTED.get_or_init(Arc::default).clone()
}

/// Lets the first signal set the flag. The second one ends the process.
fn register(requested: &Arc<AtomicBool>) {
    for signal in [SIGINT, SIGTERM] {
        // In this order: a signal ends the process if an earlier one has set the flag. Shells give
        // the same exit code for a process ended by this signal.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, requested.clone())
            .and_then(|_| flag::register(signal, requested.clone()));
    }
}
