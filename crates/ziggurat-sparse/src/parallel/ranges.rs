//! Work on ranges of indices. All of it is compiled once, but for the results' types.

use std::ops::Range;

use rayon::prelude::*;

use super::{map_tasks, tasks};

/// Elements of a slice that [`first_position`] looks at in one task.
const SEARCHED: usize = 32 * 1024;

/// The part with this number of `range` in pieces of `size`.
fn piece(range: &Range<usize>, size: usize, index: usize) -> Range<usize> {
    let start = range.start + index * size;
    start..(start + size).min(range.end)
}

/// The number of pieces of `size` in `range`.
fn count(range: &Range<usize>, size: usize) -> usize {
    range.len().div_ceil(size.max(1))
}

/// Calls `work` with pieces of `range`, of `size` indices each.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// ziggurat_sparse::parallel::over_range(5..50, 10, &|piece| {
///     sum.fetch_add(piece.sum(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), (5..50).sum());
/// ```
pub fn over_range(range: Range<usize>, size: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    tasks(count(&range, size), &|index| work(piece(&range, size, index)));
}

/// The results of `of` for pieces of `range`, of `size` indices each, in order. Functions that
/// reduce the pieces to one value do so in order, too.
///
/// ```
/// let of_piece = |piece: std::ops::Range<usize>| piece.map(|k| 0.1 * k as f64).sum::<f64>();
/// let sums = ziggurat_sparse::parallel::map_pieces(0..1000, 300, &of_piece);
/// assert_eq!(sums.len(), 4);
/// ```
pub fn map_pieces<R: Send>(
    range: Range<usize>,
    size: usize,
    of: &(dyn Fn(Range<usize>) -> R + Sync),
) -> Vec<R> {
    map_tasks(count(&range, size), &|index| of(piece(&range, size, index)))
}

/// The first index that `find` returns for pieces of `range`, of `size` indices each; later pieces
/// may be left out.
///
/// ```
/// let found = ziggurat_sparse::parallel::first_in_pieces(0..1000, 100, &|mut piece| {
///     piece.find(|k| k % 321 == 320)
/// });
/// assert_eq!(found, Some(320));
/// ```
pub fn first_in_pieces(
    range: Range<usize>,
    size: usize,
    find: &(dyn Fn(Range<usize>) -> Option<usize> + Sync),
) -> Option<usize> {
    let count = count(&range, size);
    match count {
        0 => return None,
        1 => return find(range),
        _ => {}
    }
    (0..count).into_par_iter().find_map_first(|index| find(piece(&range, size, index)))
}

/// Whether `holds` for all pieces of `range`, of `size` indices each.
///
/// ```
/// assert!(ziggurat_sparse::parallel::all_pieces(0..1000, 100, &|piece| piece.end <= 1000));
/// ```
pub fn all_pieces(range: Range<usize>, size: usize, holds: &(dyn Fn(Range<usize>) -> bool + Sync)) -> bool {
    first_in_pieces(range, size, &|piece| (!holds(piece.clone())).then_some(piece.start)).is_none()
}

/// The first position at which `wanted` holds.
///
/// ```
/// assert_eq!(ziggurat_sparse::parallel::first_position(&[3, 4, 5], |&x| x > 3), Some(1));
/// ```
pub fn first_position<T: Sync>(slice: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<usize> {
    first_in_pieces(0..slice.len(), SEARCHED, &|piece| {
        let start = piece.start;
        slice[piece].iter().position(&wanted).map(|place| start + place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range_in_order() {
        for (range, size) in [(0..0, 3), (4..5, 3), (3..9, 3), (3..10, 3), (7..1000, 1)] {
            let pieces = map_pieces(range.clone(), size, &|piece| piece);
            assert!(pieces.iter().all(|piece| (1..=size).contains(&piece.len())));
            assert_eq!(pieces.into_iter().flatten().collect::<Vec<_>>(), range.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_position_is_the_first_of_all_pieces() {
        let mut slice = vec![0; 3 * SEARCHED + 1];
        assert_eq!(first_position(&slice, |&x| x == 1), None);
        slice[3 * SEARCHED] = 1;
        assert_eq!(first_position(&slice, |&x| x == 1), Some(3 * SEARCHED));
        slice[SEARCHED + 5] = 1;
        assert_eq!(first_position(&slice, |&x| x == 1), Some(SEARCHED + 5));
    }

    #[test]
    fn one_piece_decides_about_all() {
        assert!(all_pieces(0..0, 10, &|_| false));
        for bad in [0, 55, 99] {
            assert!(!all_pieces(0..100, 10, &|piece| !piece.contains(&bad)), "{bad}");
        }
    }
}
