//! Conversions between matrix formats.
//!
//! | from \ to | [`Csr`] | [`Bsr`] | [`Dense`] | [`Coo`] |
//! |---|---|---|---|---|
//! | [`Csr`] | | [`CsrRef::to_bsr`] | [`CsrRef::to_dense`] | `Coo::from` |
//! | [`Bsr`] | [`BsrRef::to_csr`] | | | |
//! | [`Dense`] | [`Dense::to_csr`] | | | |
//! | [`Coo`] | [`Coo::to_csr`] | | | |
//!
//! CSR is the exchange format: other conversions go through it. Every conversion counts, then
//! fills, in parallel, and reads each array once per pass.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::bsr::{MAX_BLOCK, check_tiling};
use super::format::{Format, FormatPlan, RowEntries};
use super::{Bsr, BsrRef, Coo, Csr, CsrRef, Dense, MatrixError, ScaleFactors, count_rows};
use crate::number::{Real, Store};
use crate::parallel::{all_pieces, map_pieces, over_blocks, zeros};

/// Relative fill-in up to which [`detect_block_size`] accepts a block size. A few rows (boundary
/// conditions, zeros dropped in assembly) may break the pattern.
const FILL_TOLERANCE: f64 = 0.05;

/// Block rows whose blocks are counted by one task.
const COUNTED: usize = 512;

/// Visits the blocks of a block row, in order of block columns. For each block and each of its
/// rows, it calls `visit(index of the block in the block row, block column, row within the block,
/// columns, values)` with the entries of that row in the block. Returns the number of blocks. It
/// merges the rows: each block takes one step per row, and no search if all blocks are full. The
/// last block row may have fewer rows.
pub(super) fn for_each_block<T>(
    a: CsrRef<'_, T>,
    block: usize,
    block_row: usize,
    mut visit: impl FnMut(usize, usize, usize, &[u32], &[T]),
) -> usize {
    let mut rest: [(&[u32], &[T]); MAX_BLOCK] = [(&[], &[]); MAX_BLOCK];
    let rest = &mut rest[..block.min(a.rows() - block_row * block)];
    for (r, slot) in rest.iter_mut().enumerate() {
        *slot = a.row(block_row * block + r);
    }
    let (columns, _) = rest[0];
    if block > 0 && rest[1..].iter().all(|(others, _)| *others == columns) && in_full_blocks(columns, block) {
        for (number, columns) in columns.chunks_exact(block).enumerate() {
            for (r, (_, values)) in rest.iter().enumerate() {
                let values = &values[number * block..][..block];
                visit(number, columns[0] as usize / block, r, columns, values);
            }
        }
        return columns.len() / block;
    }
    let mut blocks = 0;
    while let Some(first) = rest.iter().filter_map(|(columns, _)| columns.first()).min() {
        let column = *first as usize / block;
        let end = (column + 1) * block;
        for (r, (columns, values)) in rest.iter_mut().enumerate() {
            // At most `block` entries: a linear search is faster than bisection.
            let len = columns.iter().take_while(|&&c| (c as usize) < end).count();
            visit(blocks, column, r, &columns[..len], &values[..len]);
            (*columns, *values) = (&columns[len..], &values[len..]);
        }
        blocks += 1;
    }
    blocks
}

/// Whether increasing columns form complete blocks of this size.
///
/// ```
/// use ziggurat_sparse::matrix::in_full_blocks;
/// assert!(in_full_blocks(&[2, 3, 6, 7], 2) && !in_full_blocks(&[1, 2], 2));
/// ```
///
/// # Panics
/// If the size is zero.
pub fn in_full_blocks(columns: &[u32], block: usize) -> bool {
    let width = block as u32;
    let blocks = columns.chunks_exact(block);
    blocks.remainder().is_empty()
        // If the first and last columns of a block are right, strictly increasing columns fill the
        // rest.
        && blocks.into_iter().all(|block| block[0] % width == 0 && block[width as usize - 1] - block[0] == width - 1)
}

/// The number of values that [`CsrRef::to_bsr`] would store with this block size, divided by the
/// number of entries: 1 if all blocks are full, infinite if the block size does not divide the
/// dimensions. Reads the columns once.
///
/// ```
/// use ziggurat_sparse::{Csr, matrix::block_fill};
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0])?;
/// assert_eq!(block_fill(a.view(), 2), 2.0);
/// assert_eq!(block_fill(a.view(), 3), f64::INFINITY);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn block_fill<T: Store>(a: CsrRef<'_, T>, block: usize) -> f64 {
    if check_tiling(a.rows(), a.cols(), block).is_err() {
        return f64::INFINITY;
    }
    if a.nnz() == 0 {
        return 1.0;
    }
    (count_blocks(a, block) * block * block) as f64 / a.nnz() as f64
}

