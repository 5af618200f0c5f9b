//! Exclusive scan of counts, in two stages and a fixed order.
//!
//! ```text
//! y_i ← Σ_{j<i} x_j, at most u32::MAX
//! stage 1   a cube per 2048 elements: its own scan                              → y, block totals
//! stage 2   the scan of the block totals, by the same kernels, added to y
//! ```
//!
//! Sums that do not fit in 32 bits become the largest number, so that they can be detected.
//! Saturating sums are associative, so the result is the same in any order (Blelloch, *Prefix sums
//! and their applications*, 1990). Memory traffic: x twice, y three times, and 8 bytes per block.

use cubecl::prelude::*;

use super::vector::VECTOR_UNITS;

/// Elements per unit in the first stage.
const PER_UNIT: u32 = 8;

/// Elements per cube in the first stage.
pub(crate) const SCAN_BLOCK: u32 = PER_UNIT * VECTOR_UNITS;

/// a + b, at most `u32::MAX`
#[cube]
pub(crate) fn saturating_sum(a: u32, b: u32) -> u32 {
    let sum = a + b;
    select(sum < a, 0xFFFF_FFFFu32, sum)
}

/// The sum over the preceding units of a cube of `units` units, and the sum over all of them. Every
/// unit of the cube must call this.
#[cube]
pub(crate) fn cube_scan(part: u32, #[comptime] units: u32) -> (u32, u32) {
    let mut shared = SharedMemory::<u32>::new(comptime!(units as usize));
    let unit = UNIT_POS as usize;
    shared[unit] = part;
    sync_cube();
    #[unroll]
    for step in 0..comptime!(units.ilog2()) {
        let distance = comptime!(1u32 << step);
        let mut sum = shared[unit];
        if UNIT_POS >= distance {
            sum = saturating_sum(sum, shared[unit - distance as usize]);
        }
        sync_cube();
        shared[unit] = sum;
        sync_cube();
    }
    let mut before = 0u32;
    if UNIT_POS > 0 {
        before = shared[unit - 1];
    }
    (before, shared[comptime!(units as usize - 1)])
}

/// Stage 1: the scan within each block, and the total of each block.
#[cube(launch_unchecked)]
pub(crate) fn scan_blocks(
    x: &Array<u32>,
    y: &mut Array<u32>,
    totals: &mut Array<u32>,
    len: u32,
    blocks: u32,
) {
    if CUBE_POS < blocks as usize {
        let begin = u32::cast_from(CUBE_POS) * SCAN_BLOCK + UNIT_POS * PER_UNIT;
        let mut sum = 0u32;
        #[unroll]
        for k in 0..PER_UNIT {
            if begin + k < len {
                sum = saturating_sum(sum, x[(begin + k) as usize]);
            }
        }
        let (before, total) = cube_scan(sum, VECTOR_UNITS);
        let mut running = before;
        #[unroll]
        for k in 0..PER_UNIT {
            if begin + k < len {
                y[(begin + k) as usize] = running;
                running = saturating_sum(running, x[(begin + k) as usize]);
            }
        }
        if UNIT_POS == 0 {
            totals[CUBE_POS] = total;
        }
    }
}

/// Stage 2: adds what precedes each block.
#[cube(launch_unchecked)]
pub(crate) fn add_before(before: &Array<u32>, y: &mut Array<u32>, len: u32) {
    let i = CUBE_POS * comptime!(VECTOR_UNITS as usize) + UNIT_POS as usize;
    if i < len as usize {
        y[i] = saturating_sum(y[i], before[i / comptime!(SCAN_BLOCK as usize)]);
    }
}

/// out_k ← x[k · stride] for k below `count`: a few numbers, to be copied to the host.
#[cube(launch_unchecked)]
pub(crate) fn pick(x: &Array<u32>, out: &mut Array<u32>, stride: u32, count: u32) {
    let k = CUBE_POS * comptime!(VECTOR_UNITS as usize) + UNIT_POS as usize;
    if k < count as usize {
        out[k] = x[k * stride as usize];
    }
}

/// Rows per unit of [`longest_row`].
pub(crate) const ROWS_PER_UNIT: u32 = 16;

/// out_0 ← the number of entries in the longest row, if it is larger.
#[cube(launch_unchecked)]
pub(crate) fn longest_row(row_ptr: &Array<u32>, out: &Array<Atomic<u32>>, rows: u32) {
    let begin = (u32::cast_from(CUBE_POS) * VECTOR_UNITS + UNIT_POS) * ROWS_PER_UNIT;
    let mut longest = 0u32;
    #[unroll]
    for k in 0..ROWS_PER_UNIT {
        let row = (begin + k) as usize;
        if row < rows as usize {
            let entries = row_ptr[row + 1] - row_ptr[row];
            longest = select(entries > longest, entries, longest);
        }
    }
    if longest > 0 {
        out[0].fetch_max(longest);
    }
}
