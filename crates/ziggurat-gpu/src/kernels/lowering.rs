//! Lowering of the rows of a level, one unit per row or element.
//!
//! ```text
//! steps of smoothers: 1/a_ii, sign(a_ii)/Σ|a_ij|, a_ii/Σa_ij²        sizes: |a_ii|, or max |a_ij|
//! exponents: e_i = log₂ √size, to the nearest integer                powers: 2^(± e_i + c)
//! entries: l_i a_ij m_j c                                            rounded to 16 bits, in pairs
//! ```
//!
//! Numbers are rounded to 16 bits by their own bits, so that devices without such numbers give the
//! same ones, and only once: a 64-bit number becomes a 32-bit one whose last bit says whether
//! anything was cut off (rounding to odd, Boldo & Melquiond, 2008). Memory traffic: every array
//! once.

use cubecl::prelude::*;

use super::vector::position;

/// The step that [`row_steps`] computes.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StepShape {
    Jacobi,
    L1,
    Spai0,
    /// SPAI-0, only where it is proved to converge.
    Proved,
}

/// The step of every row, and whether it cannot be used, as 1 or 0. `most` is the largest number,
/// `bound` the bound of the proof.
#[cube(launch_unchecked)]
pub(crate) fn row_steps<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    steps: &mut Array<C>,
    unusable: &mut Array<C>,
    bound: C,
    most: C,
    rows: u32,
    #[comptime] shape: StepShape,
) {
    let row = position();
    if row < rows as usize {
        let mut diagonal = C::new(0.0);
        let mut sum = C::new(0.0);
        let mut squares = C::new(0.0);
        for k in row_ptr[row]..row_ptr[row + 1] {
            let value = values[k as usize];
            sum += value.abs();
            squares += value * value;
            diagonal = select(columns[k as usize] as usize == row, value, diagonal);
        }
        let step = match shape {
            StepShape::Jacobi => C::new(1.0) / diagonal,
            StepShape::L1 => select(diagonal < C::new(0.0), C::new(-1.0), C::new(1.0)) / sum,
            StepShape::Spai0 => diagonal / squares,
            StepShape::Proved => diagonal / squares,
        };
        // Comparisons with NaN are false.
        let size = step.abs();
        let mut usable = size > C::new(0.0) && size <= most;
        if comptime!(shape == StepShape::Proved) {
            usable = usable && step > C::new(0.0) && step * sum <= bound;
        }
        steps[row] = step;
        unusable[row] = select(usable, C::new(0.0), C::new(1.0));
    }
}

/// |a_ii| of every row; where that is zero, its largest magnitude.
#[cube(launch_unchecked)]
pub(crate) fn row_sizes<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    sizes: &mut Array<C>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut diagonal = C::new(0.0);
        let mut largest = C::new(0.0);
        for k in row_ptr[row]..row_ptr[row + 1] {
            let size = values[k as usize].abs();
            largest = select(size > largest, size, largest);
            diagonal = select(columns[k as usize] as usize == row, size, diagonal);
        }
        sizes[row] = select(diagonal > C::new(0.0), diagonal, largest);
    }
}

/// Which factors a matrix is multiplied by.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sides {
    pub(crate) left: bool,
    pub(crate) right: bool,
}

/// An entry times its factors.
#[cube]
pub(crate) fn scaled_entry<C: Float>(
    value: C,
    left: &Array<C>,
    right: &Array<C>,
    row: usize,
    column: u32,
    factor: C,
    #[comptime] sides: Sides,
) -> C {
    let mut scaled = value;
    if comptime!(sides.left) {
        scaled *= left[row];
    }
    if comptime!(sides.right) {
        scaled *= right[column as usize];
    }
    scaled * factor
}

/// max_j |l_i a_ij m_j| of every row.
#[cube(launch_unchecked)]
pub(crate) fn largest_in_rows<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    left: &Array<C>,
    right: &Array<C>,
    largest: &mut Array<C>,
    rows: u32,
    #[comptime] sides: Sides,
) {
    let row = position();
    if row < rows as usize {
        let mut most = C::new(0.0);
        for k in row_ptr[row]..row_ptr[row + 1] {
            let (value, column) = (values[k as usize], columns[k as usize]);
            let size = scaled_entry::<C>(value, left, right, row, column, C::new(1.0), sides).abs();
            most = select(size > most, size, most);
        }
        largest[row] = most;
    }
}

/// The entries of L A M.
#[cube(launch_unchecked)]
pub(crate) fn scale_entries<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    left: &Array<C>,
    right: &Array<C>,
    scaled: &mut Array<C>,
    factor: C,
    rows: u32,
    #[comptime] sides: Sides,
) {
    let row = position();
    if row < rows as usize {
        for k in row_ptr[row]..row_ptr[row + 1] {
            let (value, column) = (values[k as usize], columns[k as usize]);
            scaled[k as usize] = scaled_entry::<C>(value, left, right, row, column, factor, sides);
        }
    }
}

/// 2^e, for an exponent that may be outside the range of `f32`: the product of eight equal factors
/// and a rest.
#[cube]
fn power_of_two<C: Float>(exponent: i32) -> C {
    // Rounded down, so that the rest is from 0 to 7.
    let eighth = i32::cast_from((exponent + 2048) / 8) - 256;
    let rest = exponent - 8 * eighth;
    let factor = C::cast_from(f32::reinterpret(u32::cast_from(eighth + 127) << 23u32));
    let square = factor * factor;
    let fourth = square * square;
    // In this order no part is larger or smaller than the result, up to 2⁷.
    fourth * fourth * C::cast_from(f32::reinterpret(u32::cast_from(rest + 127) << 23u32))
}

