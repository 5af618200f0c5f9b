//! What a handle holds, and how it is called.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, TryLockError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use ziggurat::amg::halo::Whole;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::diagnose::unknowns_per_node;
use ziggurat::sparse::Csr;
use ziggurat::sparse::device::Cpu;
use ziggurat::sparse::operator::{LinearOperator, Workspace};
use ziggurat::{Coordinates, Solver, SolverBuilder, SolverConfig};

use crate::arrays::Matrix;
use crate::log::{Log, logged};
use crate::status::{Failure, Status};

/// A function that is called after every iteration: its number, the relative residual, and the
/// caller's context. The solve stops if it returns another number than zero.
pub type MonitorFunction = unsafe extern "C" fn(i64, f64, *mut c_void) -> c_int;

/// The caller's function and what it is called with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monitor {
    pub(crate) function: MonitorFunction,
    pub(crate) context: *mut c_void,
}

// SAFETY: the header asks for a function and a context that other threads may use. Only one thread
// uses them at a time: the one that runs the solve.
unsafe impl Send for Monitor {}
// SAFETY: as above.
unsafe impl Sync for Monitor {}

/// A solver as C sees it.
#[derive(Debug)]
pub struct ZigguratSolver {
    state: Mutex<State>,
    /// The sentence of the last failure.
    error: Mutex<CString>,
}

/// The settings and, after setup, the solver.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) config: SolverConfig,
    pub(crate) block: Option<usize>,
    pub(crate) coordinates: Option<Coordinates>,
    pub(crate) near_kernel: Option<Vec<Vec<f64>>>,
    pub(crate) monitor: Option<Monitor>,
    pub(crate) runtime: Runtime,
    ready: Option<Ready>,
}

/// Where calls run.
#[derive(Debug, Default)]
pub(crate) struct Runtime {
    /// The threads; `None` for those of the whole process.
    pool: Option<ThreadPool>,
    pub(crate) log: Option<Log>,
}

/// A solver that is set up.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) solver: Solver,
    /// See [`Matrix::places`].
    pub(crate) places: Option<Vec<usize>>,
    /// For applying a cycle.
    pub(crate) work: Workspace,
    pub(crate) input: Vec<f64>,
    pub(crate) output: Vec<f64>,
}

thread_local! {
    /// The text that the last call of `ziggurat_error` on this thread has returned.
    static SHOWN: RefCell<CString> = RefCell::default();
}

impl ZigguratSolver {
    pub(crate) fn new() -> Self {
        ZigguratSolver { state: Mutex::default(), error: Mutex::default() }
    }

    /// Calls `work` with the state of a handle. Keeps the sentence of a failure in the handle.
    ///
    /// # Safety
    /// `handle` is null, or a solver that is not destroyed during the call.
    pub(crate) unsafe fn call(
        handle: *const ZigguratSolver,
        work: impl FnOnce(&mut State) -> Result<Status, Failure>,
    ) -> c_int {
        // SAFETY: the caller's word.
        let Some(handle) = (unsafe { handle.as_ref() }) else { return Status::Argument.into() };
        let result = match handle.state.try_lock() {
            Ok(mut state) => run(&mut state, work),
            Err(TryLockError::Poisoned(poisoned)) => run(&mut poisoned.into_inner(), work),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new(Status::Busy, "the solver is in use by another call; use one per thread"))
            }
        };
        match result {
            Ok(status) => status.into(),
            Err(Failure { status, text }) => {
                let text = CString::new(text.replace('\0', "")).unwrap_or_default();
                *handle.error.lock().unwrap_or_else(PoisonError::into_inner) = text;
                status.into()
            }
        }
    }

    /// The sentence of the last failure. It is valid until this thread asks again.
    ///
    /// # Safety
    /// As [`ZigguratSolver::call`].
    pub(crate) unsafe fn error(handle: *const ZigguratSolver) -> *const c_char {
        // SAFETY: the caller's word.
        let text = match unsafe { handle.as_ref() } {
            Some(handle) => handle.error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            None => c"the solver is a null pointer".to_owned(),
        };
        let shown = SHOWN.try_with(|shown| {
            *shown.borrow_mut() = text;
            shown.borrow().as_ptr()
        });
        // A thread that is ending has no place for the text any more.
        shown.unwrap_or(CStr::as_ptr(c"no text: the thread is ending"))
    }
}

