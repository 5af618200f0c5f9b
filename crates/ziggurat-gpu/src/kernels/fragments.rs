//! Row products of a matrix in 4 by 4 tiles by matrix units (tensor cores), with one plane per
//! block row.
//!
//! ```text
//! A: m k / 16 tiles of a block row, as they are in memory, read as m by k by columns:
//!    column c = (m/4) κ + g of the block row is in rows 4 g .. 4 g + 3 of column κ
//! B: B[κ][g + (m/4) p] = part p of x[c], zero elsewhere
//! D ← A B + D;   y_i = Σ_p w_p Σ_g D[4 g + i][g + (m/4) p]
//! ```
//!
//! AmgT (Lu et al., SC 2024) computes y in the precision of the matrix, so that 16-bit units round
//! the vector to 16 bits. That costs iterations (23 for 19 on `elasticity3d:10`), and our vectors
//! are never rounded. But a product uses only m/4 of the n columns of B, so the others can hold
//! more digits of x, in the same multiplication. For `f16`, x is relative to the power of two below
//! the largest element of the block row and is cut into four integers of up to eleven digits,
//! weights 2^−(9 + 11 p): digits below 2^−42 of the largest element are lost, less than the
//! rounding of the sum. `bf16` has the exponents of `f32`, so that three parts of eight digits are
//! exact.
//!
//! Memory traffic: the tiles, 4 bytes per tile for its column, and the vectors; `f16` reads x
//! twice, the second time from a cache.

use cubecl::cmma::{self, MatrixIdent, MatrixLayout};
use cubecl::prelude::*;

use super::row_products::{Operation, finish_row};
use crate::matrix_units::{MatrixUnits, Split};

/// Compile-time arguments of [`tile_fragments`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FragmentShape {
    pub(crate) units: MatrixUnits,
    pub(crate) operation: Operation,
}

/// Applies an operation to all rows. `A` is the number type of the matrix and of the parts of x.
/// After the last tile, `values` has room for the tiles of one multiplication.
#[cube(launch_unchecked)]
pub(crate) fn tile_fragments<A: Float + CubeElement, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<A>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    cols: u32,
    block_rows: u32,
    #[comptime] shape: FragmentShape,
) {
    let m = comptime!(shape.units.m as usize);
    let n = comptime!(shape.units.n as usize);
    let k = comptime!(shape.units.k as usize);
    let groups = comptime!(shape.units.m as usize / 4);
    let parts = comptime!(shape.units.split.parts() as usize);
    let step = comptime!(shape.units.units as usize);
    // One multiplication reads fragments from addresses that are multiples of 32 bytes.
    let mut of_x = SharedMemory::<A>::new_aligned(comptime!(k * n), 32usize);
    let mut sums = SharedMemory::<C>::new_aligned(comptime!(m * n), 32usize);
    let block_row = CUBE_POS;
    let lane = UNIT_POS as usize;
    if block_row < block_rows as usize {
        let begin = row_ptr[block_row] as usize;
        let end = row_ptr[block_row + 1] as usize;
        let mut scale = C::new(1.0);
        let mut back = C::new(1.0);
        if comptime!(shape.units.split == Split::Integers) {
            let bits = largest_exponent::<C>(columns, x, begin, end, cols, step);
            // Elements below 4, times 2⁹: below 2¹¹.
            scale = C::cast_from(f32::reinterpret((254u32 << 23u32) - bits)) * C::new(512.0);
            back = C::cast_from(f32::reinterpret(bits)) * C::new(0.001_953_125);
        }
        let mut place = lane;
        while place < k * n {
            of_x[place] = A::new(0.0);
            place += step;
        }
        let acc = cmma::Matrix::<C>::from_value(
            MatrixIdent::Accumulator,
            m,
            n,
            k,
            MatrixLayout::Undefined,
            C::new(0.0),
        );
        let mut first = begin;
        while first < end {
            sync_cube(); // the previous multiplication has read x
            let mut column = lane;
            while column < k * groups {
                let tile = first + column / 4;
                let mut rest = C::new(0.0);
                if tile < end {
                    let index = columns[tile] * 4 + u32::cast_from(column % 4);
                    if index < cols {
                        rest = x[index as usize] * scale;
                    }
                }
                let at = (column / groups) * n + column % groups;
                #[unroll]
                for part in 0..parts {
                    let whole = leading::<C>(rest, comptime!(shape.units.split));
                    of_x[at + groups * part] = A::cast_from(whole);
                    rest = (rest - whole) * C::new(comptime!(weight(shape.units.split).recip()));
                }
                column += step;
            }
            sync_cube();
            let of_tiles = cmma::Matrix::<A>::from_slice(
                MatrixIdent::A,
                m,
                n,
                k,
                MatrixLayout::ColMajor,
                &values.slice(first * 16, first * 16 + m * k),
                m as u32,
            );
            let of_vector = cmma::Matrix::<A>::from_slice(
                MatrixIdent::B,
                m,
                n,
                k,
                MatrixLayout::RowMajor,
                &of_x.to_slice(),
                n as u32,
            );
            cmma::execute(&of_tiles, &of_vector, &acc, &acc);
            first += comptime!(shape.units.tiles() as usize);
        }
        cmma::store(&mut sums.to_slice_mut(), &acc, n as u32, MatrixLayout::RowMajor);
        sync_cube();
        let row = 4 * block_row + lane;
        if lane < 4 && row < rows as usize {
            let mut product = C::new(0.0);
            #[unroll]
            for reversed in 0..parts {
                let part = comptime!(parts - 1 - reversed);
                let mut sum = C::new(0.0);
                #[unroll]
                for group in 0..groups {
                    sum += sums[(4 * group + lane) * n + group + groups * part];
                }
                product = product * C::new(comptime!(weight(shape.units.split))) + sum;
            }
            finish_row::<C>(row, product * back, x, b, d, y, alpha, beta, comptime!(shape.operation));
        }
    }
}

