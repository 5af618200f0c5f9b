//! Compressed sparse row (CSR) format: the common format of all parts of Ziggurat.
//!
//! Row `i` holds the entries `row_ptr[i] .. row_ptr[i + 1]` of `columns` and `values`; within a
//! row, columns increase strictly. Row pointers are `usize`, so the number of entries is limited
//! only by memory; column indices are local and have 32 bits, so a process has at most 2^32 - 1
//! rows and columns. Explicit zeros are kept.
//!
//! [`Csr`] owns its arrays, [`CsrRef`] borrows them. Both are valid by construction: every public
//! constructor validates its input, so kernels can rely on it.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use super::MatrixError;
use super::storage::Storage;
use crate::number::Store;
use crate::parallel::{collect, first_in_pieces, first_position, over_pieces, zeros};

/// Rows that are validated by one task.
const CHECKED: usize = 512;

/// A sparse matrix that owns its arrays.
///
/// ```
/// use ziggurat_sparse::Csr;
/// // [ 2 -1  0 ]
/// // [ 0  3  1 ]
/// let a = Csr::try_new(2, 3, vec![0, 2, 4], vec![0, 1, 1, 2], vec![2.0, -1.0, 3.0, 1.0])?;
/// assert_eq!((a.rows(), a.cols(), a.nnz()), (2, 3, 4));
/// assert_eq!(a.get(1, 2), Some(1.0));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T: 'static> {
    rows: usize,
    cols: usize,
    row_ptr: Vec<usize>,
    columns: Storage<u32>,
    values: Storage<T>,
}

/// A sparse matrix over borrowed arrays.
///
/// ```
/// use ziggurat_sparse::CsrRef;
/// let (row_ptr, columns, values) = ([0, 1, 2], [1, 0], [5.0, 7.0]);
/// let a = CsrRef::try_new(2, 2, &row_ptr, &columns, &values)?; // nothing is copied
/// assert_eq!(a.row(0), (&[1][..], &[5.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct CsrRef<'a, T> {
    rows: usize,
    cols: usize,
    row_ptr: &'a [usize],
    columns: &'a [u32],
    values: &'a [T],
}

impl<T> Clone for CsrRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for CsrRef<'_, T> {}

impl<'a, T> From<&'a Csr<T>> for CsrRef<'a, T> {
    fn from(a: &'a Csr<T>) -> Self {
        a.view()
    }
}

/// Rejects dimensions that exceed 32-bit indices. This includes rows, because a transpose turns
/// them into columns.
pub(crate) fn check_extents(rows: usize, cols: usize) -> Result<(), MatrixError> {
    for (what, extent) in [("rows", rows), ("columns", cols)] {
        if u32::try_from(extent).is_err() {
            return Err(MatrixError::TooLarge { what, extent });
        }
    }
    Ok(())
}

/// Validates everything except the order of columns within rows, which the caller may sort instead.
pub(crate) fn check_layout(
    rows: usize,
    cols: usize,
    row_ptr: &[usize],
    columns: &[u32],
    values: usize,
) -> Result<(), MatrixError> {
    check_extents(rows, cols)?;
    if row_ptr.len() != rows + 1 {
        return Err(MatrixError::RowPointerCount { rows, found: row_ptr.len() });
    }
    if row_ptr[0] != 0 {
        return Err(MatrixError::RowPointerStart { found: row_ptr[0] });
    }
    let decreasing = |mut rows: Range<usize>| rows.find(|&row| row_ptr[row] > row_ptr[row + 1]);
    if let Some(row) = first_in_pieces(0..rows, CHECKED, &decreasing) {
        return Err(MatrixError::RowPointerDecreases { row, begin: row_ptr[row], end: row_ptr[row + 1] });
    }
    if row_ptr[rows] != columns.len() || columns.len() != values {
        return Err(MatrixError::EntryCount { row_ptr_end: row_ptr[rows], columns: columns.len(), values });
    }
    if let Some(entry) = first_position(columns, |&column| column as usize >= cols) {
        let row = row_ptr.partition_point(|&start| start <= entry) - 1;
        return Err(MatrixError::ColumnOutOfRange {
            row,
            entry,
            column: columns[entry] as usize,
            columns: cols,
        });
    }
    Ok(())
}