/// After a panic, the solver may be inconsistent and is dropped.
fn run(
    state: &mut State,
    work: impl FnOnce(&mut State) -> Result<Status, Failure>,
) -> Result<Status, Failure> {
    catch_unwind(AssertUnwindSafe(|| work(state))).unwrap_or_else(|payload| {
        state.ready = None;
        Err(Failure::panic(&*payload))
    })
}

impl Runtime {
    /// Runs `work` on the threads of this handle, with its log.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let log = self.log;
        match &self.pool {
            Some(pool) => pool.install(|| logged(log, work)),
            None => logged(log, work),
        }
    }

    /// Uses this number of threads; zero: as many as the process may use.
    pub(crate) fn set_threads(&mut self, threads: usize) -> Result<(), Failure> {
        let pool = (threads > 0).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        let refused = |error| Failure::argument(format!("{threads} threads: {error}"));
        self.pool = pool.transpose().map_err(refused)?;
        Ok(())
    }
}

impl State {
    /// The solver and where it runs, if there has been a setup.
    pub(crate) fn ready(&mut self) -> Result<(&Runtime, &mut Ready), Failure> {
        let too_early =
            || Failure::new(Status::Order, "there is no matrix yet; call ziggurat_setup_i32 or _i64 first");
        Ok((&self.runtime, self.ready.as_mut().ok_or_else(too_early)?))
    }

    /// Number of rows of the matrix; zero before setup.
    pub(crate) fn rows(&self) -> usize {
        self.ready.as_ref().map_or(0, |ready| ready.input.len())
    }

    /// Sets up the solver for a matrix.
    pub(crate) fn set_up(&mut self, matrix: Matrix) -> Result<(), Failure> {
        self.ready = None; // its memory is free for the new one
        let Matrix { a, places } = matrix;
        let builder = self.builder(&a)?;
        let solver = self.runtime.run(|| builder.build(a))?;
        self.keep(solver, places)
    }

    /// Takes over a solver for the calls that follow.
    pub(crate) fn keep(&mut self, solver: Solver, places: Option<Vec<usize>>) -> Result<(), Failure> {
        let work = cycle_work(&solver)?;
        let rows = solver.hierarchy().levels()[0].rows();
        let (input, output) = (vec![0.0; rows], vec![0.0; rows]);
        self.ready = Some(Ready { solver, places, work, input, output });
        Ok(())
    }

    /// What is known about the nodes of a matrix: coordinates, a near-null space, or a block size.
    fn builder(&self, a: &Csr<f64>) -> Result<SolverBuilder, Failure> {
        let builder = Solver::builder().config(self.config.clone());
        let rows = a.rows();
        if let Some(vectors) = &self.near_kernel {
            let block = self.block.unwrap_or_else(|| unknowns_per_node(a.view(), &Whole::new(rows)));
            let kernel = NearKernel::from_vectors(vectors, block);
            let kernel = kernel.map_err(|error| Failure::argument(error.to_string()))?;
            return Ok(builder.near_kernel(kernel));
        }
        match (&self.coordinates, self.block) {
            (Some(coordinates), Some(block)) if !fit(coordinates.points().len(), block, rows) => {
                Err(Failure::argument(format!(
                    "{} points and a block size of {block} do not fit a matrix of {rows} rows",
                    coordinates.points().len()
                )))
            }
            (Some(coordinates), _) => Ok(builder.coordinates(coordinates.clone())),
            (None, Some(block)) => Ok(builder.block_size(block)),
            (None, None) => Ok(builder),
        }
    }
}

/// The memory of a cycle of the solver as it is now. New values and a solve that has changed to a
/// stronger preconditioner need another one.
pub(crate) fn cycle_work(solver: &Solver) -> Result<Workspace, Failure> {
    let work = LinearOperator::<Cpu, f64>::workspace(solver.preconditioner(), solver.device());
    work.map_err(|error| Failure::new(Status::Internal, error.to_string()))
}

/// Whether there is a point for every node or for every row.
fn fit(points: usize, block: usize, rows: usize) -> bool {
    points == rows || points.checked_mul(block) == Some(rows)
}
