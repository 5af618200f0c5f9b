//! Builds a matrix row by row, in parallel, when the length of a row is only known after computing
//! it.
//!
//! [`Csr::build`] computes every row twice: once to count it, once to fill it. If a row is
//! expensive (interpolation) or reads more than it writes (strength of connection), computing it
//! once is faster. Rows are divided into pieces of equal work, each piece collects its rows in its
//! own buffer, and the buffers are joined in row order. The division depends only on the matrix, so
//! the result is the same for any number of threads.
//!
//! The cost is that the result is copied twice, the first time within the cache. At most one
//! scratch value and one buffer per thread are created, and they are reused for later pieces.

use std::ops::Range;

use super::csr::{check_extents, check_layout, check_order};
use super::{Csr, MatrixError};
use crate::number::Store;
use crate::parallel::{Scratch as Shared, both, consume, split_row, zeros};

/// Buffer in which consecutive rows of a matrix are collected. `T` is `()` for a pattern without
/// values.
#[derive(Debug)]
pub struct Entries<T> {
    /// Only the first `len` elements are valid; the rest is preallocated space.
    columns: Vec<u32>,
    values: Vec<T>,
    len: usize,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries { columns: Vec::new(), values: Vec::new(), len: 0 }
    }
}

impl<T: Copy + Default> Entries<T> {
    /// Column and value of all entries.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, T)> {
        self.columns[..self.len].iter().copied().zip(self.values[..self.len].iter().copied())
    }

    /// Makes space for `count` more entries.
    #[inline]
    fn make_room(&mut self, count: usize) {
        if self.columns.len() < self.len + count {
            let len = (self.len + count).max(2 * self.columns.len()).max(1024);
            self.columns.resize(len, 0);
            self.values.resize(len, T::default());
        }
    }

    /// Appends an entry to the current row. Columns must increase within a row.
    #[inline]
    pub fn push(&mut self, column: u32, value: T) {
        self.make_room(1);
        (self.columns[self.len], self.values[self.len]) = (column, value);
        self.len += 1;
    }

    /// Appends entries to the current row. Columns must increase within a row.
    ///
    /// # Panics
    /// If the numbers of columns and values differ.
    #[inline]
    pub fn extend(&mut self, columns: &[u32], values: &[T]) {
        assert_eq!(columns.len(), values.len());
        self.make_room(columns.len());
        let end = self.len + columns.len();
        // Rows are short: a loop is faster than a call to `memcpy`.
        for (to, &from) in self.columns[self.len..end].iter_mut().zip(columns) {
            *to = from;
        }
        for (to, &from) in self.values[self.len..end].iter_mut().zip(values) {
            *to = from;
        }
        self.len = end;
    }

    /// Appends entries with the given columns; `value` computes their values. Columns must increase
    /// within a row.
    #[inline]
    pub fn extend_by(&mut self, columns: &[u32], mut value: impl FnMut(u32) -> T) {
        self.make_room(columns.len());
        let end = self.len + columns.len();
        let places = self.columns[self.len..end].iter_mut().zip(&mut self.values[self.len..end]);
        for ((to, to_value), &column) in places.zip(columns) {
            (*to, *to_value) = (column, value(column));
        }
        self.len = end;
    }

    /// Like [`extend`](Self::extend), but then `keep` moves the entries to keep to the front and
    /// returns their number.
    #[inline]
    pub fn extend_and_cut(
        &mut self,
        columns: &[u32],
        values: &[T],
        keep: impl FnOnce(&mut [u32], &mut [T]) -> usize,
    ) {
        let begin = self.len;
        self.extend(columns, values);
        self.len = begin + keep(&mut self.columns[begin..self.len], &mut self.values[begin..self.len]);
    }

    /// Appends some of `count` candidates to the current row: `candidate` returns the column, the
    /// value, and whether to keep it. The decision may be hard to predict, so the implementation is
    /// branch-free.
    #[inline]
    pub fn extend_where(&mut self, count: usize, mut candidate: impl FnMut(usize) -> (u32, T, bool)) {
        self.make_room(count);
        let (columns, values) = (&mut self.columns[self.len..], &mut self.values[self.len..]);
        let (columns, values) = (&mut columns[..count], &mut values[..count]);
        let mut kept = 0;
        for place in 0..count {
            let (column, value, keep) = candidate(place);
            (columns[kept], values[kept]) = (column, value);
            kept += usize::from(keep);
        }
        self.len += kept;
    }
}

