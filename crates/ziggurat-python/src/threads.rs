//! Computation on worker threads, while the calling Python thread handles Ctrl-C and callbacks.
//!
//! ```text
//! Python thread:   ─call▶ (GIL released) wait ◀─progress─ callback ─answer▶ … ◀─done─ (GIL) result
//! worker threads:          work ……………… iteration ▶ ……………………… continue or stop … done
//! ```
//!
//! Python handles signals on its main thread only, and a callback must run on the thread that
//! passed it. The calling thread therefore does both, and the work takes the GIL only to log. A
//! solve checks after every iteration whether it should stop. A setup cannot be stopped: it owns
//! its data and is abandoned. Threads do not survive a fork, which `multiprocessing` uses to start
//! processes on Linux. Pools are therefore kept per process, and a child creates its own.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Deref};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use ziggurat::krylov;
use ziggurat::sparse::words::counted;
use ziggurat::threads::MOST;

use crate::errors::value_error;
use crate::lock::Held;

/// The interval at which signals are checked.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum number of idle pools of one size that are kept.
const MAX_IDLE: usize = 4;

/// Pools by process and number of threads. After a fork, the pools of the parent are neither used
/// nor dropped, because their threads do not exist in the child.
///
/// This is locked only while the GIL is held. A fork by Python holds the GIL too, so that a child
/// never inherits a locked table.
static POOLS: Mutex<BTreeMap<(u32, usize), Pools>> = Mutex::new(BTreeMap::new());

/// The pools of one size.
#[derive(Default)]
struct Pools {
    shared: Option<Arc<ThreadPool>>,
    /// Pools for work that must have its own.
    idle: Vec<ThreadPool>,
}

/// A pool of worker threads, shared by all solvers with the same number of threads.
pub(crate) struct Pool {
    count: usize,
    shared: Arc<ThreadPool>,
}

impl Deref for Pool {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        &self.shared
    }
}

/// The pool with this number of threads, or by the rule of [`ziggurat::threads`].
pub(crate) fn pool(py: Python<'_>, threads: Option<usize>) -> PyResult<Pool> {
    if let Some(threads) = threads.filter(|threads| !(1..=MOST).contains(threads)) {
        let text = format!(
            "threads is {threads}; it must be from 1 to {MOST}, or None for as many as the process has"
        );
        return Err(value_error(py, text));
    }
    let count = ziggurat::threads::count(threads);
    let shared: PyResult<_> = with_pools(py, count, |pools| match &pools.shared {
        Some(pool) => Ok(pool.clone()),
        None => Ok(pools.shared.insert(Arc::new(start(count)?)).clone()),
    });
    Ok(Pool { count, shared: shared? })
}

/// Access to the pools of one size. The token proves that the GIL is held.
fn with_pools<T>(_: Python<'_>, count: usize, work: impl FnOnce(&mut Pools) -> T) -> T {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    work(pools.entry((std::process::id(), count)).or_default())
}

fn start(count: usize) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(count).thread_name(|index| format!("ziggurat-{index}"));
    pool.build().map_err(|error| {
        PyRuntimeError::new_err(format!("cannot start {}: {error}", counted(count, "thread")))
    })
}

/// This many pools of one thread each, which nobody else uses while `work` runs.
pub(crate) fn with_single_threads<T>(
    py: Python<'_>,
    count: usize,
    work: impl FnOnce(&[ThreadPool]) -> PyResult<T>,
) -> PyResult<T> {
    let single = pool(py, Some(1))?;
    let pools = (0..count).map(|_| single.own(py)).collect::<PyResult<Vec<_>>>()?;
    let result = work(&pools);
    pools.into_iter().for_each(|pool| single.give_back(py, pool));
    result
}

impl Pool {
    /// The number of its threads.
    pub(crate) fn threads(&self) -> usize {
        self.count
    }

    /// A pool of the same size that nobody else uses.
    fn own(&self, py: Python<'_>) -> PyResult<ThreadPool> {
        with_pools(py, self.count, |pools| pools.idle.pop().map_or_else(|| start(self.count), Ok))
    }

    /// Keeps an idle pool for later use, unless there are enough.
    fn give_back(&self, py: Python<'_>, pool: ThreadPool) {
        with_pools(py, self.count, |pools| {
            if pools.idle.len() < MAX_IDLE {
                pools.idle.push(pool);
            }
        });
    }
}

/// Runs `work` on the pool, without the GIL.
///
/// All parallel work must use this function or [`run`]. Otherwise it would run on rayon's global
/// pool, which ignores the requested number of threads and has no threads after a fork.
pub(crate) fn within<T: Send>(py: Python<'_>, pool: &ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| pool.install(work))
}

/// The progress of a solve, passed to callbacks.
#[pyclass(frozen, module = "ziggurat")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress(krylov::Progress);

#[pymethods]
impl Progress {
    /// The number of completed iterations.
    #[getter]
    fn iteration(&self) -> usize {
        self.0.iteration
    }

    /// The residual norm by recurrence.
    #[getter]
    fn residual(&self) -> f64 {
        self.0.residual
    }

    /// The residual norm by recurrence, relative to the norm of the right-hand side.
    #[getter]
    fn relative_residual(&self) -> f64 {
        self.0.relative_residual
    }

    /// The residual norm at which the solve stops.
    #[getter]
    fn target(&self) -> f64 {
        self.0.target
    }

    /// Seconds since the start of the solve.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }

    fn __repr__(&self) -> String {
        let krylov::Progress { iteration, relative_residual, .. } = self.0;
        format!("Progress(iteration={iteration}, relative_residual={relative_residual:.3e})")
    }
}

