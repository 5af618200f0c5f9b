//! Row products of a BSR matrix, with one subgroup per block row.
//!
//! ```text
//! (A x)_{b I + i} = Σ_K Σ_j a_K[i, j] x[b column_K + j]
//! unit l processes the blocks K = l, l + s, l + 2s, …
//! ```
//!
//! A unit multiplies whole blocks and keeps b sums, so neighbouring units read neighbouring blocks,
//! and an element of x is read once per block. The block size is a compile-time argument, so the
//! sums stay in registers. Memory traffic: the values, 4 bytes per block for its column, 4 bytes
//! per block row, and the vectors.

use cubecl::prelude::*;

use super::row_products::{Operation, Subgroup, UNITS, finish_row, subgroup_sum};
use super::widen::{Packing, value};

/// The largest supported block size; matrices with larger blocks are converted to CSR.
pub(crate) const LARGEST_BLOCK: usize = 9;

/// Compile-time arguments of [`bsr_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BsrShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    pub(crate) subgroup: Subgroup,
    pub(crate) block: u32,
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn bsr_rows<V: Numeric, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    block_rows: u32,
    #[comptime] shape: BsrShape,
) {
    let size = comptime!(shape.subgroup.size);
    let block = comptime!(shape.block as usize);
    let lane = UNIT_POS % size;
    let block_row = CUBE_POS * comptime!((UNITS / size) as usize) + (UNIT_POS / size) as usize;
    let inside = block_row < block_rows as usize;
    let mut sums = Array::<C>::new(block);
    #[unroll]
    for i in 0..block {
        sums[i] = C::new(0.0);
    }
    if inside {
        let end = row_ptr[block_row + 1];
        let mut k = row_ptr[block_row] + lane;
        while k < end {
            let first = k as usize * comptime!(block * block);
            let column = columns[k as usize] as usize * block;
            #[unroll]
            for j in 0..block {
                let x_j = x[column + j];
                #[unroll]
                for i in 0..block {
                    sums[i] += value::<V, C>(values, first + i * block + j, comptime!(shape.packing)) * x_j;
                }
            }
            k += size;
        }
    }
    #[unroll]
    for i in 0..block {
        let sum = subgroup_sum::<C>(sums[i], comptime!(shape.subgroup));
        if lane == 0 && inside {
            let row = block_row * block + i;
            finish_row::<C>(row, sum, x, b, d, y, alpha, beta, comptime!(shape.operation));
        }
    }
}
