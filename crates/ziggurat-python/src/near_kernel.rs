//! What a matrix maps to almost zero, as Python describes it: by vectors, or by the coordinates of an elastic body's nodes.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::ThreadPool;
use ziggurat::amg::SetupError;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::sparse::matrix::detect_block_size;
use ziggurat::sparse::{Csr, Dense};

use crate::errors::{matrix_error, setup_error, value_error};
use crate::threads::{pool, within};

/// A near-kernel from Python: vectors column by column, and unknowns per node where they are known.
pub(crate) type Vectors<'py> = (PyReadonlyArray2<'py, f64>, Option<usize>);

/// The near-kernel that a caller describes by vectors or by coordinates.
pub(crate) fn near_kernel(
    py: Python<'_>,
    pool: &ThreadPool,
    a: &Csr<f64>,
    vectors: Option<&Vectors<'_>>,
    coordinates: Option<&PyReadonlyArray2<'_, f64>>,
) -> PyResult<Option<NearKernel>> {
    let refused = |error| setup_error(py, &SetupError::from(error));
    if let Some((vectors, block)) = vectors {
        let (rows, count) = (vectors.shape()[0], vectors.shape()[1]);
        let block = block.or_else(|| within(py, pool, || detect_block_size(a.view()))).unwrap_or(1);
        let columns = vectors.as_array().columns().into_iter().flat_map(|column| column.to_vec()).collect();
        let dense = Dense::try_new(rows, count, columns).map_err(|error| matrix_error(py, &error))?;
        let kernel = within(py, pool, || NearKernel::try_new(dense, block));
        return Ok(Some(kernel.map_err(refused)?));
    }
    let Some(coordinates) = coordinates else { return Ok(None) };
    let (nodes, dimension) = (coordinates.shape()[0], coordinates.shape()[1]);
    // One unknown per node has no use for them, and one displacement per axis has; anything else is a mistake.
    let fits = nodes == a.rows() || (nodes * dimension == a.rows() && dimension > 1);
    if !(1..=3).contains(&dimension) || !fits {
        let text = format!(
            "coords has shape ({nodes}, {dimension}), the matrix {} rows; give one row per node (x, y and z in columns), of \
             which each has as many unknowns, or one",
            a.rows()
        );
        return Err(value_error(py, text));
    }
    if nodes == a.rows() {
        return Ok(None);
    }
    let points = points(coordinates);
    let kernel = within(py, pool, || NearKernel::rigid_body_modes(&points, dimension));
    Ok(Some(kernel.map_err(refused)?))
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
    let points = points(&coordinates);
    let kernel = within(py, &*pool(py, None)?, || NearKernel::rigid_body_modes(&points, dimension));
    let kernel = kernel.map_err(|error| setup_error(py, &SetupError::from(error)))?;
    let columns = PyArray1::from_slice(py, kernel.vectors().values());
    let columns = columns.reshape([kernel.count(), kernel.rows()])?;
    columns.transpose()
}
