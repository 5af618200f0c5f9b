//! The solver class behind `ziggurat.MultilevelSolver`.
//!
//! Every call that computes releases the GIL and reads copies of the caller's arrays. Several
//! Python threads may solve at the same time; an update of the values waits until running solves
//! have finished ([`Lock`]).

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ziggurat::amg::Hierarchy;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::config::Precision;
use ziggurat::sparse::{Csr, MatrixError, parallel};
use ziggurat::{SolveError, Solver, SolverBuilder, SolverConfig, Updated};
use ziggurat_report::{self as report, Page, html};

use crate::arrays::{Arrays, Copied, Parts, copied, csr, into_python, vector};
use crate::columns::Columns;
use crate::cycle::{Cycle, Workspaces};
use crate::errors::{file_error, solve_error};
use crate::json::{parse_config, solve_options, to_json};
use crate::lock::{Held, Lock, Reading};
use crate::near_kernel::{Nodes, near_kernel};
use crate::outcome::Outcome;
use crate::threads::{Pool, pool, run, run_abandonable, with_single_threads, within};

/// The concatenated solutions, and an outcome for each.
type Solved<'py> = (Bound<'py, PyArray1<f64>>, Vec<Outcome>);

/// The state that an update of the values replaces.
struct State {
    solver: Solver,
    /// Whether the precision of levels is chosen by the solver.
    precision_is_auto: bool,
    setup_seconds: f64,
    workspaces: Workspaces,
    transposed: OnceLock<Cycle>,
}

impl State {
    fn new(solver: Solver, precision_is_auto: bool, setup_seconds: f64) -> Self {
        let (workspaces, transposed) = (Workspaces::default(), OnceLock::new());
        State { solver, precision_is_auto, setup_seconds, workspaces, transposed }
    }

    /// Whether a solve may raise the precision of levels for all later ones.
    fn may_promote(&self) -> bool {
        self.precision_is_auto && self.solver.config().precision != Precision::F64
    }
}

/// A solver that has been set up for a matrix.
#[pyclass(frozen, module = "ziggurat._native")]
pub(crate) struct NativeSolver {
    state: Lock<State>,
    threads: Option<usize>,
    /// Whether the entries of the matrix are in the order of the arrays given at setup.
    in_given_order: bool,
}

#[pymethods]
impl NativeSolver {
    #[new]
    fn new(
        py: Python<'_>,
        matrix: Parts<'_>,
        config: &str,
        nodes: Nodes<'_>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let config = parse_config(py, config)?;
        let pool = pool(py, threads)?;
        let Copied { a, in_given_order } = copied(&matrix, &pool)?;
        let kernel = near_kernel(py, &pool, &a, &nodes)?;
        let start = Instant::now();
        let precision_is_auto = config.precision == Precision::Auto;
        let builder = builder(config, kernel);
        let solver = run_abandonable(py, &pool, move || builder.build(a))?;
        let solver = Self::from_setup(py, solver, precision_is_auto, start, threads)?;
        Ok(NativeSolver { in_given_order, ..solver })
    }

