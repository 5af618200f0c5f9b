//! Stable radix sort of 32-bit keys, four bits at a time, and the transpose that it makes.
//!
//! ```text
//! digits     a cube per 1024 keys: how many have each of the 16 digits               → counts
//! places     the exclusive scan of the counts, digit by digit, block by block        (scan.rs)
//! scattered  each key to its place: the places of its block and digit, then in order
//! transpose  the entries of A, stably sorted by column, are the entries of Aᵀ row by row
//! ```
//!
//! Keys with the same digit keep their order, so the result is the same in every run and the rows
//! of a transpose are sorted. Every unit has the same work, whatever the lengths of rows (Satish,
//! Harris and Garland, IPDPS 2009). Cost: a pass per four bits of the largest key; a pass reads the
//! keys twice and the positions once, and writes both.

use cubecl::prelude::*;

use super::row_products::UNITS;
use super::scan::cube_scan;
use super::vector::VECTOR_UNITS;

/// Bits per digit.
pub(crate) const DIGIT_BITS: u32 = 4;

/// Number of digits.
pub(crate) const DIGITS: u32 = 1 << DIGIT_BITS;

/// Consecutive keys per unit.
const PER_UNIT: u32 = 8;

/// Keys per cube.
pub(crate) const SORT_BLOCK: u32 = PER_UNIT * UNITS;

/// Counts the digits of each block of keys: `counts[digit · blocks + block]`.
#[cube(launch_unchecked)]
pub(crate) fn count_digits(keys: &Array<u32>, counts: &mut Array<u32>, len: u32, blocks: u32, shift: u32) {
    let block = u32::cast_from(CUBE_POS);
    if block < blocks {
        let found = SharedMemory::<Atomic<u32>>::new(comptime!(DIGITS as usize));
        if UNIT_POS < DIGITS {
            found[UNIT_POS as usize].store(0u32);
        }
        sync_cube();
        #[unroll]
        for k in 0..PER_UNIT {
            let i = block * SORT_BLOCK + k * UNITS + UNIT_POS;
            if i < len {
                let digit = (keys[i as usize] >> shift) & comptime!(DIGITS - 1);
                found[digit as usize].fetch_add(1u32);
            }
        }
        sync_cube();
        if UNIT_POS < DIGITS {
            counts[(UNIT_POS * blocks + block) as usize] = found[UNIT_POS as usize].load();
        }
    }
}

/// Moves the keys and the positions that they had at first to their places. In the first pass the
/// position of a key is where it is, and `positions` is not read.
#[cube(launch_unchecked)]
pub(crate) fn scatter_keys(
    keys: &Array<u32>,
    positions: &Array<u32>,
    places: &Array<u32>,
    new_keys: &mut Array<u32>,
    new_positions: &mut Array<u32>,
    len: u32,
    blocks: u32,
    shift: u32,
    #[comptime] first_pass: bool,
) {
    let block = u32::cast_from(CUBE_POS);
    if block < blocks {
        // For each digit, how many keys of each unit have it; then, how many of the units before.
        let mut counts = SharedMemory::<u32>::new(comptime!((DIGITS * UNITS) as usize));
        let begin = block * SORT_BLOCK + UNIT_POS * PER_UNIT;
        #[unroll]
        for digit in 0..DIGITS {
            counts[(digit * UNITS + UNIT_POS) as usize] = 0u32;
        }
        #[unroll]
        for k in 0..PER_UNIT {
            if begin + k < len {
                let digit = (keys[(begin + k) as usize] >> shift) & comptime!(DIGITS - 1);
                counts[(digit * UNITS + UNIT_POS) as usize] += 1u32;
            }
        }
        sync_cube();
        // A unit scans as many consecutive counts as there are digits.
        let own = (UNIT_POS * DIGITS) as usize;
        let mut sum = 0u32;
        #[unroll]
        for k in 0..comptime!(DIGITS as usize) {
            sum += counts[own + k];
        }
        let (before, _) = cube_scan(sum, UNITS);
        let mut running = before;
        #[unroll]
        for k in 0..comptime!(DIGITS as usize) {
            let count = counts[own + k];
            counts[own + k] = running;
            running += count;
        }
        sync_cube();
        // From here on, counts of digits are relative to the first key with that digit.
        let mut starts = SharedMemory::<u32>::new(comptime!(DIGITS as usize));
        if UNIT_POS < DIGITS {
            starts[UNIT_POS as usize] = counts[(UNIT_POS * UNITS) as usize];
        }
        sync_cube();
        #[unroll]
        for k in 0..PER_UNIT {
            let i = begin + k;
            if i < len {
                let key = keys[i as usize];
                let digit = (key >> shift) & comptime!(DIGITS - 1);
                let at = (digit * UNITS + UNIT_POS) as usize;
                let rank = counts[at];
                counts[at] = rank + 1;
                let place =
                    (places[(digit * blocks + block) as usize] + rank - starts[digit as usize]) as usize;
                new_keys[place] = key;
                if comptime!(first_pass) {
                    new_positions[place] = i;
                } else {
                    new_positions[place] = positions[i as usize];
                }
            }
        }
    }
}

/// row_ptr_j ← the number of increasing keys below j, for j from 0 to `rows`
#[cube(launch_unchecked)]
pub(crate) fn rows_of_keys(keys: &Array<u32>, row_ptr: &mut Array<u32>, len: u32, rows: u32) {
    let row = u32::cast_from(CUBE_POS) * VECTOR_UNITS + UNIT_POS;
    if row <= rows {
        let mut low = 0u32;
        let mut high = len;
        while low < high {
            let middle = low + (high - low) / 2;
            let below = keys[middle as usize] < row;
            low = select(below, middle + 1, low);
            high = select(below, high, middle);
        }
        row_ptr[row as usize] = low;
    }
}

/// The columns and values of the transpose: the rows of A that the entries at `positions` are in,
/// and their values.
#[cube(launch_unchecked)]
pub(crate) fn transposed_entries<C: Float>(
    a_row_ptr: &Array<u32>,
    a_values: &Array<C>,
    positions: &Array<u32>,
    columns: &mut Array<u32>,
    values: &mut Array<C>,
    len: u32,
    rows: u32,
) {
    let i = CUBE_POS * comptime!(VECTOR_UNITS as usize) + UNIT_POS as usize;
    if i < len as usize {
        let position = positions[i];
        // The last row that begins at or before the entry: it is not empty.
        let mut low = 0u32;
        let mut high = rows;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let begins = a_row_ptr[middle as usize] <= position;
            low = select(begins, middle, low);
            high = select(begins, high, middle);
        }
        columns[i] = low;
        values[i] = a_values[position as usize];
    }
}
