//! Sixteen numbers in registers, for each instruction set: the unit of work of a delta-SELL kernel.
//!
//! Compilers vectorise plain loops over slices, but not loops over sixteen numbers that stay in
//! registers from one slot to the next (they left shuffles that took three times as long as the
//! memory traffic). So these few operations are written for each instruction set. Products are
//! added without fused multiply-add, so all of them give the same bits.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;

use super::widen::Widen;
use crate::number::{Real, Store};

/// Numbers per vector.
pub(crate) const LANES: usize = 16;

/// Sixteen numbers of arithmetic type `C`.
///
/// # Safety
/// All methods: the CPU has the instruction set of the type, and pointers point to [`LANES`]
/// elements. `gather` and `pick*`: every index is valid for `x`.
pub trait Lanes<C>: Copy {
    /// Whether `cycled` and [`Widened::widen_part`] are fast, because partial vectors can be loaded
    /// and permuted in registers. Kernels call these methods only where this is true.
    const PARTS: bool = false;

    /// x[lane mod len] in every lane. Reads only `len` elements; `len` is at most eight.
    #[inline(always)]
    unsafe fn cycled(x: *const C, len: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::gather(x, |lane| lane % len) }
    }

    /// x[lane / 4] in every lane. Reads four elements.
    #[inline(always)]
    unsafe fn spread4(x: *const C) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::gather(x, |lane| lane / 4) }
    }

    /// Zeros.
    unsafe fn zero() -> Self;
    /// From memory.
    unsafe fn load(x: *const C) -> Self;
    /// To memory.
    unsafe fn store(self, y: *mut C);
    /// self + a x
    unsafe fn add_product(self, a: Self, x: Self) -> Self;
    /// x[difference], loaded one by one: hardware gathers are slower on CPUs with mitigations
    /// against gather data sampling.
    unsafe fn gather(x: *const C, difference: impl Fn(usize) -> usize) -> Self;

    /// x[difference] for differences below 64; 64 elements of x may be read.
    #[inline(always)]
    unsafe fn pick64(x: *const C, differences: *const u8) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::gather(x, |lane| usize::from(*differences.add(lane))) }
    }

    /// x[difference] for differences below 128; 128 elements of x may be read.
    #[inline(always)]
    unsafe fn pick128(x: *const C, differences: *const u8) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::gather(x, |lane| usize::from(*differences.add(lane))) }
    }
}

/// Sixteen numbers of an arithmetic type, loaded from memory of type `S`.
pub trait Widened<S>: Copy {
    /// Widens sixteen stored numbers.
    ///
    /// # Safety
    /// As for [`Lanes`].
    unsafe fn widen(stored: *const S) -> Self;

    /// Widens the first `len` of sixteen numbers; the others are set to zero and not read. Called
    /// only where [`Lanes::PARTS`] is true.
    ///
    /// # Safety
    /// As for [`Lanes`], for `len` elements.
    #[inline(always)]
    unsafe fn widen_part(stored: *const S, len: usize) -> Self {
        debug_assert!(len == LANES);
        // SAFETY: guaranteed by the caller.
        unsafe { Self::widen(stored) }
    }
}

/// For any CPU: an array, which the compiler may vectorise.
#[derive(Clone, Copy)]
pub(crate) struct Portable<C>([C; LANES]);

impl<C: Real> Lanes<C> for Portable<C> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        Portable([C::zero(); LANES])
    }

    #[inline(always)]
    unsafe fn load(x: *const C) -> Self {
        // SAFETY: guaranteed by the caller.
        Portable(unsafe { x.cast::<[C; LANES]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, y: *mut C) {
        // SAFETY: guaranteed by the caller.
        unsafe { y.cast::<[C; LANES]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn add_product(mut self, a: Self, x: Self) -> Self {
        for (sum, (a, x)) in self.0.iter_mut().zip(a.0.into_iter().zip(x.0)) {
            *sum += a * x;
        }
        self
    }

    #[inline(always)]
    unsafe fn gather(x: *const C, difference: impl Fn(usize) -> usize) -> Self {
        // SAFETY: guaranteed by the caller.
        Portable(std::array::from_fn(|lane| unsafe { *x.add(difference(lane)) }))
    }
}

impl<C: Widen<S>, S: Store> Widened<S> for Portable<C> {
    #[inline(always)]
    unsafe fn widen(stored: *const S) -> Self {
        // SAFETY: guaranteed by the caller.
        Portable(unsafe { stored.cast::<[S; LANES]>().read() }.map(C::widen))
    }
}
