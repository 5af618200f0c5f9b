//! Work for several threads, in the rayon pool of the caller.
//!
//! This is the only module that calls rayon's iterators. Rayon compiles the splitting, stealing and
//! joining again for every closure that it is given; that was two fifths of the machine code of
//! these crates. So the functions here take `&dyn Fn`, and call it once for a whole batch of rows
//! or elements, where an indirect call costs nothing: they are compiled once, or once for a type of
//! element.
//!
//! | work | functions |
//! |---|---|
//! | on ranges of indices | [`tasks`], [`over_range`], [`map_pieces`], [`first_in_pieces`], [`all_pieces`] |
//! | on parts of one or two slices | [`over_pieces`], [`over_chunks`], [`over_two`], [`merge_sort`] |
//! | on parts of the rows of a matrix, cut by entries | [`over_rows`], [`over_entries`], [`over_blocks`], [`over_values`] |
//! | that makes a vector | [`collect`], [`filter`], [`zeros`], [`map_tasks`] |
//! | on given parts, or on two things | [`consume`], [`join`] |
//!
//! Every function cuts by the length or the matrix alone, and results are in the order of the
//! pieces. So nothing depends on the number of threads, sums included.

mod collect;
mod ranges;
mod rows;
mod scratch;
mod slices;

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

pub use collect::{collect, filter, try_copied, try_zeros, zeros};
pub use ranges::{all_pieces, first_in_pieces, first_position, map_pieces, over_range};
pub use rows::{counts_to_starts, over_blocks, over_entries, over_rows, over_values, split_row};
pub use scratch::Scratch;
pub use slices::{merge_sort, over_chunks, over_pieces, over_two};

/// Vector elements per task: 64 KiB of doubles, which stay in the first two cache levels.
pub const PIECE: usize = 8 * 1024;

/// The number of threads that the caller's work is divided among.
///
/// ```
/// assert!(ziggurat_sparse::parallel::threads() > 0);
/// ```
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `task` with every index below `count`.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// ziggurat_sparse::parallel::tasks(5, &|index| _ = sum.fetch_add(index, Ordering::Relaxed));
/// assert_eq!(sum.into_inner(), 10);
/// ```
pub fn tasks(count: usize, task: &(dyn Fn(usize) + Sync)) {
    if count <= 1 {
        (0..count).for_each(task);
    } else {
        (0..count).into_par_iter().for_each(task);
    }
}

/// The results of `task` for every index below `count`, in order.
///
/// ```
/// let squares = ziggurat_sparse::parallel::map_tasks(4, &|index| index * index);
/// assert_eq!(squares, [0, 1, 4, 9]);
/// ```
pub fn map_tasks<R: Send>(count: usize, task: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    if count <= 1 { (0..count).map(task).collect() } else { (0..count).into_par_iter().map(task).collect() }
}

/// Calls `work` with each part and its index. Parts are what one task owns, such as slices of
/// several arrays.
///
/// ```
/// let mut numbers = [1, 2, 3, 4];
/// let (left, right) = numbers.split_at_mut(3);
/// ziggurat_sparse::parallel::consume(vec![left, right], &|index, part| part.fill(index));
/// assert_eq!(numbers, [0, 0, 0, 1]);
/// ```
pub fn consume<P: Send>(parts: Vec<P>, work: &(dyn Fn(usize, P) + Sync)) {
    let parts: Vec<Mutex<Option<P>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    tasks(parts.len(), &|index| {
        let part = parts[index].lock().unwrap_or_else(PoisonError::into_inner).take();
        part.into_iter().for_each(|part| work(index, part));
    });
}

/// The results of two functions that run at the same time.
///
/// ```
/// assert_eq!(ziggurat_sparse::parallel::join(|| 1, || "two"), (1, "two"));
/// ```
pub fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut first, mut second) = (Some(first), Some(second));
    let (mut a, mut b) = (None, None);
    both(&mut || a = first.take().map(|first| first()), &mut || b = second.take().map(|second| second()));
    match (a, b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("`both` calls each function once"),
    }
}

/// As [`join`], compiled once.
pub(crate) fn both(first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
    rayon::join(first, second);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_task_runs_once() {
        for count in [0, 1, 2, 1000] {
            let calls: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            tasks(count, &|index| _ = calls[index].fetch_add(1, Ordering::Relaxed));
            assert!(calls.into_iter().all(|calls| calls.into_inner() == 1), "{count}");
            assert_eq!(map_tasks(count, &|index| index), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn parts_are_consumed_with_their_index() {
        let mut numbers = vec![0; 1000];
        let parts = numbers.chunks_mut(7).collect::<Vec<_>>();
        consume(parts, &|index, part| part.fill(index));
        assert!(numbers.iter().enumerate().all(|(place, &number)| number == place / 7));
        consume(Vec::<usize>::new(), &|_, _| unreachable!());
    }
}
