//! Coarse rows by PMIS (De Sterck, Yang & Heys, 2006), in rounds.
//!
//! ```text
//! row i is fine  ⇔  it depends on a coarse row of greater measure
//! ```
//!
//! A row is decided as soon as all rows of greater measure that it depends on are; so the result is
//! the same as on the CPU, in whatever order rows are decided. The measure of a row, 64 bits, is
//! the number of rows that depend on it and the hash of its number (SplitMix64), in two words,
//! because not every GPU has numbers of 64 bits. A round reads the graph once. Rounds: the longest
//! chain of rows that wait for each other, about log n, because the hashes are random.

use cubecl::prelude::*;

use super::product_values::first_from;
use super::scan::cube_scan;
use super::vector::{VECTOR_UNITS, position};

/// The states of a row.
const OPEN: u32 = 0;
const COARSE: u32 = 1;
const FINE: u32 = 2;

/// The largest number of dependent rows that a measure holds.
const MOST_DEPENDENTS: u32 = (1 << 24) - 1;

/// x · (high 2³² + low), of which x has two words, modulo 2⁶⁴.
#[cube]
fn times(x: (u32, u32), #[comptime] low: u32, #[comptime] high: u32) -> (u32, u32) {
    let (x_low, x_high) = x;
    let carried = x_low.mul_hi(low.runtime());
    (x_low * low, carried + x_low * high + x_high * low)
}

/// x xor (x >> shift), of two words.
#[cube]
fn folded(x: (u32, u32), #[comptime] shift: u32) -> (u32, u32) {
    let (low, high) = x;
    (low ^ (low >> shift | high << comptime!(32 - shift)), high ^ (high >> shift))
}

/// The hash of a row (`ziggurat_sparse::hash`).
#[cube]
fn hash_of(row: u32) -> (u32, u32) {
    let low = row + 0x7F4A_7C15u32;
    let z = (low, 0x9E37_79B9u32 + select(low < row, 1u32, 0u32));
    let z = times(folded(z, 30u32), 0x1CE4_E5B9u32, 0xBF58_476Du32);
    let z = times(folded(z, 27u32), 0x1331_11EBu32, 0x94D0_49BBu32);
    folded(z, 31u32)
}

/// The entries of a row other than that on the diagonal.
#[cube]
fn connections_of(row_ptr: &Array<u32>, columns: &Array<u32>, row: usize) -> u32 {
    let begin = row_ptr[row];
    let end = row_ptr[row + 1];
    let place = first_from(columns, begin, end, u32::cast_from(row));
    let mut count = end - begin;
    if place < end {
        count -= select(columns[place as usize] as usize == row, 1u32, 0u32);
    }
    count
}

/// The measures of all rows, lower words first, and their states: rows that no row depends on are
/// decided. `dependents` is the transposed graph. In a second pass (`again`), `numbers` are the
/// numbers of the rows in the first, and rows without any connection are coarse.
#[cube(launch_unchecked)]
pub(crate) fn first_measures(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    dependents_row_ptr: &Array<u32>,
    dependents: &Array<u32>,
    measures: &mut Array<u32>,
    states: &mut Array<u32>,
    numbers: &Array<u32>,
    rows: u32,
    #[comptime] again: bool,
) {
    let row = position();
    if row < rows as usize {
        let count = connections_of(dependents_row_ptr, dependents, row);
        let mut number = u32::cast_from(row);
        let mut decided = FINE.runtime();
        if comptime!(again) {
            number = numbers[row];
            let alone = connections_of(row_ptr, columns, row) == 0;
            decided = select(alone, COARSE.runtime(), FINE.runtime());
        }
        let (low, high) = hash_of(number);
        // 39 bits of the hash and a zero.
        let lower = high << 7u32 | low >> 25u32;
        measures[2 * row] = lower << 1u32;
        let counted = select(count > MOST_DEPENDENTS, MOST_DEPENDENTS.runtime(), count);
        measures[2 * row + 1] = counted << 8u32 | (high >> 25u32) << 1u32 | lower >> 31u32;
        states[row] = select(count == 0, decided, OPEN.runtime());
    }
}

/// Decides the rows that can be decided, and adds the number of others to open_0.
#[cube(launch_unchecked)]
pub(crate) fn decide_points(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    measures: &Array<u32>,
    states: &mut Array<u32>,
    open: &Array<Atomic<u32>>,
    rows: u32,
) {
    let row = position();
    let mut left = 0u32;
    if row < rows as usize {
        let low = measures[2 * row];
        let high = measures[2 * row + 1];
        if states[row] == OPEN {
            let mut waits = false;
            let mut depends = false;
            for k in row_ptr[row]..row_ptr[row + 1] {
                let other = columns[k as usize] as usize;
                let state = states[other];
                let other_low = measures[2 * other];
                let other_high = measures[2 * other + 1];
                // The row itself is not greater.
                let last = other_low == low && other > row;
                let greater = other_high > high || (other_high == high && (other_low > low || last));
                waits = waits || (greater && state == OPEN);
                depends = depends || (greater && state == COARSE);
            }
            let undecided = select(waits, OPEN.runtime(), COARSE.runtime());
            states[row] = select(depends, FINE.runtime(), undecided);
            left = select(waits && !depends, 1u32, 0u32);
        }
    }
    let (_before, total) = cube_scan(left, VECTOR_UNITS);
    if UNIT_POS == 0 && total > 0 {
        open[0].fetch_add(total);
    }
}

/// Whether each row is coarse. `coarse` has an element more, which is zero.
#[cube(launch_unchecked)]
pub(crate) fn mark_coarse(states: &Array<u32>, coarse: &mut Array<u32>, rows: u32) {
    let row = position();
    if row < rows as usize {
        coarse[row] = select(states[row] == COARSE, 1u32, 0u32);
    }
}

/// columns_k ← k: the columns of a matrix with a one in each coarse row.
#[cube(launch_unchecked)]
pub(crate) fn number_columns(columns: &mut Array<u32>, len: u32) {
    let k = position();
    if k < len as usize {
        columns[k] = u32::cast_from(k);
    }
}

/// Whether each number of paths between two different coarse rows is large enough.
#[cube(launch_unchecked)]
pub(crate) fn mark_paths<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    paths: &Array<C>,
    kept: &mut Array<u32>,
    least: C,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        for k in row_ptr[row]..row_ptr[row + 1] {
            let enough = paths[k as usize] >= least && columns[k as usize] as usize != row;
            kept[k as usize] = select(enough, 1u32, 0u32);
        }
    }
}
