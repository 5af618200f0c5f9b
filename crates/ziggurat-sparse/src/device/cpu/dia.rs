//! Row products of a matrix stored by diagonals: (A x)_i = Σ_d a_d[i] x[i + offset_d].
//!
//! Bytes: the values and nothing else; x and the result once. Sixteen rows at a time, every load is
//! contiguous. Where a diagonal leaves the matrix within a window, its part of x is copied to a
//! buffer with zeros around it.

#![allow(unsafe_code)]

use std::ops::Range;

use super::row_products::{BATCH, RowProducts};
use crate::matrix::Dia;
use crate::matrix::dia::{WINDOW, inside};
use crate::number::Store;
use crate::simd::lanes::{LANES, Lanes, Widened};
use crate::simd::{InLanes, Isa, prefetch};

/// Prefetch distance in the values, in bytes.
const AHEAD_BYTES: usize = 2048;

/// Vectors of sixteen rows per window.
const VECTORS: usize = WINDOW / LANES;

const _: () = assert!(WINDOW <= BATCH && WINDOW.is_multiple_of(LANES));

impl<C: InLanes<S>, S: Store> RowProducts<C> for &Dia<S> {
    fn steps(&self) -> usize {
        self.rows().div_ceil(WINDOW)
    }

    fn entries_before(&self, step: usize) -> usize {
        self.place(step)
    }

    fn rows_per_step(&self) -> usize {
        WINDOW
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    #[inline(always)]
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]) {
        let (rows, cols) = (self.rows(), self.cols());
        assert!(x.len() == cols);
        let mut sections = self.sections().iter();
        let mut section = sections.next();
        let mut padded = [C::zero(); WINDOW];
        for (window, out) in steps.zip(out.chunks_exact_mut(WINDOW)) {
            while section.is_some_and(|section| section.windows().end <= window) {
                section = sections.next();
            }
            let Some(section) = section else { break };
            let offsets = section.offsets();
            let below = offsets.first().map_or(0, |&first| first.min(0).unsigned_abs());
            let above = offsets.last().map_or(0, |&last| last.max(0).unsigned_abs());
            let first = window * WINDOW;
            let values = &self.values()[section.place(window)..][..offsets.len() * WINDOW];
            let all_inside = first >= below && first + WINDOW + above <= cols && first + WINDOW <= rows;
            // SAFETY: `I` is the instruction set of the running kernel.
            let mut sums = unsafe { [C::In::<I>::zero(); VECTORS] };
            for (values, &offset) in values.chunks_exact(WINDOW).zip(offsets) {
                prefetch(values, AHEAD_BYTES / size_of::<S>());
                prefetch(values, AHEAD_BYTES / size_of::<S>() + WINDOW / 2);
                let x = if all_inside {
                    &x[first.wrapping_add_signed(offset)..][..WINDOW]
                } else {
                    let within = inside(rows, cols, offset, first);
                    padded.fill(C::zero());
                    if !within.is_empty() {
                        let from = (first + within.start).wrapping_add_signed(offset);
                        padded[within.clone()].copy_from_slice(&x[from..from + within.len()]);
                    }
                    &padded[..]
                };
                for (k, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: `values` and `x` have WINDOW = VECTORS · LANES elements, and k is
                    // below VECTORS.
                    unsafe {
                        let values = C::In::<I>::widen(values.as_ptr().add(k * LANES));
                        *sum = sum.add_product(values, C::In::<I>::load(x.as_ptr().add(k * LANES)));
                    }
                }
            }
            for (sum, out) in sums.into_iter().zip(out.chunks_exact_mut(LANES)) {
                // SAFETY: the chunk has LANES elements.
                unsafe { sum.store(out.as_mut_ptr()) };
            }
        }
    }
}
