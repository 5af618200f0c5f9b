//! Stored values, widened in registers: always exact.
//!
//! Numbers of 64 and 32 bits are read as they are. Numbers of 16 bits lie two in a 32-bit word, so that no device needs
//! 16-bit memory to hold them, and one load brings two (the packed loads of Tsai's thesis, section 4.3.2). `bf16` is the upper half
//! of an `f32`: a shift. `f16` is converted by the device where it computes in `f16`, otherwise put together from its bits.

use cubecl::prelude::*;
use ziggurat_sparse::f16;

/// How stored values lie in an array.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Packing {
    /// One number per element.
    Plain,
    /// Two `f16` per word, which the device converts.
    F16,
    /// Two `f16` per word, converted by their bits: for devices that do not know the number.
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

/// The value of one half of a word, the lower one where `half` is 0.
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
            // The exponent's bias goes from 15 to 127; that of infinity and NaN to the largest there is.
            let bias = select(magnitude >= 0x7C00u32, 224u32 << 23u32, 112u32 << 23u32);
            let normal = f32::reinterpret(sign | ((magnitude << 13u32) + bias));
            // Below 2⁻¹⁴ the bits are a multiple of 2⁻²⁴.
            let small = f32::cast_from(magnitude) * 5.960_464_5e-8f32;
            let small = f32::reinterpret(u32::reinterpret(small) | sign);
            C::cast_from(select(magnitude < 0x0400u32, small, normal))
        }
        Packing::Plain => C::new(0.0), // has no halves
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
