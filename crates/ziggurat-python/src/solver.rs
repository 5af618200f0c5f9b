//! The solver, as Python's part of the package calls it.
//!
//! Every call that computes releases the GIL. Solves may run from several Python threads at once; new values wait until
//! those under way are done. The thread that called holds the lock, never one of the pool: those take up each other's work
//! while they wait, and one that has the lock would wait for itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;
use ziggurat::amg::Hierarchy;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::krylov::Stopping;
use ziggurat::sparse::Csr;
use ziggurat::{Solution, SolveError, SolveOptions, Solver, SolverBuilder, SolverConfig, Updated};
use ziggurat_report::{self as report, Page, html};

use crate::arrays::{Arrays, Parts, csr, into_python};
use crate::cycle::{Cycle, Spare};
use crate::errors::{config_error, file_error, solve_error, value_error};
use crate::near_kernel::{Vectors, near_kernel};
use crate::outcome::Outcome;
use crate::threads::{pool, run, within};

/// What one solve of many gives: the unknowns column by column, and an outcome for each column.
type Solved<'py> = (Bound<'py, PyArray1<f64>>, Vec<Outcome>);

/// The whole of a configuration of which a part is given, as JSON.
#[pyfunction]
pub(crate) fn config(py: Python<'_>, text: &str) -> PyResult<String> {
    let config = SolverConfig::from_json(text).map_err(|error| config_error(py, &error))?;
    to_json(py, &config)
}

/// The configuration of a name, as JSON.
#[pyfunction]
pub(crate) fn preset(py: Python<'_>, name: &str) -> PyResult<String> {
    let config = SolverConfig::preset(name).map_err(|error| config_error(py, &error))?;
    to_json(py, &config)
}

/// What serialises, as JSON.
pub(crate) fn to_json(py: Python<'_>, what: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(what).map_err(|error| value_error(py, error.to_string()))
}

/// What changes when the matrix gets new values.
struct State {
    solver: Solver,
    setup_seconds: f64,
    spare: Spare,
    transposed: OnceLock<Cycle>,
}

impl State {
    fn new(solver: Solver, setup_seconds: f64) -> Self {
        State { solver, setup_seconds, spare: Spare::default(), transposed: OnceLock::new() }
    }
}

/// A system that is set up.
#[pyclass(frozen, module = "ziggurat._native")]
pub(crate) struct NativeSolver {
    state: RwLock<State>,
    /// Updates that wait for their turn: solves that come later wait for them.
    updates: AtomicUsize,
    threads: Option<usize>,
}

#[pymethods]
impl NativeSolver {
    #[new]
    fn new(
        py: Python<'_>,
        matrix: Parts<'_>,
        config: &str,
        vectors: Option<Vectors<'_>>,
        coordinates: Option<PyReadonlyArray2<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let config = SolverConfig::from_json(config).map_err(|error| config_error(py, &error))?;
        let pool = pool(py, threads)?;
        let a = csr(&matrix, &pool)?;
        let kernel = near_kernel(py, &pool, &a, vectors.as_ref(), coordinates.as_ref())?;
        let start = Instant::now();
        let builder = builder(config, kernel);
        let solver = run(py, &pool, None, |_| builder.build(a))?;
        Self::made(py, solver, start, threads)
    }

