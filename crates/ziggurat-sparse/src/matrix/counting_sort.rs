//! Counting sort of triplets by row: stable, parallel, deterministic for any number of threads.
//!
//! It takes two passes. The first distributes the triplets to ranges of consecutive rows
//! ("buckets"), few enough that writing to all of them at once is cheap; the second sorts each
//! bucket by row while it fits in cache. A single pass would write to as many locations as there
//! are rows, with a cache miss each. The input is divided into fixed blocks; every (bucket, block)
//! pair has its own part of the output, so threads do not conflict and blocks keep their order
//! within a bucket.

use std::iter::Zip;
use std::slice::IterMut;

use crate::number::Store;
use crate::parallel::{Scratch, all_pieces, consume, counts_to_starts, map_pieces, over_chunks};

/// Target number of triplets per bucket: 2^15 triplets are half a megabyte.
const BUCKET: usize = 1 << 15;
/// Maximum number of buckets. Each is written to in three arrays, which must not exceed the
/// capacity of caches and TLB.
const MAX_BUCKETS: usize = 256;
/// Minimum number of triplets per input block, and maximum number of blocks.
const BLOCK: usize = 1 << 16;
const MAX_BLOCKS: usize = 64;

/// Whether rows never decrease.
pub(crate) fn ordered(entry_rows: &[u32]) -> bool {
    // Each piece includes the first element of the next one.
    let len = entry_rows.len();
    all_pieces(0..len, BLOCK, &|piece| entry_rows[piece.start..len.min(piece.end + 1)].is_sorted())
}

/// Row pointers of triplets with nondecreasing rows. Each piece of rows finds its first entry by
/// bisection and scans from there.
pub(crate) fn row_ptr_of_ordered(rows: usize, entry_rows: &[u32]) -> Vec<usize> {
    const PIECE: usize = 4096;
    let mut row_ptr = vec![0; rows + 1];
    over_chunks(&mut row_ptr, PIECE, &|piece, starts| {
        let first = piece * PIECE;
        let mut at = entry_rows.partition_point(|&row| (row as usize) < first);
        for (local, start) in starts.iter_mut().enumerate() {
            while at < entry_rows.len() && (entry_rows[at] as usize) < first + local {
                at += 1;
            }
            *start = at;
        }
    });
    row_ptr
}

/// Row pointers, columns and values ordered by row; within a row, the triplets keep their order.
/// Every row must be less than `rows`, and the slices must have the same length.
pub(crate) fn counting_sort<T: Store>(
    rows: usize,
    entry_rows: &[u32],
    entry_columns: &[u32],
    values: &[T],
) -> (Vec<usize>, Vec<u32>, Vec<T>) {
    let shift = bucket_shift(rows, entry_rows.len());
    let (bucket_starts, dealt_rows, mut out_columns, mut out_values) =
        deal(rows, shift, entry_rows, entry_columns, values);

    let mut row_ptr = vec![0; rows + 1];
    let mut buckets = Vec::with_capacity(bucket_starts.len());
    let (mut rest_columns, mut rest_values) = (&mut out_columns[..], &mut out_values[..]);
    for (range, row_ends) in bucket_starts.windows(2).zip(row_ptr[1..].chunks_mut(1 << shift)) {
        let len = range[1] - range[0];
        let (columns, values) = (take_front(&mut rest_columns, len), take_front(&mut rest_values, len));
        let rows = &dealt_rows[range[0]..range[1]];
        buckets.push(Bucket { start: range[0], rows, columns, values, row_ends });
    }
    let old = Scratch::new(|| (Vec::new(), Vec::new()));
    consume(buckets, &|index, bucket| {
        old.with(|(columns, values)| bucket.sort(index << shift, columns, values));
    });
    (row_ptr, out_columns, out_values)
}

/// The triplets of consecutive rows, and where their row pointers are written.
struct Bucket<'a, T> {
    /// The number of triplets before this bucket.
    start: usize,
    rows: &'a [u32],
    columns: &'a mut [u32],
    values: &'a mut [T],
    /// The row pointers after each row.
    row_ends: &'a mut [usize],
}

