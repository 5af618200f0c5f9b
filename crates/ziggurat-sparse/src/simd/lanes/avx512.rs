//! Sixteen numbers in AVX-512: one register in single precision, two in double precision.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::{Lanes, Widened};

/// Single precision.
#[derive(Clone, Copy)]
pub(crate) struct Single(__m512);

/// Double precision, lower lanes first.
#[derive(Clone, Copy)]
pub(crate) struct Double(__m512d, __m512d);

// SAFETY of everything below: the contract of the traits is that the CPU has AVX-512 and that
// pointers are valid for sixteen elements, which is what each group of intrinsics reads or writes.
// No intrinsic requires alignment.

/// The mask of the first `len` of sixteen lanes.
#[inline(always)]
fn mask(len: usize) -> u16 {
    ((1u32 << len) - 1) as u16
}

/// The numbers of eight lanes, starting with `first`, modulo `len`.
#[inline(always)]
fn cycle(first: usize, len: usize) -> [i64; 8] {
    std::array::from_fn(|lane| ((first + lane) % len) as i64)
}

impl Lanes<f32> for Single {
    const PARTS: bool = true;

    #[inline(always)]
    unsafe fn cycled(x: *const f32, len: usize) -> Self {
        let [low, high] = [0, 8].map(|first| cycle(first, len));
        // SAFETY: see above; masked elements are not read.
        unsafe {
            let index = |lanes: &[i64; 8]| _mm512_cvtepi64_epi32(_mm512_loadu_si512(lanes.as_ptr().cast()));
            let index = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(index(&low)), index(&high));
            Single(_mm512_permutexvar_ps(index, _mm512_maskz_loadu_ps(mask(len), x)))
        }
    }

    #[inline(always)]
    unsafe fn spread4(x: *const f32) -> Self {
        // SAFETY: see above; four elements are read.
        unsafe {
            let index = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
            Single(_mm512_permutexvar_ps(index, _mm512_castps128_ps512(_mm_loadu_ps(x))))
        }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { Single(_mm512_setzero_ps()) }
    }

    #[inline(always)]
    unsafe fn load(x: *const f32) -> Self {
        // SAFETY: see above.
        unsafe { Single(_mm512_loadu_ps(x)) }
    }

    #[inline(always)]
    unsafe fn store(self, y: *mut f32) {
        // SAFETY: see above.
        unsafe { _mm512_storeu_ps(y, self.0) }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, x: Self) -> Self {
        // SAFETY: see above.
        unsafe { Single(_mm512_add_ps(self.0, _mm512_mul_ps(a.0, x.0))) }
    }

    #[inline(always)]
    unsafe fn gather(x: *const f32, difference: impl Fn(usize) -> usize) -> Self {
        // SAFETY: see above; each difference is a valid index.
        unsafe {
            let x = |lane| *x.add(difference(lane));
            Single(_mm512_setr_ps(
                x(0),
                x(1),
                x(2),
                x(3),
                x(4),
                x(5),
                x(6),
                x(7),
                x(8),
                x(9),
                x(10),
                x(11),
                x(12),
                x(13),
                x(14),
                x(15),
            ))
        }
    }

    // Loads and permutations in registers take a quarter (64) or two fifths (128) of the time of
    // sixteen loads.

    #[inline(always)]
    unsafe fn pick64(x: *const f32, differences: *const u8) -> Self {
        // SAFETY: see above; 64 elements may be read.
        unsafe {
            let index = _mm512_cvtepu8_epi32(_mm_loadu_si128(differences.cast()));
            Single(Single::choose(index, 32, Single::pick32(x, index), Single::pick32(x.add(32), index)))
        }
    }

    #[inline(always)]
    unsafe fn pick128(x: *const f32, differences: *const u8) -> Self {
        // SAFETY: see above; 128 elements may be read.
        unsafe {
            let index = _mm512_cvtepu8_epi32(_mm_loadu_si128(differences.cast()));
            let (a, b) = (Single::pick32(x, index), Single::pick32(x.add(32), index));
            let (c, d) = (Single::pick32(x.add(64), index), Single::pick32(x.add(96), index));
            let (lower, upper) = (Single::choose(index, 32, a, b), Single::choose(index, 32, c, d));
            Single(Single::choose(index, 64, lower, upper))
        }
    }
}

impl Single {
    /// x[index], where only the lowest five bits of the index count: two registers hold all 32
    /// elements.
    #[inline(always)]
    unsafe fn pick32(x: *const f32, index: __m512i) -> __m512 {
        // SAFETY: see above; 32 elements may be read.
        unsafe { _mm512_permutex2var_ps(_mm512_loadu_ps(x), index, _mm512_loadu_ps(x.add(16))) }
    }

    /// Selects one of two values by one bit of the index.
    #[inline(always)]
    unsafe fn choose(index: __m512i, bit: i32, unset: __m512, set: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_mask_blend_ps(_mm512_test_epi32_mask(index, _mm512_set1_epi32(bit)), unset, set) }
    }
}

impl Lanes<f64> for Double {
    const PARTS: bool = true;

    #[inline(always)]
    unsafe fn cycled(x: *const f64, len: usize) -> Self {
        // SAFETY: see above; masked elements are not read.
        unsafe {
            let x = _mm512_maskz_loadu_pd(mask(len) as u8, x);
            let pick = |lanes: [i64; 8]| _mm512_permutexvar_pd(_mm512_loadu_si512(lanes.as_ptr().cast()), x);
            Double(pick(cycle(0, len)), pick(cycle(8, len)))
        }
    }

