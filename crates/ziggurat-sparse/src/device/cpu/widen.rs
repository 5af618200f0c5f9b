//! Widening one stored number by the CPU's own instruction.
//!
//! `half` asks anew for every number whether the CPU converts half precision in hardware, which costs more than the
//! product the number is needed for (f16 CSR, 28 M entries, two threads: 37 ms that way, 18 ms this way). A kernel that
//! is compiled for F16C need not ask.

#![allow(unsafe_code)]

use half::{bf16, f16};

use super::lanes::{Lanes, Widened};
use super::simd::Isa;

/// One of the seven pairs of numbers. Private, which seals [`Reads`](crate::Reads).
pub trait Widen<S>: Sized {
    /// Sixteen of these in the registers of an instruction set.
    type In<I: Isa>: Lanes<Self> + Widened<S>;

    /// The same value as [`Reads::read`](crate::Reads::read).
    ///
    /// # Safety
    /// On x86-64 the CPU must have F16C.
    unsafe fn widen_f16c(stored: S) -> Self;
}

/// One half-precision number by the F16C instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn f16_to_f32(stored: f16) -> f32 {
    use std::arch::x86_64::{_mm_cvtph_ps, _mm_cvtsi32_si128, _mm_cvtss_f32};
    // SAFETY: the caller vouches for F16C, the only requirement of the instruction.
    unsafe { _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(stored.to_bits())))) }
}

/// Other architectures have no F16C; nothing is required of the caller.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn f16_to_f32(stored: f16) -> f32 {
    stored.to_f32()
}

macro_rules! widen {
    ($($c:ty: $lanes:ident, $s:ty, $widen:expr;)*) => {$(
        impl Widen<$s> for $c {
            type In<I: Isa> = I::$lanes;

            #[inline(always)]
            unsafe fn widen_f16c(stored: $s) -> $c {
                $widen(stored)
            }
        }
    )*};
}
widen! {
    f64: Double, f64, |s| s;
    f64: Double, f32, f64::from;
    // SAFETY: here and below, the caller of `widen_f16c` vouches for F16C.
    f64: Double, f16, |s| f64::from(unsafe { f16_to_f32(s) });
    f64: Double, bf16, bf16::to_f64;
    f32: Single, f32, |s| s;
    // SAFETY: as above.
    f32: Single, f16, |s| unsafe { f16_to_f32(s) };
    f32: Single, bf16, bf16::to_f32;
}
