//! Aggregates from roots, one unit per row.
//!
//! ```text
//! roots numbered in order ▸ their neighbours join ▸ the others vote: (votes)·(members) ▸ the most
//! ```
//!
//! The votes of a row for the aggregates around it are a row of a sparse product, which the kernels
//! of products compute. Memory traffic: the graph three times, a few words per row.

use cubecl::prelude::*;

use super::vector::position;

/// The aggregate of a row without one.
pub(crate) const NO_AGGREGATE: u32 = u32::MAX;

/// Whether each row is the root of an aggregate: a row of the set (key 0), or one without strong
/// connections whose other entries add up to at least `lone` times its diagonal.
#[cube(launch_unchecked)]
pub(crate) fn mark_roots<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    strong_row_ptr: &Array<u32>,
    keys: &Array<u32>,
    roots: &mut Array<u32>,
    lone: C,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut is_root = keys[row] == 0;
        if strong_row_ptr[row + 1] == strong_row_ptr[row] {
            let mut diagonal = C::new(0.0);
            let mut others = C::new(0.0);
            for k in row_ptr[row]..row_ptr[row + 1] {
                let size = values[k as usize].abs();
                let own = columns[k as usize] as usize == row;
                diagonal = select(own, size, diagonal);
                others += select(own, C::new(0.0), size);
            }
            is_root = others >= lone * diagonal;
        }
        roots[row] = select(is_root, 1u32, 0u32);
    }
}

/// The aggregates of roots and of their neighbours.
#[cube(launch_unchecked)]
pub(crate) fn join_roots(
    strong_row_ptr: &Array<u32>,
    strong_columns: &Array<u32>,
    keys: &Array<u32>,
    roots: &Array<u32>,
    numbers: &Array<u32>,
    aggregate: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut found = select(roots[row] == 1, numbers[row], NO_AGGREGATE.runtime());
        if found == NO_AGGREGATE {
            for k in strong_row_ptr[row]..strong_row_ptr[row + 1] {
                let column = strong_columns[k as usize] as usize;
                // No row is next to two roots.
                found = select(keys[column] == 0, numbers[column], found);
            }
        }
        aggregate[row] = found;
    }
}

/// For the rows without an aggregate, the votes of their connections; the other rows are left out.
#[cube(launch_unchecked)]
pub(crate) fn mark_votes<C: Float + CubeElement>(
    strong_row_ptr: &Array<u32>,
    sizes: &Array<C>,
    aggregate: &Array<u32>,
    kept: &mut Array<u32>,
    votes: &mut Array<C>,
    units: C,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let begin = strong_row_ptr[row];
        let end = strong_row_ptr[row + 1];
        let voting = aggregate[row] == NO_AGGREGATE;
        let mut largest = C::new(0.0);
        for k in begin..end {
            let size = sizes[k as usize];
            largest = select(size > largest, size, largest);
        }
        for k in begin..end {
            kept[k as usize] = select(voting, 1u32, 0u32);
            votes[k as usize] = (sizes[k as usize] / largest * units).floor() + C::new(1.0);
        }
    }
}

/// The aggregate with the most votes, the first of equals, for the rows without one.
#[cube(launch_unchecked)]
pub(crate) fn elect<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    votes: &Array<C>,
    aggregate: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize && aggregate[row] == NO_AGGREGATE {
        let mut most = C::new(0.0);
        let mut found = NO_AGGREGATE.runtime();
        for k in row_ptr[row]..row_ptr[row + 1] {
            let more = votes[k as usize] > most;
            most = select(more, votes[k as usize], most);
            found = select(more, columns[k as usize], found);
        }
        aggregate[row] = found;
    }
}

/// Whether each row has an aggregate.
#[cube(launch_unchecked)]
pub(crate) fn mark_members(aggregate: &Array<u32>, members: &mut Array<u32>, rows: u32) {
    let row = position();
    if row < rows as usize {
        members[row] = select(aggregate[row] == NO_AGGREGATE, 0u32, 1u32);
    }
}

/// The aggregates as a matrix with at most one entry per row: a one in the column of the aggregate.
#[cube(launch_unchecked)]
pub(crate) fn write_members<C: Float + CubeElement>(
    aggregate: &Array<u32>,
    row_ptr: &Array<u32>,
    columns: &mut Array<u32>,
    values: &mut Array<C>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize && aggregate[row] != NO_AGGREGATE {
        let place = row_ptr[row] as usize;
        columns[place] = aggregate[row];
        values[place] = C::new(1.0);
    }
}
