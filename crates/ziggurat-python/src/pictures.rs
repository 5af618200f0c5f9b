//! Pictures and diagnoses of matrices that nobody solves with.

use pyo3::prelude::*;
use ziggurat_report::chart;

use crate::arrays::{Parts, csr};
use crate::errors::value_error;
use crate::threads::{pool, run};

/// Where the entries of a matrix are, as SVG of at most so many squares in each direction.
#[pyfunction]
pub(crate) fn spy(py: Python<'_>, matrix: Parts<'_>, pixels: usize) -> PyResult<String> {
    let pool = pool(py, None)?;
    let a = csr(&matrix, &pool)?;
    run(py, &pool, None, |_| chart::spy(a.view(), pixels))
}

/// What kind of matrix it is, as JSON, and what follows: each with a level and a text.
#[pyfunction]
pub(crate) fn diagnose(py: Python<'_>, matrix: Parts<'_>) -> PyResult<(String, Vec<String>)> {
    let pool = pool(py, None)?;
    let a = csr(&matrix, &pool)?;
    let diagnosis = run(py, &pool, None, |_| ziggurat::diagnose(a.view()))?;
    let json = serde_json::to_string(&diagnosis).map_err(|error| value_error(py, error.to_string()))?;
    Ok((json, diagnosis.advice().iter().map(ToString::to_string).collect()))
}
