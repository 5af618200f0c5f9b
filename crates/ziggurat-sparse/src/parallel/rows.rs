//! Work on parts of the rows of a matrix.
//!
//! Work is split by *entries*, not by rows, so that a few long rows do not delay the rest. It is
//! split by halving, so that rayon can steal large pieces and no list of pieces is allocated. The
//! cuts depend only on the matrix. Since every row is computed independently, the result depends
//! neither on the cuts nor on the number of threads.

use std::ops::Range;

use super::both;

/// Entries plus rows per task. About 50 µs of memory traffic: far above the cost of a steal, and
/// small enough to balance two dozen threads on a million entries.
const GRAIN: usize = 32 * 1024;

/// The row at which `rows` splits into halves of about equal work, or `None` if splitting is not
/// worthwhile. `row_ptr` covers the whole matrix, `rows` is a range within it.
///
/// ```
/// let row_ptr: Vec<usize> = (0..=100_000).map(|row| 7 * row).collect();
/// assert_eq!(ziggurat_sparse::parallel::split_row(&row_ptr, &(0..100_000)), Some(50_000));
/// assert_eq!(ziggurat_sparse::parallel::split_row(&row_ptr, &(0..100)), None);
/// ```
pub fn split_row(row_ptr: &[usize], rows: &Range<usize>) -> Option<usize> {
    split(&|row| row_ptr[row], rows)
}

/// As [`split_row`], with the number of entries before each row.
fn split(entries_before: &dyn Fn(usize) -> usize, rows: &Range<usize>) -> Option<usize> {
    let work_before = |row: usize| entries_before(row) + row; // rows cost something even when they are empty
    let (begin, end) = (work_before(rows.start), work_before(rows.end));
    if end - begin <= GRAIN || rows.len() < 2 {
        return None;
    }
    let middle = begin + (end - begin) / 2;
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let probe = low + (high - low) / 2;
        if work_before(probe) < middle {
            low = probe + 1;
        } else {
            high = probe;
        }
    }
    Some(low.clamp(rows.start + 1, rows.end - 1))
}

/// Calls `work` on pieces of `rows`, each with its part of `out` (`stride` elements per row).
/// `entries_before(row)` is the number of entries before a row.
///
/// ```
/// let mut rows = vec![0; 200_000];
/// ziggurat_sparse::parallel::over_rows(&|row| 7 * row, 0..100_000, 2, &mut rows, &|rows, out| {
///     out.chunks_mut(2).zip(rows).for_each(|(out, row)| out.fill(row));
/// });
/// assert_eq!(rows[100_000..100_003], [50_000, 50_000, 50_001]);
/// ```
pub fn over_rows<T: Send>(
    entries_before: &(dyn Fn(usize) -> usize + Sync),
    rows: Range<usize>,
    stride: usize,
    out: &mut [T],
    work: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
) {
    match split(entries_before, &rows) {
        None => work(rows, out),
        Some(middle) => {
            let (left, right) = out.split_at_mut((middle - rows.start) * stride);
            both(&mut || over_rows(entries_before, rows.start..middle, stride, left, work), &mut || {
                over_rows(entries_before, middle..rows.end, stride, right, work);
            });
        }
    }
}

/// Calls `work` on pieces of `rows`, each with its part of the entries of a matrix under
/// construction: the entries of row `rows.start + k` begin at `out_ptr[k]` in `columns` and
/// `values`.
///
/// ```
/// let (row_ptr, mut columns, mut values) = ([0, 1, 3], [0; 3], [0.0; 3]);
/// ziggurat_sparse::parallel::over_entries(&row_ptr, 0..2, &mut columns, &mut values, &|rows, columns, values| {
///     columns.copy_from_slice(&[0, 0, 1]);
///     values.fill(rows.len() as f64);
/// });
/// assert_eq!(values, [2.0; 3]);
/// ```
pub fn over_entries<T: Send>(
    out_ptr: &[usize],
    rows: Range<usize>,
    columns: &mut [u32],
    values: &mut [T],
    work: &(dyn Fn(Range<usize>, &mut [u32], &mut [T]) + Sync),
) {
    over_blocks(out_ptr, rows, 1, columns, values, work);
}