    /// Takes up a hierarchy that `save` has written; vectors are for building it anew.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        saved: &[u8],
        config: &str,
        vectors: Option<Vectors<'_>>,
        coordinates: Option<PyReadonlyArray2<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let config = SolverConfig::from_json(config).map_err(|error| config_error(py, &error))?;
        let start = Instant::now();
        let pool = pool(py, threads)?;
        let hierarchy =
            within(py, &pool, || Hierarchy::load(saved)).map_err(|error| file_error(py, &error))?;
        let a = hierarchy.levels()[0].matrix();
        let kernel = near_kernel(py, &pool, a, vectors.as_ref(), coordinates.as_ref())?;
        let builder = builder(config, kernel);
        let solver = run(py, &pool, None, |_| builder.build_from(hierarchy))?;
        Self::made(py, solver, start, threads)
    }

    /// The hierarchy as bytes.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (state, mut bytes) = (self.read(py)?, Vec::new());
        let hierarchy = state.solver.hierarchy();
        within(py, &*self.pool(py)?, || hierarchy.save(&mut bytes))
            .map_err(|error| file_error(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Solves for every column of b (which are one after the other).
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: PyReadonlyArray1<'py, f64>,
        guess: Option<PyReadonlyArray1<'py, f64>>,
        options: &str,
        callback: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Solved<'py>> {
        let pool = self.pool(py)?;
        let (columns, guess) = (b.as_slice()?, guess.as_ref().map(PyReadonlyArray1::as_slice).transpose()?);
        let guard = self.read(py)?;
        let state: &State = &guard;
        let options = options_of(py, state.solver.config(), options)?;
        let solved = run(py, &pool, callback.as_ref(), |line| {
            let rows = state.solver.hierarchy().levels()[0].matrix().rows();
            // Of no rows, there is one right-hand side of no numbers.
            let count = columns.len().checked_div(rows).unwrap_or(1);
            let mut all = Vec::with_capacity(columns.len());
            let mut outcomes = Vec::with_capacity(count);
            for index in 0..count {
                let column = index * rows..(index + 1) * rows;
                let (b, guess) = (&columns[column.clone()], guess.map(|guess| &guess[column]));
                let start = Instant::now();
                let mut observer = |progress: &ziggurat::krylov::Progress| line.observe(progress);
                let Solution { x, report, promotion, traffic } =
                    state.solver.solve_with(b, guess, &options, Some(&mut observer))?;
                let timing = (state.setup_seconds, start.elapsed().as_secs_f64());
                all.extend_from_slice(&x);
                let b_norm = report.b_norm;
                let solution = Solution { x: Vec::new(), report, promotion, traffic };
                let outcome = report::Outcome::of(&state.solver, &solution, timing).with_options(&options);
                outcomes.push(Outcome { b_norm, about: Arc::new(outcome) });
                if line.is_stopped() {
                    break;
                }
            }
            Ok((all, outcomes))
        })?;
        let (x, outcomes) = solved.map_err(|error: SolveError| solve_error(py, &error))?;
        Ok((PyArray1::from_vec(py, x), outcomes))
    }

    /// One cycle for every column of b, or one transposed cycle.
    fn precondition<'py>(
        &self,
        py: Python<'py>,
        b: PyReadonlyArray1<'py, f64>,
        transposed: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (pool, columns) = (self.pool(py)?, b.as_slice()?);
        let guard = self.read(py)?;
        let state: &State = &guard;
        let applied = within(py, &pool, || {
            let rows = state.solver.hierarchy().levels()[0].matrix().rows();
            if !transposed {
                return state.spare.apply(state.solver.preconditioner(), columns, rows);
            }
            let cycle = match state.transposed.get() {
                Some(cycle) => cycle,
                None => {
                    let multigrid = state.solver.transposed_preconditioner()?;
                    state.transposed.get_or_init(|| Cycle { multigrid, spare: Spare::default() })
                }
            };
            cycle.spare.apply(&cycle.multigrid, columns, rows)
        });
        Ok(PyArray1::from_vec(py, applied.map_err(|error| solve_error(py, &error))?))
    }

    /// Puts new values on the same pattern; whether the hierarchy was built anew.
    fn update_values(&self, py: Python<'_>, matrix: Parts<'_>) -> PyResult<bool> {
        let pool = self.pool(py)?;
        let a = csr(&matrix, &pool)?;
        let mut guard = self.write(py)?;
        let state: &mut State = &mut guard;
        let updated = run(py, &pool, None, |_| {
            let start = Instant::now();
            let updated = state.solver.update_values(a)?;
            // What was made of the old values goes with them.
            state.setup_seconds = start.elapsed().as_secs_f64();
            (state.spare, state.transposed) = (Spare::default(), OnceLock::new());
            Ok(updated == Updated::Rebuilt)
        })?;
        updated.map_err(|error: SolveError| solve_error(py, &error))
    }

    /// The configuration in use, as JSON.
    fn config(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, self.read(py)?.solver.config())
    }

    /// The levels, as JSON: the keys are those of `ziggurat solve --json`.
    fn levels(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &report::levels(&self.read(py)?.solver))
    }

    /// What setup spent its time on, and all of it.
    fn stages(&self, py: Python<'_>) -> PyResult<(Vec<(&'static str, f64)>, f64)> {
        let state = self.read(py)?;
        Ok((state.solver.stages().to_vec(), state.setup_seconds))
    }

    /// The matrix, the prolongation or the restriction of a level: rows, columns, and arrays.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        level: usize,
        which: &str,
    ) -> PyResult<Option<(usize, usize, Arrays<'py>)>> {
        let state = self.read(py)?;
        let levels = state.solver.hierarchy().levels();
        let level = levels.get(level).ok_or_else(|| PyIndexError::new_err("there is no such level"))?;
        let matrix = match which {
            "P" => level.prolongation(),
            "R" => level.restriction(),
            _ => Some(level.matrix()),
        };
        Ok(matrix.map(|a| (a.rows(), a.cols(), into_python(py, Csr::clone(a)))))
    }

    /// Where the finest matrix has its columns and values.
    fn addresses(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        let state = self.read(py)?;
        let a = state.solver.hierarchy().levels()[0].matrix();
        Ok((a.columns().as_ptr() as usize, a.values().as_ptr() as usize))
    }

    /// Unknowns, and entries of all levels and rows of all levels over those of the finest.
    fn complexity(&self, py: Python<'_>) -> PyResult<(usize, f64, f64)> {
        let state = self.read(py)?;
        let hierarchy = state.solver.hierarchy();
        let rows = hierarchy.levels()[0].matrix().rows();
        Ok((rows, hierarchy.operator_complexity(), hierarchy.grid_complexity()))
    }

    /// The hierarchy as a table.
    fn table(&self, py: Python<'_>) -> PyResult<String> {
        Ok(report::levels_text(&report::levels(&self.read(py)?.solver)))
    }

    /// The hierarchy as HTML, for a notebook that has not solved yet.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        Ok(html::levels(&report::levels(&self.read(py)?.solver)))
    }

    /// The page about a solve, with a diagnosis of the matrix.
    fn page(&self, py: Python<'_>, name: &str, outcome: &Outcome, command: &str) -> PyResult<String> {
        let (pool, guard) = (self.pool(py)?, self.read(py)?);
        let state: &State = &guard;
        run(py, &pool, None, |_| {
            let outcome = report::Outcome::clone(&outcome.about).with_cycle_seconds(&state.solver);
            let matrix = state.solver.hierarchy().levels()[0].matrix().view();
            let threads = rayon::current_num_threads();
            report::page(&Page { name, outcome: &outcome, matrix: Some(matrix), command, threads })
        })
    }
}