/// 2^(± e_i + shift), where e_i is the exponent but from `low` to `high`.
#[cube(launch_unchecked)]
pub(crate) fn powers_of_two<C: Float + CubeElement>(
    exponents: &Array<C>,
    powers: &mut Array<C>,
    low: i32,
    high: i32,
    sign: i32,
    shift: i32,
    len: u32,
) {
    let i = position();
    if i < len as usize {
        let given = i32::cast_from(exponents[i]);
        let least = select(given < low, low, given);
        let exponent = select(least > high, high, least);
        powers[i] = power_of_two::<C>(sign * exponent + shift);
    }
}

/// x 2^∓s and e ± s if x is beyond 2^±s.
#[cube]
fn halved<C: Float>(x: C, exponent: i32, #[comptime] s: i32) -> (C, i32) {
    let (up, down) = (power_of_two::<C>(s.runtime()), power_of_two::<C>((-s).runtime()));
    let (large, small) = (x >= up, x < down);
    let scaled = select(large, x * down, select(small, x * up, x));
    (scaled, select(large, exponent + s, select(small, exponent - s, exponent)))
}

/// log₂ √x to the nearest integer; 0 where x is not positive and at most `most`.
#[cube(launch_unchecked)]
pub(crate) fn root_exponents<C: Float + CubeElement>(
    sizes: &Array<C>,
    exponents: &mut Array<C>,
    most: C,
    len: u32,
    #[comptime] wide: bool,
) {
    let i = position();
    if i < len as usize {
        let mut size = sizes[i];
        let mut exponent = 0i32;
        if comptime!(wide) {
            // Into the range of `f32`, whose exponent is read from its bits.
            let (x, e) = halved::<C>(size, exponent, 512);
            let (x, e) = halved::<C>(x, e, 256);
            let (x, e) = halved::<C>(x, e, 128);
            let (x, e) = halved::<C>(x, e, 64);
            size = x;
            exponent = e;
        }
        let bits = u32::reinterpret(f32::cast_from(size));
        let own = i32::cast_from(bits >> 23u32) - 127;
        exponent += own;
        let is_power = size <= power_of_two::<C>(own);
        let odd = (exponent + 4096) % 2 == 1;
        let root = (exponent + 1 + 4096) / 2 - 2048 - select(odd && is_power, 1i32, 0i32);
        let given = sizes[i];
        let usable = given > C::new(0.0) && given <= most;
        exponents[i] = C::cast_from(select(usable, root, 0i32));
    }
}

/// The bits of a number in 32 bits; where digits are cut off, the last bit is one. `zero` is zero,
/// which compilers do not know: Mesa 26 takes the way to 32 bits and back for no change.
#[cube]
fn to_odd<C: Float>(x: C, zero: u32) -> u32 {
    let bits = u32::reinterpret(f32::cast_from(x));
    let back = C::cast_from(f32::reinterpret(bits + zero));
    let odd = select(back.abs() < x.abs(), bits + 1u32, bits - 1u32);
    select(back != x && bits % 2u32 == 0u32, odd, bits)
}

/// The 16 bits of the nearest `f16` or `bf16`.
#[cube]
fn narrowed<C: Float>(x: C, zero: u32, #[comptime] brain: bool) -> u32 {
    let bits = to_odd::<C>(x, zero);
    let magnitude = bits & 0x7FFF_FFFFu32;
    let sign = (bits >> 16u32) & 0x8000u32;
    let half = if comptime!(brain) {
        let rounded = (magnitude + 0x7FFFu32 + ((magnitude >> 16u32) & 1u32)) >> 16u32;
        select(magnitude > 0x7F80_0000u32, 0x7FC0u32, rounded)
    } else {
        // The exponent is 112 less. Below 2⁻¹⁴, numbers are multiples of 2⁻²⁴, to which the
        // addition of a half rounds them.
        let normal = magnitude - (112u32 << 23u32);
        let normal = (normal + 0xFFFu32 + ((normal >> 13u32) & 1u32)) >> 13u32;
        let small = u32::reinterpret(f32::reinterpret(magnitude) + 0.5f32) - 0x3F00_0000u32;
        let finite = select(magnitude < 0x3880_0000u32, small, normal);
        let rounded = select(magnitude >= 0x477F_F000u32, 0x7C00u32, finite);
        select(magnitude > 0x7F80_0000u32, 0x7E00u32, rounded)
    };
    sign | half
}

/// Pairs of numbers in 16 bits, as words.
#[cube(launch_unchecked)]
pub(crate) fn narrow_pairs<C: Float + CubeElement>(
    values: &Array<C>,
    words: &mut Array<u32>,
    len: u32,
    zero: u32,
    #[comptime] brain: bool,
) {
    let word = position();
    let first = 2 * word;
    if first < len as usize {
        let mut both = narrowed::<C>(values[first], zero, brain);
        if first + 1 < len as usize {
            both |= narrowed::<C>(values[first + 1], zero, brain) << 16u32;
        }
        words[word] = both;
    }
}
