//! The solver, as Python's part of the package calls it.
//!
//! Every call that computes releases the GIL. Solves may run from several Python threads at once; new values wait until
//! those under way are done.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::amg::{Hierarchy, Multigrid};
use ziggurat::krylov::Stopping;
use ziggurat::sparse::device::Cpu;
use ziggurat::sparse::matrix::detect_block_size;
use ziggurat::sparse::operator::{LinearOperator, Workspace};
use ziggurat::sparse::{Csr, Dense};
use ziggurat::{Solution, SolveError, SolveOptions, Solver, SolverConfig, Updated};
use ziggurat_report::{self as report, Page, chart, html};

use crate::arrays::{Arrays, Parts, csr, into_python};
use crate::errors::{config_error, file_error, matrix_error, setup_error, solve_error, value_error};
use crate::threads::{pool, run};

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

fn to_json(py: Python<'_>, what: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(what).map_err(|error| value_error(py, error.to_string()))
}

/// A cycle and the vectors it needs, which one application takes and gives back.
struct Cycle {
    multigrid: Multigrid<Cpu>,
    spare: Spare,
}

/// Workspaces that nobody uses at the moment: as many as there were applications at the same time.
#[derive(Default)]
struct Spare(Mutex<Vec<Workspace>>);

impl Spare {
    /// One cycle for every column of b.
    fn apply(
        &self,
        multigrid: &Multigrid<Cpu>,
        columns: &[f64],
        rows: usize,
    ) -> Result<Vec<f64>, SolveError> {
        let cpu = Cpu::new();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().pop();
        let mut work = match kept {
            Some(work) => work,
            None => LinearOperator::<Cpu, f64>::workspace(multigrid, &cpu)?,
        };
        let mut solved = Vec::with_capacity(columns.len());
        let mut x = vec![0.0; rows];
        for b in columns.chunks_exact(rows.max(1)) {
            multigrid.apply(&cpu, &b.to_vec(), &mut x, &mut work);
            solved.extend_from_slice(&x);
        }
        lock().push(work);
        Ok(solved)
    }
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
    threads: Option<usize>,
}

/// A near-kernel from Python: vectors column by column, and unknowns per node where they are known.
type Vectors<'py> = (PyReadonlyArray2<'py, f64>, Option<usize>);

/// The near-kernel that a caller describes by vectors or by coordinates.
fn near_kernel(
    py: Python<'_>,
    a: &Csr<f64>,
    vectors: Option<&Vectors<'_>>,
    coordinates: Option<&PyReadonlyArray2<'_, f64>>,
) -> PyResult<Option<NearKernel>> {
    let refused = |error| setup_error(py, &ziggurat::amg::SetupError::from(error));
    if let Some((vectors, block)) = vectors {
        let (rows, count) = (vectors.shape()[0], vectors.shape()[1]);
        let block = block.or_else(|| detect_block_size(a.view())).unwrap_or(1);
        let columns = vectors.as_array().columns().into_iter().flat_map(|column| column.to_vec()).collect();
        let dense = Dense::try_new(rows, count, columns).map_err(|error| matrix_error(py, &error))?;
        return Ok(Some(NearKernel::try_new(dense, block).map_err(refused)?));
    }
    let Some(coordinates) = coordinates else { return Ok(None) };
    let (nodes, dimension) = (coordinates.shape()[0], coordinates.shape()[1]);
    if !(1..=3).contains(&dimension) || nodes == 0 || !a.rows().is_multiple_of(nodes) {
        let text = format!(
            "coords has shape ({nodes}, {dimension}), the matrix {} rows; give one row per node: x, y and z in columns",
            a.rows()
        );
        return Err(value_error(py, text));
    }
    if dimension == 1 || nodes * dimension != a.rows() {
        return Ok(None); // not a displacement per axis: no rigid body
    }
    Ok(Some(NearKernel::rigid_body_modes(&points(coordinates), dimension).map_err(refused)?))
}

/// Rows of two or three coordinates; what is not there is zero.
fn points(coordinates: &PyReadonlyArray2<'_, f64>) -> Vec<[f64; 3]> {
    let point = |row: usize| std::array::from_fn(|axis| coordinates.get([row, axis]).copied().unwrap_or(0.0));
    (0..coordinates.shape()[0]).map(point).collect()
}