/// Finds the first entry whose column does not exceed the previous one in the same row.
pub(crate) fn check_order(row_ptr: &[usize], columns: &[u32]) -> Result<(), MatrixError> {
    let fault_in = |row: usize| {
        let (begin, end) = (row_ptr[row], row_ptr[row + 1]);
        let at = columns[begin..end].windows(2).position(|pair| pair[0] >= pair[1])?;
        Some(begin + at + 1)
    };
    let faulty = |mut rows: Range<usize>| rows.find(|&row| fault_in(row).is_some());
    let row = first_in_pieces(0..row_ptr.len() - 1, CHECKED, &faulty);
    match row.and_then(|row| Some((row, fault_in(row)?))) {
        None => Ok(()),
        Some((row, entry)) => {
            let (column, previous) = (columns[entry], columns[entry - 1]);
            Err(MatrixError::ColumnsNotIncreasing { row, entry, column, previous })
        }
    }
}

/// The values, rounded to another type.
pub(crate) fn rounded<T: Store, S: Store>(values: &[T]) -> Vec<S> {
    collect(values.len(), |k| S::narrow(values[k].wide()))
}

impl<'a, T: Store> CsrRef<'a, T> {
    /// Borrows arrays as a matrix, after validating them. Validation takes one pass over `row_ptr`
    /// and two over `columns`, in parallel.
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_ptr: &'a [usize],
        columns: &'a [u32],
        values: &'a [T],
    ) -> Result<Self, MatrixError> {
        check_layout(rows, cols, row_ptr, columns, values.len())?;
        check_order(row_ptr, columns)?;
        Ok(CsrRef { rows, cols, row_ptr, columns, values })
    }

    /// Entry (`row`, `column`), or `None` if it is not stored.
    #[inline]
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        let (columns, values) = self.row(row);
        let column = u32::try_from(column).ok()?;
        let at = count_below(columns, column);
        (columns.get(at) == Some(&column)).then(|| values[at])
    }

    /// As [`get`](Self::get), but looks at position `place` of the row first and at the next one,
    /// and stores in `place` where the entry was found. In a regular matrix it is where it was in
    /// the row before, or one further within a node of several unknowns, which saves the search.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// let a = Csr::try_new(1, 4, vec![0, 2], vec![1, 3], vec![5.0, 7.0])?;
    /// let mut place = 0;
    /// assert_eq!((a.view().get_near(0, 3, &mut place), place), (Some(7.0), 1));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    #[inline]
    pub fn get_near(&self, row: usize, column: usize, place: &mut usize) -> Option<T> {
        let (columns, values) = self.row(row);
        let column = u32::try_from(column).ok()?;
        if columns.get(*place) != Some(&column) {
            let next = *place + 1;
            *place = if columns.get(next) == Some(&column) { next } else { count_below(columns, column) };
            if columns.get(*place) != Some(&column) {
                return None;
            }
        }
        Some(values[*place])
    }

    /// The diagonal entries of `rows`; missing ones are zero.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 0], vec![4.0, 1.0])?;
    /// assert_eq!(a.view().diagonal(a.all_rows()), [4.0, 0.0]);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn diagonal(&self, rows: Range<usize>) -> Vec<T> {
        let mut diagonal = zeros(rows.len());
        over_pieces(&mut diagonal, &|first, diagonal| {
            let mut place = 0;
            for (entry, row) in diagonal.iter_mut().zip(rows.start + first..) {
                *entry = self.get_near(row, row, &mut place).unwrap_or_default();
            }
        });
        diagonal
    }

    /// Rejects infinite and NaN entries, reporting the first one.
    pub fn check_finite(&self) -> Result<(), MatrixError> {
        match first_position(self.values, |value| !value.is_finite()) {
            None => Ok(()),
            Some(entry) => Err(MatrixError::NotFinite {
                row: self.row_ptr.partition_point(|&start| start <= entry) - 1,
                column: self.columns[entry] as usize,
                value: self.values[entry].wide(),
            }),
        }
    }

    /// A copy that owns its arrays.
    pub fn to_owned(&self) -> Csr<T> {
        Csr {
            rows: self.rows,
            cols: self.cols,
            row_ptr: self.row_ptr.to_vec(),
            columns: self.columns.to_vec().into(),
            values: self.values.to_vec().into(),
        }
    }

    /// The same matrix with values stored as `S`, rounded to nearest.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, f16};
    /// let a = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![0.1])?;
    /// assert_eq!(a.view().stored_as::<f16>().values()[0], f16::from_f32(0.1));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn stored_as<S: Store>(&self) -> Csr<S> {
        Csr {
            rows: self.rows,
            cols: self.cols,
            row_ptr: self.row_ptr.to_vec(),
            columns: self.columns.to_vec().into(),
            values: rounded(self.values).into(),
        }
    }
}

