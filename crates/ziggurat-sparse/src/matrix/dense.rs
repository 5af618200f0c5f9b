//! Column-major dense matrices: a few vectors (near-null-space modes, coordinates), or a small
//! coarse matrix.
//!
//! Column `j` is contiguous, so it can be used as a vector. The format is not suitable for large
//! matrices.

use std::ops::{Index, IndexMut};

use super::MatrixError;
use super::csr::check_extents;
use crate::number::Store;

/// A dense matrix in column-major order.
///
/// ```
/// use ziggurat_sparse::Dense;
/// // [ 1 4 ]
/// // [ 2 5 ]
/// // [ 3 6 ]
/// let mut a = Dense::try_new(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(a.column(1), [4.0, 5.0, 6.0]);
/// a[(0, 1)] = 7.0;
/// assert_eq!(a.get(0, 1), Some(7.0));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dense<T> {
    rows: usize,
    cols: usize,
    values: Vec<T>,
}

impl<T: Store> Dense<T> {
    /// A zero matrix. Fails if it does not fit in memory.
    ///
    /// ```
    /// use ziggurat_sparse::{Dense, MatrixError};
    /// assert_eq!(Dense::<f64>::zeros(2, 3)?.column(2), [0.0, 0.0]);
    /// let huge = Dense::<f64>::zeros(4_000_000_000, 4_000_000_000).unwrap_err();
    /// assert_eq!(huge, MatrixError::DenseTooLarge { rows: 4_000_000_000, columns: 4_000_000_000 });
    /// # Ok::<(), MatrixError>(())
    /// ```
    pub fn zeros(rows: usize, cols: usize) -> Result<Self, MatrixError> {
        check_extents(rows, cols)?;
        let too_large = MatrixError::DenseTooLarge { rows, columns: cols };
        let len = rows.checked_mul(cols).ok_or(too_large.clone())?;
        let mut values = Vec::new();
        values.try_reserve_exact(len).map_err(|_| too_large)?;
        values.resize(len, T::default());
        Ok(Dense { rows, cols, values })
    }

    /// Takes ownership of an array as a column-major matrix.
    pub fn try_new(rows: usize, cols: usize, values: Vec<T>) -> Result<Self, MatrixError> {
        check_extents(rows, cols)?;
        let expected = rows.saturating_mul(cols);
        if values.len() != expected {
            return Err(MatrixError::Mismatch {
                what: "values of a dense matrix",
                expected,
                found: values.len(),
            });
        }
        Ok(Dense { rows, cols, values })
    }

    /// Entry (`row`, `column`), or `None` outside the matrix.
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        (row < self.rows && column < self.cols).then(|| self[(row, column)])
    }
}

impl<T> Dense<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Column `j`.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, j: usize) -> &[T] {
        assert!(j < self.cols, "column {j} of a matrix with {} columns", self.cols);
        &self.values[j * self.rows..(j + 1) * self.rows]
    }

    /// Mutable access to column `j`.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column_mut(&mut self, j: usize) -> &mut [T] {
        assert!(j < self.cols, "column {j} of a matrix with {} columns", self.cols);
        &mut self.values[j * self.rows..(j + 1) * self.rows]
    }

    /// All columns, in order.
    ///
    /// ```
    /// use ziggurat_sparse::Dense;
    /// let a = Dense::try_new(2, 2, vec![1.0, 2.0, 3.0, 4.0])?;
    /// let sums: Vec<f64> = a.columns().map(|column| column.iter().sum()).collect();
    /// assert_eq!(sums, [3.0, 7.0]);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn columns(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.cols).map(|j| self.column(j))
    }

    /// All values, in column-major order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Mutable access to all values, in column-major order.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Consumes the matrix and returns all values, in column-major order.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// Memory used by the values, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.values[..])
    }
}

/// # Panics
/// Outside the matrix; [`Dense::get`] returns `None` there.
impl<T> Index<(usize, usize)> for Dense<T> {
    type Output = T;

    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.column(column)[row]
    }
}

/// # Panics
/// Outside the matrix.
impl<T> IndexMut<(usize, usize)> for Dense<T> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.column_mut(column)[row]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_row_and_a_column() {
        let mut a = Dense::<f32>::zeros(3, 2).unwrap();
        a[(2, 0)] = 5.0;
        a[(0, 1)] = 7.0;
        assert_eq!(a.values(), [0.0, 0.0, 5.0, 7.0, 0.0, 0.0]);
        assert_eq!((a.get(2, 0), a.get(3, 0), a.get(0, 2)), (Some(5.0), None, None));
        assert_eq!(a.bytes(), 24);
    }

    #[test]
    fn without_rows_the_columns_are_empty_but_there() {
        let a = Dense::<f64>::zeros(0, 2).unwrap();
        assert_eq!((a.columns().len(), a.column(1).len(), a.get(0, 0)), (2, 0, None));
    }

    #[test]
    fn faults_are_errors() {
        assert!(matches!(
            Dense::try_new(2, 2, vec![1.0; 3]),
            Err(MatrixError::Mismatch { expected: 4, found: 3, .. })
        ));
        let large = u32::MAX as usize + 1;
        assert_eq!(
            Dense::<f64>::zeros(1, large),
            Err(MatrixError::TooLarge { what: "columns", extent: large })
        );
    }

    #[test]
    #[should_panic(expected = "column 2 of a matrix with 2 columns")]
    fn a_column_that_is_not_there_is_a_programming_error() {
        Dense::<f64>::zeros(0, 2).unwrap().column(2);
    }
}