/// Consecutive collected rows.
struct Piece<T> {
    /// Start of each row relative to the first entry of the piece, and the end of the last one.
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<T>,
    /// False if the rows were checked and are not valid.
    valid: bool,
}

impl<T> Piece<T> {
    fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Whether columns increase within every row and are less than `cols`.
    fn is_valid(&self, cols: usize) -> bool {
        self.row_ptr.windows(2).fold(true, |valid, range| {
            let columns = &self.columns[range[0]..range[1]];
            let increasing = columns.windows(2).fold(true, |valid, pair| valid & (pair[0] < pair[1]));
            valid & increasing & columns.last().is_none_or(|&last| (last as usize) < cols)
        })
    }
}

/// Rows of a matrix, kept in the pieces they were collected in. For temporary matrices that are
/// read once, joining the pieces would double the cost. Columns are in the order in which they were
/// pushed.
pub(crate) struct CollectedRows<T> {
    pieces: Vec<Piece<T>>,
    /// The piece of every row.
    piece: Vec<u32>,
    /// The first row of every piece.
    first_row: Vec<usize>,
}

impl<T> CollectedRows<T> {
    /// Like [`Csr::collect`], for rows starting at 0.
    pub(crate) fn collect<Scratch: Send>(
        work: &[usize],
        rows: usize,
        scratch: impl Fn() -> Scratch + Sync,
        collect: impl Fn(&mut Scratch, usize, &mut Entries<T>) + Sync,
    ) -> Self
    where
        T: Copy + Default + Send + Sync,
    {
        let pieces = collect_pieces(work, 0..rows, None, scratch, collect);
        let (mut piece, mut first_row) = (Vec::with_capacity(rows), Vec::with_capacity(pieces.len()));
        for (index, collected) in pieces.iter().enumerate() {
            first_row.push(piece.len());
            piece.resize(piece.len() + collected.rows(), index as u32);
        }
        CollectedRows { pieces, piece, first_row }
    }

    /// Columns and values of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> (&[u32], &[T]) {
        let index = self.piece[row] as usize;
        let (piece, k) = (&self.pieces[index], row - self.first_row[index]);
        let entries = piece.row_ptr[k]..piece.row_ptr[k + 1];
        (&piece.columns[entries.clone()], &piece.values[entries])
    }
}

impl<T: Store> Csr<T> {
    /// Builds the rows `rows` of a matrix with `cols` columns. `collect` pushes the entries of one
    /// row, with increasing columns; it receives the row index from `rows` (row `rows.start`
    /// becomes row 0 of the result) and a scratch value that was used for other rows before. `work`
    /// describes the distribution of work: the row pointers of a matrix that is read, indexed like
    /// `rows`.
    ///
    /// ```
    /// use ziggurat_sparse::Csr;
    /// // The negative entries of a matrix.
    /// let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, -2.0, 3.0])?;
    /// let negative = Csr::collect(a.row_ptr(), a.all_rows(), a.cols(), || (), |_, row, entries| {
    ///     let (columns, values) = a.row(row);
    ///     for (&column, &value) in columns.iter().zip(values).filter(|(_, value)| **value < 0.0) {
    ///         entries.push(column, value);
    ///     }
    /// })?;
    /// assert_eq!((negative.row_ptr(), negative.values()), (&[0, 1, 1][..], &[-2.0][..]));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    ///
    /// # Errors
    /// If the collected rows are not a valid matrix.
    ///
    /// # Panics
    /// If `work` is not longer than `rows.end`.
    pub fn collect<Scratch: Send>(
        work: &[usize],
        rows: Range<usize>,
        cols: usize,
        scratch: impl Fn() -> Scratch + Sync,
        collect: impl Fn(&mut Scratch, usize, &mut Entries<T>) + Sync,
    ) -> Result<Csr<T>, MatrixError> {
        let extent = rows.len();
        let (row_ptr, columns, values) = collect_rows(work, rows, cols, scratch, collect)?;
        Ok(Csr::from_valid_parts(extent, cols, row_ptr, columns, values))
    }
}

