//! Pictures and diagnoses of matrices, without a solver, and the colours of pictures.

use pyo3::prelude::*;
use ziggurat_report::chart;

use crate::arrays::{Parts, csr};
use crate::json::to_json;
use crate::threads::{pool, run};

/// The sparsity pattern as SVG, with at most `pixels` squares in each direction.
#[pyfunction]
pub(crate) fn spy(py: Python<'_>, matrix: Parts<'_>, pixels: usize) -> PyResult<String> {
    let pool = pool(py, None)?;
    let a = csr(&matrix, &pool)?;
    run(py, &pool, None, |_| chart::spy(a.view(), pixels))
}

/// The colours of charts and pages by what they mean, as JSON.
#[pyfunction]
pub(crate) fn palette() -> String {
    ziggurat_report::palette_json()
}

/// The properties of a matrix as JSON, and advice as lines of text.
#[pyfunction]
pub(crate) fn diagnose(py: Python<'_>, matrix: Parts<'_>) -> PyResult<(String, Vec<String>)> {
    let pool = pool(py, None)?;
    let a = csr(&matrix, &pool)?;
    let diagnosis = run(py, &pool, None, |_| ziggurat::diagnose(a.view()))?;
    Ok((to_json(py, &diagnosis)?, diagnosis.advice().iter().map(ToString::to_string).collect()))
}
