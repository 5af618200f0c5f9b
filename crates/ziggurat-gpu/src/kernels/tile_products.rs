//! The values of a sparse product C = A B in 4 by 4 tiles by matrix units (tensor cores), one plane
//! per block row of C, as in AmgT (Lu et al., SC 2024).
//!
//! ```text
//! C_IJ = Σ_K A_IK B_KJ = [A_IK  A_IL …] [B_KJ; B_LJ; …]       D (m by n) ← A (m by k) B (k by n) + D
//! rows 4 p .. 4 p + 3 of A: part p of k/4 tiles of the block row
//! rows of B: the tiles of the same K; columns 4 (g P + q) ..: part q of the tile in column J_g
//! C_IJ = Σ_pq w_p w_q D[4 p .., 4 (g P + q) ..]
//! ```
//!
//! AmgT multiplies numbers of the unit's type. Here 16-bit units multiply numbers of 32 bits: each
//! is cut into P = 2 integers of at most 2¹¹, so that their products are exact, and the four
//! products of parts come from one multiplication, which would otherwise leave those rows and
//! columns empty. The integers are relative to the largest element of the block row of B, and then
//! of A: what is lost is below 2⁻²⁴ of the largest product of two elements. 64-bit units need one
//! part and lose nothing.
//!
//! The sums of a tile stay in registers and follow the order of A, so that results have the same
//! bits in every run. Cost: per tile of C, k/4 tiles of A at a time, whether B has the tile that
//! belongs to them or not, each found by a binary search. Memory traffic: the tiles of A, once per
//! n/(4 P) tiles of C, and the tiles of B that are multiplied.

use cubecl::cmma::{self, MatrixIdent, MatrixLayout};
use cubecl::prelude::*;

use super::product_values::first_from;
use super::vector::position;
use crate::matrix_units::ProductUnits;

/// In place of a tile that does not exist.
const NO_TILE: u32 = u32::MAX;

/// The power of two that is at most twice, and more than once, as large as a number with these bits
/// without its sign; from 2⁻¹⁰⁰, so that quotients are finite, to 2¹²⁶.
#[cube]
fn power_above(bits: u32) -> f32 {
    let power = (bits >> 23u32) + 1;
    let least = select(power < 27u32, 27u32, power);
    f32::reinterpret(select(least > 253u32, 253u32, least) << 23u32)
}

/// A power of two above all elements of each block row.
#[cube(launch_unchecked)]
pub(crate) fn powers_of_tiles<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    values: &Array<C>,
    powers: &mut Array<f32>,
    block_rows: u32,
) {
    let block_row = position();
    if block_row < block_rows as usize {
        let mut largest = 0u32;
        for place in row_ptr[block_row] * 16..row_ptr[block_row + 1] * 16 {
            // Without its sign, a number increases with its bits.
            let bits = u32::reinterpret(f32::cast_from(values[place as usize])) & 0x7FFF_FFFFu32;
            largest = select(bits > largest, bits, largest);
        }
        powers[block_row] = power_above(largest);
    }
}

/// The nearest integer.
#[cube]
fn nearest<C: Float>(x: C) -> C {
    (x + C::new(0.5)).floor()
}

/// A part of a number below one: itself, or an integer whose weight is 2⁻¹¹ or 2⁻²³.
#[cube]
fn part_of<C: Float>(x: C, part: u32, #[comptime] parts: u32) -> C {
    if comptime!(parts == 1) {
        x
    } else {
        let scaled = x * C::new(2048.0);
        let leading = nearest::<C>(scaled);
        select(part == 0u32, leading, nearest::<C>((scaled - leading) * C::new(4096.0)))
    }
}

/// The weight of a part.
fn weight(part: u32, parts: u32) -> f32 {
    match (parts, part) {
        (1, _) => 1.0,
        (_, 0) => 1.0 / 2048.0,
        _ => 1.0 / 2048.0 / 4096.0,
    }
}

