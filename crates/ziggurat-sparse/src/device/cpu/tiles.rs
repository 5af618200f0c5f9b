//! Row products of a matrix in 4 by 4 tiles: for each block row, y = Σ_k T_k x[block column k].
//!
//! A tile is sixteen numbers by columns, so one vector register in single precision and two in
//! double precision, multiplied by the four elements of x, each repeated four times. The sixteen
//! sums of a block row are added up by columns at its end. Bytes: per tile its 16 stored values
//! and 4 for its column; the bitmaps are not read, because a product with a zero costs less than a
//! branch.

#![allow(unsafe_code)]

use std::ops::Range;

use super::row_products::RowProducts;
use crate::matrix::Tiles;
use crate::matrix::tiles::{TILE, TILE_VALUES};
use crate::number::Store;
use crate::simd::lanes::{LANES, Lanes, Widened};
use crate::simd::{InLanes, Isa, prefetch};

/// Prefetch distance in the values, in bytes.
const AHEAD_BYTES: usize = 4096;

const _: () = assert!(LANES == TILE_VALUES);

impl<C: InLanes<S>, S: Store> RowProducts<C> for &Tiles<S> {
    fn steps(&self) -> usize {
        self.block_rows()
    }

    fn entries_before(&self, step: usize) -> usize {
        self.row_ptr()[step]
    }

    fn rows_per_step(&self) -> usize {
        TILE
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    #[inline(always)]
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]) {
        assert!(steps.end <= self.block_rows() && x.len() == self.cols());
        let (columns, values) = (self.columns(), self.values());
        // The elements of x that the last block column reads, which may extend beyond x.
        let full = x.len() / TILE;
        let mut border = [C::zero(); TILE];
        border[..x.len() % TILE].copy_from_slice(&x[full * TILE..]);
        for (block_row, out) in steps.zip(out.chunks_exact_mut(TILE)) {
            let mut sums = [C::zero(); LANES];
            // SAFETY: `I` is the instruction set that this is compiled for. Tile k has a column and
            // LANES values, because k lies between two row pointers; its column is at most `full`,
            // and below it there are TILE elements of x. These are invariants of Tiles.
            unsafe {
                let mut sum = C::In::<I>::zero();
                for k in self.row_ptr()[block_row]..self.row_ptr()[block_row + 1] {
                    let column = *columns.get_unchecked(k) as usize;
                    let x = if column < full { x.as_ptr().add(column * TILE) } else { border.as_ptr() };
                    prefetch(values, k * TILE_VALUES + AHEAD_BYTES / size_of::<S>());
                    let tile = C::In::<I>::widen(values.as_ptr().add(k * TILE_VALUES));
                    sum = sum.add_product(tile, C::In::<I>::spread4(x));
                }
                sum.store(sums.as_mut_ptr());
            }
            for (i, out) in out.iter_mut().enumerate() {
                *out = sums[i] + sums[TILE + i] + sums[2 * TILE + i] + sums[3 * TILE + i];
            }
        }
    }
}
