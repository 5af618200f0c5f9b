//! Model problems by name.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use ziggurat::sparse::gallery::Problem;

use crate::arrays::{Arrays, into_python};
use crate::errors::value_error;
use crate::threads::{pool, within};

/// A problem: rows, CSR arrays, right-hand side, node coordinates, and unknowns per node.
type ProblemArrays<'py> = (usize, Arrays<'py>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, usize);

/// Builds a problem from its name and size, such as `poisson3d:100`.
#[pyfunction]
pub(crate) fn problem<'py>(py: Python<'py>, name: &str) -> PyResult<ProblemArrays<'py>> {
    let made = within(py, &*pool(py, None)?, || {
        let problem: Problem = name.parse()?;
        Ok((problem.matrix()?, problem.rhs()?, problem.coordinates()?, problem.block_size()))
    });
    let made: Result<_, ziggurat::sparse::gallery::ProblemError> = made;
    let (a, b, coordinates, block) = made.map_err(|error| value_error(py, error.to_string()))?;
    let points = PyArray1::from_vec(py, coordinates.as_flattened().to_vec());
    let points = points.reshape([coordinates.len(), 3])?;
    Ok((a.rows(), into_python(py, a), PyArray1::from_vec(py, b), points, block))
}

/// The names of all problems, each with a description.
#[pyfunction]
pub(crate) fn problems() -> Vec<(&'static str, &'static str)> {
    Problem::NAMES.to_vec()
}
