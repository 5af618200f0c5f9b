//! Conversion from compressed rows to delta-SELL on the device.
//!
//! ```text
//! chunk: 16 rows    slot j: their j-th entries, as values and differences to one base column
//! longest row of a chunk ▸ scan: first slot ▸ base and width of every slot ▸ slots by width ▸ fill
//! ```
//!
//! The format is that of the host (`DeltaSell`), with a simpler rule: rows keep their order, and
//! entries share a slot by position only. Where some rows of a chunk lack an entry of a stencil,
//! the host would share slots by diagonal; here these chunks have wider differences. Sixteen units
//! measure the slots of a chunk, four fill them. Memory traffic: the matrix twice, the result once,
//! and 8 bytes per slot.

use cubecl::prelude::*;

use super::lowering::{Sides, scaled_entry};
use super::vector::position;
use crate::formats::{CHUNK_WORDS, LANES};

/// The most entries of a row in every chunk.
#[cube(launch_unchecked)]
pub(crate) fn count_slots(row_ptr: &Array<u32>, slots: &mut Array<u32>, chunks: u32, rows: u32) {
    let chunk = position();
    if chunk < chunks as usize {
        let first = u32::cast_from(chunk) * LANES;
        let mut longest = 0u32;
        for lane in 0..LANES {
            let row = (first + lane) as usize;
            if row < rows as usize {
                let length = row_ptr[row + 1] - row_ptr[row];
                longest = select(length > longest, length, longest);
            }
        }
        slots[chunk] = longest;
    }
}

/// The base column of every slot, and its width: 0 for consecutive columns, then 1, 2 and 3 for
/// differences of one, two and four bytes. Unit k of a chunk measures the slots k, k + 16, …
#[cube(launch_unchecked)]
pub(crate) fn measure_slots(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    first_slots: &Array<u32>,
    bases: &mut Array<u32>,
    widths: &mut Array<u32>,
    chunks: u32,
    rows: u32,
    cols: u32,
) {
    let unit = position();
    let chunk = unit / LANES as usize;
    if chunk < chunks as usize {
        let first = u32::cast_from(chunk) * LANES;
        let end = first_slots[chunk + 1];
        let mut slot = first_slots[chunk] + u32::cast_from(unit % LANES as usize);
        while slot < end {
            let place = slot - first_slots[chunk];
            let mut least = u32::MAX.runtime();
            let mut most = 0u32;
            // Columns before the first wrap around to huge numbers, which are not consecutive.
            let mut first_start = u32::MAX.runtime();
            let mut last_start = 0u32;
            for lane in 0..LANES {
                let row = (first + lane) as usize;
                if row < rows as usize {
                    let begin = row_ptr[row];
                    if begin + place < row_ptr[row + 1] {
                        let column = columns[(begin + place) as usize];
                        let start = column - lane;
                        least = select(column < least, column, least);
                        most = select(column > most, column, most);
                        first_start = select(start < first_start, start, first_start);
                        last_start = select(start > last_start, start, last_start);
                    }
                }
            }
            let consecutive = first_start == last_start && cols >= LANES && first_start <= cols - LANES;
            let span = most - least;
            let wide = select(span <= 0xFFu32, 1u32, select(span <= 0xFFFFu32, 2u32, 3u32));
            bases[slot as usize] = select(consecutive, first_start, least);
            widths[slot as usize] = select(consecutive, 0u32, wide);
            slot += LANES;
        }
    }
}