/// The tiles of C. `A` is the number type of the units, `powers` has the powers of the block rows
/// of B.
#[cube(launch_unchecked)]
pub(crate) fn tile_products<A: Float + CubeElement, C: Float + CubeElement>(
    a_row_ptr: &Array<u32>,
    a_columns: &Array<u32>,
    a_values: &Array<C>,
    b_row_ptr: &Array<u32>,
    b_columns: &Array<u32>,
    b_values: &Array<C>,
    powers: &Array<f32>,
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &mut Array<C>,
    block_rows: u32,
    #[comptime] units: ProductUnits,
) {
    let m = comptime!(units.m as usize);
    let n = comptime!(units.n as usize);
    let k = comptime!(units.k as usize);
    let step = comptime!(units.units as usize);
    let parts = comptime!(units.parts);
    let inner = comptime!(units.inner() as usize);
    let outer = comptime!(units.outer() as usize);
    // One multiplication reads fragments from addresses that are multiples of 32 bytes.
    let mut of_a = SharedMemory::<A>::new_aligned(comptime!(m * k), 32usize);
    let mut of_b = SharedMemory::<A>::new_aligned(comptime!(k * n), 32usize);
    let mut sums = SharedMemory::<C>::new_aligned(comptime!(m * n), 32usize);
    let mut tiles = SharedMemory::<u32>::new(comptime!(inner * outer));
    let mut shared = SharedMemory::<u32>::new(step);
    let block_row = CUBE_POS;
    let lane = UNIT_POS as usize;
    if block_row < block_rows as usize {
        let a_begin = a_row_ptr[block_row] as usize;
        let a_end = a_row_ptr[block_row + 1] as usize;
        let begin = row_ptr[block_row] as usize;
        let end = row_ptr[block_row + 1] as usize;
        let mut above = 1.0f32;
        if comptime!(parts > 1) {
            // Of the elements of A times the powers of B.
            let mut largest = 0u32;
            let mut place = 16 * a_begin + lane;
            while place < 16 * a_end {
                let size = f32::cast_from(a_values[place]) * powers[a_columns[place / 16] as usize];
                let bits = u32::reinterpret(size) & 0x7FFF_FFFFu32;
                largest = select(bits > largest, bits, largest);
                place += step;
            }
            shared[lane] = largest;
            sync_cube();
            for other in 0..step {
                let bits = shared[other];
                largest = select(bits > largest, bits, largest);
            }
            above = power_above(largest);
        }
        let mut chunk = begin;
        while chunk < end {
            let acc = cmma::Matrix::<C>::from_value(
                MatrixIdent::Accumulator,
                m,
                n,
                k,
                MatrixLayout::Undefined,
                C::new(0.0),
            );
            let mut first = a_begin;
            while first < a_end {
                sync_cube(); // the previous multiplication has read its operands
                if lane < comptime!(inner * outer) {
                    let (tile, target) = (first + lane / outer, chunk + lane % outer);
                    let mut found = NO_TILE.runtime();
                    if tile < a_end && target < end {
                        let row = a_columns[tile] as usize;
                        let last = b_row_ptr[row + 1];
                        let at = first_from(b_columns, b_row_ptr[row], last, columns[target]);
                        if at < last {
                            let there = b_columns[at as usize];
                            found = select(there == columns[target], at, found);
                        }
                    }
                    tiles[lane] = found;
                }
                let mut place = lane;
                while place < m * k {
                    let (row, column) = (place / k, place % k);
                    let (part, tile) = (row / 4, first + column / 4);
                    let mut value = C::new(0.0);
                    if u32::cast_from(part) < parts && tile < a_end {
                        let mut element = a_values[16 * tile + 4 * (row % 4) + column % 4];
                        if comptime!(parts > 1) {
                            let power = powers[a_columns[tile] as usize];
                            element = element * C::cast_from(power) / C::cast_from(above);
                        }
                        value = part_of::<C>(element, u32::cast_from(part), parts);
                    }
                    of_a[place] = A::cast_from(value);
                    place += step;
                }
                sync_cube();
                place = lane;
                while place < k * n {
                    let (row, column) = (place / n, place % n);
                    let (part, target) =
                        (column / 4 % comptime!(parts as usize), column / comptime!(4 * parts as usize));
                    let tile = tiles[(row / 4) * outer + target];
                    let mut value = C::new(0.0);
                    if tile != NO_TILE {
                        let mut element = b_values[16 * tile as usize + 4 * (row % 4) + column % 4];
                        if comptime!(parts > 1) {
                            element /= C::cast_from(powers[a_columns[first + row / 4] as usize]);
                        }
                        value = part_of::<C>(element, u32::cast_from(part), parts);
                    }
                    of_b[place] = A::cast_from(value);
                    place += step;
                }
                sync_cube();
                let left = cmma::Matrix::<A>::from_slice(
                    MatrixIdent::A,
                    m,
                    n,
                    k,
                    MatrixLayout::RowMajor,
                    &of_a.to_slice(),
                    k as u32,
                );
                let right = cmma::Matrix::<A>::from_slice(
                    MatrixIdent::B,
                    m,
                    n,
                    k,
                    MatrixLayout::RowMajor,
                    &of_b.to_slice(),
                    n as u32,
                );
                cmma::execute(&left, &right, &acc, &acc);
                first += inner;
            }
            cmma::store(&mut sums.to_slice_mut(), &acc, n as u32, MatrixLayout::RowMajor);
            sync_cube();
            let mut place = lane;
            while place < comptime!(16 * outer) {
                let (tile, row, column) = (place / 16, place / 4 % 4, place % 4);
                if chunk + tile < end {
                    let mut sum = C::new(0.0);
                    // The smallest weights first.
                    #[unroll]
                    for reversed in 0..comptime!(parts * parts) {
                        let p = comptime!((parts * parts - 1 - reversed) / parts);
                        let q = comptime!((parts * parts - 1 - reversed) % parts);
                        let at = (comptime!(4 * p as usize) + row) * n
                            + 4 * (tile * comptime!(parts as usize) + comptime!(q as usize))
                            + column;
                        sum += sums[at] * C::new(comptime!(weight(p, parts) * weight(q, parts)));
                    }
                    values[16 * (chunk + tile) + place % 16] = sum * C::cast_from(above);
                }
                place += step;
            }
            chunk += outer;
        }
    }
}

/// The entries of a matrix from its tiles.
#[cube(launch_unchecked)]
pub(crate) fn entries_of_tiles<C: Float + CubeElement>(
    tile_ptr: &Array<u32>,
    tile_columns: &Array<u32>,
    tiles: &Array<C>,
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &mut Array<C>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let end = tile_ptr[row / 4 + 1];
        let mut tile = tile_ptr[row / 4];
        for k in row_ptr[row]..row_ptr[row + 1] {
            let column = columns[k as usize];
            tile = first_from(tile_columns, tile, end, column / 4);
            values[k as usize] = tiles[(16 * tile + 4 * u32::cast_from(row % 4) + column % 4) as usize];
        }
    }
}
