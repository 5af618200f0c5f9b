//! Numbers: how they lie in memory, and how they are computed with.
//!
//! Memory and arithmetic are two choices (ARCHITECTURE.md, "Storage is not arithmetic"). A [`Store`] is a number as it
//! lies in memory: `f64 f32 f16 bf16`. A [`Real`] is a number we compute in: `f64 f32`. [`Reads`](crate::Reads) says which arithmetic
//! may read which memory; widening happens in registers and is always exact, so there are seven pairs:
//!
//! | arithmetic | reads |
//! |---|---|
//! | `f64` | `f64 f32 f16 bf16` |
//! | `f32` | `f32 f16 bf16` |
//!
//! The range and rounding of each number are in [`Facts`], for the policy that picks a storage number per level.
//!
//! Complex numbers will enter as further `Store`s with their own [`Kind`]s; nothing here assumes an order on a `Store`.

use bytemuck::Pod;
use std::fmt::{self, Debug, Display};
use std::iter::Sum;

use half::slice::HalfFloatSliceExt;
pub use half::{bf16, f16};
use num_traits::{Float, NumAssign};

use crate::UnknownName;

/// Names a storage number at run time. A device whose memory is opaque bytes picks its kernel by it.
///
/// ```
/// use ziggurat_sparse::Kind;
/// assert_eq!(Kind::F16.facts().max, 65504.0);
/// assert_eq!("bf16".parse(), Ok(Kind::Bf16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// IEEE double precision, 64 bits.
    F64,
    /// IEEE single precision, 32 bits.
    F32,
    /// IEEE half precision, 16 bits: 11 significant bits, largest value 65504.
    F16,
    /// bfloat16, 16 bits: 8 significant bits, the range of `f32`.
    Bf16,
}

/// Range and rounding of a storage number.
///
/// ```
/// use ziggurat_sparse::Kind;
/// // bf16 keeps f32's range and pays with three of f16's bits.
/// assert!(Kind::Bf16.facts().max > 1e38);
/// assert_eq!(Kind::Bf16.facts().unit_roundoff, 8.0 * Kind::F16.facts().unit_roundoff);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Bytes one number takes in memory.
    pub bytes: usize,
    /// Bits of the significand, the leading one included.
    pub significand_bits: u32,
    /// Largest finite value. Anything that rounds above it becomes infinite.
    pub max: f64,
    /// Smallest positive value that keeps all its significant bits.
    pub min_normal: f64,
    /// Smallest positive value at all; half of it or less becomes zero.
    pub min_subnormal: f64,
    /// Largest relative error of rounding to nearest within the normal range: 2^-significand_bits.
    pub unit_roundoff: f64,
}

/// 2^exponent, exactly; `f64::powi` is not `const`.
const fn power_of_two(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1u64 << (exponent + 1074))
    }
}

impl Kind {
    /// All four, widest first.
    pub const ALL: [Kind; 4] = [Kind::F64, Kind::F32, Kind::F16, Kind::Bf16];

    /// Range and rounding of this number.
    pub const fn facts(self) -> Facts {
        // (bytes, significand bits, largest exponent); the smallest normal exponent is 1 - the largest.
        let (bytes, bits, top) = match self {
            Kind::F64 => (8, 53, 1023),
            Kind::F32 => (4, 24, 127),
            Kind::F16 => (2, 11, 15),
            Kind::Bf16 => (2, 8, 127),
        };
        Facts {
            bytes,
            significand_bits: bits as u32,
            max: power_of_two(top) * (2.0 - power_of_two(1 - bits)),
            min_normal: power_of_two(1 - top),
            min_subnormal: power_of_two(2 - top - bits),
            unit_roundoff: power_of_two(-bits),
        }
    }

    /// The name used in options and reports: `f64`, `f32`, `f16`, `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::F64 => "f64",
            Kind::F32 => "f32",
            Kind::F16 => "f16",
            Kind::Bf16 => "bf16",
        }
    }

    /// Whether arithmetic in `self` may read memory of `stored`: the run-time form of [`Reads`](crate::Reads).
    ///
    /// ```
    /// use ziggurat_sparse::Kind;
    /// assert!(Kind::F32.reads(Kind::Bf16) && !Kind::F32.reads(Kind::F64) && !Kind::F16.reads(Kind::F16));
    /// ```
    pub const fn reads(self, stored: Kind) -> bool {
        match self {
            Kind::F64 => true,
            Kind::F32 => !matches!(stored, Kind::F64),
            Kind::F16 | Kind::Bf16 => false,
        }
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Kind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Kind, Self::Err> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownName::new("number", name, Kind::ALL.iter().map(|kind| kind.name())))
    }
}

