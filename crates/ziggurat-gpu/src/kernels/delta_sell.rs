//! Row products of a delta-SELL matrix, with one unit per row, or per two rows of 16-bit values.
//!
//! ```text
//! (A x)_i = Σ_slots a x[base + difference]
//! the units of a chunk read adjacent values of the same slot
//! ```
//!
//! Sixteen rows share a slot, and their values are contiguous, so loads are coalesced without any
//! exchange between units. Loads of x are coalesced too where columns are consecutive. Differences
//! of 8 and 16 bits are packed into 32-bit words. A word of two 16-bit values is read once, by the
//! unit that computes both rows (the packed loads of Tsai's thesis, section 4.3.2). Memory traffic
//! in bytes: per stored value its size, ¼ for its base and 0, 1, 2 or 4 for its difference; per row
//! 1½, and 1 more if rows are sorted; and the vectors.

use cubecl::prelude::*;

use super::row_products::{Operation, UNITS, finish_row};
use super::widen::{Packing, half_of};

/// Number of rows per chunk.
pub(crate) const LANES: u32 = 16;

/// Number of words in a chunk descriptor: its first slot, the offset of its differences (in words),
/// and the number of slots with consecutive columns and with differences of 8, 16 and 32 bits.
pub(crate) const CHUNK_WORDS: u32 = 6;

/// Compile-time arguments of [`delta_sell_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeltaSellShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    /// Whether rows are sorted, so that `order` maps lanes to the rows of their window.
    pub(crate) sorted: bool,
}

impl DeltaSellShape {
    /// Number of rows per unit.
    pub(crate) fn rows(self) -> u32 {
        if self.packing.is_paired() { 2 } else { 1 }
    }
}

/// The difference of a lane in a slot whose differences start at `word`. `bits` is 8, 16 or 32, or
/// 0 for consecutive columns.
#[cube]
pub(crate) fn difference(deltas: &Array<u32>, word: u32, lane: u32, #[comptime] bits: u32) -> u32 {
    if comptime!(bits == 0) {
        lane
    } else if comptime!(bits == 32) {
        deltas[(word + lane) as usize]
    } else {
        let per_word = comptime!(32 / bits.max(1));
        let both = deltas[(word + lane / per_word) as usize];
        (both >> (bits * (lane % per_word))) & comptime!((1u32 << (bits % 32)) - 1)
    }
}

/// Adds `count` slots of one index width to the sums of a unit's rows.
#[cube]
fn add_slots<V: Numeric, C: Float>(
    values: &Array<V>,
    bases: &Array<u32>,
    deltas: &Array<u32>,
    x: &Array<C>,
    slot: u32,
    word: u32,
    count: u32,
    lane: u32,
    sums: &mut Array<C>,
    #[comptime] bits: u32,
    #[comptime] packing: Packing,
) {
    for k in 0..count {
        let base = bases[(slot + k) as usize];
        let here = word + k * comptime!(LANES * bits / 32);
        let column = base + difference(deltas, here, lane, bits);
        if comptime!(packing == Packing::Plain) {
            let stored = C::cast_from(values[((slot + k) * LANES + lane) as usize]);
            sums[0] += stored * x[column as usize];
        } else {
            let both = u32::cast_from(values[((slot + k) * comptime!(LANES / 2) + lane / 2) as usize]);
            let next = base + difference(deltas, here, lane + 1, bits);
            sums[0] += half_of::<C>(both, 0u32, packing) * x[column as usize];
            sums[1] += half_of::<C>(both, 1u32, packing) * x[next as usize];
        }
    }
}

/// The row that a lane computes.
#[cube]
pub(crate) fn row_of(order: &Array<u32>, place: u32, #[comptime] sorted: bool) -> u32 {
    if comptime!(sorted) {
        let byte = (order[(place / 4) as usize] >> (8 * (place % 4))) & 0xFFu32;
        place / 256 * 256 + byte
    } else {
        place
    }
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn delta_sell_rows<V: Numeric, C: Float + CubeElement>(
    chunks: &Array<u32>,
    bases: &Array<u32>,
    deltas: &Array<u32>,
    values: &Array<V>,
    order: &Array<u32>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    places: u32,
    #[comptime] shape: DeltaSellShape,
) {
    let per_unit = comptime!(shape.rows());
    let packing = comptime!(shape.packing);
    let index = CUBE_POS * comptime!(UNITS as usize) + UNIT_POS as usize;
    let place = u32::cast_from(index) * per_unit;
    if place < places {
        let chunk = (place / LANES * CHUNK_WORDS) as usize;
        let lane = place % LANES;
        let mut slot = chunks[chunk];
        let mut word = chunks[chunk + 1];
        let mut sums = Array::<C>::new(comptime!(per_unit as usize));
        #[unroll]
        for k in 0..comptime!(per_unit as usize) {
            sums[k] = C::new(0.0);
        }
        let count = chunks[chunk + 2];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 0u32, packing);
        slot += count;
        let count = chunks[chunk + 3];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 8u32, packing);
        slot += count;
        word += count * comptime!(LANES / 4);
        let count = chunks[chunk + 4];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 16u32, packing);
        slot += count;
        word += count * comptime!(LANES / 2);
        let count = chunks[chunk + 5];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 32u32, packing);
        #[unroll]
        for k in 0..comptime!(per_unit as usize) {
            let row = row_of(order, place + u32::cast_from(k), comptime!(shape.sorted));
            if row < rows {
                let operation = comptime!(shape.operation);
                finish_row::<C>(row as usize, sums[k], x, b, d, y, alpha, beta, operation);
            }
        }
    }
}
