//! The entries of a matrix that are kept, moved together.
//!
//! A kernel writes for every entry whether it is kept; the exclusive scan of these flags says where
//! it goes. Memory traffic: columns, values, flags and places once, and the result.

use cubecl::prelude::*;

use super::vector::position;

/// Copies the entries that are kept. `places` has an element more than there are entries.
#[cube(launch_unchecked)]
pub(crate) fn keep_entries<C: Float + CubeElement>(
    places: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    new_columns: &mut Array<u32>,
    new_values: &mut Array<C>,
    entries: u32,
) {
    let k = position();
    if k < entries as usize {
        let place = places[k];
        if places[k + 1] > place {
            new_columns[place as usize] = columns[k];
            new_values[place as usize] = values[k];
        }
    }
}

/// The row pointers of the result.
#[cube(launch_unchecked)]
pub(crate) fn keep_rows(places: &Array<u32>, row_ptr: &Array<u32>, new_row_ptr: &mut Array<u32>, rows: u32) {
    let row = position();
    if row <= rows as usize {
        new_row_ptr[row] = places[row_ptr[row] as usize];
    }
}
