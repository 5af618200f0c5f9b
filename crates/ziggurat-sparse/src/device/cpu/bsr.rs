//! Row products of a BSR matrix: for each block row, y = Σ_k B_k x[block column k].
//!
//! Bytes: per block its b² stored values and 4 for its column, so 4/b² per value instead of
//! CSR's 4. The sizes 2, 3, 4 and 6 are compiled separately, with one sum for each entry of a
//! block: (B x)_i = Σ_j (Σ_blocks b_ij x_j). With AVX-512 these sums are vector lanes, so that a
//! 3 x 3 block takes one multiplication, and one conversion if it is stored in 16 bits. Other sizes
//! use a plain loop.

#![allow(unsafe_code)]

use std::ops::Range;

use super::row_products::RowProducts;
use crate::matrix::{BsrRef, MAX_BLOCK};
use crate::number::Store;
use crate::simd::lanes::{LANES, Lanes, Widened};
use crate::simd::{InLanes, Isa, prefetch};

/// Prefetch distance in the values, in bytes.
const AHEAD_BYTES: usize = 4096;

impl<C: InLanes<S>, S: Store> RowProducts<C> for BsrRef<'_, S> {
    fn steps(&self) -> usize {
        self.block_rows()
    }

    fn entries_before(&self, step: usize) -> usize {
        self.row_ptr()[step]
    }

    fn rows_per_step(&self) -> usize {
        self.block_size()
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    #[inline(always)]
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]) {
        match self.block_size() {
            2 => unrolled::<I, C, S, 2>(self, steps, x, out),
            3 => unrolled::<I, C, S, 3>(self, steps, x, out),
            4 => unrolled::<I, C, S, 4>(self, steps, x, out),
            6 => unrolled::<I, C, S, 6>(self, steps, x, out),
            _ => of_any_size::<I, C, S>(self, steps, x, out),
        }
    }
}

/// Blocks of `N` by `N`.
#[inline(always)]
fn unrolled<I: Isa, C: InLanes<S>, S: Store, const N: usize>(
    a: BsrRef<'_, S>,
    steps: Range<usize>,
    x: &[C],
    out: &mut [C],
) {
    assert!(steps.end <= a.block_rows() && x.len() == a.cols() && a.block_size() == N);
    for (block_row, out) in steps.zip(out.chunks_exact_mut(N)) {
        // SAFETY: the requirements are asserted above.
        let sums = unsafe {
            if <C::In<I> as Lanes<C>>::PARTS {
                sums_in_lanes::<I, C, S, N>(a, block_row, x)
            } else {
                sums::<I, C, S, N>(a, block_row, x)
            }
        };
        for (out, sums) in out.iter_mut().zip(&sums) {
            *out = sums[1..].iter().fold(sums[0], |sum, &next| sum + next);
        }
    }
}

/// Σ b_ij x_j over the blocks of a block row, for each i and j.
///
/// # Safety
/// Blocks are `N` by `N`, and x has one element per column of the matrix.
#[inline(always)]
unsafe fn sums<I: Isa, C: InLanes<S>, S: Store, const N: usize>(
    a: BsrRef<'_, S>,
    block_row: usize,
    x: &[C],
) -> [[C; N]; N] {
    let mut sums = [[C::zero(); N]; N];
    for k in a.row_ptr()[block_row]..a.row_ptr()[block_row + 1] {
        // SAFETY: k lies between two row pointers, so it is a valid block index; the rest is
        // guaranteed by the caller.
        let (block, x) = unsafe { block_and_x(a, k, N, x) };
        for (i, sums) in sums.iter_mut().enumerate() {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += I::read::<C, S>(block[i * N + j]) * x[j];
            }
        }
    }
    sums
}

/// As [`sums`], with as many rows of a block at a time as fit into sixteen lanes.
///
/// # Safety
/// As for [`sums`].
#[inline(always)]
unsafe fn sums_in_lanes<I: Isa, C: InLanes<S>, S: Store, const N: usize>(
    a: BsrRef<'_, S>,
    block_row: usize,
    x: &[C],
) -> [[C; N]; N] {
    /// Vectors per block: 36 values in groups of 12 take three.
    const MOST: usize = 3;
    let rows = (LANES / N).min(N);
    let parts = N / rows;
    let mut stored = [C::zero(); MOST * LANES];
    // SAFETY: `I` is the instruction set that this is compiled for. Each block has N² values, split
    // into `parts` of rows · N, which is at most LANES; x has N elements from its column on;
    // `stored` has room for LANES elements after the start of the last part.
    unsafe {
        let mut sums = [C::In::<I>::zero(); MOST];
        for k in a.row_ptr()[block_row]..a.row_ptr()[block_row + 1] {
            let (block, x) = block_and_x(a, k, N, x);
            let x = C::In::<I>::cycled(x.as_ptr(), N);
            for (part, sum) in sums.iter_mut().enumerate().take(parts) {
                let values = C::In::<I>::widen_part(block.as_ptr().add(part * rows * N), rows * N);
                *sum = sum.add_product(values, x);
            }
        }
        for (part, sum) in sums.iter().enumerate().take(parts) {
            sum.store(stored.as_mut_ptr().add(part * LANES));
        }
    }
    let mut sums = [[C::zero(); N]; N];
    for (i, sums) in sums.iter_mut().enumerate() {
        sums.copy_from_slice(&stored[i / rows * LANES + i % rows * N..][..N]);
    }
    sums
}

/// The values of block `k`, and the part of x that it multiplies.
///
/// # Safety
/// `k` is a valid block index, `size` is the block size, and x has one element per column of the
/// matrix.
#[inline(always)]
unsafe fn block_and_x<'a, C, S: Store>(
    a: BsrRef<'a, S>,
    k: usize,
    size: usize,
    x: &'a [C],
) -> (&'a [S], &'a [C]) {
    let values = a.values();
    prefetch(values, k * size * size + AHEAD_BYTES / size_of::<S>());
    // SAFETY: each block has one column and size² values, and its column is below block_cols, so
    // its `size` elements lie within x. These are invariants of BsrRef; the rest is guaranteed by
    // the caller.
    unsafe {
        let column = *a.columns().get_unchecked(k) as usize;
        (
            values.get_unchecked(k * size * size..(k + 1) * size * size),
            x.get_unchecked(column * size..(column + 1) * size),
        )
    }
}

#[inline(always)]
fn of_any_size<I: Isa, C: InLanes<S>, S: Store>(
    a: BsrRef<'_, S>,
    steps: Range<usize>,
    x: &[C],
    out: &mut [C],
) {
    assert!(steps.end <= a.block_rows() && x.len() == a.cols());
    let size = a.block_size();
    for (block_row, out) in steps.zip(out.chunks_exact_mut(size)) {
        let mut sums = [C::zero(); MAX_BLOCK];
        for k in a.row_ptr()[block_row]..a.row_ptr()[block_row + 1] {
            // SAFETY: k lies between two row pointers, so it is a valid block index; the rest is
            // asserted above.
            let (block, x) = unsafe { block_and_x(a, k, size, x) };
            for (i, sum) in sums.iter_mut().enumerate().take(size) {
                for (j, &x) in x.iter().enumerate() {
                    *sum += I::read::<C, S>(block[i * size + j]) * x;
                }
            }
        }
        out.copy_from_slice(&sums[..size]);
    }
}
