//! From number types known at run time to kernels that are compiled for them.
//!
//! `device_of_kernels!(Gpu)` implements [`Device`](super::Device) for a backend: each method finds
//! the number types of its operands, and calls the method of [`Kernels`](super::Kernels) with the
//! same name. A macro instead of a generic implementation, because the latter would be compiled
//! again in every crate that makes a `&dyn Device`. Cost: one indirect call, and one comparison for
//! every operand.

use std::ops::Range;

pub use super::setup::factors_of;
use super::vector::{Memory, Vectors};
use crate::number::{Kind, Real};

/// So many vectors are listed at a time, without an allocation.
const GROUP: usize = 32;

/// Calls a function with the memories of a group of vectors after the other, and with their places
/// in the list; at least once. Returns the last result.
pub fn in_groups<M: Memory, R>(xs: Vectors<'_>, mut call: impl FnMut(Range<usize>, &[&M]) -> R) -> R {
    if xs.is_empty() {
        return call(0..0, &[]);
    }
    let memory = |index: usize| xs.get(index).memory::<M>();
    let mut first = 0;
    loop {
        let places = first..xs.len().min(first + GROUP);
        let mut group = [memory(first); GROUP];
        for (group, index) in group.iter_mut().zip(places.clone()).skip(1) {
            *group = memory(index);
        }
        first = places.end;
        let result = call(places.clone(), &group[..places.len()]);
        if first == xs.len() {
            return result;
        }
    }
}

/// Calls a function with the rounded coefficients of a group.
pub fn with_rounded<C: Real, R>(coefficients: &[f64], call: impl FnOnce(&[C]) -> R) -> R {
    let mut rounded = [C::zero(); GROUP];
    C::narrow_all(coefficients, &mut rounded[..coefficients.len()]);
    call(&rounded[..coefficients.len()])
}

/// Ends with a message for the programmer.
#[cold]
#[track_caller]
#[allow(clippy::panic)] // see `Device`: mistakes
pub fn no_kernel(computes: Kind, stored: Kind) -> ! {
    panic!("no kernel computes in {computes} with {stored} numbers")
}

/// Evaluates the body with `$C` as the number type of arithmetic.
#[doc(hidden)]
#[macro_export]
macro_rules! with_arithmetic {
    ($kind:expr, |$C:ident| $body:expr) => {
        match $kind {
            $crate::Kind::F64 => {
                type $C = f64;
                $body
            }
            $crate::Kind::F32 => {
                type $C = f32;
                $body
            }
            other => $crate::device::dispatch::no_kernel(other, other),
        }
    };
}

/// Evaluates the body with `$S` as a number type in memory.
#[doc(hidden)]
#[macro_export]
macro_rules! with_storage {
    ($kind:expr, |$S:ident| $body:expr) => {
        match $kind {
            $crate::Kind::F64 => {
                type $S = f64;
                $body
            }
            $crate::Kind::F32 => {
                type $S = f32;
                $body
            }
            $crate::Kind::F16 => {
                type $S = $crate::f16;
                $body
            }
            $crate::Kind::Bf16 => {
                type $S = $crate::bf16;
                $body
            }
        }
    };
}

/// Evaluates the body with `$C` and `$S` as one of the pairs of [`Reads`](crate::Reads).
#[doc(hidden)]
#[macro_export]
macro_rules! with_pair {
    ($computes:expr, $stored:expr, |$C:ident, $S:ident| $body:expr) => {
        match ($computes, $stored) {
            ($crate::Kind::F64, stored) => {
                type $C = f64;
                $crate::with_storage!(stored, |$S| $body)
            }
            ($crate::Kind::F32, $crate::Kind::F32) => {
                type $C = f32;
                type $S = f32;
                $body
            }
            ($crate::Kind::F32, $crate::Kind::F16) => {
                type $C = f32;
                type $S = $crate::f16;
                $body
            }
            ($crate::Kind::F32, $crate::Kind::Bf16) => {
                type $C = f32;
                type $S = $crate::bf16;
                $body
            }
            (computes, stored) => $crate::device::dispatch::no_kernel(computes, stored),
        }
    };
}