/// [`Csr::collect`] for a pattern without values. Returns row pointers and columns.
///
/// ```
/// use ziggurat_sparse::matrix::collect_pattern;
/// // The right neighbour of each row, if there is one.
/// let work = [0, 1, 2, 3];
/// let right = |_: &mut (), row: usize, entries: &mut ziggurat_sparse::matrix::Entries<()>| {
///     if row < 2 {
///         entries.push(row as u32 + 1, ());
///     }
/// };
/// assert_eq!(collect_pattern(&work, 0..3, 3, || (), right)?, (vec![0, 1, 2, 2], vec![1, 2]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the collected rows are not a valid pattern.
///
/// # Panics
/// If `work` is not longer than `rows.end`.
pub fn collect_pattern<Scratch: Send>(
    work: &[usize],
    rows: Range<usize>,
    cols: usize,
    scratch: impl Fn() -> Scratch + Sync,
    collect: impl Fn(&mut Scratch, usize, &mut Entries<()>) + Sync,
) -> Result<(Vec<usize>, Vec<u32>), MatrixError> {
    let (row_ptr, columns, _) = collect_rows(work, rows, cols, scratch, collect)?;
    Ok((row_ptr, columns))
}

/// Validates row pointers and columns as a pattern with `cols` columns: the checks of
/// [`Csr::try_new`], without values.
///
/// ```
/// use ziggurat_sparse::{MatrixError, matrix::check_pattern};
/// assert_eq!(check_pattern(3, &[0, 1, 2], &[2, 0]), Ok(()));
/// assert!(matches!(check_pattern(2, &[0, 1, 2], &[2, 0]), Err(MatrixError::ColumnOutOfRange { row: 0, .. })));
/// ```
///
/// # Errors
/// The first fault and its position.
pub fn check_pattern(cols: usize, row_ptr: &[usize], columns: &[u32]) -> Result<(), MatrixError> {
    let rows = row_ptr.len().checked_sub(1).ok_or(MatrixError::RowPointerCount { rows: 0, found: 0 })?;
    check_layout(rows, cols, row_ptr, columns, columns.len())?;
    check_order(row_ptr, columns)
}

/// Row pointers, columns and values.
type Parts<T> = (Vec<usize>, Vec<u32>, Vec<T>);

fn collect_rows<T: Copy + Default + Send + Sync, Scratch: Send>(
    work: &[usize],
    rows: Range<usize>,
    cols: usize,
    scratch: impl Fn() -> Scratch + Sync,
    collect: impl Fn(&mut Scratch, usize, &mut Entries<T>) + Sync,
) -> Result<Parts<T>, MatrixError> {
    check_extents(rows.len(), cols)?;
    let extent = rows.len();
    checked(cols, extent, collect_pieces(work, rows, Some(cols), scratch, collect))
}

/// The rows of all pieces, or their first fault.
fn checked<T: Copy + Default + Send + Sync>(
    cols: usize,
    extent: usize,
    pieces: Vec<Piece<T>>,
) -> Result<Parts<T>, MatrixError> {
    let valid = pieces.iter().all(|piece| piece.valid);
    let (row_ptr, columns, values) = join(extent, pieces);
    if !valid {
        check_pattern(cols, &row_ptr, &columns)?;
    }
    Ok((row_ptr, columns, values))
}

/// The pieces in row order; with a number of columns, they are validated.
fn collect_pieces<T: Copy + Default + Send, Scratch: Send>(
    work: &[usize],
    rows: Range<usize>,
    cols: Option<usize>,
    scratch: impl Fn() -> Scratch + Sync,
    collect: impl Fn(&mut Scratch, usize, &mut Entries<T>) + Sync,
) -> Vec<Piece<T>> {
    let shared = Shared::new(|| (scratch(), Entries::default()));
    let collect_piece = |rows: Range<usize>| {
        shared.with(|(scratch, entries)| {
            let mut piece = Piece::of(rows, entries, |row, entries| collect(scratch, row, entries));
            // Validated here, while the piece is still in cache.
            piece.valid = cols.is_none_or(|cols| piece.is_valid(cols));
            piece
        })
    };
    let mut pieces = Vec::new();
    cut(work, rows, &collect_piece, &mut pieces);
    pieces
}

/// Divides `rows` into pieces and collects them in row order.
fn cut<T: Send>(
    work: &[usize],
    rows: Range<usize>,
    collect_piece: &(dyn Fn(Range<usize>) -> T + Sync),
    pieces: &mut Vec<T>,
) {
    match split_row(work, &rows) {
        None => pieces.push(collect_piece(rows)),
        Some(middle) => {
            let mut right = Vec::new();
            let cut_left = &mut || cut(work, rows.start..middle, collect_piece, pieces);
            let cut_right = &mut || cut(work, middle..rows.end, collect_piece, &mut right);
            both(cut_left, cut_right);
            pieces.append(&mut right);
        }
    }
}