    /// Restores a hierarchy that `save` has written. The near-null space is kept for later
    /// rebuilds.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        saved: &[u8],
        config: &str,
        nodes: Nodes<'_>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let config = parse_config(py, config)?;
        let start = Instant::now();
        let pool = pool(py, threads)?;
        let hierarchy =
            within(py, &pool, || Hierarchy::load(saved)).map_err(|error| file_error(py, &error))?;
        let a = hierarchy.levels()[0].matrix();
        let kernel = near_kernel(py, &pool, a, &nodes)?;
        let precision_is_auto = config.precision == Precision::Auto;
        let builder = builder(config, kernel);
        let solver = run_abandonable(py, &pool, move || builder.build_from(hierarchy))?;
        Self::from_setup(py, solver, precision_is_auto, start, threads)
    }

    /// Serialises the hierarchy.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (state, mut bytes) = (self.read(py)?, Vec::new());
        let hierarchy = state.solver.hierarchy();
        within(py, &*self.pool(py)?, || hierarchy.save(&mut bytes))
            .map_err(|error| file_error(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Solves for each right-hand side, with A or with Aᵀ; `b` and `guess` are concatenated
    /// columns.
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: PyReadonlyArray1<'py, f64>,
        guess: Option<PyReadonlyArray1<'py, f64>>,
        options: &str,
        callback: Option<Bound<'py, PyAny>>,
        transposed: bool,
    ) -> PyResult<Solved<'py>> {
        let pool = self.pool(py)?;
        let (b, guess) = (vector(&b), guess.as_ref().map(vector));
        let guard = self.read(py)?;
        let state: &State = &guard;
        let options = solve_options(py, state.solver.config(), options)?;
        let columns = Columns {
            solver: &state.solver,
            setup_seconds: state.setup_seconds,
            options: &options,
            transposed,
            b: &b,
            guess: guess.as_deref(),
        };
        let sequential = callback.is_some() || transposed || state.may_promote();
        let at_a_time = if sequential { 1 } else { columns.at_a_time(pool.threads()) };
        let solved = if at_a_time > 1 {
            let held = Held::here();
            with_single_threads(py, at_a_time, |pools| {
                run(py, &pool, None, |monitor| columns.at_once(pools, monitor, &held))
            })?
        } else {
            run(py, &pool, callback.as_ref(), |monitor| columns.in_turn(monitor))?
        };
        let (x, outcomes) = solved.map_err(|error: SolveError| solve_error(py, &error))?;
        Ok((PyArray1::from_vec(py, x), outcomes))
    }

    /// Applies one cycle, or one transposed cycle, to each of the concatenated columns of `b`.
    fn precondition<'py>(
        &self,
        py: Python<'py>,
        b: PyReadonlyArray1<'py, f64>,
        transposed: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (pool, columns) = (self.pool(py)?, vector(&b));
        let guard = self.read(py)?;
        let state: &State = &guard;
        let applied = within(py, &pool, || {
            let rows = state.solver.hierarchy().levels()[0].rows();
            if !transposed {
                return state.workspaces.apply(state.solver.preconditioner(), columns, rows);
            }
            let cycle = match state.transposed.get() {
                Some(cycle) => cycle,
                None => {
                    let multigrid = state.solver.transposed_preconditioner()?;
                    state.transposed.get_or_init(|| Cycle { multigrid, workspaces: Workspaces::default() })
                }
            };
            cycle.workspaces.apply(&cycle.multigrid, columns, rows)
        });
        Ok(PyArray1::from_vec(py, applied.map_err(|error| solve_error(py, &error))?))
    }

    /// Replaces the values on the same pattern. Returns whether the hierarchy was rebuilt.
    fn update_values(&self, py: Python<'_>, matrix: Parts<'_>) -> PyResult<bool> {
        let a = csr(&matrix, &*self.pool(py)?)?;
        self.update(py, |_| Ok(a))
    }

    /// The same with values only: row by row, with increasing columns.
    fn update_values_in_order(&self, py: Python<'_>, values: PyReadonlyArray1<'_, f64>) -> PyResult<bool> {
        let values = vector(&values);
        self.update(py, |solver| with_values(solver, &values))
    }

    /// Whether the entries of the matrix are in the order of the arrays given at setup. Not known
    /// of a hierarchy that was loaded.
    fn is_in_given_order(&self) -> bool {
        self.in_given_order
    }

    /// The configuration in use, as JSON.
    fn config(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, self.read(py)?.solver.config())
    }

    /// The levels as JSON, with the keys of `ziggurat solve --json`.
    fn levels(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &report::levels(&self.read(py)?.solver))
    }

    /// The seconds spent in each stage of setup, and in total.
    fn stages(&self, py: Python<'_>) -> PyResult<(Vec<(&'static str, f64)>, f64)> {
        let state = self.read(py)?;
        Ok((state.solver.stages().to_vec(), state.setup_seconds))
    }

    /// The matrix (`A`), prolongation (`P`) or restriction (`R`) of a level: rows, columns, arrays.
    /// The unknowns of the finest level are in the order of the caller.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        level: usize,
        which: &str,
    ) -> PyResult<Option<(usize, usize, Arrays<'py>)>> {
        let state = self.read(py)?;
        let hierarchy = state.solver.hierarchy();
        let found = match (level, hierarchy.levels().get(level)) {
            (_, None) => return Err(PyIndexError::new_err("level index out of range")),
            (0, Some(_)) if which == "A" => hierarchy.matrix().map(Some),
            (0, Some(_)) => hierarchy.finest_transfer().map(|transfer| {
                let [p, r] = transfer?;
                Some(if which == "P" { p } else { r })
            }),
            (_, Some(level)) => Ok(match which {
                "P" => level.prolongation().cloned(),
                "R" => level.restriction().cloned(),
                _ => Some(level.matrix().clone()),
            }),
        };
        let matrix = found.map_err(|error| solve_error(py, &error.into()))?;
        Ok(matrix.map(|a| (a.rows(), a.cols(), into_python(py, Arc::unwrap_or_clone(a)))))
    }

    /// The number of rows, the operator complexity and the grid complexity.
    fn complexity(&self, py: Python<'_>) -> PyResult<(usize, f64, f64)> {
        let state = self.read(py)?;
        let hierarchy = state.solver.hierarchy();
        let rows = hierarchy.levels()[0].rows();
        Ok((rows, hierarchy.operator_complexity(), hierarchy.grid_complexity()))
    }

    /// The hierarchy as a text table.
    fn table(&self, py: Python<'_>) -> PyResult<String> {
        Ok(report::levels_text(&report::levels(&self.read(py)?.solver)))
    }

    /// The hierarchy as HTML, for notebooks before the first solve.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        Ok(html::levels(&report::levels(&self.read(py)?.solver)))
    }

    /// The HTML report on a solve, with a diagnosis of the matrix.
    fn page(&self, py: Python<'_>, name: &str, outcome: &Outcome, command: &str) -> PyResult<String> {
        let (pool, guard) = (self.pool(py)?, self.read(py)?);
        let state: &State = &guard;
        run(py, &pool, None, |_| {
            let outcome = report::Outcome::clone(&outcome.outcome).with_cycle_seconds(&state.solver);
            // The page names rows, so the matrix is in the order of the caller.
            let matrix = state.solver.hierarchy().matrix().ok();
            let matrix = matrix.as_ref().map(|matrix| matrix.view());
            let threads = parallel::threads();
            report::page(&Page { name, outcome: &outcome, matrix, command, threads })
        })
    }
}

