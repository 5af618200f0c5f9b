//! A maximal set of rows of which any two are more than two connections apart, in rounds.
//!
//! ```text
//! near_j ← min over j and its neighbours of key        root 0 < open rows, by priority < out
//! row i, if open:  0 within two connections → out;  its own key the smallest there → root
//! ```
//!
//! An open row is decided as soon as all rows within two connections that come before it are. So
//! the set is the result of a sweep in the order of the keys, the same as on the CPU, in whatever
//! order rows are decided (Bell, Dalton & Olson, 2012; the two steps of a round are theirs). A
//! round reads the graph twice. The number of rounds is the length of the longest chain of rows
//! that wait for each other: a few hundred on a grid in natural order, because blocks of rows do
//! not wait for the next one, but most rows wait for the one before.

use cubecl::prelude::*;

use super::scan::cube_scan;
use super::vector::{VECTOR_UNITS, position};

/// The key of a row that is out.
pub(crate) const OUT: u32 = u32::MAX;

/// Adds to out_k the number of connections of every eighth row with a length from 2^k to below
/// 2^(k+1). One unit per such row and bit.
#[cube(launch_unchecked)]
pub(crate) fn count_lengths(row_ptr: &Array<u32>, columns: &Array<u32>, out: &Array<Atomic<u32>>, rows: u32) {
    let bit = u32::cast_from(CUBE_POS) % 32;
    let row = (u32::cast_from(CUBE_POS) / 32 * VECTOR_UNITS + UNIT_POS) * 8;
    let mut count = 0u32;
    if row < rows {
        for k in row_ptr[row as usize]..row_ptr[row as usize + 1] {
            let column = columns[k as usize];
            let length = select(column > row, column - row, row - column);
            // Connections of a row with itself count as the shortest ones.
            let at_least = select(length == 0, 1u32, length) >> bit;
            count += select(at_least == 1, 1u32, 0u32);
        }
    }
    let (_before, total) = cube_scan(count, VECTOR_UNITS);
    if UNIT_POS == 0 && total > 0 {
        out[bit as usize].fetch_add(total);
    }
}

/// The keys at the beginning: all rows with connections are open. Odd blocks come last.
#[cube(launch_unchecked)]
pub(crate) fn first_keys(row_ptr: &Array<u32>, keys: &mut Array<u32>, block_bits: u32, rows: u32) {
    let row = position();
    if row < rows as usize {
        let id = u32::cast_from(row);
        let key = ((id >> block_bits) & 1) << 31 | id;
        keys[row] = select(row_ptr[row + 1] > row_ptr[row], key + 1, OUT.runtime());
    }
}

/// The smallest key among a row and its neighbours.
#[cube(launch_unchecked)]
pub(crate) fn nearest_keys(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    keys: &Array<u32>,
    near: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut least = keys[row];
        for k in row_ptr[row]..row_ptr[row + 1] {
            let key = keys[columns[k as usize] as usize];
            least = select(key < least, key, least);
        }
        near[row] = least;
    }
}

/// Decides the rows that can be decided, and adds the number of others to out_0.
#[cube(launch_unchecked)]
pub(crate) fn decide_rows(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    near: &Array<u32>,
    keys: &mut Array<u32>,
    out: &Array<Atomic<u32>>,
    rows: u32,
) {
    let row = position();
    let mut open = 0u32;
    if row < rows as usize {
        let key = keys[row];
        if key != 0 && key != OUT {
            let mut least = near[row];
            for k in row_ptr[row]..row_ptr[row + 1] {
                let other = near[columns[k as usize] as usize];
                least = select(other < least, other, least);
            }
            let decided = select(least == key, 0u32, key);
            keys[row] = select(least == 0, OUT.runtime(), decided);
            open = select(least != 0 && least != key, 1u32, 0u32);
        }
    }
    let (_before, total) = cube_scan(open, VECTOR_UNITS);
    if UNIT_POS == 0 && total > 0 {
        out[0].fetch_add(total);
    }
}
