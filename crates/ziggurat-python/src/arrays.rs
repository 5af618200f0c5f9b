//! Conversion between NumPy arrays and CSR matrices.
//!
//! The column indices and values of a CSR matrix of float64 with 32-bit indices are used without a
//! copy: [`BorrowedArray`] keeps the NumPy array alive and gives access to its memory. Row
//! pointers, which are few, are converted to `usize`. Matrices returned to Python are moved where
//! the index types allow it.

use std::ptr::NonNull;

use bytemuck::allocation::cast_vec;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use ziggurat::sparse::{Csr, MatrixError};

use crate::errors::{index_error, matrix_error};
use crate::threads::within;

/// The memory of a NumPy array, which stays alive as long as this value.
///
/// NumPy cannot prevent writes to the array. Writing to it while a solver exists makes the results
/// undefined, as it does in scipy. The documentation of `ziggurat.solver` says so and offers
/// `copy=True`.
struct BorrowedArray<T> {
    /// Keeps the memory alive.
    _owner: Py<PyAny>,
    start: NonNull<T>,
    len: usize,
}

// SAFETY: the memory holds plain numbers and is not freed while `_owner` is held, and `Py` may be
// dropped on any thread.
unsafe impl<T: Sync> Send for BorrowedArray<T> {}
// SAFETY: as above; the memory is only read.
unsafe impl<T: Sync> Sync for BorrowedArray<T> {}

impl<T: Element> BorrowedArray<T> {
    /// Borrows an array, or returns `None` if it is not contiguous and aligned and must be copied.
    fn new(array: &Bound<'_, PyArray1<T>>) -> Option<Self> {
        let aligned = (array.data() as usize).is_multiple_of(align_of::<T>());
        if !(array.is_c_contiguous() && aligned) {
            return None;
        }
        let start = NonNull::new(array.data())?;
        Some(BorrowedArray { _owner: array.clone().into_any().unbind(), start, len: array.len() })
    }
}

impl<T> AsRef<[T]> for BorrowedArray<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `new` took pointer and length from one contiguous, aligned array, which `_owner`
        // keeps alive.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

/// Signed column indices of NumPy, read as unsigned. Negative indices become far out of range.
struct UnsignedIndices(BorrowedArray<i32>);

impl AsRef<[u32]> for UnsignedIndices {
    fn as_ref(&self) -> &[u32] {
        bytemuck::cast_slice(self.0.as_ref())
    }
}

/// A CSR matrix from Python: rows, columns, row pointers, column indices, values.
pub(crate) type Parts<'py> = (usize, usize, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>);

/// Converts an index array of int32 or int64. `what` names it in errors.
fn indices<'py, T>(array: &Bound<'py, PyAny>, what: &str) -> PyResult<Vec<T>>
where
    T: TryFrom<i32> + TryFrom<i64>,
{
    fn converted<I: Element + Copy + Into<i64>, T: TryFrom<I>>(
        array: &PyReadonlyArray1<'_, I>,
        what: &str,
    ) -> PyResult<Vec<T>> {
        let convert = |(entry, &index): (usize, &I)| {
            T::try_from(index).map_err(|_| index_error(array.py(), what, entry, index.into()))
        };
        array.as_array().iter().enumerate().map(convert).collect()
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i32>>() {
        return converted(&array, what);
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        return converted(&array, what);
    }
    Err(PyTypeError::new_err(format!("{what} must be a one-dimensional array of int32 or int64")))
}

/// Builds a matrix from Python's arrays. Rows that are unsorted or have duplicate entries are
/// sorted and summed in a copy.
pub(crate) fn csr(parts: &Parts<'_>, pool: &ThreadPool) -> PyResult<Csr<f64>> {
    let (rows, cols, row_ptr, columns, values) = parts;
    let (rows, cols) = (*rows, *cols);
    let py = values.py();
    let begins = || indices::<usize>(row_ptr, "indptr");
    let copied =
        || Ok::<_, PyErr>((indices::<u32>(columns, "indices")?, values.readonly().as_array().to_vec()));
    let borrowed =
        columns.cast::<PyArray1<i32>>().ok().and_then(BorrowedArray::new).zip(BorrowedArray::new(values));
    let begin = begins()?;
    let made = match borrowed {
        Some((columns, values)) => {
            within(py, pool, || Csr::try_shared(rows, cols, begin, UnsignedIndices(columns), values))
        }
        None => {
            let (columns, values) = copied()?;
            within(py, pool, || Csr::try_new(rows, cols, begin, columns, values))
        }
    };
    match made {
        Err(MatrixError::ColumnsNotIncreasing { .. }) => {
            let (begin, (columns, values)) = (begins()?, copied()?);
            let sorted = within(py, pool, || Csr::from_unsorted(rows, cols, begin, columns, values));
            sorted.map_err(|error| matrix_error(py, &error))
        }
        // The index was read as unsigned: report the value that the caller passed.
        Err(MatrixError::ColumnOutOfRange { entry, column, .. }) if i32::try_from(column).is_err() => {
            let column = columns.get_item(entry)?.extract()?;
            Err(index_error(py, "indices", entry, column))
        }
        other => other.map_err(|error| matrix_error(py, &error)),
    }
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
