//! Conversion of Rust errors to Python exceptions with the same messages.
//!
//! The exception classes are defined in Python, in `ziggurat/_errors.py`.

use pyo3::prelude::*;
use pyo3::types::PyType;
use ziggurat::amg::{HierarchyFileError, SetupError};
use ziggurat::config::ConfigError;
use ziggurat::sparse::MatrixError;
use ziggurat::sparse::io::ReadError;
use ziggurat::{CoordinatesError, SolveError};

/// An exception of the named class.
fn exception(py: Python<'_>, class: &str, text: String) -> PyErr {
    let class = py.import("ziggurat._errors").and_then(|module| module.getattr(class));
    match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, text),
        Err(error) => error,
    }
}

pub(crate) fn config_error(py: Python<'_>, error: &ConfigError) -> PyErr {
    exception(py, "ConfigError", error.to_string())
}

pub(crate) fn matrix_error(py: Python<'_>, error: &MatrixError) -> PyErr {
    exception(py, "MatrixError", error.to_string())
}

/// The error for coordinates that do not fit the matrix.
pub(crate) fn coordinates_error(py: Python<'_>, error: &CoordinatesError) -> PyErr {
    exception(py, "ConfigError", error.to_string())
}

/// The error for a file that is not a valid matrix.
pub(crate) fn read_error(py: Python<'_>, error: &ReadError) -> PyErr {
    exception(py, "MatrixError", error.to_string())
}

/// The error for an index that is negative or too large.
pub(crate) fn index_error(py: Python<'_>, what: &str, entry: usize, index: i64) -> PyErr {
    exception(py, "MatrixError", format!("{what}[{entry}] is {index}, which is out of range"))
}

pub(crate) fn setup_error(py: Python<'_>, error: &SetupError) -> PyErr {
    exception(py, "SetupError", error.to_string())
}

pub(crate) fn file_error(py: Python<'_>, error: &HierarchyFileError) -> PyErr {
    exception(py, "HierarchyError", error.to_string())
}

/// The error for an invalid option.
pub(crate) fn value_error(py: Python<'_>, text: String) -> PyErr {
    exception(py, "ConfigError", text)
}

pub(crate) fn solve_error(py: Python<'_>, error: &SolveError) -> PyErr {
    match error {
        SolveError::Config(error) => config_error(py, error),
        SolveError::Matrix(error) => matrix_error(py, error),
        SolveError::Setup(error) => setup_error(py, error),
        SolveError::Krylov(error) => exception(py, "SolveError", error.to_string()),
        SolveError::Device(error) => exception(py, "DeviceError", error.to_string()),
        other => exception(py, "ZigguratError", other.to_string()),
    }
}
