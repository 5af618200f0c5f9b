//! The operations of SpMV, residual and sweep on (A x)_i, a batch of rows at a time.
//!
//! The loops are compiled for each instruction set and arithmetic type, but neither for each format
//! of a matrix nor for each type of its values. Closures own what they capture, for the reason that
//! [`vector`](super::vector) gives.

use std::ops::Range;

use crate::number::Real;
use crate::simd::{Isa, Kernel, Simd};

/// An operation on a batch of rows: called with the rows i, their (A x)_i and their y_i.
pub(super) trait Operation<C>: Fn(Range<usize>, &[C], &mut [C]) + Sync {}

impl<C, F: Fn(Range<usize>, &[C], &mut [C]) + Sync> Operation<C> for F {}

/// y ← α A x
pub(super) fn multiply<C: Real>(simd: Simd, alpha: C) -> impl Operation<C> {
    compiled(simd, move |_, ax, y| y.iter_mut().zip(ax).for_each(|(y, &ax)| *y = alpha * ax))
}

/// y ← α A x + β y
pub(super) fn multiply_and_add<C: Real>(simd: Simd, alpha: C, beta: C) -> impl Operation<C> {
    compiled(simd, move |_, ax, y| {
        y.iter_mut().zip(ax).for_each(|(y, &ax)| *y = alpha * ax + beta * *y);
    })
}

/// y ← b − A x
pub(super) fn subtract_from<C: Real>(simd: Simd, b: &[C]) -> impl Operation<C> {
    compiled(simd, move |rows, ax, y| {
        y.iter_mut().zip(ax).zip(&b[rows]).for_each(|((y, &ax), &b)| *y = b - ax);
    })
}

/// y ← x + ω d∘(b − A x); `vectors` are d, b and x.
pub(super) fn step<C: Real>(simd: Simd, omega: C, vectors: [&[C]; 3]) -> impl Operation<C> {
    compiled(simd, move |rows, ax, y| {
        let [d, b, x] = vectors.map(|vector| &vector[rows.clone()]);
        for ((y, &ax), ((&d, &b), &x)) in y.iter_mut().zip(ax).zip(d.iter().zip(b).zip(x)) {
            *y = x + omega * d * (b - ax);
        }
    })
}

/// y ← x + ω d∘(b − A x) + β (x − y)
pub(super) fn step_with_momentum<C: Real>(
    simd: Simd,
    omega: C,
    beta: C,
    vectors: [&[C]; 3],
) -> impl Operation<C> {
    compiled(simd, move |rows, ax, y| {
        let [d, b, x] = vectors.map(|vector| &vector[rows.clone()]);
        for ((y, &ax), ((&d, &b), &x)) in y.iter_mut().zip(ax).zip(d.iter().zip(b).zip(x)) {
            *y = x + omega * d * (b - ax) + beta * (x - *y);
        }
    })
}

/// An operation that runs `batch` compiled for the instruction set.
fn compiled<C: Real>(
    simd: Simd,
    batch: impl Fn(Range<usize>, &[C], &mut [C]) + Copy + Sync,
) -> impl Operation<C> {
    move |rows: Range<usize>, ax: &[C], y: &mut [C]| simd.run(Batch { batch, rows, ax, y })
}

struct Batch<'a, C, F> {
    batch: F,
    rows: Range<usize>,
    ax: &'a [C],
    y: &'a mut [C],
}

impl<C: Real, F: Fn(Range<usize>, &[C], &mut [C])> Kernel for Batch<'_, C, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        (self.batch)(self.rows, self.ax, self.y);
    }
}
