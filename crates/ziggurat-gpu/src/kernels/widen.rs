//! Conversion of stored values to the compute type, in registers and always exact.
//!
//! 64-bit and 32-bit numbers are read directly. 16-bit numbers are packed two per 32-bit word, so
//! devices need no 16-bit memory access, and one load fetches two values (the packed loads of
//! Tsai's thesis, section 4.3.2). `bf16` is the upper half of an `f32` and takes only a shift.
//! `f16` is converted by the device if it supports `f16`, and otherwise decoded from its bits.

use cubecl::prelude::*;
use ziggurat_sparse::f16;

/// Layout of stored values in an array.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Packing {
    /// One number per element.
    Plain,
    /// Two `f16` per word, converted by the device.
    F16,
    /// Two `f16` per word, decoded from their bits, for devices without `f16`.
    F16Bits,
    /// Two `bf16` per word.
    Bf16,
}

impl Packing {
    /// Whether a word holds two values.
    pub(crate) fn is_paired(self) -> bool {
        self != Packing::Plain
    }
}

/// The value in one half of a word; `half` 0 is the lower one.
#[cube]
pub(crate) fn half_of<C: Float>(word: u32, half: u32, #[comptime] packing: Packing) -> C {
    let bits = (word >> (16u32 * half)) & 0xFFFFu32;
    match packing {
        Packing::Bf16 => C::cast_from(f32::reinterpret(bits << 16u32)),
        Packing::F16 => {
            let both = Vector::<f16, Const<2>>::reinterpret(bits);
            C::cast_from(both[0])
        }
        Packing::F16Bits => {
            let sign = (bits & 0x8000u32) << 16u32;
            let magnitude = bits & 0x7FFFu32;
            // Changes the exponent bias from 15 to 127; infinity and NaN get the maximum exponent.
            let bias = select(magnitude >= 0x7C00u32, 224u32 << 23u32, 112u32 << 23u32);
            let normal = f32::reinterpret(sign | ((magnitude << 13u32) + bias));
            // Subnormal numbers, below 2⁻¹⁴, are multiples of 2⁻²⁴.
            let small = f32::cast_from(magnitude) * 5.960_464_5e-8f32;
            let small = f32::reinterpret(u32::reinterpret(small) | sign);
            C::cast_from(select(magnitude < 0x0400u32, small, normal))
        }
        Packing::Plain => C::new(0.0), // unreachable: plain words have no halves
    }
}

/// The value at an index.
#[cube]
pub(crate) fn value<V: Numeric, C: Float>(
    values: &Array<V>,
    index: usize,
    #[comptime] packing: Packing,
) -> C {
    if comptime!(packing == Packing::Plain) {
        C::cast_from(values[index])
    } else {
        half_of::<C>(u32::cast_from(values[index / 2]), u32::cast_from(index % 2), packing)
    }
}
