//! Conversion from compressed rows to delta-SELL on the device.
//!
//! ```text
//! chunk: 16 rows    slot: at most one entry of each, as values and differences to one base column
//! slots of every chunk ▸ scan: first slot ▸ base and width of every slot ▸ slots by width ▸ fill
//! ```
//!
//! The format is the same as on the host (`DeltaSell`); rows keep their order. In a chunk, entries
//! share a slot either by diagonal (column minus row), so that a stencil needs no columns even
//! where some rows lack entries of it, or by position in their row, whichever takes fewer slots,
//! with a difference counted as a byte. One unit measures the slots of a chunk, four fill them.
//! Memory traffic: the pattern three times, the values and the result once, and 16 bytes per slot.

use cubecl::prelude::*;

use super::lowering::{Sides, scaled_entry};
use super::vector::position;
use crate::formats::{CHUNK_WORDS, LANES};

/// The position of a diagonal among the diagonals of a chunk: column minus row, from the first row
/// on.
#[cube]
fn diagonal_of(column: u32, #[comptime] lane: u32) -> u32 {
    column + comptime!(LANES - 1 - lane)
}

/// Comes after the last diagonal.
const NO_DIAGONAL: u32 = u32::MAX;

/// The first entries of the rows of a chunk, and where they end.
#[cube]
fn rows_of_chunk(row_ptr: &Array<u32>, chunk: usize, rows: u32) -> (Array<u32>, Array<u32>) {
    let mut next = Array::<u32>::new(comptime!(LANES as usize));
    let mut ends = Array::<u32>::new(comptime!(LANES as usize));
    #[unroll]
    for lane in 0..LANES {
        let row = u32::cast_from(chunk) * LANES + lane;
        next[lane as usize] = 0u32;
        ends[lane as usize] = 0u32;
        if row < rows {
            next[lane as usize] = row_ptr[row as usize];
            ends[lane as usize] = row_ptr[row as usize + 1];
        }
    }
    (next, ends)
}

/// The first diagonal that an entry is left on.
#[cube]
fn next_diagonal(columns: &Array<u32>, next: &Array<u32>, ends: &Array<u32>) -> u32 {
    let mut first = NO_DIAGONAL.runtime();
    #[unroll]
    for lane in 0..LANES {
        if next[lane as usize] < ends[lane as usize] {
            let diagonal = diagonal_of(columns[next[lane as usize] as usize], lane);
            first = select(diagonal < first, diagonal, first);
        }
    }
    first
}

/// The number of slots of every chunk, and whether entries share them by diagonal. A value takes
/// `value_bytes` bytes.
#[cube(launch_unchecked)]
pub(crate) fn count_slots(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    slots: &mut Array<u32>,
    by_diagonal: &mut Array<u32>,
    value_bytes: u32,
    chunks: u32,
    rows: u32,
) {
    let chunk = position();
    if chunk < chunks as usize {
        let (mut next, ends) = rows_of_chunk(row_ptr, chunk, rows);
        let mut longest = 0u32;
        #[unroll]
        for lane in 0..LANES {
            let length = ends[lane as usize] - next[lane as usize];
            longest = select(length > longest, length, longest);
        }
        // Slots by diagonal need no differences.
        let values = LANES * value_bytes + 4;
        let most = longest * (values + LANES) / values;
        let mut diagonals = 0u32;
        let mut diagonal = next_diagonal(columns, &next, &ends);
        while diagonal != NO_DIAGONAL && diagonals <= most {
            diagonals += 1;
            #[unroll]
            for lane in 0..LANES {
                if next[lane as usize] < ends[lane as usize] {
                    let own = diagonal_of(columns[next[lane as usize] as usize], lane);
                    next[lane as usize] += select(own == diagonal, 1u32, 0u32);
                }
            }
            diagonal = next_diagonal(columns, &next, &ends);
        }
        // Software Vulkan may have ended the loop early.
        let fewer = diagonal == NO_DIAGONAL && diagonals <= most;
        slots[chunk] = select(fewer, diagonals, longest);
        by_diagonal[chunk] = select(fewer, 1u32, 0u32);
    }
}

/// The base column of every slot, its width (0 for consecutive columns, then 1, 2 and 3 for
/// differences of one, two and four bytes), and its diagonal, if entries share it by diagonal.
#[cube(launch_unchecked)]
pub(crate) fn measure_slots(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    first_slots: &Array<u32>,
    by_diagonal: &Array<u32>,
    bases: &mut Array<u32>,
    widths: &mut Array<u32>,
    diagonals: &mut Array<u32>,
    chunks: u32,
    rows: u32,
    cols: u32,
) {
    let chunk = position();
    if chunk < chunks as usize {
        let (mut next, ends) = rows_of_chunk(row_ptr, chunk, rows);
        let by_position = by_diagonal[chunk] == 0;
        for slot in first_slots[chunk]..first_slots[chunk + 1] {
            let diagonal = next_diagonal(columns, &next, &ends);
            let mut least = u32::MAX.runtime();
            let mut most = 0u32;
            // Columns before the first wrap around to huge numbers, which are not consecutive.
            let mut first_start = u32::MAX.runtime();
            let mut last_start = 0u32;
            #[unroll]
            for lane in 0..LANES {
                if next[lane as usize] < ends[lane as usize] {
                    let column = columns[next[lane as usize] as usize];
                    if by_position || diagonal_of(column, lane) == diagonal {
                        next[lane as usize] += 1u32;
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
            diagonals[slot as usize] = diagonal;
        }
    }
}

/// The descriptions of the chunks without the places of their differences, the words that these
/// take, and the place of every slot in its chunk: slots of one width follow one another.
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
    by_diagonal: &Array<u32>,
    diagonals: &Array<u32>,
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
        let by_position = by_diagonal[chunk] == 0;
        let mut next = Array::<u32>::new(4usize);
        let mut ends = Array::<u32>::new(4usize);
        #[unroll]
        for lane in 0..4u32 {
            next[lane as usize] = 0u32;
            ends[lane as usize] = 0u32;
            if first + lane < rows {
                next[lane as usize] = row_ptr[(first + lane) as usize];
                ends[lane as usize] = row_ptr[(first + lane) as usize + 1];
            }
        }
        for place in 0..end {
            let base = measured[(begin + place) as usize];
            let slot = places[(begin + place) as usize];
            let diagonal = diagonals[(begin + place) as usize];
            let mut differences = Array::<u32>::new(4usize);
            #[unroll]
            for lane in 0..4u32 {
                let row = (first + lane) as usize;
                let mut value = C::new(0.0);
                differences[lane as usize] = 0u32;
                let k = next[lane as usize];
                if k < ends[lane as usize] {
                    let column = columns[k as usize];
                    // Its place among the lanes of the chunk.
                    let own = column + LANES - 1 - 4 * quarter - lane;
                    if by_position || own == diagonal {
                        next[lane as usize] = k + 1;
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
