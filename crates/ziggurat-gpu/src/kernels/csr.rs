//! Row products of a CSR matrix, with one subgroup per row.
//!
//! ```text
//! (A x)_i = Σ_k a_k x[column_k],   k from row_ptr[i] to row_ptr[i+1]
//! unit l processes k = l, l + s, l + 2s, …
//! ```
//!
//! This is the classical kernel of Tsai's thesis (algorithm 11). The subgroup size is a power of
//! two chosen for the mean row length. 16-bit values are read in pairs (algorithm 16): unit l
//! processes the words l, l + s, …, and a word shared by two rows is read for both. Memory traffic:
//! the value and 4 bytes for the column of each entry, 4 bytes per row, and the vectors.

use cubecl::prelude::*;

use super::row_products::{Operation, Subgroup, UNITS, finish_row, subgroup_sum};
use super::widen::{Packing, half_of};

/// Compile-time arguments of [`csr_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CsrShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    pub(crate) subgroup: Subgroup,
}

/// One unit's part of a row product: every `stride`-th entry (or word of two), starting at `lane`.
#[cube]
pub(crate) fn csr_part<V: Numeric, C: Float>(
    columns: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    begin: u32,
    end: u32,
    lane: u32,
    #[comptime] stride: u32,
    #[comptime] packing: Packing,
) -> C {
    let mut sum = C::new(0.0);
    if comptime!(packing == Packing::Plain) {
        let mut k = begin + lane;
        while k < end {
            sum += C::cast_from(values[k as usize]) * x[columns[k as usize] as usize];
            k += stride;
        }
    } else {
        let mut word = begin / 2 + lane;
        while 2 * word < end {
            let both = u32::cast_from(values[word as usize]);
            let k = 2 * word;
            if k >= begin {
                sum += half_of::<C>(both, 0u32, packing) * x[columns[k as usize] as usize];
            }
            if k + 1 < end {
                sum += half_of::<C>(both, 1u32, packing) * x[columns[(k + 1) as usize] as usize];
            }
            word += stride;
        }
    }
    sum
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn csr_rows<V: Numeric, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    #[comptime] shape: CsrShape,
) {
    let size = comptime!(shape.subgroup.size);
    let lane = UNIT_POS % size;
    let row = CUBE_POS * comptime!((UNITS / size) as usize) + (UNIT_POS / size) as usize;
    let mut part = C::new(0.0);
    if row < rows as usize {
        part = csr_part::<V, C>(
            columns,
            values,
            x,
            row_ptr[row],
            row_ptr[row + 1],
            lane,
            size,
            comptime!(shape.packing),
        );
    }
    let sum = subgroup_sum::<C>(part, comptime!(shape.subgroup));
    if lane == 0 && row < rows as usize {
        finish_row::<C>(row, sum, x, b, d, y, alpha, beta, comptime!(shape.operation));
    }
}
