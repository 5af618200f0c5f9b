//! Conversion between NumPy arrays and CSR matrices.
//!
//! Matrices and vectors from Python are copied while the GIL is held, and validated afterwards.
//! Their memory cannot be borrowed: a Python program may write to an array at any time, and free
//! its memory although others refer to it (`resize(refcheck=False)`, `__setstate__`; neither a
//! reference nor an exported buffer prevents both). The kernels read columns without bounds checks,
//! so a column that changes after validation would be read outside a vector. Cost of the copy: 12
//! bytes per entry and 8 per row, and a few percent of the time of setup. Matrices returned to
//! Python are moved where the index types allow it.

use bytemuck::allocation::cast_vec;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use ziggurat::sparse::{Csr, CsrRef, MatrixError};

use crate::errors::{index_error, matrix_error};
use crate::threads::within;

/// A CSR matrix from Python: rows, columns, row pointers, column indices, values.
pub(crate) type Parts<'py> = (usize, usize, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>);

/// Copies an index array of int32 or int64. `what` names it in errors.
fn indices<'py, T>(array: &Bound<'py, PyAny>, what: &str) -> PyResult<Vec<T>>
where
    T: TryFrom<i32> + TryFrom<i64>,
{
    fn converted<I: Element + Copy + Into<i64>, T: TryFrom<I>>(
        array: &PyReadonlyArray1<'_, I>,
        what: &str,
    ) -> PyResult<Vec<T>> {
        let array_view = array.as_array();
        let mut copy = Vec::with_capacity(array_view.len());
        for (entry, &index) in array_view.iter().enumerate() {
            let converted = T::try_from(index);
            copy.push(converted.map_err(|_| index_error(array.py(), what, entry, index.into()))?);
        }
        Ok(copy)
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i32>>() {
        return converted(&array, what);
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        return converted(&array, what);
    }
    Err(PyTypeError::new_err(format!("{what} must be a one-dimensional array of int32 or int64")))
}

/// Copies a vector.
pub(crate) fn vector(array: &PyReadonlyArray1<'_, f64>) -> Vec<f64> {
    match array.as_slice() {
        Ok(slice) => slice.to_vec(),
        Err(_) => array.as_array().to_vec(), // not contiguous
    }
}

/// A copy of a matrix from Python.
pub(crate) struct Copied {
    pub(crate) a: Csr<f64>,
    /// Whether the entries are in the order of the caller's arrays.
    pub(crate) in_given_order: bool,
}

/// Copies a matrix from Python's arrays. Rows that are unsorted or have duplicate entries are
/// sorted and summed.
///
/// The arrays are read once, because another thread may change them afterwards. So validation and
/// setup see the same matrix, whatever it is.
pub(crate) fn csr(parts: &Parts<'_>, pool: &ThreadPool) -> PyResult<Csr<f64>> {
    Ok(copied(parts, pool)?.a)
}

/// The same, and whether the entries kept their order.
pub(crate) fn copied(parts: &Parts<'_>, pool: &ThreadPool) -> PyResult<Copied> {
    let (rows, cols, row_ptr, columns, values) = parts;
    let (rows, cols) = (*rows, *cols);
    let py = values.py();
    let begins = indices::<usize>(row_ptr, "indptr")?;
    let columns = indices::<u32>(columns, "indices")?;
    let values = vector(&values.try_readonly().map_err(|error| PyTypeError::new_err(error.to_string()))?);
    let made = within(py, pool, || {
        let in_given_order = match CsrRef::try_new(rows, cols, &begins, &columns, &values) {
            Ok(_) => true,
            Err(MatrixError::ColumnsNotIncreasing { .. }) => false,
            Err(error) => return Err(error),
        };
        let a = Csr::from_unsorted(rows, cols, begins, columns, values)?;
        Ok(Copied { a, in_given_order })
    });
    made.map_err(|error| matrix_error(py, &error))
}

/// Row pointers, column indices and values for scipy, with both index arrays of the same width.
pub(crate) type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>);

/// Converts a matrix to NumPy arrays, without copying the values.
pub(crate) fn into_python(py: Python<'_>, a: Csr<f64>) -> Arrays<'_> {
    let narrow = i32::try_from(a.nnz()).is_ok() && i32::try_from(a.cols()).is_ok();
    let (row_ptr, columns, values) = a.into_parts();
    let (row_ptr, columns) = if narrow {
        let row_ptr: Vec<i32> = row_ptr.into_iter().map(|start| start as i32).collect();
        let columns: Vec<i32> = cast_vec(columns);
        (PyArray1::from_vec(py, row_ptr).into_any(), PyArray1::from_vec(py, columns).into_any())
    } else {
        let row_ptr: Vec<i64> = row_ptr.into_iter().map(|start| start as i64).collect();
        let columns: Vec<i64> = columns.into_iter().map(i64::from).collect();
        (PyArray1::from_vec(py, row_ptr).into_any(), PyArray1::from_vec(py, columns).into_any())
    };
    (row_ptr, columns, PyArray1::from_vec(py, values))
}
