//! Vector kernels.

use crate::number::{Real, Store};

/// Seals `Reads`.
pub trait Kernels<S: Store>: Real {}

macro_rules! pairs { ($($c:ty, $s:ty;)*) => {$(impl Kernels<$s> for $c {})*}; }
pairs! { f64, f64; f64, f32; f64, half::f16; f64, half::bf16; f32, f32; f32, half::f16; f32, half::bf16; }
