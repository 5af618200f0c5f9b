//! Tentative interpolation: the near-kernel on every aggregate, orthogonalised.
//!
//! ```text
//! B_I = Q_I R_I        P: the Q_I,    the coarse near-kernel: the R_I
//! ```
//!
//! Modified Gram–Schmidt with a second pass, one unit per aggregate, in the values of P. A vector
//! of which nothing is left without those before it becomes zero. Cost: 4 k² operations per row for
//! k vectors; memory traffic at most as many values, which the caches hold.

use cubecl::prelude::*;

use super::vector::position;

/// The pattern of P, with the near-kernel as its values. `member_ptr` and `aggregates` are the rows
/// of the aggregates, which have at most one entry.
#[cube(launch_unchecked)]
pub(crate) fn kernel_rows<C: Float + CubeElement>(
    member_ptr: &Array<u32>,
    aggregates: &Array<u32>,
    kernel: &Array<C>,
    row_ptr: &mut Array<u32>,
    columns: &mut Array<u32>,
    values: &mut Array<C>,
    block: u32,
    count: u32,
    rows: u32,
) {
    let row = u32::cast_from(position());
    if row <= rows {
        let node = (row / block) as usize;
        let place = member_ptr[node];
        let mut start = place * block * count;
        if row < rows && member_ptr[node + 1] > place {
            start += row % block * count;
            for c in 0..count {
                columns[(start + c) as usize] = aggregates[place as usize] * count + c;
                values[(start + c) as usize] = kernel[(row * count + c) as usize];
            }
        }
        row_ptr[row as usize] = start;
    }
}

/// The nodes `begin..end` of a list, with `block` rows each, whose vectors have `count` elements in
/// every row.
#[derive(CubeType, Clone, Copy)]
struct Members {
    begin: u32,
    end: u32,
    block: u32,
}

/// The inner product of two vectors over the members of an aggregate.
#[cube]
fn dot<C: Float>(
    members: &Array<u32>,
    row_ptr: &Array<u32>,
    values: &Array<C>,
    of: Members,
    one: u32,
    other: u32,
) -> C {
    let mut sum = C::new(0.0);
    for m in of.begin..of.end {
        for unknown in 0..of.block {
            let place = row_ptr[(members[m as usize] * of.block + unknown) as usize];
            sum += values[(place + one) as usize] * values[(place + other) as usize];
        }
    }
    sum
}

/// Q and R of every aggregate. R is zero before.
#[cube(launch_unchecked)]
pub(crate) fn orthogonalise<C: Float + CubeElement>(
    member_ptr: &Array<u32>,
    members: &Array<u32>,
    row_ptr: &Array<u32>,
    values: &mut Array<C>,
    r: &mut Array<C>,
    dependent: C,
    block: u32,
    count: u32,
    aggregates: u32,
) {
    let aggregate = position();
    if aggregate < aggregates as usize {
        let begin = member_ptr[aggregate];
        let end = member_ptr[aggregate + 1];
        let of = Members { begin, end, block };
        let first = u32::cast_from(aggregate) * count * count;
        for c in 0..count {
            let before = dot::<C>(members, row_ptr, values, of, c, c).sqrt();
            for step in 0..2 * c {
                let other = step % c;
                let along = dot::<C>(members, row_ptr, values, of, other, c);
                let place = (first + other * count + c) as usize;
                let sum = r[place] + along;
                r[place] = sum;
                for m in begin..end {
                    for unknown in 0..block {
                        let row = row_ptr[(members[m as usize] * block + unknown) as usize];
                        let rest = values[(row + c) as usize] - along * values[(row + other) as usize];
                        values[(row + c) as usize] = rest;
                    }
                }
            }
            let after = dot::<C>(members, row_ptr, values, of, c, c).sqrt();
            let is_new = after > dependent * before;
            r[(first + c * count + c) as usize] = select(is_new, after, C::new(0.0));
            for m in begin..end {
                for unknown in 0..block {
                    let row = row_ptr[(members[m as usize] * block + unknown) as usize];
                    let rest = values[(row + c) as usize] / after;
                    values[(row + c) as usize] = select(is_new, rest, C::new(0.0));
                }
            }
        }
    }
}

/// Whether each unknown of a coarse matrix is dead, as 1 or 0.
#[cube(launch_unchecked)]
pub(crate) fn find_dead<C: Float + CubeElement>(r: &Array<C>, dead: &mut Array<C>, count: u32, rows: u32) {
    let row = position();
    if row < rows as usize {
        let of_kernel = u32::cast_from(row) * count + u32::cast_from(row) % count;
        dead[row] = select(r[of_kernel as usize] == C::new(0.0), C::new(1.0), C::new(0.0));
    }
}

/// Sets the diagonal entries of dead unknowns.
#[cube(launch_unchecked)]
pub(crate) fn revive<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    dead: &Array<C>,
    values: &mut Array<C>,
    scale: C,
    rows: u32,
) {
    let row = position();
    if row < rows as usize && dead[row] > C::new(0.0) {
        for k in row_ptr[row]..row_ptr[row + 1] {
            if columns[k as usize] as usize == row {
                values[k as usize] = scale;
            }
        }
    }
}
