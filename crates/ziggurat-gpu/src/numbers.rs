//! Maps number types to the types that CubeCL compiles kernels for.

use ziggurat_sparse::{Kind, Real};

use crate::capabilities::Capabilities;
use crate::kernels::widen::Packing;

/// Evaluates the body with `$n` as the compute type.
macro_rules! with_real {
    ($kind:expr, |$n:ident| $body:expr) => {
        match $kind {
            ziggurat_sparse::Kind::F64 => {
                type $n = f64;
                $body
            }
            _ => {
                type $n = f32;
                $body
            }
        }
    };
}
pub(crate) use with_real;

/// Evaluates the body with `$n` as the compute type and `$v` as the element type of the array that
/// holds the stored values.
macro_rules! with_pair {
    ($computed:expr, $stored:expr, |$n:ident, $v:ident| $body:expr) => {
        match ($computed, $stored) {
            (ziggurat_sparse::Kind::F64, ziggurat_sparse::Kind::F64) => {
                type $n = f64;
                type $v = f64;
                $body
            }
            (ziggurat_sparse::Kind::F64, ziggurat_sparse::Kind::F32) => {
                type $n = f64;
                type $v = f32;
                $body
            }
            (ziggurat_sparse::Kind::F64, _) => {
                type $n = f64;
                type $v = u32;
                $body
            }
            (_, ziggurat_sparse::Kind::F16 | ziggurat_sparse::Kind::Bf16) => {
                type $n = f32;
                type $v = u32;
                $body
            }
            _ => {
                type $n = f32;
                type $v = f32;
                $body
            }
        }
    };
}
pub(crate) use with_pair;

/// Converts a coefficient to the compute type of a kernel.
pub(crate) trait Coefficient {
    fn of<C: Real>(coefficient: C) -> Self;
}

impl Coefficient for f64 {
    fn of<C: Real>(coefficient: C) -> f64 {
        coefficient.wide()
    }
}

impl Coefficient for f32 {
    fn of<C: Real>(coefficient: C) -> f32 {
        coefficient.wide() as f32 // exact, because it came from an `f32`
    }
}

/// How stored values of a number type are laid out in an array, and how the device reads them.
pub(crate) fn packing(stored: Kind, target: &Capabilities) -> Packing {
    match stored {
        Kind::F64 | Kind::F32 => Packing::Plain,
        Kind::F16 if target.f16 => Packing::F16,
        Kind::F16 => Packing::F16Bits,
        Kind::Bf16 => Packing::Bf16,
    }
}
