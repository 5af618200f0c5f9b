//! The state of a handle, and how it is called.

use std::ffi::{c_char, c_int};

use rayon::{ThreadPool, ThreadPoolBuilder};
use ziggurat::amg::halo::Whole;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::diagnose::unknowns_per_node;
use ziggurat::sparse::device::Vector;
use ziggurat::sparse::operator::{LinearOperator, Workspace};
use ziggurat::sparse::words::counted;
use ziggurat::sparse::{Csr, Kind};
use ziggurat::{Solver, SolverBuilder};
use ziggurat_ffi::{Failure, Handle, Log, Rows, Settings, Status, logged};

/// A solver as C sees it.
#[derive(Debug, Default)]
pub struct ZigguratSolver(Handle<State>);

/// The settings and, after setup, the solver.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) threads: Threads,
    ready: Option<Ready>,
}

/// The threads on which calls run; `None` for the threads of the whole process.
#[derive(Debug, Default)]
pub(crate) struct Threads(Option<ThreadPool>);

/// Where a call runs, and what receives its log events.
#[derive(Debug)]
pub(crate) struct Runtime<'a> {
    threads: &'a Threads,
    log: Option<Log>,
}

/// A solver that is set up.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) solver: Solver,
    /// See [`Rows::places`].
    pub(crate) places: Option<Vec<usize>>,
    /// For applying a cycle.
    pub(crate) work: Workspace,
    pub(crate) input: Vector,
    pub(crate) output: Vector,
}

impl ZigguratSolver {
    /// Calls `work` with the state of a handle. Keeps the sentence of a failure in the handle.
    /// After a panic, the solver may be inconsistent and is dropped.
    ///
    /// # Safety
    /// `handle` is null, or a solver that is not destroyed during the call.
    pub(crate) unsafe fn call(
        handle: *const ZigguratSolver,
        work: impl FnOnce(&mut State) -> Result<Status, Failure>,
    ) -> c_int {
        // SAFETY: the caller's word.
        let handle = unsafe { handle.as_ref() }.map(|handle| &handle.0);
        Handle::call(handle, work, |state| state.ready = None)
    }

    /// The sentence of the last failure. It is valid until this thread asks again.
    ///
    /// # Safety
    /// As [`ZigguratSolver::call`].
    pub(crate) unsafe fn error(handle: *const ZigguratSolver) -> *const c_char {
        // SAFETY: the caller's word.
        let handle = unsafe { handle.as_ref() }.map(|handle| &handle.0);
        Handle::error(handle, c"the solver is a null pointer")
    }
}

impl Runtime<'_> {
    /// Runs `work` on the threads of this handle, with its log.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let log = self.log;
        match &self.threads.0 {
            Some(pool) => pool.install(|| logged(log, work)),
            None => logged(log, work),
        }
    }
}

impl Threads {
    /// Uses this number of threads; zero: the threads of the whole process.
    pub(crate) fn set(&mut self, threads: usize) -> Result<(), Failure> {
        let pool = (threads > 0).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        let refused = |error| Failure::argument(format!("{}: {error}", counted(threads, "thread")));
        self.0 = pool.transpose().map_err(refused)?;
        Ok(())
    }
}

impl State {
    /// The solver and where it runs, if there has been a setup.
    pub(crate) fn ready(&mut self) -> Result<(Runtime<'_>, &mut Ready), Failure> {
        let too_early =
            || Failure::new(Status::Order, "there is no matrix yet; call ziggurat_setup_i32 or _i64 first");
        let runtime = Runtime { threads: &self.threads, log: self.settings.log };
        Ok((runtime, self.ready.as_mut().ok_or_else(too_early)?))
    }

    /// Where calls run.
    pub(crate) fn runtime(&self) -> Runtime<'_> {
        Runtime { threads: &self.threads, log: self.settings.log }
    }

    /// Number of rows of the matrix; zero before setup.
    pub(crate) fn rows(&self) -> usize {
        self.ready.as_ref().map_or(0, |ready| ready.input.len())
    }

    /// Sets up the solver for a matrix.
    pub(crate) fn set_up(&mut self, rows: Rows<u32>) -> Result<(), Failure> {
        let Rows { row_ptr, columns, values, places } = rows;
        let count = row_ptr.len() - 1;
        let a = Csr::try_new(count, count, row_ptr, columns, values);
        let a = a.map_err(|error| Failure::argument(error.to_string()))?;
        self.ready = None; // its memory is free for the new one
        let builder = self.builder(&a)?;
        let solver = self.runtime().run(|| builder.build(a))?;
        self.keep(solver, places)
    }

    /// Takes over a solver for the calls that follow.
    pub(crate) fn keep(&mut self, solver: Solver, places: Option<Vec<usize>>) -> Result<(), Failure> {
        let work = cycle_work(&solver)?;
        let rows = solver.hierarchy().levels()[0].rows();
        let zeros = || solver.device().zeros(Kind::F64, rows);
        let (input, output) = (zeros()?, zeros()?);
        self.ready = Some(Ready { solver, places, work, input, output });
        Ok(())
    }

    /// A builder with the given coordinates, near-null space or block size.
    fn builder(&self, a: &Csr<f64>) -> Result<SolverBuilder, Failure> {
        let Settings { config, block, coordinates, near_kernel, .. } = &self.settings;
        let builder = Solver::builder().config(config.clone());
        let rows = a.rows();
        if let Some(vectors) = near_kernel {
            let block = block.unwrap_or_else(|| unknowns_per_node(a.view(), &Whole::new(rows)));
            let kernel = NearKernel::from_vectors(vectors, block);
            let kernel = kernel.map_err(|error| Failure::argument(error.to_string()))?;
            return Ok(builder.near_kernel(kernel));
        }
        match (coordinates, *block) {
            (Some(coordinates), Some(block)) if !fit(coordinates.points().len(), block, rows) => {
                Err(Failure::argument(format!(
                    "{} and a block size of {block} do not fit a matrix of {}",
                    counted(coordinates.points().len(), "point"),
                    counted(rows, "row")
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
    Ok(solver.preconditioner().workspace(solver.device(), Kind::F64)?)
}

/// Whether there is a point for every node or for every row.
fn fit(points: usize, block: usize, rows: usize) -> bool {
    points == rows || points.checked_mul(block) == Some(rows)
}
