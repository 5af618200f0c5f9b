//! Splitting work among threads.
//!
//! Work is split by *entries*, not by rows, so that a few long rows do not delay the rest. It is
//! split by halving, so that rayon can steal large pieces and no list of pieces is allocated. The
//! cuts depend only on the matrix. Since every row is computed independently, the result depends
//! neither on the cuts nor on the number of threads.

use std::collections::TryReserveError;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Vector elements per task: 64 KiB of doubles, which stay in the first two cache levels.
pub(crate) const PIECE: usize = 8 * 1024;

/// Calls `work` on consecutive pieces of `out`, each with the index of its first element. A vector
/// of one piece wakes no other thread: on a coarse level that would cost more than the work.
pub(crate) fn over_pieces<T: Send>(out: &mut [T], work: &(impl Fn(usize, &mut [T]) + Sync)) {
    if out.len() <= PIECE {
        work(0, out);
    } else {
        out.par_chunks_mut(PIECE).enumerate().for_each(|(index, piece)| work(index * PIECE, piece));
    }
}

/// Elements that a thread writes at a time into memory that is used for the first time.
const BLOCK: usize = 512;

/// Zeros, or an error if there is no memory.
///
/// The system clears every page when it is first written to. So all threads write, where `vec!`
/// would have one thread clear and write while the others wait.
pub(crate) fn try_zeros<T: Copy + Default + Send + Sync>(len: usize) -> Result<Vec<T>, TryReserveError> {
    if len <= PIECE {
        return Ok(vec![T::default(); len]);
    }
    let mut blocks: Vec<[T; BLOCK]> = Vec::new();
    blocks.try_reserve_exact(len.div_ceil(BLOCK))?;
    let zeros = (0..len.div_ceil(BLOCK)).into_par_iter().with_min_len(PIECE / BLOCK);
    blocks.par_extend(zeros.map(|_| [T::default(); BLOCK]));
    let mut all = blocks.into_flattened();
    all.truncate(len);
    Ok(all)
}

/// As [`try_zeros`], where missing memory ends the program, as it does in `vec!`.
pub(crate) fn zeros<T: Copy + Default + Send + Sync>(len: usize) -> Vec<T> {
    try_zeros(len).unwrap_or_else(|_| vec![T::default(); len])
}

/// A copy, written by all threads, or an error if there is no memory.
pub(crate) fn try_copied<T: Copy + Default + Send + Sync>(from: &[T]) -> Result<Vec<T>, TryReserveError> {
    let (whole, rest) = from.as_chunks::<BLOCK>();
    let mut blocks: Vec<[T; BLOCK]> = Vec::new();
    blocks.try_reserve_exact(from.len().div_ceil(BLOCK))?;
    blocks.par_extend(whole.par_iter().with_min_len(PIECE / BLOCK).copied());
    let mut all = blocks.into_flattened();
    all.extend_from_slice(rest); // there is room for a whole block
    Ok(all)
}

/// Scratch values that tasks reuse: at most one is created per concurrently running task.
pub(crate) struct Scratch<S, F> {
    make: F,
    idle: Mutex<Vec<S>>,
}

impl<S: Send, F: Fn() -> S + Sync> Scratch<S, F> {
    pub(crate) fn new(make: F) -> Self {
        Scratch { make, idle: Mutex::new(Vec::new()) }
    }

    /// Calls `work` with a scratch value, which another task may have used before.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> R {
        // A poisoned lock means that another task panicked. That panic propagates anyway, so it is
        // ignored here.
        let taken = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = taken.unwrap_or_else(&self.make);
        let result = work(&mut scratch);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}

/// Entries plus rows per task. About 50 µs of memory traffic: far above the cost of a steal, and
/// small enough to balance two dozen threads on a million entries.
const GRAIN: usize = 32 * 1024;

/// The row at which `rows` splits into halves of about equal work, or `None` if splitting is not
/// worthwhile. `row_ptr` covers the whole matrix, `rows` is a range within it.
pub(crate) fn split_row(row_ptr: &[usize], rows: &Range<usize>) -> Option<usize> {
    split(&|row| row_ptr[row], rows)
}

