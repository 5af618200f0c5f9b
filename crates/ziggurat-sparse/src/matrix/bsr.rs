//! Block compressed sparse row (BSR) format: CSR whose entries are small dense square blocks.
//!
//! A matrix with several unknowns per node (3 for elasticity, 6 for shells) couples all unknowns of
//! two nodes or none. One 32-bit column index then serves b² values instead of one, and a kernel
//! keeps b values of x in registers. Block row `i` holds the blocks `row_ptr[i] .. row_ptr[i + 1]`;
//! within a block row, block columns increase strictly. Block `k` is `values[k b² .. (k + 1) b²]`,
//! row-major: entry (r, c) is at `r b + c`.
//!
//! [`Bsr`] owns its arrays, [`BsrRef`] borrows them. Both are valid by construction, like
//! [`Csr`](super::Csr). `rows()` and `cols()` count scalars; methods that count blocks have "block"
//! in their names. Row pointers, columns and errors in them ([`MatrixError::InBlocks`]) count in
//! blocks.

use std::ops::Range;

use super::MatrixError;
use super::csr::{check_extents, check_layout, check_order, rounded};
use crate::number::Store;
use crate::parallel::zeros;
use crate::parallel::{first_position, over_blocks};

/// The largest supported block size. Kernels keep the sums of a block row in registers or on the
/// stack.
pub const MAX_BLOCK: usize = 16;

/// A sparse matrix of small dense square blocks that owns its arrays.
///
/// ```
/// use ziggurat_sparse::Bsr;
/// // [ 1 2 . . ]
/// // [ 3 4 . . ]
/// // [ . . 5 6 ]
/// // [ . . 7 8 ]
/// let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// let a = Bsr::try_new(4, 4, 2, vec![0, 1, 2], vec![0, 1], values)?;
/// assert_eq!((a.rows(), a.block_rows(), a.blocks(), a.nnz()), (4, 2, 2, 8));
/// assert_eq!(a.block(1), [5.0, 6.0, 7.0, 8.0]);
/// assert_eq!(a.get(3, 2), Some(7.0));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bsr<T> {
    block_rows: usize,
    block_cols: usize,
    block: usize,
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<T>,
}

/// A sparse matrix of small dense square blocks over borrowed arrays.
///
/// ```
/// use ziggurat_sparse::BsrRef;
/// let (row_ptr, columns, values) = ([0, 1], [1], [1.0, 2.0, 3.0, 4.0]);
/// let a = BsrRef::try_new(2, 4, 2, &row_ptr, &columns, &values)?; // nothing is copied
/// assert_eq!(a.block_row(0), (&[1][..], &[1.0, 2.0, 3.0, 4.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct BsrRef<'a, T> {
    block_rows: usize,
    block_cols: usize,
    block: usize,
    row_ptr: &'a [usize],
    columns: &'a [u32],
    values: &'a [T],
}

impl<T> Clone for BsrRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for BsrRef<'_, T> {}

impl<'a, T> From<&'a Bsr<T>> for BsrRef<'a, T> {
    fn from(a: &'a Bsr<T>) -> Self {
        a.view()
    }
}

/// Rejects dimensions that are too large, and block sizes that are unsupported or do not divide
/// them.
pub(crate) fn check_tiling(rows: usize, cols: usize, block: usize) -> Result<(), MatrixError> {
    check_extents(rows, cols)?;
    if !(1..=MAX_BLOCK).contains(&block) || !rows.is_multiple_of(block) || !cols.is_multiple_of(block) {
        return Err(MatrixError::BlockSize { block, rows, columns: cols });
    }
    Ok(())
}

impl<'a, T: Store> BsrRef<'a, T> {
    /// Borrows arrays as a matrix of `rows` by `cols` scalars in blocks of `block` by `block`,
    /// after validating them.
    pub fn try_new(
        rows: usize,
        cols: usize,
        block: usize,
        row_ptr: &'a [usize],
        columns: &'a [u32],
        values: &'a [T],
    ) -> Result<Self, MatrixError> {
        check_tiling(rows, cols, block)?;
        let (block_rows, block_cols) = (rows / block, cols / block);
        check_layout(block_rows, block_cols, row_ptr, columns, columns.len())
            .and_then(|()| check_order(row_ptr, columns))
            .map_err(|fault| MatrixError::InBlocks { block, fault: Box::new(fault) })?;
        let expected = columns.len().saturating_mul(block * block);
        if values.len() != expected {
            return Err(MatrixError::Mismatch {
                what: "number of values (block² per block)",
                expected,
                found: values.len(),
            });
        }
        Ok(BsrRef { block_rows, block_cols, block, row_ptr, columns, values })
    }

