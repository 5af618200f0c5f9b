//! Extended+i interpolation (De Sterck, Falgout, Nolting & Yang, 2008), one unit per row.
//!
//! ```text
//! w_ij = −(a_ij + Σ_{k∈F} a_ik ā_kj / b_ik) / ã_ii        b_ik = Σ_{l∈Ĉ∪{i}} ā_kl
//! pattern: (1 + S_FF) S_FC        S_FF, S_FC: strong connections of fine rows to fine, coarse rows
//! ```
//!
//! The notation and the order of additions are the same as on the host (`interpolate/extended_i.rs`
//! of `ziggurat-amg`): weights of symmetric problems are often equal, and which of them truncation
//! keeps must not depend on rounding. The columns of row i, its set Ĉ, are known from the product
//! of patterns, and the weights are summed in place; binary search finds the place of a coarse row,
//! if it is in the set. Coarse rows are numbered by the row pointers of the matrix with a one in
//! each. Entries ā are in two matrices, the strong ones in S_FC and the weak ones, because they are
//! read once for every row that depends on their row. Memory traffic: the matrix three times, and
//! for every strong connection between fine rows one row of the entries ā, twice.

use cubecl::prelude::*;

use super::product_values::first_from;
use super::truncation::{DROPPED, KEPT, TRUNCATED};
use super::vector::position;

/// Whether a row is coarse.
#[cube]
fn is_coarse(coarse: &Array<u32>, row: usize) -> bool {
    coarse[row + 1] > coarse[row]
}

/// For every strong entry, whether it belongs to 1 + S_FF and to S_FC; of a coarse row only the one
/// on the diagonal, in both. If `chosen`, rows without an entry in `to` have none in the first.
#[cube(launch_unchecked)]
pub(crate) fn mark_sides(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    coarse: &Array<u32>,
    to: &Array<u32>,
    fine_side: &mut Array<u32>,
    coarse_side: &mut Array<u32>,
    rows: u32,
    #[comptime] chosen: bool,
) {
    let row = position();
    if row < rows as usize {
        let of_coarse = is_coarse(coarse, row);
        let mut wanted = true.runtime();
        if comptime!(chosen) {
            wanted = to[row + 1] > to[row];
        }
        for k in row_ptr[row]..row_ptr[row + 1] {
            let column = columns[k as usize] as usize;
            let (own, to_coarse) = (column == row, is_coarse(coarse, column));
            let in_fine_side = wanted && (own || (!of_coarse && !to_coarse));
            fine_side[k as usize] = select(in_fine_side, 1u32, 0u32);
            let in_coarse_side = (own && of_coarse) || (!of_coarse && to_coarse);
            coarse_side[k as usize] = select(in_coarse_side, 1u32, 0u32);
        }
    }
}

/// Whether each strong entry is a connection to a coarse row.
#[cube(launch_unchecked)]
pub(crate) fn mark_ends(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    coarse: &Array<u32>,
    kept: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        for k in row_ptr[row]..row_ptr[row + 1] {
            let column = columns[k as usize] as usize;
            kept[k as usize] = select(column != row && is_coarse(coarse, column), 1u32, 0u32);
        }
    }
}

/// Replaces rows by their numbers among the coarse ones.
#[cube(launch_unchecked)]
pub(crate) fn renumber_columns(columns: &mut Array<u32>, coarse: &Array<u32>, len: u32) {
    let k = position();
    if k < len as usize {
        columns[k] = coarse[columns[k] as usize];
    }
}

/// Whether the next of the increasing columns of a part of a row is this one, as 1 or 0.
#[cube]
fn is_next(part: &Array<u32>, next: u32, end: u32, column: u32) -> u32 {
    let mut found = 0u32;
    if next < end {
        found = select(part[next as usize] == column, 1u32, 0u32);
    }
    found
}