impl NativeSolver {
    /// Wraps the result of a setup that began at `start`.
    fn from_setup(
        py: Python<'_>,
        solver: Result<Solver, SolveError>,
        precision_is_auto: bool,
        start: Instant,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let solver = solver.map_err(|error| solve_error(py, &error))?;
        let state = Lock::new(State::new(solver, precision_is_auto, start.elapsed().as_secs_f64()));
        Ok(NativeSolver { state, threads, in_given_order: false })
    }

    /// Replaces the values of the matrix, from the matrix that `new` makes.
    fn update(
        &self,
        py: Python<'_>,
        new: impl FnOnce(&Solver) -> Result<Csr<f64>, SolveError> + Send,
    ) -> PyResult<bool> {
        let pool = self.pool(py)?;
        let mut guard = self.state.write(py)?;
        let state: &mut State = &mut guard;
        let updated = run(py, &pool, None, |_| {
            let start = Instant::now();
            let a = new(&state.solver)?;
            let updated = state.solver.update_values(a)?;
            // Data derived from the old values is stale.
            state.setup_seconds = start.elapsed().as_secs_f64();
            (state.workspaces, state.transposed) = (Workspaces::default(), OnceLock::new());
            Ok(updated == Updated::Rebuilt)
        })?;
        updated.map_err(|error: SolveError| solve_error(py, &error))
    }

    fn read(&self, py: Python<'_>) -> PyResult<Reading<'_, State>> {
        self.state.read(py)
    }

    fn pool(&self, py: Python<'_>) -> PyResult<Pool> {
        pool(py, self.threads)
    }
}

/// The matrix of the solver with other values.
fn with_values(solver: &Solver, values: &[f64]) -> Result<Csr<f64>, SolveError> {
    let mut a = Arc::unwrap_or_clone(solver.hierarchy().matrix()?);
    if values.len() != a.nnz() {
        let what = "values of the matrix";
        return Err(MatrixError::Mismatch { what, expected: a.nnz(), found: values.len() }.into());
    }
    a.values_mut().copy_from_slice(values);
    Ok(a)
}

/// A builder with this configuration, and with the near-kernel if there is one.
fn builder(config: SolverConfig, kernel: Option<NearKernel>) -> SolverBuilder {
    let builder = Solver::builder().config(config);
    match kernel {
        Some(kernel) => builder.near_kernel(kernel),
        None => builder,
    }
}