/// As [`over_entries`], for a matrix of blocks: each entry has one column and `block_len` values.
///
/// ```
/// let (row_ptr, mut columns, mut values) = ([0, 1, 3], [0; 3], [0.0; 12]);
/// ziggurat_sparse::parallel::over_blocks(&row_ptr, 0..2, 4, &mut columns, &mut values, &|_, columns, values| {
///     assert_eq!(4 * columns.len(), values.len());
/// });
/// ```
pub fn over_blocks<T: Send>(
    out_ptr: &[usize],
    rows: Range<usize>,
    block_len: usize,
    columns: &mut [u32],
    values: &mut [T],
    work: &(dyn Fn(Range<usize>, &mut [u32], &mut [T]) + Sync),
) {
    let first = rows.start;
    recurse(out_ptr, 0..rows.len(), block_len, columns, values, &|local, columns, values| {
        work(first + local.start..first + local.end, columns, values);
    });

    fn recurse<T: Send>(
        out_ptr: &[usize],
        rows: Range<usize>,
        block_len: usize,
        columns: &mut [u32],
        values: &mut [T],
        work: &(dyn Fn(Range<usize>, &mut [u32], &mut [T]) + Sync),
    ) {
        match split_row(out_ptr, &rows) {
            None => work(rows, columns, values),
            Some(middle) => {
                let cut = out_ptr[middle] - out_ptr[rows.start];
                let (columns_left, columns_right) = columns.split_at_mut(cut);
                let (values_left, values_right) = values.split_at_mut(cut * block_len);
                both(
                    &mut || recurse(out_ptr, rows.start..middle, block_len, columns_left, values_left, work),
                    &mut || recurse(out_ptr, middle..rows.end, block_len, columns_right, values_right, work),
                );
            }
        }
    }
}

/// Calls `work` on pieces of `rows`, each with its part of `values`, for updating the values of a
/// matrix whose pattern stays. `row_ptr` covers the whole matrix, `values` begins with the first of
/// `rows`.
///
/// ```
/// let (row_ptr, mut values) = ([0, 1, 3], [1.0, 2.0, 3.0]);
/// ziggurat_sparse::parallel::over_values(&row_ptr, 0..2, &mut values, &|_, values| {
///     values.iter_mut().for_each(|value| *value *= 2.0);
/// });
/// assert_eq!(values, [2.0, 4.0, 6.0]);
/// ```
pub fn over_values<T: Send>(
    row_ptr: &[usize],
    rows: Range<usize>,
    values: &mut [T],
    work: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
) {
    match split_row(row_ptr, &rows) {
        None => work(rows, values),
        Some(middle) => {
            let (left, right) = values.split_at_mut(row_ptr[middle] - row_ptr[rows.start]);
            both(&mut || over_values(row_ptr, rows.start..middle, left, work), &mut || {
                over_values(row_ptr, middle..rows.end, right, work);
            });
        }
    }
}

/// Turns counts into start offsets, in place: `[2, 0, 3, _]` becomes `[0, 2, 2, 5]`. Returns the
/// total.
///
/// ```
/// let mut counts = [2, 0, 3, 0];
/// assert_eq!(ziggurat_sparse::parallel::counts_to_starts(&mut counts), 5);
/// assert_eq!(counts, [0, 2, 2, 5]);
/// ```
pub fn counts_to_starts(counts: &mut [usize]) -> usize {
    let mut start = 0;
    for slot in counts.iter_mut() {
        let count = *slot;
        *slot = start;
        start += count;
    }
    // The last slot is not a count; it receives the total.
    counts.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_row_once_however_uneven() {
        // One row holds nearly everything; most rows are empty.
        let mut row_ptr = vec![0usize; 100_001];
        for (row, slot) in row_ptr.iter_mut().enumerate() {
            *slot = row / 7 + if row > 40_000 { 1_000_000 } else { 0 };
        }
        let mut seen = vec![0u8; 2 * 100_000];
        over_rows(&|row| row_ptr[row], 0..100_000, 2, &mut seen, &|rows, out| {
            assert_eq!(out.len(), 2 * rows.len());
            for slot in out {
                *slot += 1;
            }
        });
        assert!(seen.iter().all(|&count| count == 1));
    }

    #[test]
    fn starts_from_counts() {
        let mut counts = [2, 0, 3, 0];
        assert_eq!(counts_to_starts(&mut counts), 5);
        assert_eq!(counts, [0, 2, 2, 5]);
        assert_eq!(counts_to_starts(&mut [0]), 0);
    }
}
