//! Number types in memory and in arithmetic.
//!
//! Memory and arithmetic are separate choices (docs/decisions/storage-is-not-arithmetic.md). A
//! [`Store`] is a number type in memory: `f64 f32 f16 bf16`. A [`Real`] is a number type for
//! arithmetic: `f64 f32`. [`Reads`](crate::Reads) says which arithmetic may read which memory;
//! widening happens in registers and is always exact, so there are seven pairs:
//!
//! | arithmetic | reads |
//! |---|---|
//! | `f64` | `f64 f32 f16 bf16` |
//! | `f32` | `f32 f16 bf16` |
//!
//! [`NumberFacts`] holds the range and rounding of each number type, for the policy that chooses
//! the storage type of each level.
//!
//! Complex numbers can be added as further `Store`s with their own [`Kind`]s; nothing here assumes
//! an order on a `Store`.

use bytemuck::Pod;
use std::fmt::{self, Debug, Display};
use std::iter::Sum;

use half::slice::HalfFloatSliceExt;
pub use half::{bf16, f16};
use num_traits::{Float, NumAssign};

use crate::UnknownName;

/// Identifies a storage number type at run time. A device with opaque memory selects its kernel by
/// it.
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

/// Range and rounding of a storage number type.
///
/// ```
/// use ziggurat_sparse::Kind;
/// // bf16 has the range of f32 and three bits less precision than f16.
/// assert!(Kind::Bf16.facts().max > 1e38);
/// assert_eq!(Kind::Bf16.facts().unit_roundoff, 8.0 * Kind::F16.facts().unit_roundoff);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberFacts {
    /// Bytes per number.
    pub bytes: usize,
    /// Bits of the significand, including the leading one.
    pub significand_bits: u32,
    /// Largest finite value. Larger values round to infinity.
    pub max: f64,
    /// Smallest positive value with full precision.
    pub min_normal: f64,
    /// Smallest positive value; half of it or less rounds to zero.
    pub min_subnormal: f64,
    /// Largest relative error of rounding to nearest in the normal range: 2^-significand_bits.
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
    /// All number types, widest first.
    pub const ALL: [Kind; 4] = [Kind::F64, Kind::F32, Kind::F16, Kind::Bf16];

    /// Range and rounding of this number type.
    pub const fn facts(self) -> NumberFacts {
        // (bytes, significand bits, largest exponent). The smallest normal exponent is
        // 1 - largest exponent.
        let (bytes, bits, top) = match self {
            Kind::F64 => (8, 53, 1023),
            Kind::F32 => (4, 24, 127),
            Kind::F16 => (2, 11, 15),
            Kind::Bf16 => (2, 8, 127),
        };
        NumberFacts {
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

    /// Whether arithmetic in `self` may read memory of `stored`: the run-time form of
    /// [`Reads`](crate::Reads).
    ///
    /// ```
    /// use ziggurat_sparse::Kind;
    /// assert!(Kind::F32.reads(Kind::Bf16) && !Kind::F32.reads(Kind::F64));
    /// assert!(!Kind::F16.reads(Kind::F16)); // f16 is not an arithmetic type
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

/// A number type in memory: `f64`, `f32`, `f16` or `bf16`. Its values are plain bytes, so they can
/// be sent between processes and copied to other devices.
///
/// ```
/// use ziggurat_sparse::{Kind, Store, f16};
/// assert_eq!(f16::KIND, Kind::F16);
/// assert_eq!(f16::narrow(1.0 / 3.0).wide(), 0.333251953125);
/// assert!(f16::narrow(1e6).wide().is_infinite()); // out of range: scale first
/// ```
pub trait Store: Pod + Default + PartialEq + Debug + Display + Send + Sync {
    /// The run-time identifier of this type.
    const KIND: Kind;

    /// Rounds once, to nearest, ties to even. Values beyond the largest finite one become infinite;
    /// they are never clamped.
    fn narrow(x: f64) -> Self;

    /// Applies [`narrow`](Store::narrow) to each element.
    ///
    /// # Panics
    /// If the lengths differ.
    fn narrow_all(wide: &[f64], narrow: &mut [Self]) {
        assert_eq!(wide.len(), narrow.len(), "lengths");
        wide.iter().zip(narrow).for_each(|(&wide, narrow)| *narrow = Self::narrow(wide));
    }

    /// The value in double precision; always exact.
    fn wide(self) -> f64;

    /// Whether the value is neither infinite nor NaN.
    fn is_finite(self) -> bool {
        self.wide().is_finite()
    }
}

/// A number type for arithmetic: `f64` or `f32`. The trait is sealed.
///
/// ```
/// use ziggurat_sparse::Real;
/// fn hypotenuse<C: Real>(a: C, b: C) -> C {
///     (a * a + b * b).sqrt()
/// }
/// assert_eq!(hypotenuse(3.0_f32, 4.0), 5.0);
/// ```
pub trait Real: Store + Float + NumAssign + Sum + sealed::Sealed {}

/// Converts `f64` to `f32` by rounding to odd: truncates, and sets the last bit if anything was cut
/// off. Rounding the result again to 16 bits then equals rounding the original once (Boldo &
/// Melquiond, 2008). Rounding through an ordinary `as f32` would round twice, and differ by one
/// unit about once in 2^13 values.
#[inline(always)]
fn round_to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let wide = f64::from(nearest);
    // Branch-free, so that loops vectorise. Infinities, values that overflow in 16 bits, and NaN
    // are preserved.
    let truncated = nearest.to_bits().wrapping_sub(u32::from(wide.abs() > x.abs()));
    f32::from_bits(truncated | u32::from(wide != x))
}

/// Converts sixteen numbers at a time, because `half` detects CPU features on every call. Inlined,
/// so that a kernel compiles it for its own instruction set.
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

/// Restricts [`Real`] to the types that kernels are compiled for.
mod sealed {
    /// A number type for arithmetic.
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
        // Just above the midpoint of two neighbours, by less than f32 resolves: rounding twice
        // would round down to even.
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

    /// Whether `found` is the stored number nearest to `x`, ties to even: no neighbour is nearer.
    /// (`half`'s own conversion from f64 cannot be the oracle: it truncates before it rounds.)
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