    /// Scalar entry (`row`, `column`), or `None` where no block is stored.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        let (columns, values) = self.block_row(row / self.block);
        let at = columns.binary_search(&u32::try_from(column / self.block).ok()?).ok()?;
        Some(values[(at * self.block + row % self.block) * self.block + column % self.block])
    }

    /// Rejects infinite and NaN values, reporting the scalar row and column of the first one in
    /// memory.
    pub fn check_finite(&self) -> Result<(), MatrixError> {
        match first_position(self.values, |value| !value.is_finite()) {
            None => Ok(()),
            Some(at) => {
                let (k, within) = (at / self.block.pow(2), at % self.block.pow(2));
                let block_row = self.row_ptr.partition_point(|&start| start <= k) - 1;
                Err(MatrixError::NotFinite {
                    row: block_row * self.block + within / self.block,
                    column: self.columns[k] as usize * self.block + within % self.block,
                    value: self.values[at].wide(),
                })
            }
        }
    }

    /// A copy that owns its arrays.
    pub fn to_owned(&self) -> Bsr<T> {
        self.with_values(self.values.to_vec())
    }

    /// The same matrix with values stored as `S`, rounded to nearest.
    ///
    /// ```
    /// use ziggurat_sparse::{Bsr, f16};
    /// let a = Bsr::try_new(2, 2, 2, vec![0, 1], vec![0], vec![0.1, 0.2, 0.3, 0.4])?;
    /// assert_eq!(a.view().stored_as::<f16>().values()[3], f16::from_f32(0.4));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn stored_as<S: Store>(&self) -> Bsr<S> {
        self.with_values(rounded(self.values))
    }

    /// The same pattern with every value multiplied by `scale(row, column)` (scalar indices) and
    /// rounded to `S`.
    ///
    /// ```
    /// use ziggurat_sparse::{Bsr, f16};
    /// let a = Bsr::try_new(2, 2, 2, vec![0, 1], vec![0], vec![1.0, 2.0, 3.0, 4.0])?;
    /// let scaled = a.view().rescaled::<f16>(|row, column| (1 + row + 2 * column) as f64);
    /// assert_eq!(scaled.values(), [1.0, 6.0, 6.0, 16.0].map(f16::from_f32));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn rescaled<S: Store>(&self, scale: impl Fn(usize, usize) -> f64 + Sync) -> Bsr<S> {
        let (size, all) = (self.block, 0..self.block_rows);
        let (mut columns, mut values) = (self.columns.to_vec(), zeros(self.values.len()));
        over_blocks(self.row_ptr, all, size * size, &mut columns, &mut values, &|rows, columns, values| {
            let offset = self.row_ptr[rows.start];
            for row in rows {
                for k in self.row_ptr[row]..self.row_ptr[row + 1] {
                    let column = columns[k - offset] as usize;
                    let (from, into) = (k * size * size, (k - offset) * size * size);
                    for place in 0..size * size {
                        let factor = scale(row * size + place / size, column * size + place % size);
                        values[into + place] = S::narrow(self.values[from + place].wide() * factor);
                    }
                }
            }
        });
        self.with_values(values)
    }

    fn with_values<S>(&self, values: Vec<S>) -> Bsr<S> {
        Bsr {
            block_rows: self.block_rows,
            block_cols: self.block_cols,
            block: self.block,
            row_ptr: self.row_ptr.to_vec(),
            columns: self.columns.to_vec(),
            values,
        }
    }
}

impl<'a, T> BsrRef<'a, T> {
    /// Number of scalar rows.
    pub fn rows(&self) -> usize {
        self.block_rows * self.block
    }

    /// Number of scalar columns.
    pub fn cols(&self) -> usize {
        self.block_cols * self.block
    }

    /// Number of block rows.
    pub fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Number of block columns.
    pub fn block_cols(&self) -> usize {
        self.block_cols
    }

    /// Rows (and columns) of one block.
    pub fn block_size(&self) -> usize {
        self.block
    }

    /// Number of stored blocks.
    pub fn blocks(&self) -> usize {
        self.columns.len()
    }