/// How many entries ā a row reads, once.
#[cube(launch_unchecked)]
pub(crate) fn count_shares(
    fine_row_ptr: &Array<u32>,
    fine_columns: &Array<u32>,
    near_row_ptr: &Array<u32>,
    weak_row_ptr: &Array<u32>,
    counts: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut count = 0u32;
        for k in fine_row_ptr[row]..fine_row_ptr[row + 1] {
            let column = fine_columns[k as usize] as usize;
            count += near_row_ptr[column + 1] - near_row_ptr[column];
            count += weak_row_ptr[column + 1] - weak_row_ptr[column];
        }
        counts[row] = count;
    }
}

/// Whether each entry is a weak one of a fine row, in a coarse column, with the sign opposite to
/// the diagonal: a weak entry ā.
#[cube(launch_unchecked)]
pub(crate) fn mark_weak<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    strong_row_ptr: &Array<u32>,
    strong: &Array<u32>,
    coarse: &Array<u32>,
    kept: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let zero = C::new(0.0);
        let (begin, end) = (row_ptr[row], row_ptr[row + 1]);
        let at = first_from(columns, begin, end, u32::cast_from(row));
        let mut diagonal = C::new(0.0);
        if at < end {
            diagonal = select(columns[at as usize] as usize == row, values[at as usize], zero);
        }
        let of_fine = !is_coarse(coarse, row);
        let mut next = strong_row_ptr[row];
        let last = strong_row_ptr[row + 1];
        for k in begin..end {
            let (column, value) = (columns[k as usize], values[k as usize]);
            let is_strong = is_next(strong, next, last, column);
            next += is_strong;
            let opposed = value != zero && (value < zero) != (diagonal < zero);
            let keeps = of_fine && opposed && is_strong == 0 && is_coarse(coarse, column as usize);
            kept[k as usize] = select(keeps, 1u32, 0u32);
        }
    }
}

/// The place of a column among `columns[begin..end]`, which are fewer than 2^steps, or `end` if it
/// is not there. Without a loop, because software Vulkan counts the turns of all loops of a unit.
#[cube]
fn place_of(columns: &Array<u32>, begin: u32, end: u32, column: u32, #[comptime] steps: u32) -> u32 {
    // The columns before `low` are below `column`, those from `high` on are not.
    let mut low = begin;
    let mut high = end;
    #[unroll]
    for _ in 0..steps {
        let middle = low + (high - low) / 2;
        let mut below = false;
        if low < high {
            below = columns[middle as usize] < column;
        }
        high = select(below, high, middle);
        low = select(below, middle + 1, low);
    }
    if low < end {
        low = select(columns[low as usize] == column, low, end);
    }
    low
}

/// The sum of those entries ā whose columns are in the set, added to `sum`.
#[cube]
fn sum_in_set<C: Float>(
    share_columns: &Array<u32>,
    shares: &Array<C>,
    first: u32,
    after: u32,
    columns: &Array<u32>,
    begin: u32,
    end: u32,
    sum: C,
    #[comptime] steps: u32,
) -> C {
    let mut total = sum;
    for l in first..after {
        let place = place_of(columns, begin, end, share_columns[l as usize], steps);
        total += select(place < end, shares[l as usize], C::new(0.0));
    }
    total
}

