//! Transpose: T[j, k] = A[rows.start + k, j], by a counting sort in two levels.
//!
//! The counting sort of Gustavson (1978) counts the entries of every column, then moves every entry
//! to its position. Two threads cannot do that in one array, and an array of counts per thread
//! takes threads × columns of memory. So the columns are first split into a few hundred buckets of
//! equal width. Since the columns of a row increase, the entries of a row in one bucket are
//! contiguous: the input of a bucket is a list of such segments, two numbers each, and no entry is
//! moved to make it. Then every bucket runs the counting sort on its own columns, into its own part
//! of the result.
//!
//! Cost: the columns are read three times, the values once, and the result is written once.
//! Additional memory: 8 bytes per segment. A matrix with local rows has little more than one
//! segment per row; there is never more than one per entry. A bucket is processed by one thread, so
//! a matrix with very few columns does not benefit from threads.

use std::ops::Range;

use super::pattern::Pattern;
use crate::matrix::{Csr, CsrRef};
use crate::number::Store;
use crate::parallel::{both, consume, split_row};

/// Target number of entries per bucket, so that the output of a bucket stays in the cache.
const BUCKET_ENTRIES: usize = 32 * 1024;

/// Maximum number of buckets. Every block of rows stores two numbers per bucket.
const MAX_BUCKETS: usize = 512;

/// The start of the entries of one row in one bucket. They end with the bucket or the row.
#[derive(Clone, Copy, Default)]
struct Segment {
    row: u32,
    /// Relative to the first entry of the row.
    begin: u32,
}

/// The segments of a block of rows, ordered by bucket, then by row.
struct Block {
    segments: Vec<Segment>,
    /// Where the segments of each bucket begin, and where the last ones end.
    bucket_ptr: Vec<u32>,
    /// Entries in each bucket.
    entries: Vec<u32>,
}

/// The transpose of the rows `rows` of `a`: a matrix with `a.cols()` rows and `rows.len()` columns,
/// whose column `k` is row `rows.start + k` of `a`.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::transpose};
/// // [ 1 2 0 ]
/// // [ 0 3 4 ]
/// let a = Csr::try_new(2, 3, vec![0, 2, 4], vec![0, 1, 1, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// let t = transpose(a.view(), a.all_rows());
/// assert_eq!((t.rows(), t.cols()), (3, 2));
/// assert_eq!(t.row(1), (&[0, 1][..], &[2.0, 3.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Panics
/// If `rows` is out of bounds.
pub fn transpose<T: Store>(a: CsrRef<'_, T>, rows: Range<usize>) -> Csr<T> {
    let (first, extent) = (rows.start, rows.len());
    let nnz = a.row_ptr()[rows.end] - a.row_ptr()[rows.start];
    let wanted = (nnz / BUCKET_ENTRIES).clamp(1, MAX_BUCKETS);
    // Bucket widths are powers of two, so that a shift finds the bucket.
    let shift = a.cols().div_ceil(wanted).max(1).next_power_of_two().trailing_zeros();
    let buckets = a.cols().div_ceil(1 << shift);

    let mut blocks = Vec::new();
    cut_blocks(a.into(), rows, shift, buckets, &mut blocks);

    // The part of the result of every bucket.
    let mut row_ptr = vec![0; a.cols() + 1];
    let (mut columns, mut values) = (vec![0; nnz], vec![T::default(); nnz]);
    let mut parts = Vec::with_capacity(buckets);
    let (mut columns_left, mut values_left) = (&mut columns[..], &mut values[..]);
    let mut begin = 0;
    for (bucket, row_ptr) in row_ptr[1..].chunks_mut(1 << shift).enumerate() {
        let entries = blocks.iter().map(|block| block.entries[bucket] as usize).sum();
        let (columns, columns_rest) = columns_left.split_at_mut(entries);
        let (values, values_rest) = values_left.split_at_mut(entries);
        (columns_left, values_left) = (columns_rest, values_rest);
        parts.push((begin, row_ptr, columns, values));
        begin += entries;
    }

    consume(parts, &|bucket, (begin, ends, columns, values)| {
        let base = bucket << shift;
        let limit = base + ends.len();
        let segments = || {
            blocks.iter().flat_map(move |block| {
                &block.segments[block.bucket_ptr[bucket] as usize..block.bucket_ptr[bucket + 1] as usize]
            })
        };
        // `ends[c]` is first the start of the entries of column c, and advances to their end as
        // they are written.
        for segment in segments() {
            let (row_columns, _) = a.row(segment.row as usize);
            for &column in &row_columns[segment.begin as usize..] {
                if column as usize >= limit {
                    break;
                }
                ends[column as usize - base] += 1;
            }
        }
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        for segment in segments() {
            let (row_columns, row_values) = a.row(segment.row as usize);
            let tail = segment.begin as usize..;
            for (&column, &value) in row_columns[tail.clone()].iter().zip(&row_values[tail]) {
                if column as usize >= limit {
                    break;
                }
                let end = &mut ends[column as usize - base];
                columns[*end] = (segment.row as usize - first) as u32;
                values[*end] = value;
                *end += 1;
            }
        }
        for end in ends {
            *end += begin;
        }
    });
    Csr::from_valid_parts(a.cols(), extent, row_ptr, columns, values)
}