/// The number of blocks that hold an entry. The block size must divide the dimensions.
fn count_blocks<T: Store>(a: CsrRef<'_, T>, block: usize) -> usize {
    map_pieces(0..a.rows() / block, COUNTED, &|rows| count_blocks_in(a, block, rows)).into_iter().sum()
}

/// The number of blocks of some block rows that hold an entry.
fn count_blocks_in<T: Store>(a: CsrRef<'_, T>, block: usize, block_rows: Range<usize>) -> usize {
    block_rows.map(|row| for_each_block(a, block, row, |_, _, _, _, _| ())).sum()
}

/// A lower bound on [`block_fill`] from the row lengths alone: a block row has at least as many
/// blocks as its longest row requires. For most scalar matrices this avoids reading the columns.
fn least_block_fill<T: Store>(a: CsrRef<'_, T>, block: usize) -> f64 {
    /// Block rows per task.
    const PIECE: usize = 4096;
    let row_ptr = a.row_ptr();
    let stored = |block_row: usize| {
        let lengths = row_ptr[block_row * block..][..=block].windows(2).map(|row| row[1] - row[0]);
        lengths.max().unwrap_or(0).div_ceil(block) * block * block
    };
    let pieces = map_pieces(0..a.rows() / block, PIECE, &|rows| rows.map(stored).sum::<usize>());
    pieces.into_iter().sum::<usize>() as f64 / a.nnz().max(1) as f64
}

/// The largest of 6, 4, 3, 2 for which blocks are full up to 5 percent fill-in: most likely the
/// number of unknowns per node. `None` if there is no such block size, or no entry.
///
/// ```
/// use ziggurat_sparse::{Csr, matrix::detect_block_size};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0; 4])?;
/// assert_eq!(detect_block_size(a.view()), Some(2));
/// assert_eq!(detect_block_size(Csr::<f64>::identity(12)?.view()), None);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn detect_block_size<T: Store>(a: CsrRef<'_, T>) -> Option<usize> {
    let full = |&block: &usize| {
        least_block_fill(a, block) <= 1.0 + FILL_TOLERANCE
            && check_tiling(a.rows(), a.cols(), block).is_ok()
            && has_full_blocks(a, block)
    };
    (a.nnz() > 0).then(|| [6, 4, 3, 2].into_iter().find(full))?
}

/// Whether [`block_fill`] is within its tolerance. Stops reading as soon as it cannot be: for a
/// scalar matrix, after a small part. The block size must divide the dimensions.
fn has_full_blocks<T: Store>(a: CsrRef<'_, T>, block: usize) -> bool {
    let allowed = (FILL_TOLERANCE * a.nnz() as f64) as usize;
    let padding = AtomicUsize::new(0);
    all_pieces(0..a.rows() / block, COUNTED, &|rows| {
        let entries = a.row_ptr()[rows.end * block] - a.row_ptr()[rows.start * block];
        let new = count_blocks_in(a, block, rows) * block * block - entries;
        padding.fetch_add(new, Relaxed) + new <= allowed
    })
}

