//! The columns of each row of a sparse product C = A B, for rows of at most 1024 terms: collected
//! and sorted in shared memory.
//!
//! ```text
//! columns of row i = ∪_j columns of row j of B, over the columns j of row i of A
//! counted: the number of distinct columns;  filled: the columns in increasing order
//! ```
//!
//! A group of 4, 16 or 128 units shares a row ([`row_lists`](super::row_lists)) and 8 slots per
//! unit. It writes the columns of all terms into the slots, sorts them by a bitonic network, and
//! takes the first of equal ones, as in bhSPARSE (Liu and Vinter, IPDPS 2014). Without atomics,
//! nothing depends on the order of units; hash tables, as in AmgT, need atomics within loops, which
//! Mesa 22's software Vulkan does not execute correctly. Cost: n log² n / 2 comparisons for a row
//! with n slots, in each of the two passes. Rows of more terms have bitmaps
//! ([`product_marks`](super::product_marks)).

use cubecl::prelude::*;

use super::row_lists::SLOTS;
use super::row_products::UNITS;
use super::scan::cube_scan;

/// Larger than any column.
const EMPTY: u32 = 0xFFFF_FFFF;

/// Collects the columns of the terms of a row in the slots of its group, in increasing order. All
/// units of the cube must call this.
#[cube]
fn collect(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    b_row_ptr: &Array<u32>,
    b_columns: &Array<u32>,
    keys: &mut SharedMemory<u32>,
    row: u32,
    inside: bool,
    #[comptime] units: u32,
) {
    #[unroll]
    for k in 0..SLOTS {
        keys[(UNIT_POS + k * UNITS) as usize] = EMPTY;
    }
    sync_cube();
    let lane = UNIT_POS % units;
    let base = (UNIT_POS / units) * comptime!(SLOTS * units);
    if inside {
        let mut slot = base;
        for k in a_row_ptr[row as usize]..a_row_ptr[row as usize + 1] {
            let j = a_columns[k as usize] as usize;
            let begin = b_row_ptr[j];
            let entries = b_row_ptr[j + 1] - begin;
            let mut t = lane;
            while t < entries {
                keys[(slot + t) as usize] = b_columns[(begin + t) as usize];
                t += units;
            }
            slot += entries;
        }
    }
    sort_slots(keys, base, lane, units);
}

/// Sorts the slots of each group by a bitonic network (Batcher, 1968). All units of the cube must
/// call this.
#[cube]
fn sort_slots(keys: &mut SharedMemory<u32>, base: u32, lane: u32, #[comptime] units: u32) {
    let mut size = 2u32;
    while size <= comptime!(SLOTS * units) {
        let mut stride = size / 2;
        while stride > 0 {
            sync_cube();
            #[unroll]
            for k in 0..comptime!(SLOTS / 2) {
                let pair = lane + k * units;
                let low = 2 * pair - pair % stride;
                let at = (base + low) as usize;
                let lower = keys[at];
                let upper = keys[at + stride as usize];
                let smaller = select(lower < upper, lower, upper);
                let larger = select(lower < upper, upper, lower);
                let increasing = low & size == 0;
                keys[at] = select(increasing, smaller, larger);
                keys[at + stride as usize] = select(increasing, larger, smaller);
            }
            stride /= 2;
        }
        size *= 2;
    }
    sync_cube();
}

/// Whether a slot holds the first of equal columns: 1 or 0. `slot` counts from the first slot of
/// the group, `base`.
#[cube]
fn is_first(keys: &SharedMemory<u32>, base: u32, slot: u32) -> u32 {
    let key = keys[(base + slot) as usize];
    let mut first = select(key == EMPTY, 0u32, 1u32);
    if slot > 0 {
        first = select(keys[(base + slot - 1) as usize] == key, 0u32, first);
    }
    first
}

/// The number of distinct columns in the slots of the group before the slots of this unit, which
/// are consecutive, and in all slots of the group. All units of the cube must call this.
#[cube]
fn rank(keys: &SharedMemory<u32>, base: u32, lane: u32, #[comptime] units: u32) -> (u32, u32) {
    let mut distinct = 0u32;
    #[unroll]
    for k in 0..SLOTS {
        distinct += is_first(keys, base, lane * SLOTS + k);
    }
    let mut ends = SharedMemory::<u32>::new(comptime!(UNITS as usize));
    let (before, _) = cube_scan(distinct, UNITS);
    ends[UNIT_POS as usize] = before + distinct;
    sync_cube();
    let group = UNIT_POS - lane;
    let mut skipped = 0u32;
    if group > 0 {
        skipped = ends[(group - 1) as usize];
    }
    (before - skipped, ends[(group + (units - 1)) as usize] - skipped)
}

/// The row of this unit's group, from the list of `number` rows that begins at `first`; none if it
/// is beyond the end.
#[cube]
fn own_row(list: &Array<u32>, first: u32, number: u32, #[comptime] units: u32) -> (u32, bool) {
    let place = u32::cast_from(CUBE_POS) * comptime!(UNITS / units) + UNIT_POS / units;
    let mut row = 0u32;
    if place < number {
        row = list[(2 * (first + place)) as usize];
    }
    (row, place < number)
}

/// Counts the columns of the rows `first..first + number` of a list.
#[cube(launch_unchecked)]
pub(crate) fn count_columns(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    b_row_ptr: &Array<u32>,
    b_columns: &Array<u32>,
    list: &Array<u32>,
    counts: &mut Array<u32>,
    first: u32,
    number: u32,
    #[comptime] units: u32,
) {
    let mut keys = SharedMemory::<u32>::new(comptime!((SLOTS * UNITS) as usize));
    let (row, inside) = own_row(list, first, number, units);
    collect(a_row_ptr, a_columns, b_row_ptr, b_columns, &mut keys, row, inside, units);
    let lane = UNIT_POS % units;
    let base = (UNIT_POS / units) * comptime!(SLOTS * units);
    let (_, distinct) = rank(&keys, base, lane, units);
    if inside && lane == 0 {
        counts[row as usize] = distinct;
    }
}

/// Writes the columns of the rows `first..first + number` of a list, in increasing order.
#[cube(launch_unchecked)]
pub(crate) fn fill_columns(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    b_row_ptr: &Array<u32>,
    b_columns: &Array<u32>,
    list: &Array<u32>,
    row_ptr: &Array<u32>,
    columns: &mut Array<u32>,
    first: u32,
    number: u32,
    #[comptime] units: u32,
) {
    let mut keys = SharedMemory::<u32>::new(comptime!((SLOTS * UNITS) as usize));
    let (row, inside) = own_row(list, first, number, units);
    collect(a_row_ptr, a_columns, b_row_ptr, b_columns, &mut keys, row, inside, units);
    let lane = UNIT_POS % units;
    let base = (UNIT_POS / units) * comptime!(SLOTS * units);
    let (before, _) = rank(&keys, base, lane, units);
    if inside {
        let mut at = row_ptr[row as usize] + before;
        #[unroll]
        for k in 0..SLOTS {
            let slot = lane * SLOTS + k;
            if is_first(&keys, base, slot) != 0 {
                columns[at as usize] = keys[(base + slot) as usize];
                at += 1;
            }
        }
    }
}