/// Copies a borrowed matrix, so that functions with an `impl Into<Arc<Csr<T>>>` parameter accept an
/// owned, shared or borrowed matrix. Only the last is copied.
impl<T: Clone> From<&Csr<T>> for Arc<Csr<T>> {
    fn from(a: &Csr<T>) -> Self {
        Arc::new(a.clone())
    }
}

impl<T: Store> Csr<T> {
    /// The same matrix with values stored as `S`: shared if they already are, otherwise
    /// [rounded](CsrRef::stored_as).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_sparse::Csr;
    /// let a = Arc::new(Csr::<f64>::identity(2)?);
    /// assert!(Arc::ptr_eq(&a, &Csr::shared_as::<f64>(&a)));
    /// assert_eq!(Csr::shared_as::<f32>(&a).values(), [1.0_f32, 1.0]);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn shared_as<S: Store>(this: &Arc<Csr<T>>) -> Arc<Csr<S>> {
        let same: Arc<dyn Any + Send + Sync> = this.clone();
        same.downcast().unwrap_or_else(|_| Arc::new(this.view().stored_as()))
    }
}

/// The number of increasing columns below `column`. Short rows are scanned completely, which is
/// vectorised and avoids branch mispredictions.
#[inline]
fn count_below(columns: &[u32], column: u32) -> usize {
    const FEW: usize = 128;
    if columns.len() > FEW {
        return columns.partition_point(|&other| other < column);
    }
    columns.iter().map(|&other| u32::from(other < column)).sum::<u32>() as usize
}

impl<'a, T> CsrRef<'a, T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries, explicit zeros included.
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// The range of all rows, for functions that take a range, if the matrix has no halo.
    pub fn all_rows(&self) -> Range<usize> {
        0..self.rows
    }

    /// Start of each row, and end of the last one.
    pub fn row_ptr(&self) -> &'a [usize] {
        self.row_ptr
    }

    /// The column of every entry.
    pub fn columns(&self) -> &'a [u32] {
        self.columns
    }

    /// The value of every entry.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// Columns and values of one row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> (&'a [u32], &'a [T]) {
        let range = self.row_ptr[row]..self.row_ptr[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
}

impl<T: Store> Csr<T> {
    /// Takes ownership of arrays as a matrix, after validating them.
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, MatrixError> {
        CsrRef::try_new(rows, cols, &row_ptr, &columns, &values)?;
        Ok(Csr { rows, cols, row_ptr, columns: columns.into(), values: values.into() })
    }

    /// Creates a matrix over arrays owned elsewhere, after validating them. Columns and values are
    /// not copied; their owners are kept alive as long as a matrix uses them. The arrays are
    /// copy-on-write.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_sparse::Csr;
    /// let (columns, values): (Arc<[u32]>, Arc<[f64]>) = ([0, 1].into(), [2.0, 3.0].into());
    /// let a = Csr::try_shared(2, 2, vec![0, 1, 2], columns, values.clone())?;
    /// assert_eq!(a.values().as_ptr(), values.as_ptr()); // nothing was copied
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn try_shared(
        rows: usize,
        cols: usize,
        row_ptr: Vec<usize>,
        columns: impl AsRef<[u32]> + Send + Sync + 'static,
        values: impl AsRef<[T]> + Send + Sync + 'static,
    ) -> Result<Self, MatrixError> {
        let (columns, values) = (Storage::shared(columns), Storage::shared(values));
        CsrRef::try_new(rows, cols, &row_ptr, &columns, &values)?;
        Ok(Csr { rows, cols, row_ptr, columns, values })
    }

    /// For arrays that are valid by construction; checked in debug builds.
    pub(crate) fn from_valid_parts(
        rows: usize,
        cols: usize,
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Self {
        debug_assert_eq!(CsrRef::try_new(rows, cols, &row_ptr, &columns, &values).err(), None);
        Csr { rows, cols, row_ptr, columns: columns.into(), values: values.into() }
    }

    /// The identity matrix.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// assert_eq!(Csr::<f64>::identity(3)?.get(2, 2), Some(1.0));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn identity(n: usize) -> Result<Self, MatrixError> {
        check_extents(n, n)?;
        let values = vec![T::narrow(1.0); n];
        Ok(Self::from_valid_parts(n, n, (0..=n).collect(), (0..n as u32).collect(), values))
    }

    /// Entry (`row`, `column`), or `None` if it is not stored.
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        self.view().get(row, column)
    }
}