impl<T: Store> CsrRef<'_, T> {
    /// The same matrix in blocks of `block` by `block`: every block with at least one entry is
    /// stored completely, padded with zeros. [`block_fill`] computes the relative storage in
    /// advance.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// let a = Csr::try_new(2, 4, vec![0, 1, 3], vec![3, 2, 3], vec![1.0, 2.0, 3.0])?;
    /// let b = a.view().to_bsr(2)?;
    /// assert_eq!((b.columns(), b.values()), (&[1][..], &[0.0, 1.0, 2.0, 3.0][..]));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn to_bsr(&self, block: usize) -> Result<Bsr<T>, MatrixError> {
        check_tiling(self.rows(), self.cols(), block)?;
        Ok(self.in_blocks(block))
    }

    /// [`CsrRef::to_bsr`] for a block size that has been checked.
    fn in_blocks(&self, block: usize) -> Bsr<T> {
        let block_rows = 0..self.rows() / block;
        let row_ptr = count_rows(
            block_rows.clone(),
            || (),
            |(), row| for_each_block(*self, block, row, |_, _, _, _, _| ()),
        );
        let blocks = row_ptr[block_rows.end];
        let size = block * block;
        let (mut columns, mut values) = (zeros(blocks), zeros(blocks * size));
        over_blocks(&row_ptr, block_rows, size, &mut columns, &mut values, &|piece, columns, values| {
            let offset = row_ptr[piece.start];
            for block_row in piece {
                let first = row_ptr[block_row] - offset;
                for_each_block(*self, block, block_row, |k, column, r, from_columns, from| {
                    columns[first + k] = column as u32;
                    let to = &mut values[(first + k) * size + r * block..][..block];
                    for (&c, &value) in from_columns.iter().zip(from) {
                        to[c as usize - column * block] = value;
                    }
                });
            }
        });
        Bsr::from_valid_parts(self.rows(), self.cols(), block, row_ptr, columns, values)
    }

    /// The same matrix in dense storage, with zeros for missing entries. Fails if it does not fit
    /// in memory.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![3.0, 4.0])?;
    /// assert_eq!(a.view().to_dense()?.values(), [0.0, 4.0, 3.0, 0.0]);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn to_dense(&self) -> Result<Dense<T>, MatrixError> {
        let mut dense = Dense::zeros(self.rows(), self.cols())?;
        for row in self.all_rows() {
            let (columns, values) = self.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                dense[(row, column as usize)] = value;
            }
        }
        Ok(dense)
    }
}

impl<T: Store> BsrRef<'_, T> {
    /// The same matrix in scalar rows. Every value of a stored block becomes an entry, including
    /// zeros: assembled zeros and padding are indistinguishable, and the pattern must not depend on
    /// values.
    ///
    /// ```
    /// use ziggurat_sparse::Bsr;
    /// let a = Bsr::try_new(2, 4, 2, vec![0, 1], vec![1], vec![1.0, 0.0, 2.0, 3.0])?.view().to_csr();
    /// assert_eq!((a.row(0), a.nnz()), ((&[2, 3][..], &[1.0, 0.0][..]), 4));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn to_csr(&self) -> Csr<T> {
        let b = self.block_size();
        Csr::assemble(
            0..self.rows(),
            self.cols(),
            || (),
            |(), row| b * self.block_row(row / b).0.len(),
            |(), row, columns, values| {
                let (block_columns, block_values) = self.block_row(row / b);
                let to = columns.chunks_exact_mut(b).zip(values.chunks_exact_mut(b));
                let from = block_columns.iter().zip(block_values.chunks_exact(b * b));
                for ((to_columns, to_values), (&column, block)) in to.zip(from) {
                    for (to, scalar) in to_columns.iter_mut().zip(column * b as u32..) {
                        *to = scalar;
                    }
                    to_values.copy_from_slice(&block[row % b * b..][..b]);
                }
            },
        )
    }
}

impl<S: Store> Format<S> for Bsr<S> {
    type As<T: Store> = Bsr<T>;
    type View<'a> = BsrRef<'a, S>;

    fn view(&self) -> BsrRef<'_, S> {
        self.view()
    }

    fn plan(a: &Arc<Csr<f64>>, block: usize) -> Option<FormatPlan<'_, Arc<Self>>> {
        check_tiling(a.rows(), a.cols(), block).ok()?;
        let blocks = count_blocks(a.view(), block);
        let bytes = blocks * (block * block * size_of::<S>() + size_of::<u32>())
            + size_of::<usize>() * (a.rows() / block + 1);
        Some(FormatPlan::new(bytes, move |factors| {
            Arc::new(if factors.is_one() {
                Csr::shared_as::<S>(a).view().in_blocks(block)
            } else {
                a.view().in_blocks(block).view().rescaled(|row, column| factors.of(row, column))
            })
        }))
    }

    fn scaled_as<T: Store>(&self, factors: ScaleFactors<'_>) -> Option<Bsr<T>> {
        Some(self.view().rescaled(|row, column| factors.of(row, column)))
    }
}

impl<S: Store> RowEntries for BsrRef<'_, S> {
    type Value = S;

    fn rows_per_block(self) -> usize {
        self.block_size()
    }

    #[inline(always)]
    fn for_each_entry(self, row: usize, mut each: impl FnMut(usize, S)) {
        let size = self.block_size();
        for k in self.row_ptr()[row / size]..self.row_ptr()[row / size + 1] {
            let values = &self.block(k)[row % size * size..(row % size + 1) * size];
            for (j, &value) in values.iter().enumerate() {
                each(self.columns()[k] as usize * size + j, value);
            }
        }
    }
}

