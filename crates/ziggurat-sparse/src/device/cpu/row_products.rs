//! (A x)_i for a range of rows: one implementation per matrix format, and one loop that applies an
//! operation to the products.
//!
//! SpMV, residual and sweep differ only in what they do with (A x)_i. So a format implements
//! [`RowProducts`], an [`Operation`] is a closure over the rows i, their (A x)_i and the old y_i,
//! and [`map_rows`] combines the two, in one pass over the matrix, for every format and pair of
//! number types. The products of a few hundred rows go through a buffer in the first-level cache,
//! and then one indirect call passes them to the operation. So the kernel of a format is compiled
//! once and not for each operation.

use std::ops::Range;

use super::operations::Operation;
use crate::number::Real;
use crate::parallel::over_rows;
use crate::simd::{Isa, Kernel, Simd};

/// Rows buffered at a time: 2 KiB of doubles.
pub(super) const BATCH: usize = 256;

/// A matrix format, as used by the CPU kernels.
pub(super) trait RowProducts<C: Real>: Copy + Sync {
    /// Number of steps. A step is a row, a block row or a window of rows.
    fn steps(&self) -> usize;

    /// Number of entries before a step, by which the work is split among threads.
    fn entries_before(&self, step: usize) -> usize;

    /// Rows per step, at most [`BATCH`]; the last step may have fewer.
    fn rows_per_step(&self) -> usize;

    /// Rows and columns: the lengths of the result and of x.
    fn shape(&self) -> (usize, usize);

    /// Writes (A x)_i for the rows i of the steps `steps` to `out`, which has room for whole steps.
    /// `x` has one element per column of A.
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]);
}

/// Calls `operation` with all rows, A x in them and y in them, a batch at a time, in parallel.
pub(super) fn map_rows<C: Real, A: RowProducts<C>>(
    simd: Simd,
    a: A,
    x: &[C],
    y: &mut [C],
    operation: &dyn Operation<C>,
) {
    let (steps, height) = (a.steps(), a.rows_per_step());
    assert_eq!(a.shape(), (y.len(), x.len()), "rows of A, length of the result; columns of A, length of x");
    over_rows(&|step| a.entries_before(step), 0..steps, height, y, &|steps, y| {
        let mut buffer = [C::zero(); BATCH];
        let mut first = steps.start;
        for y in y.chunks_mut(BATCH / height * height) {
            let (last, row) = (first + y.len().div_ceil(height), first * height);
            simd.run(Products { a, steps: first..last, x, out: &mut buffer[..(last - first) * height] });
            operation(row..row + y.len(), &buffer[..y.len()], y);
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
