//! Gauss–Seidel within blocks of rows and Jacobi between them, with one unit per block.
//!
//! ```text
//! y_i ← x_i + d_i (b_i − Σ_{j visited before i in its block} a_ij y_j − Σ_{other j} a_ij x_j)
//! ```
//!
//! The sweep equals the sweep on the CPU up to fused multiply-adds, so that both devices need the
//! same number of iterations. A unit processes the rows of its block sequentially, which is slow if
//! there are fewer blocks than the GPU has units. Chebyshev and Jacobi are better suited to GPUs;
//! Gauss–Seidel is the default only for nonsymmetric matrices, as on the CPU. Long blocks are split
//! into several launches, because drivers terminate long-running kernels. Memory traffic: as a
//! product, with d, b and x read and y written.

use cubecl::prelude::*;

use super::row_products::UNITS;
use super::widen::{Packing, value};

/// Compile-time arguments of a sweep.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GaussSeidelShape {
    pub(crate) packing: Packing,
    /// Whether rows are visited in reverse order.
    pub(crate) backward: bool,
    /// Whether an initial guess is given; otherwise it is zero, and x is not read.
    pub(crate) guess: bool,
    /// Block size of the matrix format: 1 for CSR.
    pub(crate) block: u32,
}

/// The current value of an unknown, for a row in the block of rows `first..last`.
#[cube]
fn newest<C: Float>(
    x: &Array<C>,
    y: &Array<C>,
    column: u32,
    row: u32,
    first: u32,
    last: u32,
    #[comptime] shape: GaussSeidelShape,
) -> C {
    let mut begin = first;
    let mut end = row;
    if comptime!(shape.backward) {
        begin = row + 1;
        end = last;
    }
    let mut found = C::new(0.0);
    if column >= begin && column < end {
        found = y[column as usize];
    } else if comptime!(shape.guess) {
        found = x[column as usize];
    }
    found
}

/// Writes the new value of a row from its product with the current values.
#[cube]
fn relax_row<C: Float>(
    row: usize,
    product: C,
    d: &Array<C>,
    b: &Array<C>,
    x: &Array<C>,
    y: &mut Array<C>,
    #[comptime] shape: GaussSeidelShape,
) {
    let mut updated = d[row] * (b[row] - product);
    if comptime!(shape.guess) {
        updated += x[row];
    }
    y[row] = updated;
}

/// Approximate number of loop iterations of a unit in one launch. Desktop drivers terminate kernels
/// that take seconds, and Mesa's software Vulkan terminates loops after 65,535 iterations.
pub(crate) const TURNS: usize = 16_384;

/// Updates the rows `from..to` of every block in the order of the sweep. `rows_per_unit` is a
/// multiple of the block size of the matrix format.
#[cube(launch_unchecked)]
pub(crate) fn gauss_seidel_rows<V: Numeric, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<V>,
    d: &Array<C>,
    b: &Array<C>,
    x: &Array<C>,
    y: &mut Array<C>,
    rows: u32,
    rows_per_unit: u32,
    blocks: u32,
    from: u32,
    to: u32,
    #[comptime] shape: GaussSeidelShape,
) {
    let unit = CUBE_POS * comptime!(UNITS as usize) + UNIT_POS as usize;
    let block = comptime!(shape.block);
    if unit < blocks as usize {
        let first = u32::cast_from(unit) * rows_per_unit;
        let last = select(rows - first < rows_per_unit, rows, first + rows_per_unit);
        let end = select(last - first < to, last - first, to);
        for step in from..end {
            let mut row = first + step;
            if comptime!(shape.backward) {
                row = last - 1 - step;
            }
            let inner = row % block;
            let mut sum = C::new(0.0);
            for k in row_ptr[(row / block) as usize]..row_ptr[(row / block + 1) as usize] {
                let place = (k * block + inner) * block;
                for j in 0..block {
                    let column = columns[k as usize] * block + j;
                    let stored = value::<V, C>(values, (place + j) as usize, comptime!(shape.packing));
                    sum += stored * newest::<C>(x, y, column, row, first, last, shape);
                }
            }
            relax_row::<C>(row as usize, sum, d, b, x, y, shape);
        }
    }
}