/// The weight of a part relative to the previous one.
fn weight(split: Split) -> f32 {
    match split {
        Split::Integers => 1.0 / 2048.0,
        Split::Whole | Split::Digits => 1.0,
    }
}

/// The part of a number with its leading digits, which the type of the matrix represents exactly.
/// Not by rounding to that type and back: compilers may remove such a pair of conversions.
#[cube]
fn leading<C: Float>(rest: C, #[comptime] split: Split) -> C {
    match split {
        Split::Whole => rest,
        Split::Digits => {
            C::cast_from(f32::reinterpret(u32::reinterpret(f32::cast_from(rest)) & 0xFFFF_0000u32))
        }
        Split::Integers => {
            // Towards zero, so that the difference is exact for numbers of either sign.
            let size = rest.abs().floor();
            select(rest < C::new(0.0), -size, size)
        }
    }
}

/// The bits of the power of two below the largest |x| in the columns of the tiles `begin..end`, or
/// of the nearest one for which scaling by it and by its inverse neither overflows nor underflows:
/// from 2⁻¹⁰⁷, where 42 digits are all that an `f32` has, to 2¹²⁶.
#[cube]
fn largest_exponent<C: Float>(
    columns: &Array<u32>,
    x: &Array<C>,
    begin: usize,
    end: usize,
    cols: u32,
    #[comptime] step: usize,
) -> u32 {
    let mut shared = SharedMemory::<u32>::new(step);
    let lane = UNIT_POS as usize;
    let mut largest = 0u32;
    let mut element = 4 * begin + lane;
    while element < 4 * end {
        let index = columns[element / 4] * 4 + u32::cast_from(element % 4);
        if index < cols {
            // Without its sign, a number increases with its bits.
            let bits = u32::reinterpret(f32::cast_from(x[index as usize])) & 0x7FFF_FFFFu32;
            largest = select(bits > largest, bits, largest);
        }
        element += step;
    }
    shared[lane] = largest;
    sync_cube();
    for other in 0..step {
        let bits = shared[other];
        largest = select(bits > largest, bits, largest);
    }
    let power = largest & 0x7F80_0000u32;
    let least = select(power < (20u32 << 23u32), 20u32 << 23u32, power);
    select(least > (253u32 << 23u32), 253u32 << 23u32, least)
}
