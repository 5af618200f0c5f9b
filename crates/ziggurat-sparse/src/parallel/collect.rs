//! Vectors that all threads write.
//!
//! The system clears every page when it is first written to. So all threads write, where `vec!`
//! would have one thread clear and write while the others wait.

use std::collections::TryReserveError;

use rayon::prelude::*;

use super::map_pieces;

/// Elements that a thread writes at a time into memory that is used for the first time.
const BLOCK: usize = 512;

/// Blocks per task.
const BLOCKS: usize = 4;

/// A vector of `len` elements, of which `fill` writes a block at a time: it gets the index of the
/// first element, and a block of default values, of which those beyond `len` do not count.
fn in_blocks<T: Copy + Default + Send>(
    len: usize,
    fill: &(dyn Fn(usize, &mut [T; BLOCK]) + Sync),
) -> Result<Vec<T>, TryReserveError> {
    let count = len.div_ceil(BLOCK);
    let mut blocks: Vec<[T; BLOCK]> = Vec::new();
    blocks.try_reserve_exact(count)?;
    let block = |index: usize| {
        let mut block = [T::default(); BLOCK];
        fill(index * BLOCK, &mut block);
        block
    };
    if count <= BLOCKS {
        blocks.extend((0..count).map(block));
    } else {
        blocks.par_extend((0..count).into_par_iter().with_min_len(BLOCKS).map(block));
    }
    let mut all = blocks.into_flattened();
    all.truncate(len);
    Ok(all)
}

/// Zeros, or an error if there is no memory.
///
/// ```
/// assert_eq!(ziggurat_sparse::parallel::try_zeros::<f64>(3)?, [0.0; 3]);
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn try_zeros<T: Copy + Default + Send>(len: usize) -> Result<Vec<T>, TryReserveError> {
    in_blocks(len, &|_, _| {})
}

/// As [`try_zeros`], where missing memory ends the program, as it does in `vec!`.
///
/// ```
/// assert_eq!(ziggurat_sparse::parallel::zeros::<u32>(3), [0; 3]);
/// ```
pub fn zeros<T: Copy + Default + Send>(len: usize) -> Vec<T> {
    try_zeros(len).unwrap_or_else(|_| vec![T::default(); len])
}

/// A copy, written by all threads, or an error if there is no memory.
///
/// ```
/// assert_eq!(ziggurat_sparse::parallel::try_copied(&[1, 2])?, [1, 2]);
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn try_copied<T: Copy + Default + Send + Sync>(from: &[T]) -> Result<Vec<T>, TryReserveError> {
    in_blocks(from.len(), &|first, block| {
        let end = (first + BLOCK).min(from.len());
        block[..end - first].copy_from_slice(&from[first..end]);
    })
}

/// The values of `of` for all indices below `len`.
///
/// ```
/// assert_eq!(ziggurat_sparse::parallel::collect(4, |index| index * index), [0, 1, 4, 9]);
/// ```
pub fn collect<T: Copy + Default + Send>(len: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let fill = |first: usize, block: &mut [T; BLOCK]| {
        block.iter_mut().zip(first..len).for_each(|(slot, index)| *slot = of(index));
    };
    match in_blocks(len, &fill) {
        Ok(all) => all,
        Err(_) => (0..len).map(of).collect(), // ends the program for lack of memory
    }
}

/// The indices below `len` that are `wanted`, in increasing order.
///
/// ```
/// assert_eq!(ziggurat_sparse::parallel::filter(10, |index| index % 4 == 1), [1, 5, 9]);
/// ```
pub fn filter(len: usize, wanted: impl Fn(usize) -> bool + Sync) -> Vec<usize> {
    map_pieces(0..len, BLOCKS * BLOCK, &|piece| piece.filter(|&index| wanted(index)).collect::<Vec<_>>())
        .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::PIECE;

    #[test]
    fn vectors_have_every_length() {
        for len in [0, 1, 511, 512, 513, PIECE, PIECE + 1, 100_000] {
            assert_eq!(zeros::<u16>(len), vec![0; len]);
            let from: Vec<u64> = (0..len as u64).collect();
            assert_eq!(try_copied(&from).unwrap(), from);
            assert_eq!(collect(len, |index| index as u64), from);
            assert_eq!(filter(len, |index| index % 3 == 0), (0..len).step_by(3).collect::<Vec<_>>());
        }
        assert!(try_zeros::<f64>(usize::MAX / 4).is_err());
    }
}
