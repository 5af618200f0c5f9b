//! Lists of the rows of a product by size, so that units are assigned to rows as they need them.
//!
//! ```text
//! by terms    Σ_j |row j of B| over the entries j of row i of A: at most 32, 128, 1024, more
//! by entries  of row i of C: at most 24, 96, 768; longer rows in pieces of 768
//! ```
//!
//! A kernel writes for each class and row how often the row is listed; the exclusive scan of these
//! numbers, class by class, says where. So the lists are in the order of rows, the same in every
//! run (binning as in nsparse, Nagasaka et al., 2017, but without atomic counters). Cost: 16 bytes
//! per row, written once and read twice.

use cubecl::prelude::*;

use super::vector::VECTOR_UNITS;

/// Number of classes.
pub(crate) const CLASSES: u32 = 4;

/// Units per row in each of the first three classes.
pub(crate) const UNITS_OF_CLASS: [u32; 3] = [4, 16, 128];

/// Terms of a row per unit.
pub(crate) const SLOTS: u32 = 8;

/// Entries of a row of C per unit.
pub(crate) const FILLED: u32 = 6;

/// Entries of C per piece of a long row.
pub(crate) const PIECE: u32 = FILLED * 128;

/// Terms of the longest row that is not in the last class.
const MOST_TERMS: u32 = SLOTS * 128;

/// Rows of A with more entries are in the last class, without counting their terms: a bound on
/// loops.
const MOST_ENTRIES: u32 = 1024;

/// The row of this unit.
#[cube]
fn own_row() -> usize {
    CUBE_POS * comptime!(VECTOR_UNITS as usize) + UNIT_POS as usize
}

/// Writes how often a row is listed in each class: `times` in its own, 0 in the others.
#[cube]
fn list_in(flags: &mut Array<u32>, row: usize, rows: u32, class: u32, times: u32) {
    #[unroll]
    for other in 0..CLASSES {
        flags[(other * rows) as usize + row] = select(class == other, times, 0u32);
    }
}

/// Classes by terms.
#[cube(launch_unchecked)]
pub(crate) fn classes_by_terms(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    b_row_ptr: &Array<u32>,
    flags: &mut Array<u32>,
    rows: u32,
) {
    let row = own_row();
    if row < rows as usize {
        let begin = a_row_ptr[row];
        let end = a_row_ptr[row + 1];
        let mut terms = comptime!(MOST_TERMS + 1).runtime();
        if end - begin <= MOST_ENTRIES {
            terms = 0u32;
            for k in begin..end {
                let j = a_columns[k as usize] as usize;
                let entries = b_row_ptr[j + 1] - b_row_ptr[j];
                // Neither sum nor term overflows.
                let few = select(entries > MOST_TERMS, comptime!(MOST_TERMS + 1).runtime(), entries);
                terms = select(terms > MOST_TERMS, terms, terms + few);
            }
        }
        let small = comptime!(SLOTS * UNITS_OF_CLASS[0]);
        let medium = comptime!(SLOTS * UNITS_OF_CLASS[1]);
        let mut class = 0u32;
        class += select(terms > small, 1u32, 0u32);
        class += select(terms > medium, 1u32, 0u32);
        class += select(terms > MOST_TERMS, 1u32, 0u32);
        list_in(flags, row, rows, class, select(terms > 0, 1u32, 0u32));
    }
}

/// Classes by entries of C.
#[cube(launch_unchecked)]
pub(crate) fn classes_by_entries(row_ptr: &Array<u32>, flags: &mut Array<u32>, rows: u32) {
    let row = own_row();
    if row < rows as usize {
        let entries = row_ptr[row + 1] - row_ptr[row];
        let small = comptime!(FILLED * UNITS_OF_CLASS[0]);
        let medium = comptime!(FILLED * UNITS_OF_CLASS[1]);
        let mut class = 0u32;
        class += select(entries > small, 1u32, 0u32);
        class += select(entries > medium, 1u32, 0u32);
        class += select(entries > PIECE, 1u32, 0u32);
        // One piece, except in the last class; none if the row is empty.
        list_in(flags, row, rows, class, entries.div_ceil(PIECE));
    }
}

/// Writes the lists: the row and the number of the piece, for all pieces.
#[cube(launch_unchecked)]
pub(crate) fn list_rows(flags: &Array<u32>, places: &Array<u32>, list: &mut Array<u32>, rows: u32, len: u32) {
    let index = own_row();
    if index < len as usize {
        let row = u32::cast_from(index) % rows;
        let place = places[index];
        for piece in 0..flags[index] {
            let at = (2 * (place + piece)) as usize;
            list[at] = row;
            list[at + 1] = piece;
        }
    }
}
