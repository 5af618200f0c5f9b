//! Truncation of interpolation: small entries of a row are dropped, its sum is kept.
//!
//! ```text
//! kept: |w_ij| ≥ θ max_k |w_ik|, and of these the m largest; times Σ_j w_ij / Σ_kept w_ij
//! ```
//!
//! As on the host (`algebra/truncate.rs` of `ziggurat-sparse`). One unit per row, which looks for
//! the largest size m times, and keeps as many entries of the smallest of these sizes as there is
//! room for, the first ones. Cost: m n comparisons for n entries, about 10 to 50. Memory traffic:
//! values, from the cache, and a flag per entry.

use cubecl::prelude::*;

use super::vector::position;

/// The states of a row.
pub(crate) const DROPPED: u32 = 0;
pub(crate) const TRUNCATED: u32 = 1;
pub(crate) const KEPT: u32 = 2;

/// The states of rows: rows with entries in `as_they_are` (row pointers) stay as they are.
#[cube(launch_unchecked)]
pub(crate) fn mark_truncated(as_they_are: &Array<u32>, states: &mut Array<u32>, rows: u32) {
    let row = position();
    if row < rows as usize {
        let stays = as_they_are[row + 1] > as_they_are[row];
        states[row] = select(stays, KEPT.runtime(), TRUNCATED.runtime());
    }
}

/// Whether each entry is kept; if `sums`, values are scaled so that the sum of a row stays.
#[cube(launch_unchecked)]
pub(crate) fn truncate_rows<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    states: &Array<u32>,
    values: &mut Array<C>,
    kept: &mut Array<u32>,
    relative: C,
    most: u32,
    rows: u32,
    #[comptime] sums: bool,
) {
    let row = position();
    if row < rows as usize {
        let (begin, end, state) = (row_ptr[row], row_ptr[row + 1], states[row]);
        let mut largest = C::new(0.0);
        for k in begin..end {
            let size = values[k as usize].abs();
            largest = select(size > largest, size, largest);
        }
        // 0 times infinity would be no number.
        let threshold = select(relative > C::new(0.0), relative * largest, C::new(0.0));
        // All larger sizes are kept, and `room` entries of this size.
        let mut smallest = C::new(-1.0);
        let mut room = most;
        if end - begin > most && state == TRUNCATED {
            smallest = largest;
            let mut searched = true;
            while searched {
                let mut next = C::new(-1.0);
                let mut count = 0u32;
                for k in begin..end {
                    let size = values[k as usize].abs();
                    count += select(size == smallest, 1u32, 0u32);
                    next = select(size < smallest && size > next, size, next);
                }
                // Numbers that are none are never counted.
                searched = count < room && next >= C::new(0.0);
                if searched {
                    room -= count;
                    smallest = next;
                }
            }
        }
        let mut sum = C::new(0.0);
        let mut kept_sum = C::new(0.0);
        for k in begin..end {
            let value = values[k as usize];
            let size = value.abs();
            let last = size == smallest && room > 0;
            room -= select(last, 1u32, 0u32);
            let large = size >= threshold && (size > smallest || last);
            let keeps = state == KEPT || (state == TRUNCATED && large);
            kept[k as usize] = select(keeps, 1u32, 0u32);
            sum += value;
            kept_sum += select(keeps, value, C::new(0.0));
        }
        let mut scaled = state == TRUNCATED && kept_sum != C::new(0.0);
        if comptime!(!sums) {
            scaled = false;
        }
        if scaled {
            let factor = sum / kept_sum;
            for k in begin..end {
                values[k as usize] *= factor;
            }
        }
    }
}

/// Whether the row of P₂ that belongs to each entry of P₁ has entries, and the values of P₁, scaled
/// so that the sum of a row stays without the others.
#[cube(launch_unchecked)]
pub(crate) fn mark_reached<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    second_row_ptr: &Array<u32>,
    kept: &mut Array<u32>,
    scaled: &mut Array<C>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut sum = C::new(0.0);
        let mut reached = C::new(0.0);
        for k in row_ptr[row]..row_ptr[row + 1] {
            let (column, value) = (columns[k as usize] as usize, values[k as usize]);
            let reaches = second_row_ptr[column + 1] > second_row_ptr[column];
            kept[k as usize] = select(reaches, 1u32, 0u32);
            sum += value;
            reached += select(reaches, value, C::new(0.0));
        }
        let same = reached == sum || reached == C::new(0.0);
        let factor = select(same, C::new(1.0), sum / reached);
        for k in row_ptr[row]..row_ptr[row + 1] {
            scaled[k as usize] = values[k as usize] * factor;
        }
    }
}
