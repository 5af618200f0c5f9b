//! The lock of a solver: any number of solves, or one update of the values.
//!
//! The calling thread holds the lock, never a pool thread: a pool thread that waits may run other
//! tasks of the pool, so one that held the lock could deadlock with itself. Waiting updates take
//! precedence over solves that start later. Waiting releases the GIL and ends with Ctrl-C.
//!
//! **Calls from inside a call.** While a thread solves, Python code can run on it: a callback, or a
//! signal handler. Each thread therefore knows which locks it holds. From inside a call, a solve
//! does not wait for waiting updates, which wait for the outer solve. An update of a solver that is
//! in use is an error, because it would wait for its own thread.
//!
//! **Forks.** A child process has only the thread that forked, but inherits the locks of the
//! others, which nobody releases. It takes over a lock that is free. If threads of the parent
//! solved with it at the moment of the fork, the child can solve, but not update. If one updated
//! it, the child cannot use the solver.
//!
//! **Panics.** A panic during an update leaves the solver half updated. Later calls are refused.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The interval between attempts to take a lock.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

/// The locks that a thread holds, by their addresses, in the order in which they were taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Vec<(usize, Use)>);

thread_local! {
    static HELD: RefCell<Held> = RefCell::default();
}

impl Held {
    /// The locks of this thread.
    pub(crate) fn here() -> Self {
        HELD.with_borrow(Held::clone)
    }

    /// Runs `work` as if this thread held these locks: on behalf of a thread that holds them.
    pub(crate) fn during<T>(self, work: impl FnOnce() -> T) -> T {
        /// Restores the locks of this thread, also after a panic.
        struct Restore(Held);
        impl Drop for Restore {
            fn drop(&mut self) {
                HELD.set(std::mem::take(&mut self.0));
            }
        }
        let _restore = Restore(HELD.replace(self));
        work()
    }

    fn contains(&self, address: usize, how: Use) -> bool {
        self.0.contains(&(address, how))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Notes a lock that this thread holds, until it is dropped.
struct Note(usize, Use);

impl Note {
    fn new(address: usize, how: Use) -> Self {
        HELD.with_borrow_mut(|held| held.0.push((address, how)));
        Note(address, how)
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| {
            if let Some(at) = held.0.iter().rposition(|entry| *entry == (self.0, self.1)) {
                held.0.remove(at);
            }
        });
    }
}

/// Access to a state that is not changed meanwhile.
pub(crate) struct Reading<'a, T> {
    guard: RwLockReadGuard<'a, T>,
    _note: Note,
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

/// Access to a state that nobody else uses.
pub(crate) struct Writing<'a, T> {
    guard: RwLockWriteGuard<'a, T>,
    _note: Note,
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A state that solves read and updates replace.
pub(crate) struct Lock<T> {
    state: RwLock<T>,
    /// The number of waiting updates.
    updates: AtomicUsize,
    /// The process whose threads hold the lock.
    process: AtomicU32,
}

impl<T> Lock<T> {
    pub(crate) fn new(state: T) -> Self {
        let process = AtomicU32::new(std::process::id());
        Lock { state: RwLock::new(state), updates: AtomicUsize::new(0), process }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Whether the lock belongs to this process. A forked child takes over a lock that is free.
    fn is_own(&self) -> bool {
        let this = std::process::id();
        if self.process.load(Ordering::Acquire) == this {
            return true;
        }
        let free = self.state.try_write().is_ok();
        if free {
            self.updates.store(0, Ordering::Release);
            self.process.store(this, Ordering::Release);
        }
        free
    }

    /// Access for a solve.
    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<Reading<'_, T>> {
        let held = Held::here();
        if held.contains(self.address(), Use::Write) {
            return Err(refused("this solver is being updated by the same thread; call it after the update"));
        }
        let mut patience = FORK_PATIENCE;
        loop {
            let own = self.is_own();
            // From inside a call, and in a child of a fork, there is no precedence to respect.
            let first = own && held.is_empty() && self.updates.load(Ordering::Acquire) > 0;
            if !first {
                match self.state.try_read() {
                    Ok(guard) => {
                        return Ok(Reading { guard, _note: Note::new(self.address(), Use::Read) });
                    }
                    Err(TryLockError::Poisoned(_)) => return Err(refused(POISONED)),
                    Err(TryLockError::WouldBlock) if own => {}
                    Err(TryLockError::WouldBlock) => match patience {
                        0 => return Err(refused(FORKED)),
                        _ => patience -= 1,
                    },
                }
            }
            wait(py)?;
        }
    }

    /// Access for an update.
    pub(crate) fn write(&self, py: Python<'_>) -> PyResult<Writing<'_, T>> {
        let held = Held::here();
        if held.contains(self.address(), Use::Read) || held.contains(self.address(), Use::Write) {
            return Err(refused(
                "this solver is in use by the same thread, in a callback or a signal handler; update it \
                 after the call has returned",
            ));
        }
        let mut patience = FORK_PATIENCE;
        while !self.is_own() {
            match patience {
                0 => return Err(refused(FORKED)),
                _ => patience -= 1,
            }
            wait(py)?;
        }
        self.updates.fetch_add(1, Ordering::AcqRel);
        let guard = loop {
            match self.state.try_write() {
                Ok(guard) => break Ok(guard),
                Err(TryLockError::Poisoned(_)) => break Err(refused(POISONED)),
                // Its user might wait for this thread.
                Err(TryLockError::WouldBlock) if !held.is_empty() => {
                    break Err(refused(
                        "this solver is in use by another thread, for which a callback must not wait; \
                         update it after the outer call has returned",
                    ));
                }
                Err(TryLockError::WouldBlock) => {
                    if let Err(error) = wait(py) {
                        break Err(error);
                    }
                }
            }
        };
        self.updates.fetch_sub(1, Ordering::AcqRel);
        Ok(Writing { guard: guard?, _note: Note::new(self.address(), Use::Write) })
    }
}

/// Attempts to take a lock that a child of a fork inherited, before it counts as held by the
/// parent.
const FORK_PATIENCE: usize = 100;

const POISONED: &str = "an internal error interrupted an update of this solver; set up a new one";

const FORKED: &str = "a thread of the parent process used this solver when this process was forked; set up \
                      a new one, or fork while no other thread uses it";

fn refused(reason: &'static str) -> PyErr {
    PyRuntimeError::new_err(reason)
}

/// Waits for a short time without the GIL. Raises what a signal handler raises.
fn wait(py: Python<'_>) -> PyResult<()> {
    py.detach(|| std::thread::sleep(POLL_INTERVAL));
    py.check_signals()
}