impl<T: Store> Bucket<'_, T> {
    /// Second pass. The vectors are scratch memory.
    fn sort(self, first_row: usize, old_columns: &mut Vec<u32>, old_values: &mut Vec<T>) {
        let Bucket { start, rows, columns, values, row_ends } = self;
        old_columns.clear();
        old_columns.extend_from_slice(columns);
        old_values.clear();
        old_values.extend_from_slice(values);
        for &row in rows {
            row_ends[row as usize - first_row] += 1;
        }
        counts_to_starts(row_ends);
        // While a row is filled, its start advances to its end.
        for ((&row, &column), &value) in rows.iter().zip(&*old_columns).zip(&*old_values) {
            let slot = &mut row_ends[row as usize - first_row];
            (columns[*slot], values[*slot]) = (column, value);
            *slot += 1;
        }
        for end in row_ends {
            *end += start;
        }
    }
}

/// A bucket holds 2^shift rows, as few as `MAX_BUCKETS` and `BUCKET` permit.
fn bucket_shift(rows: usize, entries: usize) -> u32 {
    let wanted = (entries / BUCKET).clamp(1, MAX_BUCKETS);
    let rows_per_bucket = rows.div_ceil(wanted).max(1);
    rows_per_bucket.next_power_of_two().trailing_zeros()
}

/// First pass: the start of each bucket (and end of the last), and the triplets by bucket, in their
/// original order.
fn deal<T: Store>(
    rows: usize,
    shift: u32,
    entry_rows: &[u32],
    entry_columns: &[u32],
    values: &[T],
) -> (Vec<usize>, Vec<u32>, Vec<u32>, Vec<T>) {
    let (entries, buckets) = (entry_rows.len(), rows.div_ceil(1 << shift));
    let block = entries.div_ceil(MAX_BLOCKS).max(BLOCK);
    let counts: Vec<Vec<usize>> = map_pieces(0..entries, block, &|piece| {
        let mut counts = vec![0; buckets];
        for &row in &entry_rows[piece] {
            counts[row as usize >> shift] += 1;
        }
        counts
    });
    let mut bucket_starts: Vec<usize> =
        (0..=buckets).map(|bucket| counts.iter().filter_map(|block| block.get(bucket)).sum()).collect();
    counts_to_starts(&mut bucket_starts);

    let (mut out_rows, mut out_columns) = (vec![0; entries], vec![0; entries]);
    let mut out_values = vec![T::default(); entries];
    let mut rest = (&mut out_rows[..], &mut out_columns[..], &mut out_values[..]);
    let mut parts: Vec<Vec<Slots<'_, T>>> = counts.iter().map(|_| Vec::with_capacity(buckets)).collect();
    for bucket in 0..buckets {
        for (parts, counts) in parts.iter_mut().zip(&counts) {
            let len = counts[bucket];
            let rows = take_front(&mut rest.0, len).iter_mut();
            let columns = take_front(&mut rest.1, len).iter_mut();
            parts.push(rows.zip(columns).zip(take_front(&mut rest.2, len)));
        }
    }
    consume(parts, &|index, mut parts| {
        let piece = index * block..entries.min((index + 1) * block);
        let columns_and_values = entry_columns[piece.clone()].iter().zip(&values[piece.clone()]);
        for (&row, (&column, &value)) in entry_rows[piece].iter().zip(columns_and_values) {
            if let Some(((to_row, to_column), to_value)) = parts[row as usize >> shift].next() {
                (*to_row, *to_column, *to_value) = (row, column, value);
            }
        }
    });
    (bucket_starts, out_rows, out_columns, out_values)
}

/// The output positions of one block in one bucket.
type Slots<'a, T> = Zip<Zip<IterMut<'a, u32>, IterMut<'a, u32>>, IterMut<'a, T>>;

fn take_front<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (front, back) = std::mem::take(rest).split_at_mut(len);
    *rest = back;
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disorder_is_seen_within_pieces_and_between_them() {
        assert!(ordered(&[]) && ordered(&[3]) && ordered(&[1, 1, 2]) && !ordered(&[2, 1]));
        let mut rows: Vec<u32> = (0..3 * BLOCK as u32).collect();
        assert!(ordered(&rows));
        rows[BLOCK - 1] = BLOCK as u32 + 1; // greater than the next, which starts a piece
        assert!(!ordered(&rows));
    }

    #[test]
    fn row_pointers_skip_empty_rows() {
        assert_eq!(row_ptr_of_ordered(0, &[]), [0]);
        assert_eq!(row_ptr_of_ordered(6, &[1, 1, 4]), [0, 0, 2, 2, 2, 3, 3]);
        let entry_rows: Vec<u32> = (0..20_000).filter(|row| row % 3 == 0).collect();
        let row_ptr = row_ptr_of_ordered(20_000, &entry_rows);
        assert!(row_ptr.iter().enumerate().all(|(row, &start)| start == row.div_ceil(3)));
    }
}