impl<T> Csr<T> {
    /// A view of the whole matrix.
    pub fn view(&self) -> CsrRef<'_, T> {
        CsrRef {
            rows: self.rows,
            cols: self.cols,
            row_ptr: &self.row_ptr,
            columns: &self.columns,
            values: &self.values,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries, explicit zeros included.
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// The range of all rows, for functions that take a range, if the matrix has no halo.
    pub fn all_rows(&self) -> Range<usize> {
        0..self.rows
    }

    /// Start of each row, and end of the last one.
    pub fn row_ptr(&self) -> &[usize] {
        &self.row_ptr
    }

    /// The column of every entry.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The value of every entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Mutable access to the values; the pattern is fixed. [Shared](Csr::try_shared) values are
    /// copied first.
    pub fn values_mut(&mut self) -> &mut [T]
    where
        T: Clone,
    {
        self.values.make_mut()
    }

    /// Mutable row pointers, columns and values, for code in this crate that keeps them valid.
    pub(crate) fn parts_mut(&mut self) -> (&mut [usize], &mut [u32], &mut [T])
    where
        T: Clone,
    {
        (&mut self.row_ptr, self.columns.make_mut(), self.values.make_mut())
    }

    /// Columns and values of one row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        self.view().row(row)
    }

    /// Consumes the matrix and returns its row pointers, columns and values.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>, Vec<T>)
    where
        T: Clone,
    {
        (self.row_ptr, self.columns.into_vec(), self.values.into_vec())
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.row_ptr[..]) + size_of_val(&self.columns[..]) + size_of_val(&self.values[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_named_with_its_place() {
        let fault = |rows, cols, row_ptr: &[usize], columns: &[u32], values: &[f64]| {
            CsrRef::try_new(rows, cols, row_ptr, columns, values).unwrap_err()
        };
        let ok = [1.0; 3];
        assert_eq!(fault(2, 2, &[0, 1], &[0], &ok[..1]), MatrixError::RowPointerCount { rows: 2, found: 2 });
        assert_eq!(fault(1, 2, &[1, 1], &[0], &ok[..1]), MatrixError::RowPointerStart { found: 1 });
        assert_eq!(
            fault(2, 2, &[0, 2, 1], &[0], &ok[..1]),
            MatrixError::RowPointerDecreases { row: 1, begin: 2, end: 1 }
        );
        assert_eq!(
            fault(1, 2, &[0, 2], &[0], &ok[..1]),
            MatrixError::EntryCount { row_ptr_end: 2, columns: 1, values: 1 }
        );
        assert_eq!(
            fault(1, 2, &[0, 1], &[0], &ok[..2]),
            MatrixError::EntryCount { row_ptr_end: 1, columns: 1, values: 2 }
        );
        assert_eq!(
            fault(3, 2, &[0, 1, 1, 3], &[0, 0, 2], &ok),
            MatrixError::ColumnOutOfRange { row: 2, entry: 2, column: 2, columns: 2 }
        );
        assert_eq!(
            fault(2, 4, &[0, 1, 3], &[0, 3, 1], &ok),
            MatrixError::ColumnsNotIncreasing { row: 1, entry: 2, column: 1, previous: 3 }
        );
        assert_eq!(
            fault(2, 4, &[0, 1, 3], &[0, 3, 3], &ok),
            MatrixError::ColumnsNotIncreasing { row: 1, entry: 2, column: 3, previous: 3 }
        );
        let large = u32::MAX as usize + 1;
        assert_eq!(fault(0, large, &[0], &[], &[]), MatrixError::TooLarge { what: "columns", extent: large });
    }

    #[test]
    fn a_value_that_is_not_finite_is_named() {
        let a = Csr::try_new(3, 3, vec![0, 1, 1, 2], vec![0, 1], vec![1.0, f64::NAN]).unwrap();
        let error = a.view().check_finite().unwrap_err();
        assert!(matches!(error, MatrixError::NotFinite { row: 2, column: 1, value } if value.is_nan()));
    }

    #[test]
    fn unsorted_rows_are_sorted_and_duplicates_summed() {
        let a =
            Csr::from_unsorted(3, 4, vec![0, 4, 4, 5], vec![3, 1, 3, 0, 2], vec![1.0, 2.0, 4.0, 8.0, 16.0])
                .unwrap();
        assert_eq!(a.row_ptr(), [0, 3, 3, 4]);
        assert_eq!(a.columns(), [0, 1, 3, 2]);
        assert_eq!(a.values(), [8.0, 2.0, 5.0, 16.0]);
    }

    #[test]
    fn the_empty_matrix_is_a_matrix() {
        let a = Csr::<f64>::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
        assert_eq!((a.nnz(), a.view().diagonal(a.all_rows())), (0, vec![]));
    }
}