/// The descriptions of the chunks without the places of their differences, the words that these
/// take, and the place of every slot in its chunk: those of one width follow one another.
#[cube(launch_unchecked)]
pub(crate) fn place_slots(
    first_slots: &Array<u32>,
    widths: &Array<u32>,
    descriptions: &mut Array<u32>,
    words: &mut Array<u32>,
    places: &mut Array<u32>,
    chunks: u32,
) {
    let chunk = position();
    if chunk < chunks as usize {
        let begin = first_slots[chunk];
        let end = first_slots[chunk + 1];
        let mut counts = Array::<u32>::new(4usize);
        let mut next = Array::<u32>::new(4usize);
        #[unroll]
        for width in 0..4usize {
            counts[width] = 0u32;
        }
        for slot in begin..end {
            let width = widths[slot as usize] as usize;
            counts[width] += 1u32;
        }
        next[0] = 0u32;
        next[1] = counts[0];
        next[2] = counts[0] + counts[1];
        next[3] = counts[0] + counts[1] + counts[2];
        for slot in begin..end {
            let width = widths[slot as usize] as usize;
            places[slot as usize] = next[width];
            next[width] += 1u32;
        }
        let at = chunk * CHUNK_WORDS as usize;
        descriptions[at] = begin;
        #[unroll]
        for width in 0..4usize {
            descriptions[at + 2 + width] = counts[width];
        }
        words[chunk] = LANES / 4 * (counts[1] + 2u32 * counts[2] + 4u32 * counts[3]);
    }
}

/// Writes the place of the first difference into the description of each chunk.
#[cube(launch_unchecked)]
pub(crate) fn place_words(first_words: &Array<u32>, descriptions: &mut Array<u32>, chunks: u32) {
    let chunk = position();
    if chunk < chunks as usize {
        descriptions[chunk * CHUNK_WORDS as usize + 1] = first_words[chunk];
    }
}

/// Writes the bases, the values times their factors, and the differences. Each unit writes four
/// lanes of a chunk; lanes without an entry get a zero.
#[cube(launch_unchecked)]
pub(crate) fn fill_slots<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    left: &Array<C>,
    right: &Array<C>,
    descriptions: &Array<u32>,
    measured: &Array<u32>,
    places: &Array<u32>,
    bases: &mut Array<u32>,
    stored: &mut Array<C>,
    deltas: &mut Array<u32>,
    factor: C,
    chunks: u32,
    rows: u32,
    #[comptime] sides: Sides,
) {
    let unit = position();
    let chunk = unit / 4;
    let quarter = u32::cast_from(unit % 4);
    if chunk < chunks as usize {
        let at = chunk * CHUNK_WORDS as usize;
        let begin = descriptions[at];
        let word = descriptions[at + 1];
        let narrow = descriptions[at + 2];
        let one = narrow + descriptions[at + 3];
        let two = one + descriptions[at + 4];
        let end = two + descriptions[at + 5];
        let first = u32::cast_from(chunk) * LANES + 4 * quarter;
        for place in 0..end {
            let base = measured[(begin + place) as usize];
            let slot = places[(begin + place) as usize];
            let mut differences = Array::<u32>::new(4usize);
            #[unroll]
            for lane in 0..4u32 {
                let row = (first + lane) as usize;
                let mut value = C::new(0.0);
                differences[lane as usize] = 0u32;
                if row < rows as usize {
                    let k = row_ptr[row] + place;
                    if k < row_ptr[row + 1] {
                        let column = columns[k as usize];
                        differences[lane as usize] = column - base;
                        value =
                            scaled_entry::<C>(values[k as usize], left, right, row, column, factor, sides);
                    }
                }
                stored[((begin + slot) * LANES + 4 * quarter + lane) as usize] = value;
            }
            if quarter == 0 {
                bases[(begin + slot) as usize] = base;
            }
            if slot >= two {
                let to = word + 4 * (one - narrow) + 8 * (two - one) + 16 * (slot - two) + 4 * quarter;
                #[unroll]
                for lane in 0..4u32 {
                    deltas[(to + lane) as usize] = differences[lane as usize];
                }
            } else if slot >= one {
                let to = word + 4 * (one - narrow) + 8 * (slot - one) + 2 * quarter;
                deltas[to as usize] = differences[0] | (differences[1] << 16u32);
                deltas[(to + 1) as usize] = differences[2] | (differences[3] << 16u32);
            } else if slot >= narrow {
                let to = word + 4 * (slot - narrow) + quarter;
                deltas[to as usize] = differences[0]
                    | (differences[1] << 8u32)
                    | (differences[2] << 16u32)
                    | (differences[3] << 24u32);
            }
        }
    }
}
