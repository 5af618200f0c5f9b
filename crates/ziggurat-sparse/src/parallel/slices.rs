//! Work on parts of one or two slices: compiled once for a type of element.

use rayon::prelude::*;

use super::{PIECE, both};

/// Calls `work` on consecutive pieces of `out`, each with the index of its first element. A vector
/// of one piece wakes no other thread: on a coarse level that would cost more than the work.
///
/// ```
/// let mut numbers = vec![0; 20_000];
/// ziggurat_sparse::parallel::over_pieces(&mut numbers, &|first, piece| {
///     piece.iter_mut().zip(first..).for_each(|(number, index)| *number = index);
/// });
/// assert!(numbers.is_sorted() && numbers.last() == Some(&19_999));
/// ```
pub fn over_pieces<T: Send>(out: &mut [T], work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    over_chunks(out, PIECE, &|index, piece| work(index * PIECE, piece));
}

/// Calls `work` on consecutive chunks of `out` with `size` elements, each with its number. The last
/// may have fewer elements.
///
/// ```
/// let mut rows = vec![0; 12];
/// ziggurat_sparse::parallel::over_chunks(&mut rows, 3, &|row, values| values.fill(row));
/// assert_eq!(rows, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
/// ```
pub fn over_chunks<T: Send>(out: &mut [T], size: usize, work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let size = size.max(1);
    if out.len() <= size {
        out.chunks_mut(size).enumerate().for_each(|(index, chunk)| work(index, chunk));
    } else {
        out.par_chunks_mut(size).enumerate().for_each(|(index, chunk)| work(index, chunk));
    }
}

/// As [`over_chunks`], with chunks of two slices, of `sizes` elements each; both slices have the
/// same number of chunks.
///
/// ```
/// use ziggurat_sparse::parallel::over_two;
/// let (mut values, mut sums) = (vec![1; 6], vec![0; 3]);
/// over_two(&mut values, &mut sums, [2, 1], &|_, values, sum| sum[0] = values.iter().sum());
/// assert_eq!(sums, [2, 2, 2]);
/// ```
pub fn over_two<T: Send, U: Send>(
    first: &mut [T],
    second: &mut [U],
    sizes: [usize; 2],
    work: &(dyn Fn(usize, &mut [T], &mut [U]) + Sync),
) {
    let sizes = sizes.map(|size| size.max(1));
    debug_assert_eq!(first.len().div_ceil(sizes[0]), second.len().div_ceil(sizes[1]), "chunks");
    if first.len() <= sizes[0] {
        let pairs = first.chunks_mut(sizes[0]).zip(second.chunks_mut(sizes[1]));
        pairs.enumerate().for_each(|(index, (first, second))| work(index, first, second));
    } else {
        let pairs = first.par_chunks_mut(sizes[0]).zip(second.par_chunks_mut(sizes[1]));
        pairs.enumerate().for_each(|(index, (first, second))| work(index, first, second));
    }
}

/// Sorts with all threads. `sort` first sorts pieces, and then slices of two sorted halves, which
/// sorts like [`slice::sort`] merge.
///
/// ```
/// let mut numbers: Vec<u32> = (0..20_000).rev().collect();
/// ziggurat_sparse::parallel::merge_sort(&mut numbers, &|part| part.sort());
/// assert!(numbers.is_sorted());
/// ```
pub fn merge_sort<T: Send>(slice: &mut [T], sort: &(dyn Fn(&mut [T]) + Sync)) {
    if slice.len() > PIECE {
        let (left, right) = slice.split_at_mut(slice.len() / 2);
        both(&mut || merge_sort(left, sort), &mut || merge_sort(right, sort));
    }
    sort(slice);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash_id;

    #[test]
    fn chunks_cover_a_slice_with_their_number() {
        for len in [0, 1, 4, 5, 6, 1001] {
            let mut numbers = vec![usize::MAX; len];
            over_chunks(&mut numbers, 5, &|index, chunk| chunk.fill(index));
            assert!(numbers.iter().enumerate().all(|(place, &number)| number == place / 5), "{len}");
            let mut counts = vec![0; len.div_ceil(5)];
            over_two(&mut numbers, &mut counts, [5, 1], &|_, chunk, count| count[0] = chunk.len());
            assert_eq!(counts.iter().sum::<usize>(), len);
        }
    }

    #[test]
    fn pieces_know_their_first_element() {
        let mut numbers = vec![0; 3 * PIECE + 1];
        over_pieces(&mut numbers, &|first, piece| piece.fill(first));
        assert_eq!([numbers[0], numbers[PIECE], numbers[3 * PIECE]], [0, PIECE, 3 * PIECE]);
    }

    #[test]
    fn a_merge_sort_keeps_the_order_of_equals() {
        for len in [0, 1, PIECE, 5 * PIECE + 3] {
            let mut pairs: Vec<(u64, usize)> = (0..len).map(|k| (hash_id(k as u64) % 1000, k)).collect();
            let mut expected = pairs.clone();
            expected.sort_unstable();
            merge_sort(&mut pairs, &|pairs| pairs.sort_by_key(|pair| pair.0));
            assert_eq!(pairs, expected);
        }
    }
}
