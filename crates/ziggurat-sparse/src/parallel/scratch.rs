//! Scratch values that tasks reuse.

use std::sync::{Mutex, PoisonError};

/// Scratch values that tasks reuse: at most one is created per concurrently running task.
///
/// ```
/// use ziggurat_sparse::parallel::{Scratch, map_tasks};
/// let buffers = Scratch::new(|| vec![0; 10]);
/// let sums = map_tasks(3, &|task| {
///     buffers.with(|buffer| {
///         buffer.fill(task);
///         buffer.iter().sum::<usize>()
///     })
/// });
/// assert_eq!(sums, [0, 10, 20]);
/// ```
pub struct Scratch<S, F> {
    make: F,
    idle: Mutex<Vec<S>>,
}

impl<S, F> std::fmt::Debug for Scratch<S, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

impl<S: Send, F: Fn() -> S + Sync> Scratch<S, F> {
    /// No values yet; `make` creates them.
    pub fn new(make: F) -> Self {
        Scratch { make, idle: Mutex::new(Vec::new()) }
    }

    /// Calls `work` with a scratch value, which another task may have used before.
    pub fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> R {
        // A poisoned lock means that another task panicked. That panic propagates anyway, so it is
        // ignored here.
        let taken = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = taken.unwrap_or_else(&self.make);
        let result = work(&mut scratch);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}