/// A message from the work to the waiting thread.
enum Message<T> {
    /// An iteration is complete; the work waits for an answer.
    Progress(krylov::Progress),
    /// The work is complete.
    Done(T),
}

/// Sends progress to the waiting thread, and receives its answers.
type CallbackChannel<T> = (Sender<Message<T>>, Receiver<ControlFlow<()>>);

/// Connects the work to the waiting thread: reports progress, and says when to stop.
pub(crate) struct Monitor<'a, T> {
    stop: &'a AtomicBool,
    /// The channel to the callback, if there is one.
    callback: Option<CallbackChannel<T>>,
}

/// Whether to go on: not after the flag was set.
pub(crate) fn unless_stopped(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

impl<T> Monitor<'_, T> {
    /// The flag that Ctrl-C sets, for threads that have no callback to run.
    pub(crate) fn stop_flag(&self) -> &AtomicBool {
        self.stop
    }

    /// Whether Ctrl-C or an exception in the callback stopped the work.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Called after every iteration: runs the callback, if there is one.
    pub(crate) fn observe(&self, progress: &krylov::Progress) -> ControlFlow<()> {
        if self.is_stopped() {
            return ControlFlow::Break(());
        }
        let Some((progress_sender, answers)) = &self.callback else { return ControlFlow::Continue(()) };
        // A closed channel means that the waiting thread is gone.
        if progress_sender.send(Message::Progress(*progress)).is_err() {
            return ControlFlow::Break(());
        }
        answers.recv().unwrap_or(ControlFlow::Break(()))
    }
}

/// Runs `work` on the pool.
///
/// A callback that returns a true value stops it. An exception in the callback, or Ctrl-C, stops it
/// and is raised.
///
/// A worker thread waits while a callback runs. If the callback itself solves, that solve needs
/// threads that do not wait. So work with a callback has a pool of its own.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    pool: &Pool,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Monitor<'_, T>) -> T + Send,
) -> PyResult<T> {
    refuse_workers()?;
    if callback.is_none() {
        return run_on(py, &pool.shared, None, work);
    }
    let own = pool.own(py)?;
    let result = run_on(py, &own, callback, work);
    pool.give_back(py, own);
    result
}

/// Handlers of log events run on worker threads, with the locks of `logging`. A solve in there
/// would log on another thread, which waits for these locks.
fn refuse_workers() -> PyResult<()> {
    let text = "a handler of log events must not set up, solve or update; do it after the call that logs";
    rayon::current_thread_index().map_or(Ok(()), |_| Err(PyRuntimeError::new_err(text)))
}

#[allow(clippy::redundant_closure_for_method_calls)] // the path has too narrow a lifetime
fn run_on<T: Send>(
    py: Python<'_>,
    pool: &ThreadPool,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Monitor<'_, T>) -> T + Send,
) -> PyResult<T> {
    let callback = callback.map(|callback| callback.clone().unbind());
    let stop = &AtomicBool::new(false);
    let (sender, messages) = channel();
    let (answer, answers) = channel();
    let monitor = Monitor { stop, callback: callback.is_some().then(|| (sender.clone(), answers)) };
    let held = Held::here();
    let wait = move || {
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                let result = held.during(|| work(&monitor));
                let _ = sender.send(Message::Done(result)); // the calling thread waits for it
            });
            let mut raised: Option<PyErr> = None;
            loop {
                match messages.recv_timeout(SIGNAL_POLL_INTERVAL) {
                    Ok(Message::Done(result)) => return raised.map_or(Ok(result), Err),
                    Ok(Message::Progress(progress)) => {
                        let returned = Python::attach(|py| {
                            py.check_signals()?;
                            match &callback {
                                Some(callback) => {
                                    Ok(callback.call1(py, (Progress(progress),))?.is_truthy(py)?)
                                }
                                None => Ok(false),
                            }
                        });
                        let proceed = matches!(returned, Ok(false));
                        if let Err(error) = returned {
                            stop.store(true, Ordering::Relaxed); // skips other right-hand sides
                            raised.get_or_insert(error);
                        }
                        let _ = answer.send(if proceed {
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
                    // The work panicked. The scope resumes the panic when this closure returns.
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err("internal error in ziggurat; please report it"));
                    }
                }
            }
        })
    };
    py.detach(wait)
}

/// Runs `work`, which owns all of its data, on a pool of its own. If a signal handler raises, this
/// returns at once. The work is abandoned: it ends in the background, and its result is dropped.
#[allow(clippy::redundant_closure_for_method_calls)] // the path has too narrow a lifetime
pub(crate) fn run_abandonable<T: Send + 'static>(
    py: Python<'_>,
    pool: &Pool,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    refuse_workers()?;
    let own = pool.own(py)?;
    let (sender, results) = channel();
    // A receiver can be moved to another thread, but not shared. `detach` asks for the latter.
    let results = Mutex::new(results);
    let receive = || {
        let results = results.lock().unwrap_or_else(PoisonError::into_inner);
        results.recv_timeout(SIGNAL_POLL_INTERVAL)
    };
    let held = Held::here();
    own.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| held.during(work)));
        let _ = sender.send(result); // nobody receives it if the work was abandoned
    });
    loop {
        match py.detach(receive) {
            Ok(result) => {
                pool.give_back(py, own);
                return result.map_or_else(|panic| resume_unwind(panic), Ok);
            }
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("internal error in ziggurat; please report it"));
            }
        }
    }
}