/// As [`split_row`], with the number of entries before each row.
fn split(entries_before: &impl Fn(usize) -> usize, rows: &Range<usize>) -> Option<usize> {
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
pub(crate) fn over_rows<T: Send>(
    entries_before: &(impl Fn(usize) -> usize + Sync),
    rows: Range<usize>,
    stride: usize,
    out: &mut [T],
    work: &(impl Fn(Range<usize>, &mut [T]) + Sync),
) {
    match split(entries_before, &rows) {
        None => work(rows, out),
        Some(middle) => {
            let (left, right) = out.split_at_mut((middle - rows.start) * stride);
            rayon::join(
                || over_rows(entries_before, rows.start..middle, stride, left, work),
                || over_rows(entries_before, middle..rows.end, stride, right, work),
            );
        }
    }
}

/// Calls `work` on pieces of `rows`, each with its part of the entries of a matrix under
/// construction: the entries of row `rows.start + k` begin at `out_ptr[k]` in `columns` and
/// `values`.
pub(crate) fn over_entries<T: Send>(
    out_ptr: &[usize],
    rows: Range<usize>,
    columns: &mut [u32],
    values: &mut [T],
    work: &(impl Fn(Range<usize>, &mut [u32], &mut [T]) + Sync),
) {
    over_blocks(out_ptr, rows, 1, columns, values, work);
}

/// As [`over_entries`], for a matrix of blocks: each entry has one column and `block_len` values.
pub(crate) fn over_blocks<T: Send>(
    out_ptr: &[usize],
    rows: Range<usize>,
    block_len: usize,
    columns: &mut [u32],
    values: &mut [T],
    work: &(impl Fn(Range<usize>, &mut [u32], &mut [T]) + Sync),
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
        work: &(impl Fn(Range<usize>, &mut [u32], &mut [T]) + Sync),
    ) {
        match split_row(out_ptr, &rows) {
            None => work(rows, columns, values),
            Some(middle) => {
                let cut = out_ptr[middle] - out_ptr[rows.start];
                let (columns_left, columns_right) = columns.split_at_mut(cut);
                let (values_left, values_right) = values.split_at_mut(cut * block_len);
                rayon::join(
                    || recurse(out_ptr, rows.start..middle, block_len, columns_left, values_left, work),
                    || recurse(out_ptr, middle..rows.end, block_len, columns_right, values_right, work),
                );
            }
        }
    }
}

/// The first position at which `wanted` holds. Searches in pieces, because rayon's overhead per
/// element exceeds the cost of a comparison.
pub(crate) fn first_position<T: Sync>(slice: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<usize> {
    let pieces = slice.par_chunks(GRAIN).enumerate();
    pieces.find_map_first(|(k, piece)| Some(k * GRAIN + piece.iter().position(&wanted)?))
}

/// Calls `work` on pieces of `rows`, each with its part of `values`, for updating the values of a
/// matrix whose pattern stays. `row_ptr` covers the whole matrix, `values` begins with the first of
/// `rows`.
pub(crate) fn over_values<T: Send>(
    row_ptr: &[usize],
    rows: Range<usize>,
    values: &mut [T],
    work: &(impl Fn(Range<usize>, &mut [T]) + Sync),
) {
    match split_row(row_ptr, &rows) {
        None => work(rows, values),
        Some(middle) => {
            let (left, right) = values.split_at_mut(row_ptr[middle] - row_ptr[rows.start]);
            rayon::join(
                || over_values(row_ptr, rows.start..middle, left, work),
                || over_values(row_ptr, middle..rows.end, right, work),
            );
        }
    }
}

/// Turns counts into start offsets, in place: `[2, 0, 3, _]` becomes `[0, 2, 2, 5]`. Returns the
/// total.
pub(crate) fn counts_to_starts(counts: &mut [usize]) -> usize {
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
    fn zeros_and_copies_have_every_length() {
        for len in [0, 1, 511, 512, 513, PIECE, PIECE + 1, 100_000] {
            assert_eq!(zeros::<u16>(len), vec![0; len]);
            let from: Vec<u64> = (0..len as u64).collect();
            assert_eq!(try_copied(&from).unwrap(), from);
        }
        assert!(try_zeros::<f64>(usize::MAX / 4).is_err());
    }

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
    fn the_first_position_is_the_first_of_all_pieces() {
        let mut slice = vec![0; 3 * GRAIN + 1];
        assert_eq!(first_position(&slice, |&x| x == 1), None);
        slice[3 * GRAIN] = 1;
        assert_eq!(first_position(&slice, |&x| x == 1), Some(3 * GRAIN));
        slice[GRAIN + 5] = 1;
        assert_eq!(first_position(&slice, |&x| x == 1), Some(GRAIN + 5));
    }

    #[test]
    fn starts_from_counts() {
        let mut counts = [2, 0, 3, 0];
        assert_eq!(counts_to_starts(&mut counts), 5);
        assert_eq!(counts, [0, 2, 2, 5]);
        assert_eq!(counts_to_starts(&mut [0]), 0);
    }
}