/// How long to wait for a lock before looking at it again.
const TURN: Duration = Duration::from_millis(1);

impl NativeSolver {
    /// A solver whose setup began at `start`, unless it failed.
    fn made(
        py: Python<'_>,
        solver: Result<Solver, SolveError>,
        start: Instant,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let solver = solver.map_err(|error| solve_error(py, &error))?;
        let state = RwLock::new(State::new(solver, start.elapsed().as_secs_f64()));
        Ok(NativeSolver { state, updates: AtomicUsize::new(0), threads })
    }

    /// The state, to be read. Waits without the GIL, and can be interrupted.
    fn read(&self, py: Python<'_>) -> PyResult<RwLockReadGuard<'_, State>> {
        turn(py, || match self.updates.load(Ordering::Acquire) {
            0 => self.state.try_read(),
            _ => Err(TryLockError::WouldBlock),
        })
    }

    /// The state, to be changed; as [`NativeSolver::read`].
    fn write(&self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'_, State>> {
        self.updates.fetch_add(1, Ordering::AcqRel);
        let guard = turn(py, || self.state.try_write());
        self.updates.fetch_sub(1, Ordering::AcqRel);
        guard
    }

    fn pool(&self, py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
        pool(py, self.threads)
    }
}

/// Begins a solver of this configuration, with a near-kernel if there is one.
fn builder(config: SolverConfig, kernel: Option<NearKernel>) -> SolverBuilder {
    let builder = Solver::builder().config(config);
    match kernel {
        Some(kernel) => builder.near_kernel(kernel),
        None => builder,
    }
}

/// Tries to lock until it is this thread's turn.
fn turn<T>(py: Python<'_>, lock: impl Fn() -> TryLockResult<T>) -> PyResult<T> {
    loop {
        match lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(guard)) => return Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => py.detach(|| std::thread::sleep(TURN)),
        }
        py.check_signals()?;
    }
}

/// A solver's own options, but for what is given: JSON with the keys `krylov`, `restart` and those of `stopping`.
fn options_of(py: Python<'_>, config: &SolverConfig, given: &str) -> PyResult<SolveOptions> {
    let mut options = SolveOptions::from(config);
    let refused = |error: serde_json::Error| value_error(py, error.to_string());
    let given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(given).map_err(refused)?;
    let mut stopping = serde_json::to_value(options.stopping).map_err(refused)?;
    for (key, value) in given {
        match key.as_str() {
            "krylov" => options.krylov = serde_json::from_value(value).map_err(refused)?,
            "restart" => options.restart = serde_json::from_value(value).map_err(refused)?,
            _ => stopping[key] = value,
        }
    }
    options.stopping = serde_json::from_value::<Stopping>(stopping).map_err(refused)?;
    Ok(options)
}