/// A number as it lies in memory: `f64`, `f32`, `f16` or `bf16`. Plain bytes, as messages between processes and other devices'
/// memories need.
///
/// ```
/// use ziggurat_sparse::{Kind, Store, f16};
/// assert_eq!(f16::KIND, Kind::F16);
/// assert_eq!(f16::narrow(1.0 / 3.0).wide(), 0.333251953125);
/// assert!(f16::narrow(1e6).wide().is_infinite()); // out of range: scale first
/// ```
pub trait Store: Pod + Default + PartialEq + Debug + Display + Send + Sync {
    /// This number's name at run time.
    const KIND: Kind;

    /// Rounds to nearest, ties to even, once. Beyond the largest value the result is infinite; it is never clamped
    /// silently.
    fn narrow(x: f64) -> Self;

    /// [`narrow`](Store::narrow), for each element.
    ///
    /// # Panics
    /// If the lengths differ.
    fn narrow_all(wide: &[f64], narrow: &mut [Self]) {
        assert_eq!(wide.len(), narrow.len(), "lengths");
        wide.iter().zip(narrow).for_each(|(&wide, narrow)| *narrow = Self::narrow(wide));
    }

    /// The same value in double precision: always exact.
    fn wide(self) -> f64;

    /// Whether the value is neither infinite nor NaN.
    fn is_finite(self) -> bool {
        self.wide().is_finite()
    }
}

/// A number we compute in: `f64` or `f32`.
///
/// ```
/// use ziggurat_sparse::Real;
/// fn hypotenuse<C: Real>(a: C, b: C) -> C {
///     (a * a + b * b).sqrt()
/// }
/// assert_eq!(hypotenuse(3.0_f32, 4.0), 5.0);
/// ```
pub trait Real: Store + Float + NumAssign + Sum + sealed::Sealed {}

/// `f64` to `f32` by rounding to odd: the truncated value, with its last bit set when anything was cut off. Rounding
/// the result once more to 16 bits then equals rounding the original once (Boldo & Melquiond, 2008), while going
/// through an ordinary `as f32` rounds twice and is off by one unit about once in 2^13 values.
#[inline(always)]
fn round_to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let wide = f64::from(nearest);
    // Without branches, so that loops become vectors. What is infinite, or so large that it becomes so in 16 bits, or NaN,
    // remains that.
    let truncated = nearest.to_bits().wrapping_sub(u32::from(wide.abs() > x.abs()));
    f32::from_bits(truncated | u32::from(wide != x))
}

/// Sixteen at a time, because `half` asks what the CPU can do whenever it is called. Inlined, so that a kernel compiles it for
/// its instruction set.
#[inline(always)]
fn narrow_to_f16(wide: &[f64], narrow: &mut [f16]) {
    assert_eq!(wide.len(), narrow.len(), "lengths");
    let mut odd = [0.0; 16];
    for (wide, narrow) in wide.chunks(16).zip(narrow.chunks_mut(16)) {
        let odd = &mut odd[..wide.len()];
        odd.iter_mut().zip(wide).for_each(|(odd, &wide)| *odd = round_to_odd(wide));
        narrow.convert_from_f32_slice(odd);
    }
}

macro_rules! stores {
    ($($t:ty, $kind:ident, $narrow:expr, $wide:expr $(, $narrow_all:ident)?;)*) => {$(
        impl Store for $t {
            const KIND: Kind = Kind::$kind;
            #[inline]
            fn narrow(x: f64) -> $t {
                $narrow(x)
            }
            $(
            #[inline(always)]
            fn narrow_all(wide: &[f64], narrow: &mut [$t]) {
                $narrow_all(wide, narrow);
            }
            )?
            #[inline]
            fn wide(self) -> f64 {
                $wide(self)
            }
        }
    )*};
}
stores! {
    f64, F64, |x| x, |x| x;
    f32, F32, |x| x as f32, f64::from;
    f16, F16, |x| f16::from_f32(round_to_odd(x)), f16::to_f64, narrow_to_f16;
    bf16, Bf16, |x| bf16::from_f32(round_to_odd(x)), bf16::to_f64;
}

