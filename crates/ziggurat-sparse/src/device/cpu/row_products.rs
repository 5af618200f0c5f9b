//! (A x)_i for a range of rows, one implementation per matrix format; and the one loop that turns them into results.
//!
//! SpMV, residual and smoothing sweep differ only in what they do with (A x)_i. So a format implements
//! [`RowProducts`], an operation is a closure over (i, (A x)_i, old y_i), and [`map_rows`] joins the two: one pass over
//! the matrix for each, for every format and every pair of numbers. The products of a few hundred rows go through a
//! buffer in the first-level cache, so that the kernel of a format is compiled once and not once per operation.

use std::ops::Range;

use super::simd::{Isa, Kernel, Simd};
use crate::number::Real;
use crate::parallel::over_rows;

/// Rows whose products are buffered at a time: 2 KiB of doubles.
const BATCH: usize = 256;

/// A matrix format, as the CPU's kernels see it.
pub(super) trait RowProducts<C: Real>: Copy + Sync {
    /// Where the entries of each row (or row of blocks) begin.
    fn row_ptr(&self) -> &[usize];

    /// Rows per element of `row_ptr`: 1, or the size of a block; at most [`BATCH`].
    fn rows_per_step(&self) -> usize;

    /// Columns: the length of x.
    fn cols(&self) -> usize;

    /// Writes (A x)_i for the rows i of the steps `steps` to `out`. `x` has `cols` elements.
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]);
}

/// y_i ← finish(i, (A x)_i, y_i) for every row i, in parallel.
pub(super) fn map_rows<C: Real, A: RowProducts<C>>(
    simd: Simd,
    a: A,
    x: &[C],
    y: &mut [C],
    finish: impl Fn(usize, C, C) -> C + Copy + Send + Sync,
) {
    let (steps, height) = (a.row_ptr().len() - 1, a.rows_per_step());
    assert_eq!(a.cols(), x.len(), "columns of A, length of x");
    assert_eq!(steps * height, y.len(), "rows of A, length of the result");
    over_rows(a.row_ptr(), 0..steps, height, y, &|steps, y| {
        let (mut buffer, finish) = ([C::zero(); BATCH], finish);
        let mut first = steps.start;
        for y in y.chunks_mut(BATCH / height * height) {
            let (last, products) = (first + y.len() / height, &mut buffer[..y.len()]);
            simd.run(Products { a, steps: first..last, x, out: products });
            for (i, (slot, &product)) in y.iter_mut().zip(&*products).enumerate() {
                *slot = finish(first * height + i, product, *slot);
            }
            first = last;
        }
    });
}

struct Products<'a, C, A> {
    a: A,
    steps: Range<usize>,
    x: &'a [C],
    out: &'a mut [C],
}

impl<C: Real, A: RowProducts<C>> Kernel for Products<'_, C, A> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.a.products::<I>(self.steps, self.x, self.out);
    }
}
