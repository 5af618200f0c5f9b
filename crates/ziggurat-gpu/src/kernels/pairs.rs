//! Pairs of rows by graph matching, one unit per row.
//!
//! ```text
//! w_ij = ½ (|a_ij| + |a_ji|) / max(|a_ii|, |a_jj|)
//! rounds: choose the strongest row without a partner ▸ those that choose each other are a pair
//! the rest joins the pair of its strongest neighbour, or stays alone
//! ```
//!
//! The parallel graph match of Ginkgo (Y.-H. Tsai, *Portable mixed precision algebraic multigrid on
//! high performance GPUs*, 2024, algorithm 17). Among connections of equal weight, the smallest
//! `i xor j` counts, so that both rows agree. Partners are stored as one more than their number,
//! and 0 is none. Memory traffic: per round, the rows without a partner, and a binary search in the
//! row of each of their neighbours.

use cubecl::prelude::*;

use super::aggregates::NO_AGGREGATE;
use super::product_values::first_from;
use super::vector::position;

/// |a_ii| of every row.
#[cube(launch_unchecked)]
pub(crate) fn diagonal_sizes<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    sizes: &mut Array<C>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut size = C::new(0.0);
        for k in row_ptr[row]..row_ptr[row + 1] {
            size = select(columns[k as usize] as usize == row, values[k as usize].abs(), size);
        }
        sizes[row] = size;
    }
}

/// Which neighbours of a row count.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Counted {
    All,
    /// Those without a partner that also have an entry for the row.
    Open,
    /// Those with a partner.
    Paired,
}

/// One more than the number of the neighbour with the largest weight, 0 if there is none.
#[cube]
fn strongest<C: Float>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    diagonal: &Array<C>,
    partners: &Array<u32>,
    row: usize,
    #[comptime] counted: Counted,
) -> u32 {
    let mut found = 0u32;
    let mut largest = C::new(0.0);
    let mut least_tie = 0u32;
    for k in row_ptr[row]..row_ptr[row + 1] {
        let column = columns[k as usize];
        let other = column as usize;
        let mut counts = other != row;
        if comptime!(counted == Counted::Open) {
            counts = counts && partners[other] == 0;
        }
        if comptime!(counted == Counted::Paired) {
            counts = counts && partners[other] != 0;
        }
        if counts {
            let end = row_ptr[other + 1];
            let place = first_from(columns, row_ptr[other], end, u32::cast_from(row));
            let mut back = C::new(0.0);
            let mut is_mutual = false;
            if place < end {
                is_mutual = columns[place as usize] as usize == row;
                back = select(is_mutual, values[place as usize].abs(), C::new(0.0));
            }
            let scale = select(diagonal[row] > diagonal[other], diagonal[row], diagonal[other]);
            let weight = C::new(0.5) * (values[k as usize].abs() + back) / scale;
            let tie = u32::cast_from(row) ^ column;
            let mut wins = weight > largest || (weight == largest && found != 0 && tie < least_tie);
            if comptime!(counted == Counted::Open) {
                wins = wins && is_mutual;
            }
            if wins {
                found = column + 1;
                largest = weight;
                least_tie = tie;
            }
        }
    }
    found
}

/// The choices of the rows without a partner.
#[cube(launch_unchecked)]
pub(crate) fn choose_partners<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    diagonal: &Array<C>,
    partners: &Array<u32>,
    choices: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut choice = 0u32;
        if partners[row] == 0 {
            choice = strongest::<C>(row_ptr, columns, values, diagonal, partners, row, Counted::Open);
        }
        choices[row] = choice;
    }
}

/// Makes pairs of rows that have chosen each other.
#[cube(launch_unchecked)]
pub(crate) fn match_partners(choices: &Array<u32>, partners: &mut Array<u32>, rows: u32) {
    let row = position();
    if row < rows as usize {
        let choice = choices[row];
        if choice != 0 {
            let back = choices[choice as usize - 1] as usize;
            partners[row] = select(back == row + 1, choice, partners[row]);
        }
    }
}

/// The first row of each row's pair. A row without connections has none.
#[cube(launch_unchecked)]
pub(crate) fn join_pairs<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    diagonal: &Array<C>,
    partners: &Array<u32>,
    roots: &mut Array<u32>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut of_pair = u32::cast_from(row) + 1;
        let mut is_paired = partners[row] != 0;
        if !is_paired {
            let found = strongest::<C>(row_ptr, columns, values, diagonal, partners, row, Counted::Paired);
            is_paired = found != 0;
            of_pair = select(is_paired, found, of_pair);
        }
        let mut root = NO_AGGREGATE.runtime();
        if is_paired {
            let one = of_pair - 1;
            let other = partners[one as usize] - 1;
            root = select(one < other, one, other);
        } else {
            // Connected to rows that have no partner either, or to none.
            let any = strongest::<C>(row_ptr, columns, values, diagonal, partners, row, Counted::All);
            root = select(any != 0, u32::cast_from(row), root);
        }
        roots[row] = root;
    }
}

/// Whether each row is the first of a pair, or alone.
#[cube(launch_unchecked)]
pub(crate) fn mark_first(roots: &Array<u32>, first: &mut Array<u32>, rows: u32) {
    let row = position();
    if row < rows as usize {
        first[row] = select(roots[row] as usize == row, 1u32, 0u32);
    }
}

/// The numbers of the pairs.
#[cube(launch_unchecked)]
pub(crate) fn number_pairs(roots: &Array<u32>, numbers: &Array<u32>, aggregate: &mut Array<u32>, rows: u32) {
    let row = position();
    if row < rows as usize {
        let mut number = NO_AGGREGATE.runtime();
        if roots[row] != NO_AGGREGATE {
            number = numbers[roots[row] as usize];
        }
        aggregate[row] = number;
    }
}
