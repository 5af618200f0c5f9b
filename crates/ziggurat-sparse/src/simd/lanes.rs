//! Sixteen numbers in registers: the unit of work of a delta-SELL kernel, for each instruction set.
//!
//! A compiler makes vectors of plain loops over slices, but not of loops over sixteen numbers that stay in registers from one
//! slot to the next (it left shuffles that took three times as long as the memory). So these few operations are written for
//! each instruction set. Products are added without fused multiply-add, so that all give the same bits.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;

use super::widen::Widen;
use crate::number::{Real, Store};

/// How many.
pub(crate) const LANES: usize = 16;

/// Sixteen numbers computed in `C`.
///
/// # Safety
/// All methods: the CPU has the instruction set of the type, and pointers point to [`LANES`] elements (`gather*`: to
/// as many differences, each of which is the place of an element behind `x`).
pub trait Lanes<C>: Copy {
    /// Whether parts of sixteen can be loaded and picked from in registers: whether the two methods that need it are to be
    /// called.
    const PARTS: bool = false;

    /// x[lane mod len] in every lane; only `len` elements are read, of which there are at most eight.
    #[inline(always)]
    unsafe fn cycled(x: *const C, len: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::gather(x, |lane| lane % len) }
    }

    /// Zeros.
    unsafe fn zero() -> Self;
    /// From memory.
    unsafe fn load(x: *const C) -> Self;
    /// To memory.
    unsafe fn store(self, y: *mut C);
    /// self + a x
    unsafe fn add_product(self, a: Self, x: Self) -> Self;
    /// x[difference], one by one: gathers of the hardware are slower than that where they have been made safe from spies.
    unsafe fn gather(x: *const C, difference: impl Fn(usize) -> usize) -> Self;

    /// x[difference] for differences below 64, where 64 elements may be read.
    #[inline(always)]
    unsafe fn pick64(x: *const C, differences: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::gather(x, |lane| usize::from(*differences.add(lane))) }
    }

    /// x[difference] for differences below 128, where 128 elements may be read.
    #[inline(always)]
    unsafe fn pick128(x: *const C, differences: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::gather(x, |lane| usize::from(*differences.add(lane))) }
    }
}

/// Sixteen numbers computed in one number and stored in `S`.
pub trait Widened<S>: Copy {
    /// Widens sixteen stored numbers.
    ///
    /// # Safety
    /// As for [`Lanes`].
    unsafe fn widen(stored: *const S) -> Self;

    /// Widens the first `len` of sixteen; the others are zero, and not read. Where [`Lanes::PARTS`] says so.
    ///
    /// # Safety
    /// As for [`Lanes`], for `len` elements.
    #[inline(always)]
    unsafe fn widen_part(stored: *const S, len: usize) -> Self {
        debug_assert!(len == LANES);
        // SAFETY: the caller's promise.
        unsafe { Self::widen(stored) }
    }
}

/// For any CPU: an array, left to the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Portable<C>([C; LANES]);

impl<C: Real> Lanes<C> for Portable<C> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        Portable([C::zero(); LANES])
    }

    #[inline(always)]
    unsafe fn load(x: *const C) -> Self {
        // SAFETY: the caller's promise.
        Portable(unsafe { x.cast::<[C; LANES]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, y: *mut C) {
        // SAFETY: the caller's promise.
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
        // SAFETY: the caller's promise.
        Portable(std::array::from_fn(|lane| unsafe { *x.add(difference(lane)) }))
    }
}

impl<C: Widen<S>, S: Store> Widened<S> for Portable<C> {
    #[inline(always)]
    unsafe fn widen(stored: *const S) -> Self {
        // SAFETY: the caller's promise.
        Portable(unsafe { stored.cast::<[S; LANES]>().read() }.map(C::widen))
    }
}