    #[inline(always)]
    unsafe fn spread4(x: *const f64) -> Self {
        // SAFETY: see above; four elements are read.
        unsafe {
            let x = _mm512_castpd256_pd512(_mm256_loadu_pd(x));
            let pick = |index| _mm512_permutexvar_pd(index, x);
            Double(
                pick(_mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1)),
                pick(_mm512_setr_epi64(2, 2, 2, 2, 3, 3, 3, 3)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        unsafe { Double(_mm512_setzero_pd(), _mm512_setzero_pd()) }
    }

    #[inline(always)]
    unsafe fn load(x: *const f64) -> Self {
        // SAFETY: see above.
        unsafe { Double(_mm512_loadu_pd(x), _mm512_loadu_pd(x.add(8))) }
    }

    #[inline(always)]
    unsafe fn store(self, y: *mut f64) {
        // SAFETY: see above.
        unsafe {
            _mm512_storeu_pd(y, self.0);
            _mm512_storeu_pd(y.add(8), self.1);
        }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, x: Self) -> Self {
        // SAFETY: see above.
        unsafe {
            Double(
                _mm512_add_pd(self.0, _mm512_mul_pd(a.0, x.0)),
                _mm512_add_pd(self.1, _mm512_mul_pd(a.1, x.1)),
            )
        }
    }

    #[inline(always)]
    unsafe fn gather(x: *const f64, difference: impl Fn(usize) -> usize) -> Self {
        // SAFETY: see above; each difference is a valid index.
        unsafe {
            let x = |lane| *x.add(difference(lane));
            Double(
                _mm512_setr_pd(x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7)),
                _mm512_setr_pd(x(8), x(9), x(10), x(11), x(12), x(13), x(14), x(15)),
            )
        }
    }
}

impl Widened<f32> for Single {
    #[inline(always)]
    unsafe fn widen(stored: *const f32) -> Self {
        // SAFETY: see above.
        unsafe { Single(_mm512_loadu_ps(stored)) }
    }

    #[inline(always)]
    unsafe fn widen_part(stored: *const f32, len: usize) -> Self {
        // SAFETY: see above; masked elements are not read.
        unsafe { Single(_mm512_maskz_loadu_ps(mask(len), stored)) }
    }
}

impl Widened<f16> for Single {
    #[inline(always)]
    unsafe fn widen(stored: *const f16) -> Self {
        // SAFETY: see above.
        unsafe { Single(_mm512_cvtph_ps(_mm256_loadu_si256(stored.cast()))) }
    }

    #[inline(always)]
    unsafe fn widen_part(stored: *const f16, len: usize) -> Self {
        // SAFETY: see above; masked elements are not read.
        unsafe { Single(_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask(len), stored.cast()))) }
    }
}

impl Widened<bf16> for Single {
    #[inline(always)]
    unsafe fn widen(stored: *const bf16) -> Self {
        // SAFETY: see above. Brain floats are the upper halves of single precision.
        unsafe {
            let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(stored.cast()));
            Single(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits)))
        }
    }

    #[inline(always)]
    unsafe fn widen_part(stored: *const bf16, len: usize) -> Self {
        // SAFETY: see above; masked elements are not read.
        unsafe {
            let bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask(len), stored.cast()));
            Single(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits)))
        }
    }
}

impl Widened<f64> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const f64) -> Self {
        // SAFETY: see above.
        unsafe { Double::load(stored) }
    }

    #[inline(always)]
    unsafe fn widen_part(stored: *const f64, len: usize) -> Self {
        let mask = mask(len);
        // SAFETY: see above; masked elements are not read.
        unsafe {
            Double(
                _mm512_maskz_loadu_pd(mask as u8, stored),
                _mm512_maskz_loadu_pd((mask >> 8) as u8, stored.wrapping_add(8)),
            )
        }
    }
}

impl Widened<f32> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const f32) -> Self {
        // SAFETY: see above.
        unsafe {
            Double(_mm512_cvtps_pd(_mm256_loadu_ps(stored)), _mm512_cvtps_pd(_mm256_loadu_ps(stored.add(8))))
        }
    }

    #[inline(always)]
    unsafe fn widen_part(stored: *const f32, len: usize) -> Self {
        // SAFETY: see above.
        halves(unsafe { Single::widen_part(stored, len) })
    }
}

/// Converts sixteen numbers in single precision to double precision.
#[inline(always)]
fn halves(x: Single) -> Double {
    // SAFETY: a `Single` exists only where the CPU has AVX-512.
    unsafe {
        let upper = _mm512_extractf32x8_ps::<1>(x.0);
        Double(_mm512_cvtps_pd(_mm512_castps512_ps256(x.0)), _mm512_cvtps_pd(upper))
    }
}

impl Widened<f16> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const f16) -> Self {
        // SAFETY: see above.
        halves(unsafe { Single::widen(stored) })
    }

    #[inline(always)]
    unsafe fn widen_part(stored: *const f16, len: usize) -> Self {
        // SAFETY: see above.
        halves(unsafe { Single::widen_part(stored, len) })
    }
}

impl Widened<bf16> for Double {
    #[inline(always)]
    unsafe fn widen(stored: *const bf16) -> Self {
        // SAFETY: see above.
        halves(unsafe { Single::widen(stored) })
    }

    #[inline(always)]
    unsafe fn widen_part(stored: *const bf16, len: usize) -> Self {
        // SAFETY: see above.
        halves(unsafe { Single::widen_part(stored, len) })
    }
}