/// The weights of every row, in the pattern of `row_ptr` and `columns`, and what becomes of the
/// row. `strong` are the columns of strong connections, with the diagonal; `near` and `weak` have
/// the entries ā, with the numbers of coarse rows as columns; `most` is the largest number. Rows
/// of weights have fewer than 2^steps entries.
#[cube(launch_unchecked)]
pub(crate) fn extended_weights<C: Float + CubeElement>(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    a_values: &Array<C>,
    strong_row_ptr: &Array<u32>,
    strong: &Array<u32>,
    coarse: &Array<u32>,
    near_row_ptr: &Array<u32>,
    near_columns: &Array<u32>,
    near: &Array<C>,
    weak_row_ptr: &Array<u32>,
    weak_columns: &Array<u32>,
    weak: &Array<C>,
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    weights: &mut Array<C>,
    states: &mut Array<u32>,
    most: C,
    rows: u32,
    #[comptime] symmetric: bool,
    #[comptime] steps: u32,
) {
    let row = position();
    if row < rows as usize {
        let zero = C::new(0.0);
        let (begin, end) = (row_ptr[row], row_ptr[row + 1]);
        let mut state = DROPPED.runtime();
        for place in begin..end {
            weights[place as usize] = C::new(0.0);
        }
        if begin < end && is_coarse(coarse, row) {
            weights[begin as usize] = C::new(1.0);
            state = KEPT.runtime();
        } else if begin < end {
            // Own and weak fine entries, then neighbours without weak entries, then the others.
            let mut diagonal = C::new(0.0);
            #[unroll]
            for pass in 0..3u32 {
                let mut of_pass = C::new(0.0);
                let mut next = strong_row_ptr[row];
                let last = strong_row_ptr[row + 1];
                if comptime!(pass == 2) {
                    // Weak coarse entries come before the neighbours of the last pass.
                    for k in a_row_ptr[row]..a_row_ptr[row + 1] {
                        let (column, value) = (a_columns[k as usize], a_values[k as usize]);
                        let is_strong = is_next(strong, next, last, column);
                        next += is_strong;
                        if is_strong == 0 && is_coarse(coarse, column as usize) {
                            let place = place_of(columns, begin, end, coarse[column as usize], steps);
                            if place < end {
                                weights[place as usize] += value;
                            } else {
                                of_pass += value;
                            }
                        }
                    }
                    next = strong_row_ptr[row];
                }
                for k in a_row_ptr[row]..a_row_ptr[row + 1] {
                    let column = a_columns[k as usize] as usize;
                    let value = a_values[k as usize];
                    let is_strong = is_next(strong, next, last, a_columns[k as usize]);
                    next += is_strong;
                    let depends = is_strong == 1 && column != row;
                    if comptime!(pass == 0) {
                        if depends && is_coarse(coarse, column) {
                            let place = place_of(columns, begin, end, coarse[column], steps);
                            weights[place as usize] += value;
                        } else if !depends && !is_coarse(coarse, column) {
                            of_pass += value;
                        }
                    } else if depends && !is_coarse(coarse, column) {
                        let (first, after) = (near_row_ptr[column], near_row_ptr[column + 1]);
                        let (first_weak, after_weak) = (weak_row_ptr[column], weak_row_ptr[column + 1]);
                        let in_pass = select(first_weak < after_weak, 2u32, 1u32);
                        if in_pass == pass {
                            let of_near = sum_in_set::<C>(
                                near_columns,
                                near,
                                first,
                                after,
                                columns,
                                begin,
                                end,
                                zero,
                                steps,
                            );
                            let sum = sum_in_set::<C>(
                                weak_columns,
                                weak,
                                first_weak,
                                after_weak,
                                columns,
                                begin,
                                end,
                                of_near,
                                steps,
                            );
                            if sum == zero {
                                of_pass += value;
                            } else {
                                let mut back = value;
                                if comptime!(!symmetric) {
                                    let end = a_row_ptr[column + 1];
                                    let own = u32::cast_from(row);
                                    let at = first_from(a_columns, a_row_ptr[column], end, own);
                                    back = C::new(0.0);
                                    if at < end {
                                        let there = a_columns[at as usize] == own;
                                        back = select(there, a_values[at as usize], zero);
                                    }
                                }
                                let own = select(back * sum > zero, back, zero);
                                let factor = value / (sum + own);
                                of_pass += factor * own;
                                for l in first..after {
                                    let place =
                                        place_of(columns, begin, end, near_columns[l as usize], steps);
                                    if place < end {
                                        weights[place as usize] += factor * near[l as usize];
                                    }
                                }
                                for l in first_weak..after_weak {
                                    let place =
                                        place_of(columns, begin, end, weak_columns[l as usize], steps);
                                    if place < end {
                                        weights[place as usize] += factor * weak[l as usize];
                                    }
                                }
                            }
                        }
                    }
                }
                diagonal += of_pass;
            }
            let factor = C::new(-1.0) / diagonal;
            // Comparisons with NaN are false.
            if factor.abs() <= most {
                state = TRUNCATED.runtime();
            }
            for place in begin..end {
                weights[place as usize] *= factor;
            }
        }
        states[row] = state;
    }
}