    /// Number of stored scalars, including zeros within blocks.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// The range of all block rows, for functions that take a range, if the matrix has no halo.
    pub fn all_block_rows(&self) -> Range<usize> {
        0..self.block_rows
    }

    /// Start of each block row, and end of the last one, in blocks.
    pub fn row_ptr(&self) -> &'a [usize] {
        self.row_ptr
    }

    /// The block column of every block.
    pub fn columns(&self) -> &'a [u32] {
        self.columns
    }

    /// The values of all blocks, one block after the other, each row-major.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// The values of block `k`, row-major.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    pub fn block(&self, k: usize) -> &'a [T] {
        let size = self.block * self.block;
        &self.values[k * size..(k + 1) * size]
    }

    /// Block columns and values of one block row.
    ///
    /// # Panics
    /// If there is no such block row.
    #[inline]
    pub fn block_row(&self, block_row: usize) -> (&'a [u32], &'a [T]) {
        let range = self.row_ptr[block_row]..self.row_ptr[block_row + 1];
        let size = self.block * self.block;
        (&self.columns[range.clone()], &self.values[range.start * size..range.end * size])
    }

    /// The diagonal block of a block row, or `None` if it is not stored.
    ///
    /// ```
    /// use ziggurat_sparse::Bsr;
    /// let a = Bsr::try_new(4, 4, 2, vec![0, 1, 2], vec![0, 0], vec![1.0; 8])?;
    /// assert_eq!(a.view().diagonal_block(0), Some(&[1.0; 4][..]));
    /// assert_eq!(a.view().diagonal_block(1), None);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such block row.
    pub fn diagonal_block(&self, block_row: usize) -> Option<&'a [T]> {
        let (columns, _) = self.block_row(block_row);
        let at = columns.binary_search(&u32::try_from(block_row).ok()?).ok()?;
        Some(self.block(self.row_ptr[block_row] + at))
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.row_ptr) + size_of_val(self.columns) + size_of_val(self.values)
    }
}

impl<T: Store> Bsr<T> {
    /// Takes ownership of arrays as a matrix of `rows` by `cols` scalars in blocks of `block` by
    /// `block`, after validating them.
    pub fn try_new(
        rows: usize,
        cols: usize,
        block: usize,
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, MatrixError> {
        BsrRef::try_new(rows, cols, block, &row_ptr, &columns, &values)?;
        Ok(Self::from_valid_parts(rows, cols, block, row_ptr, columns, values))
    }

    /// For arrays that are valid by construction; checked in debug builds.
    pub(crate) fn from_valid_parts(
        rows: usize,
        cols: usize,
        block: usize,
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Self {
        debug_assert_eq!(BsrRef::try_new(rows, cols, block, &row_ptr, &columns, &values).err(), None);
        Bsr { block_rows: rows / block, block_cols: cols / block, block, row_ptr, columns, values }
    }

    /// Scalar entry (`row`, `column`), or `None` where no block is stored.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        self.view().get(row, column)
    }
}

impl<T> Bsr<T> {
    /// A view of the whole matrix.
    pub fn view(&self) -> BsrRef<'_, T> {
        BsrRef {
            block_rows: self.block_rows,
            block_cols: self.block_cols,
            block: self.block,
            row_ptr: &self.row_ptr,
            columns: &self.columns,
            values: &self.values,
        }
    }

    /// Number of scalar rows.
    pub fn rows(&self) -> usize {
        self.block_rows * self.block
    }

    /// Number of scalar columns.
    pub fn cols(&self) -> usize {
        self.block_cols * self.block
    }

    /// Number of block rows.
    pub fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Number of block columns.
    pub fn block_cols(&self) -> usize {
        self.block_cols
    }

    /// Rows (and columns) of one block.
    pub fn block_size(&self) -> usize {
        self.block
    }

    /// Number of stored blocks.
    pub fn blocks(&self) -> usize {
        self.columns.len()
    }

    /// Number of stored scalars, including zeros within blocks.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// The range of all block rows, for functions that take a range, if the matrix has no halo.
    pub fn all_block_rows(&self) -> Range<usize> {
        0..self.block_rows
    }

    /// Start of each block row, and end of the last one, in blocks.
    pub fn row_ptr(&self) -> &[usize] {
        &self.row_ptr
    }

