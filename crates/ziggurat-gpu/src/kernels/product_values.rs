//! The values of a sparse product C = A B whose pattern is known.
//!
//! ```text
//! c_ik = Σ_j a_ij b_jk, over the entries j of row i of A in increasing order
//! ```
//!
//! A group of 4, 16 or 128 units shares a row of at most 6 entries per unit, and holds its columns
//! and sums in shared memory. The group processes one entry of A after the other: the units take
//! the entries of row j of B, whose columns differ, and add to the sums, which a binary search
//! finds. So there are no float atomics, and the order of additions is the same as on the CPU
//! (Gustavson, 1978). A row of more than 768 entries is cut into pieces, each with a group of its
//! own, which skips the columns outside its piece by a binary search in row j of B. Cost: one
//! search of 5 to 10 steps in shared memory and one addition per term; a barrier per entry of A.

use cubecl::prelude::*;

use super::row_lists::FILLED;
use super::row_products::UNITS;

/// Compile-time arguments of [`product_values`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValuesShape {
    /// Units per row.
    pub(crate) units: u32,
    /// Whether rows are cut into pieces.
    pub(crate) pieces: bool,
    /// Whether sums are continued that another launch began.
    pub(crate) continued: bool,
}

/// The last of the increasing `keys` that does not exceed `column`, counted from `base`.
#[cube]
fn place_of(keys: &SharedMemory<u32>, base: u32, column: u32, #[comptime] slots: u32) -> u32 {
    let steps = comptime!(slots.next_power_of_two().ilog2());
    let mut place = 0u32;
    #[unroll]
    for step in 0..steps {
        let next = place + comptime!(1u32 << (steps - 1 - step));
        if next < slots {
            place = select(keys[(base + next) as usize] <= column, next, place);
        }
    }
    place
}

/// The first entry of `columns[begin..end]` that is not below `column`.
#[cube]
pub(crate) fn first_from(columns: &Array<u32>, begin: u32, end: u32, column: u32) -> u32 {
    let mut low = begin;
    let mut high = end;
    while low < high {
        let middle = low + (high - low) / 2;
        let below = columns[middle as usize] < column;
        low = select(below, middle + 1, low);
        high = select(below, high, middle);
    }
    low
}

/// Computes the values of the pieces `first..first + number` of a list from the entries `from..to`
/// of the rows of A.
#[cube(launch_unchecked)]
pub(crate) fn product_values<C: Float + CubeElement>(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    a_values: &Array<C>,
    b_row_ptr: &Array<u32>,
    b_columns: &Array<u32>,
    b_values: &Array<C>,
    list: &Array<u32>,
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &mut Array<C>,
    first: u32,
    number: u32,
    from: u32,
    to: u32,
    #[comptime] shape: ValuesShape,
) {
    let units = comptime!(shape.units);
    let slots = comptime!(FILLED * shape.units);
    let mut keys = SharedMemory::<u32>::new(comptime!((FILLED * UNITS) as usize));
    let mut sums = SharedMemory::<C>::new(comptime!((FILLED * UNITS) as usize));
    let longest = SharedMemory::<Atomic<u32>>::new(1usize);
    let lane = UNIT_POS % units;
    let base = (UNIT_POS / units) * slots;
    let place = u32::cast_from(CUBE_POS) * comptime!(UNITS / units) + UNIT_POS / units;
    // The range of A's entries, and the piece of C.
    let mut begin = 0u32;
    let mut entries = 0u32;
    let mut target = 0u32;
    let mut count = 0u32;
    if place < number {
        let row = list[(2 * (first + place)) as usize] as usize;
        let all = a_row_ptr[row + 1] - a_row_ptr[row];
        let end = select(all < to, all, to);
        begin = a_row_ptr[row] + from;
        entries = select(end > from, end - from, 0u32);
        target = row_ptr[row] + list[(2 * (first + place) + 1) as usize] * slots;
        let left = row_ptr[row + 1] - target;
        count = select(left < slots, left, slots);
    }
    if UNIT_POS == 0 {
        longest[0].store(0u32);
    }
    #[unroll]
    for k in 0..FILLED {
        let slot = lane + k * units;
        let mut key = 0xFFFF_FFFFu32;
        let mut sum = C::new(0.0);
        if slot < count {
            key = columns[(target + slot) as usize];
            if comptime!(shape.continued) {
                sum = values[(target + slot) as usize];
            }
        }
        keys[(base + slot) as usize] = key;
        sums[(base + slot) as usize] = sum;
    }
    sync_cube();
    if lane == 0 {
        longest[0].fetch_max(entries);
    }
    sync_cube();
    let turns = longest[0].load();
    let mut turn = 0u32;
    while turn < turns {
        if turn < entries {
            let j = a_columns[(begin + turn) as usize] as usize;
            let factor = a_values[(begin + turn) as usize];
            let mut t = b_row_ptr[j];
            let mut last = b_row_ptr[j + 1];
            if comptime!(shape.pieces) {
                t = first_from(b_columns, t, last, keys[base as usize]);
                last = first_from(b_columns, t, last, keys[(base + count - 1) as usize] + 1);
            }
            t += lane;
            while t < last {
                let column = b_columns[t as usize];
                let slot = (base + place_of(&keys, base, column, slots)) as usize;
                sums[slot] += factor * b_values[t as usize];
                t += units;
            }
        }
        sync_cube();
        turn += 1;
    }
    #[unroll]
    for k in 0..FILLED {
        let slot = lane + k * units;
        if slot < count {
            values[(target + slot) as usize] = sums[(base + slot) as usize];
        }
    }
}
