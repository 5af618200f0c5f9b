//! Row products of a CSR matrix: (A x)_i = Σ_k a_k x[column_k].
//!
//! Bytes: per entry the stored value and 4 for its column; per row 8 for the row pointer, and the
//! result; x once, if the columns of neighbouring rows overlap. Scalar loads of x keep up with
//! memory (see [`simd`](crate::simd)), so the loop is scalar. Long rows use four partial sums,
//! which hides the latency of the addition.

#![allow(unsafe_code)]

use std::ops::Range;

use super::row_products::RowProducts;
use crate::matrix::CsrRef;
use crate::number::Store;
use crate::simd::{InLanes, Isa, prefetch};

/// Prefetch distance in entries: about 4 KiB of columns and values, beyond the page at which the
/// hardware prefetcher stops.
const AHEAD: usize = 512;

/// Rows at least this long use four partial sums.
const LONG_ROW: usize = 12;

impl<C: InLanes<S>, S: Store> RowProducts<C> for CsrRef<'_, S> {
    fn steps(&self) -> usize {
        self.rows()
    }

    fn entries_before(&self, step: usize) -> usize {
        self.row_ptr()[step]
    }

    fn rows_per_step(&self) -> usize {
        1
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    #[inline(always)]
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]) {
        assert!(steps.end <= self.rows() && x.len() == self.cols());
        let (row_ptr, columns, values) = (self.row_ptr(), self.columns(), self.values());
        let term = |entry: usize| {
            // SAFETY: `entry` lies between two row pointers, so it is a valid entry index; its
            // column is below the number of columns, which is the length of x. Both are invariants
            // of CsrRef.
            let (column, value, x) = unsafe {
                let column = *columns.get_unchecked(entry) as usize;
                (column, *values.get_unchecked(entry), *x.get_unchecked(column))
            };
            debug_assert!(column < self.cols());
            I::read::<C, S>(value) * x
        };
        let mut begin = row_ptr[steps.start];
        for (&end, out) in row_ptr[steps.start + 1..=steps.end].iter().zip(out) {
            let mut entry = begin;
            let mut sum = C::zero();
            if end - begin >= LONG_ROW {
                let mut partial = [C::zero(); 4];
                while entry + 4 <= end {
                    if entry % 8 < 4 {
                        prefetch(columns, entry + AHEAD);
                        prefetch(values, entry + AHEAD);
                    }
                    for (lane, partial) in partial.iter_mut().enumerate() {
                        *partial += term(entry + lane);
                    }
                    entry += 4;
                }
                sum = (partial[0] + partial[1]) + (partial[2] + partial[3]);
            } else {
                prefetch(columns, entry + AHEAD);
                prefetch(values, entry + AHEAD);
            }
            while entry < end {
                sum += term(entry);
                entry += 1;
            }
            *out = sum;
            begin = end;
        }
    }
}
