//! Which arithmetic reads which memory.

use half::{bf16, f16};

use super::cpu::compiled::Compiled;
use crate::number::Store;
use crate::simd::InLanes;

/// Arithmetic in `Self` may read memory of type `S`: the seven pairs listed in
/// [`number`](crate::number).
///
/// The trait is sealed, because every device must implement every pair.
///
/// ```
/// use ziggurat_sparse::{Reads, Store, f16};
/// fn sum<C: Reads<S>, S: Store>(stored: &[S]) -> C {
///     stored.iter().map(|&s| C::read(s)).sum()
/// }
/// let stored = [f16::narrow(1.5), f16::narrow(2.5)];
/// assert_eq!(sum::<f32, _>(&stored), 4.0);
/// ```
pub trait Reads<S: Store>: InLanes<S> + Compiled<S> {
    /// Widens a stored value; always exact.
    #[inline]
    fn read(stored: S) -> Self {
        Self::widen(stored)
    }
}

impl Reads<f64> for f64 {}
impl Reads<f32> for f64 {}
impl Reads<f16> for f64 {}
impl Reads<bf16> for f64 {}
impl Reads<f32> for f32 {}
impl Reads<f16> for f32 {}
impl Reads<bf16> for f32 {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reading_is_exact(bits in any::<u16>()) {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            prop_assume!(!half.is_nan() && !brain.is_nan());
            prop_assert_eq!(f64::from(<f32 as Reads<f16>>::read(half)), half.wide());
            prop_assert_eq!(<f64 as Reads<bf16>>::read(brain), brain.wide());
        }
    }
}
