//! Instruction sets, selected at run time.
//!
//! A kernel is written once, as ordinary Rust over slices, generic over an [`Isa`]. [`Simd::run`]
//! compiles it for AVX-512, for AVX2 and for the baseline instruction set, and calls the version
//! for this CPU. The compiler vectorises the plain loops.
//!
//! Two measurements motivate the design (28 M entries, Skylake server, two threads). Rows of a CSR
//! matrix are *not* vectorised, because hardware gathers make the product twice as slow as scalar
//! loads (f64: 48 ms against 21 ms). Products are added without fused multiply-add, which gains
//! nothing where memory bandwidth is the limit, so every instruction set gives the same bits.

#![allow(unsafe_code)]

pub(crate) mod lanes;
pub(crate) mod widen;

use half::{bf16, f16};

use lanes::{Lanes, Portable, Widened};
#[cfg(target_arch = "x86_64")]
use lanes::{avx2, avx512};
use widen::Widen;

use crate::number::Store;

/// An instruction set of the CPU.
///
/// ```
/// use ziggurat_sparse::device::Simd;
/// assert!(Simd::available().contains(&Simd::Portable));
/// assert_eq!(Simd::best(), Simd::available()[0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Simd {
    /// AVX-512 F, BW, DQ and VL, plus AVX2, FMA and F16C.
    Avx512,
    /// AVX2, FMA and F16C.
    Avx2,
    /// The baseline of the target architecture.
    Portable,
}

impl Simd {
    /// The instruction sets of this CPU, best first. Never empty: the last is always
    /// [`Simd::Portable`].
    pub fn available() -> Vec<Simd> {
        [Simd::Avx512, Simd::Avx2, Simd::Portable].into_iter().filter(|simd| simd.is_available()).collect()
    }

    /// The best instruction set of this CPU.
    pub fn best() -> Simd {
        if Simd::Avx512.is_available() {
            Simd::Avx512
        } else if Simd::Avx2.is_available() {
            Simd::Avx2
        } else {
            Simd::Portable
        }
    }

    /// Whether this CPU supports it.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            match self {
                Simd::Avx512 => avx2 && avx512,
                Simd::Avx2 => avx2,
                Simd::Portable => true,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Simd::Portable
        }
    }

    /// Runs a kernel compiled for this instruction set.
    ///
    /// `self` should be available; [`Cpu`](crate::device::Cpu) holds no other. Otherwise the
    /// portable version runs. (The check here is one cached load.)
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[cfg(target_arch = "x86_64")]
        match self {
            // SAFETY: the guard has just checked for every feature that the function is compiled
            // with.
            Simd::Avx512 if self.is_available() => return unsafe { run_avx512(kernel) },
            // SAFETY: as above.
            Simd::Avx2 if self.is_available() => return unsafe { run_avx2(kernel) },
            _ => {}
        }
        kernel.run::<Plain>()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F16c<avx512::Single, avx512::Double>>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F16c<avx2::Single, avx2::Double>>()
}

/// A computation over slices. `run` must be `#[inline(always)]`, otherwise it is compiled for the
/// portable instruction set only.
pub(crate) trait Kernel {
    /// The result.
    type Output;
    /// Runs the kernel.
    fn run<I: Isa>(self) -> Self::Output;
}

/// The operations of an instruction set beyond plain arithmetic.
pub trait Isa {
    /// Sixteen numbers in single precision.
    type Single: Lanes<f32> + Widened<f32> + Widened<f16> + Widened<bf16>;
    /// Sixteen numbers in double precision.
    type Double: Lanes<f64> + Widened<f64> + Widened<f32> + Widened<f16> + Widened<bf16>;

    /// Widens a stored number.
    fn read<C: Widen<S>, S: Store>(stored: S) -> C;
}

/// The register type of `Self` for values stored in `S`, in any instruction set.
pub trait InLanes<S: Store>: Widen<S> {
    /// Sixteen numbers of type `Self` in registers.
    type In<I: Isa>: Lanes<Self> + Widened<S>;
}

macro_rules! in_lanes {
    ($($c:ty: $lanes:ident, $($s:ty),+;)+) => {$($(
        impl InLanes<$s> for $c {
            type In<I: Isa> = I::$lanes;
        }
    )+)+};
}
in_lanes! {
    f64: Double, f64, f32, f16, bf16;
    f32: Single, f32, f16, bf16;
}

/// The baseline instruction set.
struct Plain;

impl Isa for Plain {
    type Single = Portable<f32>;
    type Double = Portable<f64>;

    #[inline(always)]
    fn read<C: Widen<S>, S: Store>(stored: S) -> C {
        C::widen(stored)
    }
}

/// Instruction sets with F16C, which converts half precision in one instruction. Private: only the
/// functions above, which are compiled for F16C, name it.
#[cfg(target_arch = "x86_64")]
struct F16c<Single, Double>(std::marker::PhantomData<(Single, Double)>);

#[cfg(target_arch = "x86_64")]
impl<Single, Double> Isa for F16c<Single, Double>
where
    Single: Lanes<f32> + Widened<f32> + Widened<f16> + Widened<bf16>,
    Double: Lanes<f64> + Widened<f64> + Widened<f32> + Widened<f16> + Widened<bf16>,
{
    type Single = Single;
    type Double = Double;

    #[inline(always)]
    fn read<C: Widen<S>, S: Store>(stored: S) -> C {
        // SAFETY: only run_avx512 and run_avx2 use this type, and their callers have checked for
        // F16C.
        unsafe { C::widen_f16c(stored) }
    }
}

/// Prefetches the cache line of `slice[at]`; an index beyond the end is harmless. The hardware
/// prefetcher stops at every page; this gains 10 % on a 7-point matrix.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}