    /// The block column of every block.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The values of all blocks, one block after the other, each row-major.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Mutable access to the values; the pattern is fixed.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The values of block `k`, row-major.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block(&self, k: usize) -> &[T] {
        self.view().block(k)
    }

    /// Block columns and values of one block row.
    ///
    /// # Panics
    /// If there is no such block row.
    pub fn block_row(&self, block_row: usize) -> (&[u32], &[T]) {
        self.view().block_row(block_row)
    }

    /// The diagonal block of a block row, or `None` if it is not stored.
    ///
    /// # Panics
    /// If there is no such block row.
    pub fn diagonal_block(&self, block_row: usize) -> Option<&[T]> {
        self.view().diagonal_block(block_row)
    }

    /// Consumes the matrix and returns its block row pointers, block columns and values.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>, Vec<T>) {
        (self.row_ptr, self.columns, self.values)
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        self.view().bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_named_with_its_place() {
        let fault = |rows, cols, block, row_ptr: &[usize], columns: &[u32], values: &[f64]| {
            BsrRef::try_new(rows, cols, block, row_ptr, columns, values).unwrap_err()
        };
        let in_blocks = |fault| MatrixError::InBlocks { block: 2, fault: Box::new(fault) };
        for block in [0, 3, 17] {
            assert_eq!(
                fault(34, 51, block, &[0], &[], &[]),
                MatrixError::BlockSize { block, rows: 34, columns: 51 }
            );
        }
        assert_eq!(fault(4, 5, 2, &[0], &[], &[]), MatrixError::BlockSize { block: 2, rows: 4, columns: 5 });
        assert_eq!(
            fault(4, 4, 2, &[0, 1], &[0], &[1.0; 4]),
            in_blocks(MatrixError::RowPointerCount { rows: 2, found: 2 })
        );
        assert_eq!(
            fault(4, 4, 2, &[0, 1, 2], &[0, 2], &[1.0; 8]),
            in_blocks(MatrixError::ColumnOutOfRange { row: 1, entry: 1, column: 2, columns: 2 })
        );
        assert_eq!(
            fault(2, 4, 2, &[0, 2], &[1, 0], &[1.0; 8]).to_string(),
            "in units of 2 x 2 blocks: row 0, entry 1: column 0 follows column 1; columns must increase strictly \
             (`Csr::from_unsorted` sorts them and sums duplicates)"
        );
        assert_eq!(
            fault(2, 2, 2, &[0, 1], &[0], &[1.0; 5]).to_string(),
            "number of values (block² per block): expected 4, found 5"
        );
    }

    #[test]
    fn entries_are_found_by_scalar_place() {
        let (rows, cols, b) = (6, 9, 3);
        let values: Vec<f64> = (0..27).map(f64::from).collect();
        let a = Bsr::try_new(rows, cols, b, vec![0, 2, 3], vec![0, 2, 1], values).unwrap();
        assert_eq!((a.rows(), a.cols(), a.block_rows(), a.block_cols()), (6, 9, 2, 3));
        assert_eq!((a.blocks(), a.nnz(), a.block_size(), a.all_block_rows()), (3, 27, 3, 0..2));
        assert_eq!((a.get(1, 2), a.get(2, 6), a.get(4, 3)), (Some(5.0), Some(15.0), Some(21.0)));
        assert_eq!((a.get(0, 3), a.get(5, 8), a.get(0, usize::MAX)), (None, None, None));
        assert_eq!(a.diagonal_block(1), Some(a.block(2)));
        assert_eq!(a.block_row(0).1.len(), 18);
        assert_eq!(a.bytes(), 3 * 8 + 3 * 4 + 27 * 8);
    }

    #[test]
    fn a_value_that_is_not_finite_is_named_by_scalar_place() {
        let mut a = Bsr::try_new(4, 4, 2, vec![0, 0, 2], vec![0, 1], vec![1.0; 8]).unwrap();
        assert_eq!(a.view().check_finite(), Ok(()));
        a.values_mut()[6] = f64::INFINITY;
        assert_eq!(
            a.view().check_finite(),
            Err(MatrixError::NotFinite { row: 3, column: 2, value: f64::INFINITY })
        );
    }

    #[test]
    fn the_empty_matrix_is_a_matrix() {
        let a = Bsr::<f64>::try_new(0, 0, 6, vec![0], vec![], vec![]).unwrap();
        assert_eq!((a.rows(), a.nnz(), a.view().to_owned() == a), (0, 0, true));
    }
}
