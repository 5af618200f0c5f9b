//! The near-null space from Python: as vectors, by the coordinates of an elastic body, or as the
//! constants of every unknown of a node.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::ThreadPool;
use ziggurat::Coordinates;
use ziggurat::amg::SetupError;
use ziggurat::amg::halo::Whole;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::diagnose::unknowns_per_node;
use ziggurat::sparse::words::counted;
use ziggurat::sparse::{Csr, Dense};

use crate::errors::{coordinates_error, matrix_error, setup_error, value_error};
use crate::threads::{pool, within};

/// Information about the unknowns of a matrix: near-nullspace vectors as columns, coordinates by
/// rows, and the number of unknowns per node.
pub(crate) type Nodes<'py> =
    (Option<PyReadonlyArray2<'py, f64>>, Option<PyReadonlyArray2<'py, f64>>, Option<usize>);

/// The near-kernel given by vectors, by coordinates or by the number of unknowns per node, if one
/// of them is given.
pub(crate) fn near_kernel(
    py: Python<'_>,
    pool: &ThreadPool,
    a: &Csr<f64>,
    (vectors, coordinates, block): &Nodes<'_>,
) -> PyResult<Option<NearKernel>> {
    let refused = |error| setup_error(py, &SetupError::from(error));
    if let Some(vectors) = vectors {
        let (rows, count) = (vectors.shape()[0], vectors.shape()[1]);
        let detected = || within(py, pool, || unknowns_per_node(a.view(), &Whole::new(a.rows())));
        let block = block.unwrap_or_else(detected);
        let columns = vectors.as_array().columns().into_iter().flat_map(|column| column.to_vec()).collect();
        let dense = Dense::try_new(rows, count, columns).map_err(|error| matrix_error(py, &error))?;
        let kernel = within(py, pool, || NearKernel::try_new(dense, block));
        return Ok(Some(kernel.map_err(refused)?));
    }
    if let Some(coordinates) = coordinates {
        let (points, dimension) = (points(coordinates), coordinates.shape()[1]);
        let kernel = within(py, pool, || Coordinates::try_new(points, dimension)?.near_kernel(a.view()));
        return kernel.map_err(|error| coordinates_error(py, &error));
    }
    let constants = |&block| within(py, pool, || NearKernel::constants(a.rows(), block));
    block.as_ref().map(constants).transpose().map_err(refused)
}

/// The rows as points in space; missing coordinates are zero.
fn points(coordinates: &PyReadonlyArray2<'_, f64>) -> Vec<[f64; 3]> {
    let point = |row: usize| std::array::from_fn(|axis| coordinates.get([row, axis]).copied().unwrap_or(0.0));
    (0..coordinates.shape()[0]).map(point).collect()
}

/// The rigid-body modes of nodes with these coordinates, as columns.
#[pyfunction]
pub(crate) fn rigid_body_modes<'py>(
    py: Python<'py>,
    coordinates: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let dimension = coordinates.shape()[1];
    if !(2..=3).contains(&dimension) {
        return Err(value_error(
            py,
            format!("coords has {}; rigid-body modes need 2 or 3", counted(dimension, "column")),
        ));
    }
    let points = points(&coordinates);
    let kernel = within(py, &*pool(py, None)?, || NearKernel::rigid_body_modes(&points, dimension));
    let kernel = kernel.map_err(|error| setup_error(py, &SetupError::from(error)))?;
    let columns = PyArray1::from_slice(py, kernel.vectors().values());
    let columns = columns.reshape([kernel.count(), kernel.rows()])?;
    columns.transpose()
}
