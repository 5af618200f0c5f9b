//! Configurations and results as JSON, the form in which they are passed between Python and Rust.

use pyo3::prelude::*;
use serde::Serialize;
use ziggurat::krylov::Stopping;
use ziggurat::{SolveOptions, SolverConfig};

use crate::errors::{config_error, value_error};

/// Serialises a value as JSON.
pub(crate) fn to_json(py: Python<'_>, value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| value_error(py, error.to_string()))
}

/// Parses a configuration. Missing keys have their defaults.
pub(crate) fn parse_config(py: Python<'_>, text: &str) -> PyResult<SolverConfig> {
    SolverConfig::from_json(text).map_err(|error| config_error(py, &error))
}

/// Completes a partial configuration with the defaults; both are JSON.
#[pyfunction]
pub(crate) fn config(py: Python<'_>, text: &str) -> PyResult<String> {
    to_json(py, &parse_config(py, text)?)
}

/// The choices that a configuration makes by name, as JSON: for each key, its names and what they
/// are.
#[pyfunction]
pub(crate) fn choices(py: Python<'_>) -> PyResult<String> {
    let keys = ziggurat::config::choices();
    let keys: Vec<_> = keys.iter().map(|key| (key.path, &key.values)).collect();
    to_json(py, &keys)
}

/// The configuration of a preset, as JSON.
#[pyfunction]
pub(crate) fn preset(py: Python<'_>, name: &str) -> PyResult<String> {
    let config = SolverConfig::preset(name).map_err(|error| config_error(py, &error))?;
    to_json(py, &config)
}

/// The solver's own options with per-solve overrides: JSON with the keys `krylov`, `restart`,
/// `basis` and the keys of `stopping`.
pub(crate) fn solve_options(
    py: Python<'_>,
    config: &SolverConfig,
    overrides: &str,
) -> PyResult<SolveOptions> {
    let mut options = SolveOptions::from(config);
    let refused = |error: serde_json::Error| value_error(py, error.to_string());
    let overrides: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(overrides).map_err(refused)?;
    let mut stopping = serde_json::to_value(options.stopping).map_err(refused)?;
    for (key, value) in overrides {
        match key.as_str() {
            "krylov" => options.krylov = serde_json::from_value(value).map_err(refused)?,
            "restart" => options.restart = serde_json::from_value(value).map_err(refused)?,
            "basis" => options.basis = serde_json::from_value(value).map_err(refused)?,
            _ => stopping[key] = value,
        }
    }
    options.stopping = serde_json::from_value::<Stopping>(stopping).map_err(refused)?;
    Ok(options)
}