impl<T: Copy + Default> Piece<T> {
    /// Collects rows in `entries`, a reused buffer, and copies them.
    fn of(
        rows: Range<usize>,
        entries: &mut Entries<T>,
        mut collect: impl FnMut(usize, &mut Entries<T>),
    ) -> Self {
        entries.len = 0;
        let mut row_ptr = Vec::with_capacity(rows.len() + 1);
        row_ptr.push(0);
        for row in rows {
            collect(row, entries);
            row_ptr.push(entries.len);
        }
        let (columns, values) =
            (entries.columns[..entries.len].to_vec(), entries.values[..entries.len].to_vec());
        Piece { row_ptr, columns, values, valid: true }
    }
}

/// Joins all pieces.
fn join<T: Copy + Default + Send + Sync>(extent: usize, mut pieces: Vec<Piece<T>>) -> Parts<T> {
    if pieces.len() == 1 {
        let piece = pieces.remove(0);
        return (piece.row_ptr, piece.columns, piece.values);
    }
    let mut row_ptr = vec![0; extent + 1];
    let nnz = pieces.iter().map(|piece| piece.columns.len()).sum();
    let (mut columns, mut values) = (zeros(nnz), zeros(nnz));
    let (mut ends_left, mut columns_left, mut values_left) =
        (&mut row_ptr[1..], &mut columns[..], &mut values[..]);
    let mut parts = Vec::with_capacity(pieces.len());
    let mut begin = 0;
    for piece in pieces {
        let (ends, columns, values);
        (ends, ends_left) = ends_left.split_at_mut(piece.rows());
        (columns, columns_left) = columns_left.split_at_mut(piece.columns.len());
        (values, values_left) = values_left.split_at_mut(piece.values.len());
        let length = columns.len();
        parts.push((begin, piece, ends, columns, values));
        begin += length;
    }
    consume(parts, &|_, (begin, piece, ends, columns, values)| {
        for (end, piece_end) in ends.iter_mut().zip(&piece.row_ptr[1..]) {
            *end = begin + piece_end;
        }
        columns.copy_from_slice(&piece.columns);
        values.copy_from_slice(&piece.values);
    });
    (row_ptr, columns, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row k holds every column below k % 5, so lengths differ and some rows are empty.
    fn staircase(rows: Range<usize>, work_per_row: usize) -> Result<Csr<f64>, MatrixError> {
        let work: Vec<usize> = (0..=rows.end).map(|row| row * work_per_row).collect();
        Csr::collect(
            &work,
            rows,
            5,
            || 0usize,
            |calls, row, entries| {
                *calls += 1;
                for column in 0..row % 5 {
                    entries.push(column as u32, row as f64);
                }
            },
        )
    }

    #[test]
    fn pieces_join_in_the_order_of_rows() {
        let one = staircase(3..20_000, 0).unwrap();
        let many = staircase(3..20_000, 100).unwrap();
        assert_eq!(one, many);
        assert_eq!(one.row(0), (&[0, 1, 2][..], &[3.0; 3][..]));
        assert_eq!(one.row(1004).1, [1007.0; 2]);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(threads.install(|| staircase(3..20_000, 100)).unwrap(), one);
        assert_eq!(staircase(7..7, 1).unwrap().rows(), 0);
    }

    #[test]
    fn a_wrong_row_is_refused_with_its_place() {
        let work: Vec<usize> = (0..=5_000).map(|row| row * 100).collect();
        let push = |bad: u32| {
            Csr::collect(
                &work,
                0..5_000,
                4_000,
                || (),
                |(), row, entries| {
                    entries.push(7, 1.0);
                    if row == 3_456 {
                        entries.push(bad, 1.0);
                    }
                },
            )
        };
        assert_eq!(push(8).map(|a| a.nnz()), Ok(5_001));
        let fault = MatrixError::ColumnOutOfRange { row: 3_456, entry: 3_457, column: 4_000, columns: 4_000 };
        assert_eq!(push(4_000), Err(fault));
        let fault = MatrixError::ColumnsNotIncreasing { row: 3_456, entry: 3_457, column: 7, previous: 7 };
        assert_eq!(push(7), Err(fault));
    }
}