/// Keeps [`Real`] to the numbers that kernels are compiled for.
mod sealed {
    /// A number that this crate computes in.
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

impl Real for f64 {}
impl Real for f32 {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn facts_agree_with_the_numbers_themselves() {
        assert_eq!(Kind::F64.facts().max, f64::MAX);
        assert_eq!(Kind::F64.facts().min_normal, f64::MIN_POSITIVE);
        assert_eq!(Kind::F64.facts().min_subnormal, f64::from_bits(1));
        assert_eq!(Kind::F64.facts().unit_roundoff, f64::EPSILON / 2.0);
        assert_eq!(Kind::F32.facts().max, f64::from(f32::MAX));
        assert_eq!(Kind::F32.facts().min_normal, f64::from(f32::MIN_POSITIVE));
        assert_eq!(Kind::F32.facts().min_subnormal, f64::from(f32::from_bits(1)));
        assert_eq!(Kind::F16.facts().max, f16::MAX.to_f64());
        assert_eq!(Kind::F16.facts().min_normal, f16::MIN_POSITIVE.to_f64());
        assert_eq!(Kind::F16.facts().min_subnormal, f16::MIN_POSITIVE_SUBNORMAL.to_f64());
        assert_eq!(Kind::F16.facts().unit_roundoff, f16::EPSILON.to_f64() / 2.0);
        assert_eq!(Kind::Bf16.facts().max, bf16::MAX.to_f64());
        assert_eq!(Kind::Bf16.facts().min_subnormal, bf16::MIN_POSITIVE_SUBNORMAL.to_f64());
        assert_eq!(Kind::Bf16.facts().unit_roundoff, bf16::EPSILON.to_f64() / 2.0);
    }

    #[test]
    fn narrowing_overflows_to_infinity_and_keeps_nan() {
        assert_eq!(f16::narrow(65519.99), f16::MAX); // below the midpoint to the next power of two
        assert_eq!(f16::narrow(65520.0), f16::INFINITY);
        assert_eq!(f16::narrow(-1e300), f16::NEG_INFINITY);
        assert_eq!(bf16::narrow(1e300), bf16::INFINITY);
        assert_eq!(f32::narrow(1e300), f32::INFINITY);
        assert!(f16::narrow(f64::NAN).is_nan() && bf16::narrow(f64::NAN).is_nan());
        assert_eq!(f16::narrow(-0.0).to_bits(), 0x8000);
    }

    #[test]
    fn narrowing_rounds_once() {
        // Just above the midpoint of two neighbours, by less than f32 can see: two roundings would go down to even.
        let just_above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(f16::narrow(just_above).wide(), 1.0 + 2f64.powi(-10));
        let just_above = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(bf16::narrow(just_above).wide(), 1.0 + 2f64.powi(-7));
    }

    #[test]
    fn an_unknown_number_suggests_a_known_one() {
        let error = "fp16".parse::<Kind>().unwrap_err();
        assert!(error.to_string().contains("did you mean `f16`"), "{error}");
    }

    /// Whether `found` is the stored number nearest to `x`, ties to the even one: no neighbour is nearer. (The oracle is
    /// not `half`'s own conversion from f64, which cuts bits off before it rounds.)
    fn is_nearest(x: f64, found: f64, bits: u16, value: impl Fn(u16) -> f64) -> bool {
        if !found.is_finite() {
            return x.abs() > 65000.0; // exact limits: see the test of overflow
        }
        let distance = |y: f64| (x - y).abs(); // exact next to x
        // Neighbours in magnitude; the sign bit stays.
        [bits.wrapping_sub(1), bits + 1].into_iter().filter(|other| (other ^ bits) & 0x8000 == 0).all(
            |other| {
                let (here, there) = (distance(found), distance(value(other)));
                here < there || (here == there && bits & 1 == 0) || value(other).is_nan()
            },
        )
    }

    proptest! {
        #[test]
        fn narrowing_finds_the_nearest(fraction in -1.0..1.0f64, exponent in -30..17i32) {
            let x = fraction * 2f64.powi(exponent);
            let (half, brain) = (f16::narrow(x), bf16::narrow(x));
            let mut slice = [f16::ZERO; 19];
            f16::narrow_all(&[x; 19], &mut slice);
            prop_assert!(slice.iter().all(|narrow| narrow.to_bits() == half.to_bits()));
            prop_assert!(is_nearest(x, half.wide(), half.to_bits(), |b| f16::from_bits(b).to_f64()), "{x}: {half}");
            prop_assert!(is_nearest(x, brain.wide(), brain.to_bits(), |b| bf16::from_bits(b).to_f64()), "{x}: {brain}");
        }

        #[test]
        fn widening_is_exact(bits in any::<u16>()) {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            prop_assume!(!half.is_nan() && !brain.is_nan());
            prop_assert_eq!(f16::narrow(half.wide()).to_bits(), bits);
            prop_assert_eq!(bf16::narrow(brain.wide()).to_bits(), bits);
        }
    }
}