/// The rigid-body modes of nodes at these places, as columns.
#[pyfunction]
pub(crate) fn rigid_body_modes<'py>(
    py: Python<'py>,
    coordinates: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let dimension = coordinates.shape()[1];
    if !(2..=3).contains(&dimension) {
        return Err(value_error(
            py,
            format!("coords has {dimension} columns; a body that rotates has 2 or 3"),
        ));
    }
    let kernel = NearKernel::rigid_body_modes(&points(&coordinates), dimension);
    let kernel = kernel.map_err(|error| setup_error(py, &ziggurat::amg::SetupError::from(error)))?;
    let columns = PyArray1::from_slice(py, kernel.vectors().values());
    let columns = columns.reshape([kernel.count(), kernel.rows()])?;
    columns.transpose()
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
        let a = csr(&matrix)?;
        let kernel = near_kernel(py, &a, vectors.as_ref(), coordinates.as_ref())?;
        let pool = pool(py, threads)?;
        let start = Instant::now();
        let solver = run(py, &pool, None, |_| {
            let builder = Solver::builder().config(config);
            match kernel {
                Some(kernel) => builder.near_kernel(kernel),
                None => builder,
            }
            .build(a)
        })?;
        let solver = solver.map_err(|error| solve_error(py, &error))?;
        let state = RwLock::new(State::new(solver, start.elapsed().as_secs_f64()));
        Ok(NativeSolver { state, threads })
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
        let hierarchy = py.detach(|| Hierarchy::load(saved)).map_err(|error| file_error(py, &error))?;
        let kernel = near_kernel(py, hierarchy.levels()[0].matrix(), vectors.as_ref(), coordinates.as_ref())?;
        let pool = pool(py, threads)?;
        let solver = run(py, &pool, None, |_| {
            let builder = Solver::builder().config(config);
            match kernel {
                Some(kernel) => builder.near_kernel(kernel),
                None => builder,
            }
            .build_from(hierarchy)
        })?;
        let solver = solver.map_err(|error| solve_error(py, &error))?;
        let state = RwLock::new(State::new(solver, start.elapsed().as_secs_f64()));
        Ok(NativeSolver { state, threads })
    }

    /// The hierarchy as bytes.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        py.detach(|| self.read().solver.hierarchy().save(&mut bytes))
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
        let options = self.options(py, options)?;
        let solved = run(py, &pool, callback.as_ref(), |line| {
            let state = self.read();
            let rows = state.solver.hierarchy().levels()[0].matrix().rows();
            let mut all = Vec::with_capacity(columns.len());
            let mut outcomes = Vec::new();
            // One that does not fit is refused by the solver, in its own words.
            let width = if columns.len().is_multiple_of(rows) { rows } else { columns.len().max(1) };
            for (index, b) in columns.chunks(width).enumerate() {
                let guess = guess.map(|guess| &guess[index * width..(index + 1) * width]);
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
        let applied = py.detach(|| {
            pool.install(|| {
                let state = self.read();
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
            })
        });
        Ok(PyArray1::from_vec(py, applied.map_err(|error| solve_error(py, &error))?))
    }

    /// Puts new values on the same pattern; whether the hierarchy was built anew.
    fn update_values(&self, py: Python<'_>, matrix: Parts<'_>) -> PyResult<bool> {
        let (a, pool) = (csr(&matrix)?, self.pool(py)?);
        let updated = run(py, &pool, None, |_| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
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
        to_json(py, self.read().solver.config())
    }

    /// The levels, as JSON: the keys are those of `ziggurat solve --json`.
    fn levels(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &report::levels(&self.read().solver))
    }

    /// What setup spent its time on, and all of it.
    fn stages(&self) -> (Vec<(&'static str, f64)>, f64) {
        let state = self.read();
        (state.solver.stages().to_vec(), state.setup_seconds)
    }

    /// The matrix, the prolongation or the restriction of a level: rows, columns, and arrays.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        level: usize,
        which: &str,
    ) -> PyResult<Option<(usize, usize, Arrays<'py>)>> {
        let state = self.read();
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
    fn addresses(&self) -> (usize, usize) {
        let state = self.read();
        let a = state.solver.hierarchy().levels()[0].matrix();
        (a.columns().as_ptr() as usize, a.values().as_ptr() as usize)
    }

    /// Unknowns, and entries of all levels and rows of all levels over those of the finest.
    fn complexity(&self) -> (usize, f64, f64) {
        let state = self.read();
        let hierarchy = state.solver.hierarchy();
        (hierarchy.levels()[0].matrix().rows(), hierarchy.operator_complexity(), hierarchy.grid_complexity())
    }

    /// The hierarchy as a table.
    fn table(&self) -> String {
        report::levels_text(&report::levels(&self.read().solver))
    }

    /// The hierarchy as HTML, for a notebook that has not solved yet.
    fn html(&self) -> String {
        let levels = report::levels(&self.read().solver);
        html::levels(&levels)
    }

    /// The page about a solve, with a diagnosis of the matrix.
    fn page(&self, py: Python<'_>, name: &str, outcome: &Outcome, command: &str) -> PyResult<String> {
        let pool = self.pool(py)?;
        run(py, &pool, None, |_| {
            let state = self.read();
            let outcome = report::Outcome::clone(&outcome.about).with_cycle_seconds(&state.solver);
            let matrix = state.solver.hierarchy().levels()[0].matrix().view();
            let threads = rayon::current_num_threads();
            report::page(&Page { name, outcome: &outcome, matrix: Some(matrix), command, threads })
        })
    }
}

impl NativeSolver {
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn pool(&self, py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
        pool(py, self.threads)
    }

    /// The solver's own options, but for what is given: JSON with the keys `krylov`, `restart` and those of `stopping`.
    fn options(&self, py: Python<'_>, given: &str) -> PyResult<SolveOptions> {
        let mut options = SolveOptions::from(self.read().solver.config());
        let refused = |error: serde_json::Error| value_error(py, error.to_string());
        let given: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(given).map_err(refused)?;
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
}

/// How a solve went.
#[pyclass(frozen, module = "ziggurat._native")]
#[derive(Clone)]
pub(crate) struct Outcome {
    about: Arc<report::Outcome>,
    b_norm: f64,
}

#[pymethods]
impl Outcome {
    /// All of it, as JSON: the keys are those of `ziggurat solve --json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &*self.about)
    }

    /// Why the iteration stopped, in words that say what to try.
    fn reason(&self) -> &str {
        &self.about.stop_text
    }

    /// What residuals are relative to: the norm of the right-hand side.
    fn b_norm(&self) -> f64 {
        self.b_norm
    }

    /// The report for people.
    fn text(&self, name: &str) -> String {
        report::text(name, &self.about)
    }

    /// What a notebook shows.
    fn html(&self, name: &str) -> String {
        html::fragment(name, &self.about)
    }

    /// The convergence, as SVG.
    fn convergence(&self) -> String {
        chart::convergence(&self.about.curves(""), Some(self.about.config.stopping.rtol))
    }
}
