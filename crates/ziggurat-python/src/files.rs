//! Matrices from files.

use std::io;
use std::path::PathBuf;

use pyo3::prelude::*;
use ziggurat::sparse::io::ReadError;

use crate::arrays::{Arrays, into_python};
use crate::errors::read_error;
use crate::threads::{pool, run_abandonable};

/// Reads a matrix from a file of any format: rows, columns and CSR arrays.
#[pyfunction]
pub(crate) fn read_matrix(py: Python<'_>, path: PathBuf) -> PyResult<(usize, usize, Arrays<'_>)> {
    let read = run_abandonable(py, &pool(py, None)?, move || ziggurat::sparse::io::read_matrix(path))?;
    let a = read.map_err(|error| match error {
        // The class of the exception tells a missing file from an unreadable one.
        ReadError::Io { ref cause, .. } => io::Error::new(cause.kind(), error.to_string()).into(),
        other => read_error(py, &other),
    })?;
    Ok((a.rows(), a.cols(), into_python(py, a)))
}
