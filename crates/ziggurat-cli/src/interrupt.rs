//! Ctrl-C during a solve: the first one asks the iteration to stop, the second ends the process.
//!
//! `SIGTERM`, which batch systems and MPI launchers send before they kill a job, counts as a
//! Ctrl-C. Signals are caught only while a system is iterated. Before that there is nothing to
//! write, so they end the process as usual.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Requests to stop.
#[derive(Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches signals from now on. Where that is impossible, they end the process.
    pub(crate) fn catch() -> Self {
        static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
        Interrupt(REQUESTED.get_or_init(register).clone())
    }

    /// Whether a signal has arrived.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A flag that the first signal sets. The second one ends the process.
fn register() -> Arc<AtomicBool> {
    let requested = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: a signal ends the process if an earlier one has set the flag. The exit
        // code is that of shells for a process ended by this signal.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, requested.clone())
            .and_then(|_| flag::register(signal, requested.clone()));
    }
    requested
}