/// Splits `rows` into blocks and lists the segments of each, in row order.
fn cut_blocks(a: Pattern<'_>, rows: Range<usize>, shift: u32, buckets: usize, blocks: &mut Vec<Block>) {
    match split_row(a.row_ptr, &rows) {
        None => blocks.push(Block::of(a, rows, shift, buckets)),
        Some(middle) => {
            let mut right = Vec::new();
            let cut = |rows, blocks: &mut _| cut_blocks(a, rows, shift, buckets, blocks);
            both(&mut || cut(rows.start..middle, blocks), &mut || cut(middle..rows.end, &mut right));
            blocks.append(&mut right);
        }
    }
}

impl Block {
    fn of(a: Pattern<'_>, rows: Range<usize>, shift: u32, buckets: usize) -> Block {
        let mut found = Vec::with_capacity(2 * rows.len());
        let (mut counts, mut entries) = (vec![0; buckets + 1], vec![0; buckets]);
        for row in rows {
            let columns = a.row(row);
            let mut begin = 0;
            while let Some(column) = columns.get(begin) {
                let bucket = (column >> shift) as usize;
                let rest = &columns[begin..];
                // Usually all remaining entries are in this bucket.
                let length = match rest.last() {
                    Some(last) if (last >> shift) as usize == bucket => rest.len(),
                    _ => rest.iter().take_while(|&column| (column >> shift) as usize == bucket).count(),
                };
                found.push((bucket as u32, Segment { row: row as u32, begin: begin as u32 }));
                counts[bucket] += 1;
                entries[bucket] += length as u32;
                begin += length;
            }
        }
        let mut bucket_ptr = counts;
        let mut start = 0;
        for slot in &mut bucket_ptr {
            start += std::mem::replace(slot, start);
        }
        let mut next = bucket_ptr.clone();
        let mut segments = vec![Segment::default(); found.len()];
        for (bucket, segment) in found {
            let slot = &mut next[bucket as usize];
            segments[*slot as usize] = segment;
            *slot += 1;
        }
        Block { segments, bucket_ptr, entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::testing::{arbitrary, on_threads, poisson3d};
    use proptest::prelude::*;

    /// The definition, entry by entry.
    fn plain(a: CsrRef<'_, f64>, rows: Range<usize>) -> Vec<(usize, usize, f64)> {
        let mut triplets = Vec::new();
        for row in rows.clone() {
            let (columns, values) = a.row(row);
            triplets.extend(
                columns.iter().zip(values).map(|(&column, &v)| (column as usize, row - rows.start, v)),
            );
        }
        triplets.sort_by_key(|&(row, column, _)| (row, column));
        triplets
    }

    fn triplets(a: &Csr<f64>) -> Vec<(usize, usize, f64)> {
        let row = |row| {
            let (columns, values) = a.row(row);
            columns.iter().zip(values).map(move |(&column, &value)| (row, column as usize, value))
        };
        (0..a.rows()).flat_map(row).collect()
    }

    #[test]
    fn edges() {
        let empty = Csr::<f64>::try_new(0, 5, vec![0], vec![], vec![]).unwrap();
        let t = transpose(empty.view(), 0..0);
        assert_eq!((t.rows(), t.cols(), t.nnz()), (5, 0, 0));
        let no_columns = Csr::<f64>::try_new(3, 0, vec![0; 4], vec![], vec![]).unwrap();
        let t = transpose(no_columns.view(), 1..3);
        assert_eq!((t.rows(), t.cols(), t.nnz()), (0, 2, 0));
        // One dense row among empty ones: it spans all buckets.
        let n = 200_000;
        let dense = Csr::try_new(
            3,
            n,
            vec![0, 0, n, n],
            (0..n as u32).collect(),
            (0..n).map(|k| k as f64).collect::<Vec<_>>(),
        )
        .unwrap();
        let t = transpose(dense.view(), dense.all_rows());
        assert_eq!(triplets(&t), plain(dense.view(), dense.all_rows()));
        assert_eq!(transpose(t.view(), t.all_rows()), dense);
    }

    #[test]
    fn many_buckets_and_blocks_give_the_same_bits_on_any_number_of_threads() {
        let a = poisson3d(40);
        // Columns spread by a stride coprime to their number: every row spans many buckets.
        let spread =
            a.columns().iter().map(|&column| ((column as usize * 12_347) % a.rows()) as u32).collect();
        let values = (0..a.nnz()).map(|k| k as f64).collect();
        let spread = Csr::from_unsorted(a.rows(), a.rows(), a.row_ptr().to_vec(), spread, values).unwrap();
        for rows in [spread.all_rows(), 1_000..50_001] {
            let one = on_threads(1, || transpose(spread.view(), rows.clone()));
            let two = on_threads(2, || transpose(spread.view(), rows.clone()));
            assert_eq!(one, two);
            assert_eq!(triplets(&one), plain(spread.view(), rows));
        }
        assert_eq!(transpose(a.view(), a.all_rows()), a);
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition((a, rows) in arbitrary(30, 30)) {
            let t = transpose(a.view(), rows.clone());
            prop_assert_eq!((t.rows(), t.cols()), (a.cols(), rows.len()));
            prop_assert_eq!(triplets(&t), plain(a.view(), rows));
        }
    }
}
