//! Between NumPy's arrays and ours.
//!
//! A CSR matrix of float64 with 32-bit indices comes in without a copy of its columns and values: [`Lent`] keeps the NumPy array
//! alive and lends its memory. Row pointers, a small part, become `usize`. What comes out is moved, not copied.

use std::ptr::NonNull;

use bytemuck::allocation::cast_vec;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use ziggurat::sparse::{Csr, MatrixError};

use crate::errors::{index_error, matrix_error};
use crate::threads::within;

/// The memory of a NumPy array, which lives as long as this does.
///
/// NumPy lets anybody with the array write to it. Whoever does so while a solver reads it gets what scipy gives: nonsense. The
/// documentation of `ziggurat.solver` says so, and offers `copy=True`.
struct Lent<T> {
    /// Keeps the memory alive.
    _owner: Py<PyAny>,
    start: NonNull<T>,
    len: usize,
}

// SAFETY: the memory is plain numbers that nobody frees while `_owner` is held, and `Py` may be dropped on any thread.
unsafe impl<T: Sync> Send for Lent<T> {}
// SAFETY: as above; it is only read.
unsafe impl<T: Sync> Sync for Lent<T> {}

impl<T: Element> Lent<T> {
    /// `None` if the array is not contiguous or not aligned: then a copy is needed.
    fn of(array: &Bound<'_, PyArray1<T>>) -> Option<Self> {
        let aligned = (array.data() as usize).is_multiple_of(align_of::<T>());
        if !(array.is_c_contiguous() && aligned) {
            return None;
        }
        let start = NonNull::new(array.data())?;
        Some(Lent { _owner: array.clone().into_any().unbind(), start, len: array.len() })
    }
}

impl<T> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `of` took the pointer and the length from one contiguous, aligned array, which `_owner` keeps.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

/// Column indices that NumPy has as signed integers and we read as unsigned ones. A negative one is then far out of range.
struct Unsigned(Lent<i32>);

impl AsRef<[u32]> for Unsigned {
    fn as_ref(&self) -> &[u32] {
        bytemuck::cast_slice(self.0.as_ref())
    }
}

/// A matrix of Python's: shape, row pointers, columns, values.
pub(crate) type Parts<'py> = (usize, usize, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>);

/// Indices as somebody has them.
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
    Err(PyTypeError::new_err(format!("{what} must be an array of int32 or int64 with one dimension")))
}

/// A matrix from Python's arrays. Rows that are not sorted, or hold an entry twice, are put in order in a copy.
pub(crate) fn csr(parts: &Parts<'_>, pool: &ThreadPool) -> PyResult<Csr<f64>> {
    let (rows, cols, row_ptr, columns, values) = parts;
    let (rows, cols) = (*rows, *cols);
    let py = values.py();
    let begins = || indices::<usize>(row_ptr, "indptr");
    let copied =
        || Ok::<_, PyErr>((indices::<u32>(columns, "indices")?, values.readonly().as_array().to_vec()));
    let lent = columns.cast::<PyArray1<i32>>().ok().and_then(Lent::of).zip(Lent::of(values));
    let begin = begins()?;
    let made = match lent {
        Some((columns, values)) => {
            within(py, pool, || Csr::try_shared(rows, cols, begin, Unsigned(columns), values))
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
        // Of two ways to say what is wrong, that which has the number that the caller wrote.
        Err(MatrixError::ColumnOutOfRange { entry, column, .. }) if i32::try_from(column).is_err() => {
            let column = columns.get_item(entry)?.extract()?;
            Err(index_error(py, "indices", entry, column))
        }
        other => other.map_err(|error| matrix_error(py, &error)),
    }
}

/// Row pointers, columns and values for scipy, which wants both index arrays of the same width.
pub(crate) type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>);

/// Moves a matrix to Python.
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
