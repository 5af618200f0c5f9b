//! Work on threads of our own, while the thread that called from Python waits, listens for Ctrl-C, and runs callbacks.
//!
//! ```text
//! Python's thread:  ──call──▶ (GIL released) wait ◀── progress? ── callback ── answer ──▶ … ◀── done ──▶ (GIL) result
//! our threads:                 work ……………………………… iteration ──▶ ………………… go on, or stop …… done
//! ```
//!
//! Python's signals are handled by its main thread only, and callbacks belong to the thread that gave them; so both happen
//! there, and the work itself never needs the GIL but to log. Threads do not survive a fork, which is how Python's
//! `multiprocessing` starts processes on Linux: pools are kept by process, and a child makes its own.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use ziggurat::krylov;

use crate::errors::value_error;

/// How long Ctrl-C may go unnoticed.
const LISTEN_EVERY: Duration = Duration::from_millis(50);

/// Pools by process and number of threads. Those of a parent are neither used nor dropped: their threads are not here.
static POOLS: Mutex<BTreeMap<(u32, usize), Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());

/// The pool of so many threads; of every core without a number.
pub(crate) fn pool(py: Python<'_>, threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    if threads.is_some_and(|threads| !(1..=1024).contains(&threads)) {
        let text =
            format!("threads is {}; it must be from 1 to 1024, or None for every core", threads.unwrap_or(0));
        return Err(value_error(py, text));
    }
    let count = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (std::process::id(), count);
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let name = |index| format!("ziggurat-{index}");
    let pool = ThreadPoolBuilder::new().num_threads(count).thread_name(name).build();
    let pool =
        pool.map_err(|error| PyRuntimeError::new_err(format!("cannot start {count} threads: {error}")))?;
    Ok(pools.entry(key).or_insert(Arc::new(pool)).clone())
}

/// Does something on the pool, without the GIL. All that may run in parallel has to be done so (or by [`run`]): elsewhere it would go to rayon's own pool, which has
/// no threads after a fork, and as many as it likes before.
pub(crate) fn within<T: Send>(py: Python<'_>, pool: &ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| pool.install(work))
}

/// How far a solve is.
#[pyclass(frozen, module = "ziggurat")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress(krylov::Progress);

#[pymethods]
impl Progress {
    /// Iterations done.
    #[getter]
    fn iteration(&self) -> usize {
        self.0.iteration
    }

    /// The residual norm by the method's recurrence.
    #[getter]
    fn residual(&self) -> f64 {
        self.0.residual
    }

    /// The same, relative to the right-hand side.
    #[getter]
    fn relative_residual(&self) -> f64 {
        self.0.relative_residual
    }

    /// The residual norm to reach.
    #[getter]
    fn target(&self) -> f64 {
        self.0.target
    }

    /// Seconds since the solve began.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }

    fn __repr__(&self) -> String {
        let krylov::Progress { iteration, relative_residual, .. } = self.0;
        format!("Progress(iteration={iteration}, relative_residual={relative_residual:.3e})")
    }
}

/// What work has to say to the thread that waits for it.
enum Message<T> {
    /// An iteration is done; may it go on?
    Asked(krylov::Progress),
    Done(T),
}

/// Where to ask, and where answers come.
type Asking<T> = (Sender<Message<T>>, Receiver<ControlFlow<()>>);

/// The work's end of the line.
pub(crate) struct Line<'a, T> {
    stop: &'a AtomicBool,
    /// Where somebody wants to be asked.
    ask: Option<Asking<T>>,
}

impl<T> Line<'_, T> {
    /// Whether Ctrl-C was pressed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Told of every iteration: asks the callback, if there is one.
    pub(crate) fn observe(&self, progress: &krylov::Progress) -> ControlFlow<()> {
        if self.is_stopped() {
            return ControlFlow::Break(());
        }
        let Some((ask, answers)) = &self.ask else { return ControlFlow::Continue(()) };
        // If nobody is there any more, there is nobody to work for.
        if ask.send(Message::Asked(*progress)).is_err() {
            return ControlFlow::Break(());
        }
        answers.recv().unwrap_or(ControlFlow::Break(()))
    }
}

/// Runs `work` on the pool. A callback that returns `True` stops it; an exception in a callback, or Ctrl-C, stops it and is raised.
#[allow(clippy::redundant_closure_for_method_calls)] // `Python::check_signals` itself is for one lifetime only
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    pool: &ThreadPool,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Line<'_, T>) -> T + Send,
) -> PyResult<T> {
    let callback = callback.map(|callback| callback.clone().unbind());
    let stop = &AtomicBool::new(false);
    let (sender, messages) = channel();
    let (answer, answers) = channel();
    let line = Line { stop, ask: callback.is_some().then(|| (sender.clone(), answers)) };
    let wait = move || {
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                let result = work(&line);
                let _ = sender.send(Message::Done(result)); // somebody waits for it
            });
            let mut raised: Option<PyErr> = None;
            loop {
                match messages.recv_timeout(LISTEN_EVERY) {
                    Ok(Message::Done(result)) => return raised.map_or(Ok(result), Err),
                    Ok(Message::Asked(progress)) => {
                        let told = Python::attach(|py| {
                            py.check_signals()?;
                            match &callback {
                                Some(callback) => {
                                    Ok(callback.call1(py, (Progress(progress),))?.is_truthy(py)?)
                                }
                                None => Ok(false),
                            }
                        });
                        let go_on = matches!(told, Ok(false));
                        if let Err(error) = told {
                            stop.store(true, Ordering::Relaxed); // whatever else there is to solve
                            raised.get_or_insert(error);
                        }
                        let _ = answer.send(if go_on {
                            ControlFlow::Continue(())
                        } else {
                            ControlFlow::Break(())
                        });
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.store(true, Ordering::Relaxed);
                            raised.get_or_insert(error);
                        }
                    }
                    // The work panicked; the scope passes that on as soon as this closure ends.
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err(
                            "this is a fault of ziggurat itself; please report it",
                        ));
                    }
                }
            }
        })
    };
    py.detach(wait)
}