impl<T: Store> Dense<T> {
    /// The nonzero entries as a sparse matrix.
    ///
    /// ```
    /// use ziggurat_sparse::Dense;
    /// let a = Dense::try_new(2, 2, vec![0.0, 4.0, 3.0, 0.0])?.to_csr();
    /// assert_eq!((a.columns(), a.values()), (&[1, 0][..], &[3.0, 4.0][..]));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn to_csr(&self) -> Csr<T> {
        let row = |row: usize| {
            let entries = (0..self.cols()).map(move |column| (column as u32, self[(row, column)]));
            entries.filter(|(_, value)| *value != T::default())
        };
        Csr::assemble(
            0..self.rows(),
            self.cols(),
            || (),
            |(), i| row(i).count(),
            |(), i, columns, values| {
                for ((column, value), entry) in columns.iter_mut().zip(values).zip(row(i)) {
                    (*column, *value) = entry;
                }
            },
        )
    }
}

/// The row index of every entry.
fn entry_rows(row_ptr: &[usize]) -> Vec<u32> {
    let mut rows = Vec::with_capacity(row_ptr.last().copied().unwrap_or(0));
    for (row, range) in row_ptr.windows(2).enumerate() {
        rows.resize(range[1], row as u32);
    }
    rows
}

impl<T: Store> From<&Csr<T>> for Coo<T> {
    /// The entries as triplets, row by row.
    fn from(a: &Csr<T>) -> Self {
        Coo::from(a.clone())
    }
}

impl<T: Store> From<Csr<T>> for Coo<T> {
    /// The entries as triplets, row by row; columns and values are moved.
    fn from(a: Csr<T>) -> Self {
        let (rows, cols) = (a.rows(), a.cols());
        let (row_ptr, columns, values) = a.into_parts();
        Coo::from_valid_parts(rows, cols, entry_rows(&row_ptr), columns, values)
    }
}

impl<T: Real> From<Coo<T>> for Csr<T> {
    /// [`Coo::into_csr`].
    fn from(a: Coo<T>) -> Self {
        a.into_csr()
    }
}

impl<T: Store> From<&Bsr<T>> for Csr<T> {
    /// [`BsrRef::to_csr`].
    fn from(a: &Bsr<T>) -> Self {
        a.view().to_csr()
    }
}

impl<T: Store> From<&Dense<T>> for Csr<T> {
    /// [`Dense::to_csr`].
    fn from(a: &Dense<T>) -> Self {
        a.to_csr()
    }
}

impl<T: Store> TryFrom<&Csr<T>> for Dense<T> {
    type Error = MatrixError;

