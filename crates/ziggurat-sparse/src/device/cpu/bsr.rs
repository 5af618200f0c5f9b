//! Row products of a BSR matrix: for each block row, y = Σ_k B_k x[block column k].
//!
//! Bytes: per block its b² stored values and 4 for its column, so 4/b² per value instead of CSR's 4. The sizes 2, 3, 4
//! and 6 are compiled with the block unrolled; any other size runs the same loop with its size at run time.

#![allow(unsafe_code)]

use std::ops::Range;

use super::row_products::RowProducts;
use super::simd::{Isa, prefetch};
use crate::matrix::{BsrRef, MAX_BLOCK};
use crate::number::{Reads, Store};

/// Bytes ahead to prefetch among the values, as for CSR.
const AHEAD_BYTES: usize = 4096;

impl<C: Reads<S>, S: Store> RowProducts<C> for BsrRef<'_, S> {
    fn step_ptr(&self) -> &[usize] {
        self.row_ptr()
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
            2 => block_rows::<I, C, S, 2>(self, 2, steps, x, out),
            3 => block_rows::<I, C, S, 3>(self, 3, steps, x, out),
            4 => block_rows::<I, C, S, 4>(self, 4, steps, x, out),
            6 => block_rows::<I, C, S, 6>(self, 6, steps, x, out),
            size => block_rows::<I, C, S, MAX_BLOCK>(self, size, steps, x, out),
        }
    }
}

/// `size` is the block size; `N` is the room for a block row's sums. Where the two agree the compiler unrolls.
#[inline(always)]
fn block_rows<I: Isa, C: Reads<S>, S: Store, const N: usize>(
    a: BsrRef<'_, S>,
    size: usize,
    steps: Range<usize>,
    x: &[C],
    out: &mut [C],
) {
    let size = if N == MAX_BLOCK { size } else { N };
    assert!(steps.end <= a.block_rows() && x.len() == a.cols());
    let (row_ptr, columns, values) = (a.row_ptr(), a.columns(), a.values());
    let ahead = AHEAD_BYTES / size_of::<S>();
    for (block_row, out) in steps.zip(out.chunks_exact_mut(size)) {
        let mut sums = [C::zero(); N];
        for k in row_ptr[block_row]..row_ptr[block_row + 1] {
            // SAFETY: k lies between two row pointers, so it is below the number of blocks, of which each has one
            // column and size² values; the block column is below block_cols, so its `size` elements lie within x.
            // These are invariants of BsrRef.
            let (block, x) = unsafe {
                let column = *columns.get_unchecked(k) as usize;
                (
                    values.get_unchecked(k * size * size..(k + 1) * size * size),
                    x.get_unchecked(column * size..(column + 1) * size),
                )
            };
            prefetch(values, k * size * size + ahead);
            for (i, sum) in sums.iter_mut().enumerate().take(size) {
                for (j, &x) in x.iter().enumerate() {
                    *sum += I::read::<C, S>(block[i * size + j]) * x;
                }
            }
        }
        out.copy_from_slice(&sums[..size]);
    }
}
