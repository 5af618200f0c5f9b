//! The search for the fastest configuration, behind `ziggurat.tune`.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::Serialize;
use ziggurat::{SolverConfig, Trial, Tuning};

use crate::arrays::{Parts, csr, vector};
use crate::errors::solve_error;
use crate::json::{parse_config, to_json};
use crate::near_kernel::{Nodes, near_kernel};
use crate::threads::{pool, run_abandonable};

/// The result as Python reads it.
#[derive(Serialize)]
struct Found<'a> {
    config: &'a SolverConfig,
    trials: Vec<TrialData<'a>>,
}

#[derive(Serialize)]
struct TrialData<'a> {
    changes: Vec<(&'a str, &'a str)>,
    converged: bool,
    stop_reason: &'a str,
    iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
}

impl<'a> From<&'a Trial> for TrialData<'a> {
    fn from(trial: &'a Trial) -> Self {
        TrialData {
            changes: trial.changes.iter().map(|(key, value)| (*key, value.as_str())).collect(),
            converged: trial.converged,
            stop_reason: &trial.outcome,
            iterations: trial.iterations,
            setup_seconds: trial.setup_seconds,
            solve_seconds: trial.solve_seconds,
        }
    }
}

/// The best configuration and all trials, as JSON.
#[pyfunction]
pub(crate) fn tune(
    py: Python<'_>,
    matrix: Parts<'_>,
    b: PyReadonlyArray1<'_, f64>,
    config: &str,
    nodes: Nodes<'_>,
    limits: (f64, usize),
    threads: Option<usize>,
) -> PyResult<String> {
    let config = parse_config(py, config)?;
    let pool = pool(py, threads)?;
    let a = csr(&matrix, &pool)?;
    let kernel = near_kernel(py, &pool, &a, &nodes)?;
    let b = vector(&b).to_vec();
    let tuning = Tuning { seconds: limits.0, solves: limits.1 };
    let tuned = run_abandonable(py, &pool, move || tuning.run(a, &b, kernel.as_ref(), &config))?;
    let tuned = tuned.map_err(|error| solve_error(py, &error))?;
    let trials = tuned.trials.iter().map(TrialData::from).collect();
    to_json(py, &Found { config: &tuned.best().config, trials })
}