    /// [`CsrRef::to_dense`].
    fn try_from(a: &Csr<T>) -> Result<Self, MatrixError> {
        a.view().to_dense()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any matrix whose dimensions are multiples of `block`; some rows are empty, one may be dense,
    /// some values are zero.
    fn tiled(block: usize) -> impl Strategy<Value = Csr<f64>> {
        (0usize..6, 0usize..6, 0usize..3).prop_flat_map(move |(block_rows, block_cols, density)| {
            let (rows, cols) = (block_rows * block, block_cols * block);
            let value = prop_oneof![Just(0.0), -9.0..9.0f64];
            let count = 0..=rows * cols / 4 * density;
            proptest::collection::vec((any::<u16>(), any::<u16>(), value), count).prop_map(move |raw| {
                let mut coo = Coo::new(rows, cols).unwrap();
                coo.extend(raw.into_iter().map(|(r, c, v)| (r as usize % rows, c as usize % cols, v)))
                    .unwrap();
                coo.into_csr()
            })
        })
    }

    fn any_tiled() -> impl Strategy<Value = (usize, Csr<f64>)> {
        prop_oneof![Just(1), Just(2), Just(3), Just(4), Just(6), Just(16)]
            .prop_flat_map(|block| (Just(block), tiled(block)))
    }

    proptest! {
        #[test]
        fn blocks_hold_the_same_matrix((block, a) in any_tiled()) {
            let b = a.view().to_bsr(block).unwrap();
            // Also valid by the public constructor, in release builds too.
            let again = b.clone();
            let (row_ptr, columns, values) = again.into_parts();
            prop_assert!(Bsr::try_new(a.rows(), a.cols(), block, row_ptr, columns, values).is_ok());
            prop_assert_eq!(b.view().to_csr().view().to_dense(), a.view().to_dense());
            // Exactly the blocks that have an entry.
            for k in 0..b.block_rows() {
                for &column in b.block_row(k).0 {
                    let within = |c: &u32| *c as usize / block == column as usize;
                    prop_assert!((k * block..(k + 1) * block).any(|row| a.row(row).0.iter().any(within)));
                }
            }
            if a.nnz() > 0 {
                prop_assert_eq!(block_fill(a.view(), block), b.nnz() as f64 / a.nnz() as f64);
                prop_assert!(least_block_fill(a.view(), block) <= block_fill(a.view(), block));
            }
        }

        #[test]
        fn blocks_survive_the_way_through_rows((block, a) in any_tiled()) {
            let b = a.view().to_bsr(block).unwrap();
            prop_assert_eq!(b.view().to_csr().view().to_bsr(block), Ok(b));
        }

        #[test]
        fn triplets_and_rows_hold_the_same((_, a) in any_tiled()) {
            prop_assert_eq!(&Coo::from(&a).to_csr(), &a);
            let (mut rows, mut columns, mut values) = Coo::from(&a).into_parts();
            rows.reverse();
            columns.reverse();
            values.reverse();
            let reversed = Coo::try_from_triplets(a.rows(), a.cols(), rows, columns, values).unwrap();
            prop_assert_eq!(Csr::from(reversed), a);
        }

        #[test]
        fn dense_and_rows_hold_the_same((_, a) in any_tiled()) {
            let dense = Dense::try_from(&a).unwrap();
            let back = dense.to_csr();
            prop_assert!(back.values().iter().all(|&value| value != 0.0));
            prop_assert_eq!(back.nnz(), a.values().iter().filter(|&&value| value != 0.0).count());
            prop_assert_eq!(Dense::try_from(&back).unwrap(), dense);
        }
    }

    #[test]
    fn many_block_rows_convert_the_same_on_any_number_of_threads() {
        // Blocks along three diagonals, with one dense block row: several pieces of work.
        let n = 9000_u32;
        let columns_of = |row: usize| {
            let node = row as u32 / 3;
            let all = if node == 1700 { 0..n / 3 } else { node.saturating_sub(1)..(node + 2).min(n / 3) };
            all.flat_map(|node| 3 * node..3 * node + 3)
        };
        let a = Csr::build(
            0..n as usize,
            n as usize,
            || (),
            |(), row| columns_of(row).count(),
            |(), row, columns, values| {
                for ((slot, value), column) in columns.iter_mut().zip(values).zip(columns_of(row)) {
                    (*slot, *value) = (column, (row * 31 + column as usize * 7) as f64);
                }
            },
        )
        .unwrap();
        assert_eq!(detect_block_size(a.view()), Some(3));
        let b = a.view().to_bsr(3).unwrap();
        assert_eq!(b.nnz(), a.nnz());
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| a.view().to_bsr(3)).as_ref(), Ok(&b));
            assert_eq!(pool.install(|| b.view().to_csr()), a);
        }
    }

    #[test]
    fn the_largest_full_block_is_found() {
        let full = |n: usize, block: usize| {
            let mut coo = Coo::new(n, n).unwrap();
            for row in 0..n {
                let first = row / block * block;
                coo.extend((first..first + block).map(|column| (row, column, 1.0))).unwrap();
            }
            coo
        };
        for block in [2, 3, 4, 6] {
            assert_eq!(detect_block_size(full(60, block).to_csr().view()), Some(block));
        }
        assert_eq!(detect_block_size(full(60, 5).to_csr().view()), None);
        // One missing entry in 120 is tolerated; one stray entry that adds a block of 36 is not.
        let (rows, columns, values) = full(60, 2).into_parts();
        let keep = ..rows.len() - 1;
        let less = Coo::try_from_triplets(
            60,
            60,
            rows[keep].to_vec(),
            columns[keep].to_vec(),
            values[keep].to_vec(),
        )
        .unwrap();
        assert_eq!(detect_block_size(less.to_csr().view()), Some(2));
        let mut more = full(60, 6);
        more.push(0, 59, 1.0).unwrap();
        assert_eq!(detect_block_size(more.to_csr().view()), Some(3));
        assert_eq!(detect_block_size(Coo::<f64>::new(12, 12).unwrap().to_csr().view()), None);
    }

    #[test]
    fn blocks_that_do_not_tile_are_refused() {
        let a = Csr::<f64>::identity(10).unwrap();
        for block in [0, 3, 17] {
            let error = a.view().to_bsr(block).unwrap_err();
            assert_eq!(error, MatrixError::BlockSize { block, rows: 10, columns: 10 });
        }
    }
}
