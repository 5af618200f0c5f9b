//! The columns of the long rows of a sparse product C = A B, as a bitmap of all columns.
//!
//! ```text
//! marks   bit k of row i is set if some j has A[i, j] and B[j, k]
//! counted: the bits of a row;  filled: their numbers, in increasing order
//! ```
//!
//! For rows with more terms than [`product_pattern`](super::product_pattern) sorts. A bitmap takes
//! one bit per column of B, which in multigrid has the columns of a coarse level; it needs no bound
//! on the entries and no sorting. Rows are processed in batches, so the memory is limited. Bits are
//! set by atomic operations on integers, whose result does not depend on their order. All units of
//! a cube take the same branches around them: Mesa 22's software Vulkan loses units that leave a
//! loop with atomics early. Cost: one bit set per term; reading one word per 32 columns, in each of
//! the two passes.

use cubecl::prelude::*;

use super::row_products::UNITS;
use super::scan::cube_scan;

/// Sets the bits of the rows `first..first + number` of a list; `words` words per row. A cube
/// processes `chunk` entries of a row of A; a row has `chunks` cubes.
#[cube(launch_unchecked)]
pub(crate) fn mark_columns(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    b_row_ptr: &Array<u32>,
    b_columns: &Array<u32>,
    list: &Array<u32>,
    marks: &Array<Atomic<u32>>,
    first: u32,
    number: u32,
    words: u32,
    chunk: u32,
    chunks: u32,
) {
    let place = u32::cast_from(CUBE_POS) / chunks;
    if place < number {
        let row = list[(2 * (first + place)) as usize] as usize;
        let skipped = (u32::cast_from(CUBE_POS) % chunks) * chunk;
        let begin = a_row_ptr[row];
        let entries = a_row_ptr[row + 1] - begin;
        let end = select(entries < skipped + chunk, entries, skipped + chunk);
        let mut k = skipped;
        while k < end {
            let j = a_columns[(begin + k) as usize] as usize;
            let last = b_row_ptr[j + 1];
            let mut t = b_row_ptr[j];
            while t < last {
                if t + UNIT_POS < last {
                    let column = b_columns[(t + UNIT_POS) as usize];
                    marks[(place * words + column / 32) as usize].fetch_or(1u32 << (column % 32));
                }
                t += UNITS;
            }
            k += 1;
        }
    }
}

/// The words of this unit: consecutive ones, so that columns are written in order.
#[cube]
fn own_words(words: u32) -> (u32, u32) {
    let each = words.div_ceil(UNITS);
    let begin = UNIT_POS * each;
    let end = select(words < begin + each, words, begin + each);
    (begin, end)
}

/// Counts the bits of each row.
#[cube(launch_unchecked)]
pub(crate) fn count_marks(
    marks: &Array<u32>,
    list: &Array<u32>,
    counts: &mut Array<u32>,
    first: u32,
    number: u32,
    words: u32,
) {
    let place = u32::cast_from(CUBE_POS);
    if place < number {
        let mut bits = 0u32;
        let mut word = UNIT_POS;
        while word < words {
            bits += marks[(place * words + word) as usize].count_ones();
            word += UNITS;
        }
        let (_, total) = cube_scan(bits, UNITS);
        if UNIT_POS == 0 {
            let row = list[(2 * (first + place)) as usize] as usize;
            counts[row] = total;
        }
    }
}

/// Writes the columns of each row, in increasing order.
#[cube(launch_unchecked)]
pub(crate) fn fill_marks(
    marks: &Array<u32>,
    list: &Array<u32>,
    row_ptr: &Array<u32>,
    columns: &mut Array<u32>,
    first: u32,
    number: u32,
    words: u32,
) {
    let place = u32::cast_from(CUBE_POS);
    if place < number {
        let (begin, end) = own_words(words);
        let mut bits = 0u32;
        for word in begin..end {
            bits += marks[(place * words + word) as usize].count_ones();
        }
        let (before, _) = cube_scan(bits, UNITS);
        let row = list[(2 * (first + place)) as usize] as usize;
        let mut at = row_ptr[row] + before;
        for word in begin..end {
            let mut left = marks[(place * words + word) as usize];
            while left != 0 {
                let lowest = (left ^ (left - 1)).count_ones() - 1;
                columns[at as usize] = word * 32 + lowest;
                at += 1;
                left = left & (left - 1);
            }
        }
    }
}