/// Implements [`Device`](crate::device::Device) for a type that implements
/// [`Kernels`](crate::device::Kernels), in which other methods may follow.
#[doc(hidden)]
#[macro_export]
macro_rules! device_of_kernels {
    ($device:ty $(, $($more:tt)+)?) => {
        impl $crate::device::Device for $device {
            $($($more)+)?

            fn name(&self) -> String {
                $crate::device::Kernels::name(self)
            }

            fn share(&self) -> std::sync::Arc<dyn $crate::device::Device> {
                std::sync::Arc::new(self.clone())
            }

            fn computes_in(&self, number: $crate::Kind) -> bool {
                $crate::device::Kernels::computes_in(self, number)
            }

            fn compresses_vectors(&self) -> bool {
                $crate::device::Kernels::compresses_vectors(self)
            }

            fn traffic(&self) -> Option<$crate::device::Traffic> {
                $crate::device::Kernels::traffic(self)
            }

            fn finish(&self) -> Result<(), $crate::device::DeviceError> {
                $crate::device::Kernels::finish(self)
            }

            fn zeros(
                &self,
                number: $crate::Kind,
                len: usize,
            ) -> Result<$crate::device::Vector, $crate::device::DeviceError> {
                $crate::with_storage!(number, |T| {
                    let memory = $crate::device::Kernels::zeros::<T>(self, len)?;
                    Ok($crate::device::Vector::new::<T>(len, memory))
                })
            }

            fn take(
                &self,
                host: $crate::device::Vector,
            ) -> Result<$crate::device::Vector, $crate::device::DeviceError> {
                $crate::with_storage!(host.kind(), |T| {
                    let (len, host) = (host.len(), host.into_memory::<Vec<T>>());
                    let memory = $crate::device::Kernels::adopt::<T>(self, host)?;
                    Ok($crate::device::Vector::new::<T>(len, memory))
                })
            }

            fn take_matrix(
                &self,
                host: $crate::device::Matrix,
            ) -> Result<$crate::device::Matrix, $crate::device::DeviceError> {
                $crate::with_storage!(host.kind(), |S| {
                    let (shape, host) = (host.shape(), host.into_memory::<$crate::device::HostMatrix<S>>());
                    let memory = $crate::device::Kernels::upload_matrix::<S>(self, host)?;
                    Ok($crate::device::Matrix::new::<S>(shape, memory))
                })
            }

            fn write(
                &self,
                host: $crate::device::HostSlice<'_>,
                x: &mut $crate::device::Vector,
            ) -> Result<(), $crate::device::DeviceError> {
                $crate::with_storage!(x.kind(), |T| {
                    $crate::device::Kernels::write::<T>(self, host.elements(), x.memory_mut())
                })
            }

            fn download(
                &self,
                x: &$crate::device::Vector,
                host: $crate::device::HostSliceMut<'_>,
            ) -> Result<(), $crate::device::DeviceError> {
                $crate::with_storage!(x.kind(), |T| {
                    $crate::device::Kernels::download::<T>(self, x.memory(), host.elements())
                })
            }

            fn spmv(
                &self,
                alpha: f64,
                a: &$crate::device::Matrix,
                x: &$crate::device::Vector,
                beta: f64,
                y: &mut $crate::device::Vector,
            ) {
                $crate::with_pair!(y.kind(), a.kind(), |C, S| {
                    let [alpha, beta] = [alpha, beta].map(<C as $crate::Store>::narrow);
                    $crate::device::Kernels::spmv::<C, S>(
                        self, alpha, a.memory(), x.memory(), beta, y.memory_mut(),
                    )
                });
            }

            fn residual(
                &self,
                a: &$crate::device::Matrix,
                x: &$crate::device::Vector,
                b: &$crate::device::Vector,
                r: &mut $crate::device::Vector,
            ) {
                $crate::with_pair!(r.kind(), a.kind(), |C, S| {
                    $crate::device::Kernels::residual::<C, S>(
                        self, a.memory(), x.memory(), b.memory(), r.memory_mut(),
                    )
                });
            }

            fn sweep(
                &self,
                a: &$crate::device::Matrix,
                omega: f64,
                d: &$crate::device::Vector,
                b: &$crate::device::Vector,
                x: &$crate::device::Vector,
                beta: f64,
                y: &mut $crate::device::Vector,
            ) {
                $crate::with_pair!(y.kind(), a.kind(), |C, S| {
                    let [omega, beta] = [omega, beta].map(<C as $crate::Store>::narrow);
                    let (d, b, x) = (d.memory(), b.memory(), x.memory());
                    $crate::device::Kernels::sweep::<C, S>(
                        self, a.memory(), omega, d, b, x, beta, y.memory_mut(),
                    )
                });
            }

            fn gauss_seidel(
                &self,
                a: &$crate::device::Matrix,
                d: &$crate::device::Vector,
                b: &$crate::device::Vector,
                x: Option<&$crate::device::Vector>,
                block: usize,
                direction: $crate::device::Direction,
                y: &mut $crate::device::Vector,
            ) {
                $crate::with_pair!(y.kind(), a.kind(), |C, S| {
                    let (d, b, x) = (d.memory(), b.memory(), x.map(|x| x.memory()));
                    $crate::device::Kernels::gauss_seidel::<C, S>(
                        self, a.memory(), d, b, x, block, direction, y.memory_mut(),
                    )
                });
            }

            fn fill(&self, value: f64, x: &mut $crate::device::Vector) {
                $crate::with_arithmetic!(x.kind(), |C| {
                    let value = <C as $crate::Store>::narrow(value);
                    $crate::device::Kernels::fill::<C>(self, value, x.memory_mut())
                });
            }

            fn copy(&self, x: &$crate::device::Vector, y: &mut $crate::device::Vector) {
                $crate::with_arithmetic!(y.kind(), |Y| {
                    if x.kind() == y.kind() {
                        $crate::device::Kernels::copy::<Y>(self, x.memory(), y.memory_mut())
                    } else {
                        $crate::with_arithmetic!(x.kind(), |X| {
                            $crate::device::Kernels::cast::<X, Y>(self, x.memory(), y.memory_mut())
                        })
                    }
                });
            }

            fn cast_scaled(
                &self,
                alpha: f64,
                d: Option<&$crate::device::Vector>,
                x: &$crate::device::Vector,
                y: &mut $crate::device::Vector,
                largest: Option<&mut f64>,
            ) {
                let has_sixteen_bits = |kind| matches!(kind, $crate::Kind::F16 | $crate::Kind::Bf16);
                if has_sixteen_bits(x.kind()) || has_sixteen_bits(y.kind()) {
                    assert!(d.is_none() && largest.is_none(), "16 bits, and nothing else than a factor");
                }
                if has_sixteen_bits(y.kind()) {
                    return $crate::with_pair!(x.kind(), y.kind(), |C, S| {
                        let alpha = <C as $crate::Store>::narrow(alpha);
                        $crate::device::Kernels::compress::<C, S>(self, alpha, x.memory(), y.memory_mut())
                    });
                }
                if has_sixteen_bits(x.kind()) {
                    return $crate::with_pair!(y.kind(), x.kind(), |C, S| {
                        let alpha = <C as $crate::Store>::narrow(alpha);
                        $crate::device::Kernels::decompress::<C, S>(self, alpha, x.memory(), y.memory_mut())
                    });
                }
                $crate::with_arithmetic!(x.kind(), |X| $crate::with_arithmetic!(y.kind(), |Y| {
                    let (d, x) = (d.map(|d| d.memory()), x.memory());
                    match largest {
                        None => {
                            $crate::device::Kernels::cast_scaled::<X, Y>(self, alpha, d, x, y.memory_mut())
                        }
                        Some(largest) => {
                            *largest = $crate::device::Kernels::cast_scaled_max::<X, Y>(
                                self, alpha, d, x, y.memory_mut(),
                            );
                        }
                    }
                }));
            }

            fn axpby(
                &self,
                alpha: f64,
                x: &$crate::device::Vector,
                beta: f64,
                y: &mut $crate::device::Vector,
            ) {
                $crate::with_arithmetic!(y.kind(), |C| {
                    let [alpha, beta] = [alpha, beta].map(<C as $crate::Store>::narrow);
                    $crate::device::Kernels::axpby::<C>(self, alpha, x.memory(), beta, y.memory_mut())
                });
            }

            fn axpbypcz(
                &self,
                alpha: f64,
                x: &$crate::device::Vector,
                beta: f64,
                y: &$crate::device::Vector,
                gamma: f64,
                z: &mut $crate::device::Vector,
            ) {
                $crate::with_arithmetic!(z.kind(), |C| {
                    let [alpha, beta, gamma] = [alpha, beta, gamma].map(<C as $crate::Store>::narrow);
                    $crate::device::Kernels::axpbypcz::<C>(
                        self, alpha, x.memory(), beta, y.memory(), gamma, z.memory_mut(),
                    )
                });
            }

            fn diagonal(
                &self,
                alpha: f64,
                d: &$crate::device::Vector,
                x: &$crate::device::Vector,
                beta: f64,
                y: &mut $crate::device::Vector,
            ) {
                $crate::with_arithmetic!(y.kind(), |C| {
                    let [alpha, beta] = [alpha, beta].map(<C as $crate::Store>::narrow);
                    $crate::device::Kernels::diagonal::<C>(
                        self, alpha, d.memory(), x.memory(), beta, y.memory_mut(),
                    )
                });
            }

            fn step_and_turn(
                &self,
                alpha: f64,
                x: &mut $crate::device::Vector,
                beta: f64,
                z: &$crate::device::Vector,
                p: &mut $crate::device::Vector,
            ) {
                $crate::with_arithmetic!(x.kind(), |C| {
                    let [alpha, beta] = [alpha, beta].map(<C as $crate::Store>::narrow);
                    $crate::device::Kernels::step_and_turn::<C>(
                        self, alpha, x.memory_mut(), beta, z.memory(), p.memory_mut(),
                    )
                });
            }

            fn combine(
                &self,
                coefficients: &[f64],
                xs: $crate::device::Vectors<'_>,
                beta: f64,
                y: &mut $crate::device::Vector,
            ) -> f64 {
                use $crate::device::dispatch::{in_groups, with_rounded};
                assert_eq!(coefficients.len(), xs.len(), "coefficients and vectors");
                let stored = if xs.is_empty() { y.kind() } else { xs.get(0).kind() };
                if stored == y.kind() {
                    return $crate::with_arithmetic!(y.kind(), |C| in_groups(xs, |places, xs| {
                        let beta = if places.start == 0 { <C as $crate::Store>::narrow(beta) } else { 1.0 };
                        with_rounded::<C, _>(&coefficients[places], |coefficients| {
                            $crate::device::Kernels::combine::<C>(self, coefficients, xs, beta, y.memory_mut())
                        })
                    }));
                }
                $crate::with_pair!(y.kind(), stored, |C, S| in_groups(xs, |places, xs| {
                    let beta = if places.start == 0 { <C as $crate::Store>::narrow(beta) } else { 1.0 };
                    with_rounded::<C, _>(&coefficients[places], |coefficients| {
                        $crate::device::Kernels::combine_compressed::<C, S>(
                            self, coefficients, xs, beta, y.memory_mut(),
                        )
                    })
                }))
            }

            fn dots(
                &self,
                xs: $crate::device::Vectors<'_>,
                y: &$crate::device::Vector,
                out: &mut [f64],
            ) {
                use $crate::device::dispatch::in_groups;
                assert_eq!(xs.len(), out.len(), "vectors and results");
                let stored = if xs.is_empty() { y.kind() } else { xs.get(0).kind() };
                if stored == y.kind() {
                    // Most products are of one vector, for which a backend may have a faster kernel
                    // with the same result.
                    return $crate::with_arithmetic!(y.kind(), |C| in_groups(xs, |places, xs| match xs {
                        [x] => out[places.start] = $crate::device::Kernels::dot::<C>(self, x, y.memory()),
                        _ => $crate::device::Kernels::dots::<C>(self, xs, y.memory(), &mut out[places]),
                    }));
                }
                $crate::with_pair!(y.kind(), stored, |C, S| in_groups(xs, |places, xs| {
                    $crate::device::Kernels::dots_compressed::<C, S>(self, xs, y.memory(), &mut out[places])
                }))
            }

            fn norm_max(&self, x: &$crate::device::Vector) -> f64 {
                $crate::with_arithmetic!(x.kind(), |C| {
                    $crate::device::Kernels::norm_max::<C>(self, x.memory())
                })
            }
        }
    };
}
