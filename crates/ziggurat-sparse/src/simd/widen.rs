//! Widening one stored number.
//!
//! `half` checks on every conversion whether the CPU converts half precision in hardware, and the
//! check costs more than the multiplication that follows (f16 CSR, 28 M entries, two threads: 37 ms
//! with it, 18 ms without). A kernel that is compiled for F16C skips the check.

#![allow(unsafe_code)]

use half::{bf16, f16};

use crate::number::{Real, Store};

/// One of the seven pairs of a number in arithmetic (`Self`) and a number in memory (`S`).
pub trait Widen<S: Store>: Real {
    /// The same value, widened.
    fn widen(stored: S) -> Self;

    /// The same value as [`widen`](Self::widen), by the CPU's own instruction.
    ///
    /// # Safety
    /// On x86-64 the CPU must have F16C.
    unsafe fn widen_f16c(stored: S) -> Self;
}

/// Converts one half-precision number by the F16C instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn f16_to_f32(stored: f16) -> f32 {
    use std::arch::x86_64::{_mm_cvtph_ps, _mm_cvtsi32_si128, _mm_cvtss_f32};
    // SAFETY: the caller guarantees F16C, the only requirement of the instruction.
    unsafe { _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(stored.to_bits())))) }
}

/// Other architectures have no F16C; the caller has nothing to guarantee.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn f16_to_f32(stored: f16) -> f32 {
    stored.to_f32()
}

macro_rules! widen {
    ($($c:ty, $s:ty, $widen:expr, $widen_f16c:expr;)*) => {$(
        impl Widen<$s> for $c {
            #[inline]
            fn widen(stored: $s) -> $c {
                $widen(stored)
            }

            #[inline(always)]
            unsafe fn widen_f16c(stored: $s) -> $c {
                $widen_f16c(stored)
            }
        }
    )*};
}
widen! {
    f64, f64, |s| s, |s| s;
    f64, f32, f64::from, f64::from;
    // SAFETY: here and below, the caller of `widen_f16c` guarantees F16C.
    f64, f16, f16::to_f64, |s| f64::from(unsafe { f16_to_f32(s) });
    f64, bf16, bf16::to_f64, bf16::to_f64;
    f32, f32, |s| s, |s| s;
    // SAFETY: as above.
    f32, f16, f16::to_f32, |s| unsafe { f16_to_f32(s) };
    f32, bf16, bf16::to_f32, bf16::to_f32;
}
