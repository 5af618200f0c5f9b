//! Sixteen numbers in AVX2 with F16C: two registers in single precision, four in double precision.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::{Lanes, Widened};

/// Single precision, lower lanes first.
#[derive(Clone, Copy)]
pub(crate) struct Single([__m256; 2]);

/// Double precision, lower lanes first.
#[derive(Clone, Copy)]
pub(crate) struct Double([__m256d; 4]);

// SAFETY of everything below: the contract of the traits is that the CPU has AVX2 and F16C and that
// pointers are valid for sixteen elements, which is what each group of intrinsics reads or writes.
// No intrinsic requires alignment.

impl Lanes<f32> for Single {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { Single([_mm256_setzero_ps(); 2]) }
    }

    #[inline(always)]
    unsafe fn load(x: *const f32) -> Self {
        // SAFETY: see above.
        unsafe { Single([_mm256_loadu_ps(x), _mm256_loadu_ps(x.add(8))]) }
    }

    #[inline(always)]
    unsafe fn store(self, y: *mut f32) {
        // SAFETY: see above.
        unsafe {
            _mm256_storeu_ps(y, self.0[0]);
            _mm256_storeu_ps(y.add(8), self.0[1]);
        }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, x: Self) -> Self {
        // SAFETY: see above.
        unsafe {
            Single([
                _mm256_add_ps(self.0[0], _mm256_mul_ps(a.0[0], x.0[0])),
                _mm256_add_ps(self.0[1], _mm256_mul_ps(a.0[1], x.0[1])),
            ])
        }
    }

    #[inline(always)]
    unsafe fn gather(x: *const f32, difference: impl Fn(usize) -> usize) -> Self {
        // SAFETY: see above; each difference is a valid index.
        unsafe {
            let x = |lane| *x.add(difference(lane));
            Single([
                _mm256_setr_ps(x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7)),
                _mm256_setr_ps(x(8), x(9), x(10), x(11), x(12), x(13), x(14), x(15)),
            ])
        }
    }
}

impl Lanes<f64> for Double {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { Double([_mm256_setzero_pd(); 4]) }
    }

    #[inline(always)]
    unsafe fn load(x: *const f64) -> Self {
        // SAFETY: see above.
        unsafe {
            Double([
                _mm256_loadu_pd(x),
                _mm256_loadu_pd(x.add(4)),
                _mm256_loadu_pd(x.add(8)),
                _mm256_loadu_pd(x.add(12)),
            ])
        }
    }

    #[inline(always)]
    unsafe fn store(self, y: *mut f64) {
        // SAFETY: see above.
        unsafe {
            _mm256_storeu_pd(y, self.0[0]);
            _mm256_storeu_pd(y.add(4), self.0[1]);
            _mm256_storeu_pd(y.add(8), self.0[2]);
            _mm256_storeu_pd(y.add(12), self.0[3]);
        }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, x: Self) -> Self {
        // SAFETY: see above.
        unsafe {
            Double([
                _mm256_add_pd(self.0[0], _mm256_mul_pd(a.0[0], x.0[0])),
                _mm256_add_pd(self.0[1], _mm256_mul_pd(a.0[1], x.0[1])),
                _mm256_add_pd(self.0[2], _mm256_mul_pd(a.0[2], x.0[2])),
                _mm256_add_pd(self.0[3], _mm256_mul_pd(a.0[3], x.0[3])),
            ])
        }
    }

    #[inline(always)]
    unsafe fn gather(x: *const f64, difference: impl Fn(usize) -> usize) -> Self {
        // SAFETY: see above; each difference is a valid index.
        unsafe {
            let x = |lane| *x.add(difference(lane));
            Double([
                _mm256_setr_pd(x(0), x(1), x(2), x(3)),
                _mm256_setr_pd(x(4), x(5), x(6), x(7)),
                _mm256_setr_pd(x(8), x(9), x(10), x(11)),
                _mm256_setr_pd(x(12), x(13), x(14), x(15)),
            ])
        }
    }
}

impl Widened<f32> for Single {
    #[inline(always)]
    unsafe fn widen(stored: *const f32) -> Self {
        // SAFETY: see above.
        unsafe { Single::load(stored) }
    }
}

impl Widened<f16> for Single {
    #[inline(always)]
    unsafe fn widen(stored: *const f16) -> Self {
        let stored = stored.cast::<__m128i>();
        // SAFETY: see above.
        unsafe {
            Single([
                _mm256_cvtph_ps(_mm_loadu_si128(stored)),
                _mm256_cvtph_ps(_mm_loadu_si128(stored.add(1))),
            ])
        }
    }
}

impl Widened<bf16> for Single {
    #[inline(always)]
    unsafe fn widen(stored: *const bf16) -> Self {
        let stored = stored.cast::<__m128i>();
        // SAFETY: see above. Brain floats are the upper halves of single precision.
        unsafe {
            let eight = |half| {
                let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(stored.add(half)));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
            };
            Single([eight(0), eight(1)])
        }
    }
}

/// Converts sixteen numbers in single precision to double precision.
#[inline(always)]
fn quarters(x: Single) -> Double {
    // SAFETY: a `Single` exists only where the CPU has AVX2.
    unsafe {
        let lower = |x| _mm256_cvtps_pd(_mm256_castps256_ps128(x));
        let upper = |x| _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x));
        Double([lower(x.0[0]), upper(x.0[0]), lower(x.0[1]), upper(x.0[1])])
    }
}

impl Widened<f64> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const f64) -> Self {
        // SAFETY: see above.
        unsafe { Double::load(stored) }
    }
}

impl Widened<f32> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const f32) -> Self {
        // SAFETY: see above.
        quarters(unsafe { Single::widen(stored) })
    }
}

impl Widened<f16> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const f16) -> Self {
        // SAFETY: see above.
        quarters(unsafe { Single::widen(stored) })
    }
}

impl Widened<bf16> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const bf16) -> Self {
        // SAFETY: see above.
        quarters(unsafe { Single::widen(stored) })
    }
}
