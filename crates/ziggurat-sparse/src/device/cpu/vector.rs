//! Vector operations: one pass each, in parallel over fixed pieces.
//!
//! Bytes: each vector is read or written once. The loops are plain; the compiler vectorises them
//! for the instruction set that [`Simd::run`] compiles them for. For that, closures must own what
//! they capture (`move`): a coefficient behind a reference might alias the output vector, and would
//! be reloaded for every element.

use crate::number::Real;
use crate::parallel::{PIECE, over_pieces, over_two};
use crate::simd::{Isa, Kernel, Simd};

/// y_i ← f(x_i, y_i)
pub(super) fn map1<X: Copy + Sync, Y: Copy + Send>(
    simd: Simd,
    x: &[X],
    y: &mut [Y],
    f: impl Fn(X, Y) -> Y + Copy + Send + Sync,
) {
    assert_eq!(x.len(), y.len(), "lengths of x and y");
    over_pieces(y, &|first, y| simd.run(Map1 { x: &x[first..first + y.len()], y, f }));
}

/// z_i ← f(x_i, y_i, z_i)
pub(super) fn map2<T: Copy + Send + Sync>(
    simd: Simd,
    x: &[T],
    y: &[T],
    z: &mut [T],
    f: impl Fn(T, T, T) -> T + Copy + Send + Sync,
) {
    assert_eq!([x.len(), y.len()], [z.len(); 2], "lengths of x, y and z");
    over_pieces(z, &|first, z| {
        let piece = first..first + z.len();
        simd.run(Map2 { x: &x[piece.clone()], y: &y[piece], z, f });
    });
}

/// x_i ← x_i + α p_i, then p_i ← z_i + β p_i
pub(super) fn step_and_turn<C: Real>(simd: Simd, alpha: C, x: &mut [C], beta: C, z: &[C], p: &mut [C]) {
    assert_eq!([x.len(), z.len()], [p.len(); 2], "lengths of x, z and p");
    over_two(x, p, [PIECE; 2], &|index, x, p| {
        let z = &z[index * PIECE..][..p.len()];
        simd.run(StepAndTurn { alpha, x, beta, z, p });
    });
}

struct Map1<'a, X, Y, F> {
    x: &'a [X],
    y: &'a mut [Y],
    f: F,
}

impl<X: Copy, Y: Copy, F: Fn(X, Y) -> Y> Kernel for Map1<'_, X, Y, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let f = self.f;
        for (&x, y) in self.x.iter().zip(self.y) {
            *y = f(x, *y);
        }
    }
}

struct Map2<'a, T, F> {
    x: &'a [T],
    y: &'a [T],
    z: &'a mut [T],
    f: F,
}

impl<T: Copy, F: Fn(T, T, T) -> T> Kernel for Map2<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let f = self.f;
        for ((&x, &y), z) in self.x.iter().zip(self.y).zip(self.z) {
            *z = f(x, y, *z);
        }
    }
}

struct StepAndTurn<'a, C> {
    alpha: C,
    x: &'a mut [C],
    beta: C,
    z: &'a [C],
    p: &'a mut [C],
}

impl<C: Real> Kernel for StepAndTurn<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for ((x, &z), p) in self.x.iter_mut().zip(self.z).zip(self.p) {
            *x += self.alpha * *p;
            *p = z + self.beta * *p;
        }
    }
}
