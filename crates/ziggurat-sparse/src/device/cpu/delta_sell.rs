//! Row products of a delta-SELL matrix: sixteen rows at a time, (A x)_i = Σ_slots a
//! x[base + difference].
//!
//! Bytes: per stored value the value, ¼ for its base and 0, 1, 2 or 4 for its difference. A slot of
//! consecutive columns is one vector load of x; other slots load x element by element, because
//! hardware gathers are slower (see [`simd`](crate::simd)).

#![allow(unsafe_code)]

use std::ops::Range;

use super::row_products::{BATCH, RowProducts};
use crate::matrix::DeltaSell;
use crate::matrix::delta_sell::{LANES, WIDTHS, WINDOW, Width};
use crate::number::Store;
use crate::simd::lanes::{Lanes, Widened};
use crate::simd::{InLanes, Isa, prefetch};

/// Prefetch distance in the values, in bytes.
const AHEAD_BYTES: usize = 2048;

const _: () = assert!(WINDOW <= BATCH);

impl<C: InLanes<S>, S: Store> RowProducts<C> for &DeltaSell<S> {
    fn steps(&self) -> usize {
        self.value_ptr().len() - 1
    }

    fn entries_before(&self, step: usize) -> usize {
        self.value_ptr()[step]
    }

    fn rows_per_step(&self) -> usize {
        WINDOW
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    #[inline(always)]
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]) {
        assert!(x.len() == self.cols());
        let mut chunk = Chunk {
            values: self.values(),
            bases: self.bases(),
            deltas: self.deltas(),
            slot: self.value_ptr()[steps.start] / LANES,
            delta: self.first_delta(steps.start),
            x,
        };
        for (window, out) in steps.zip(out.chunks_exact_mut(WINDOW)) {
            let (order, mut sums) = (self.window_order(window), [C::zero(); LANES]);
            for (k, &counts) in self.chunk_counts(window).iter().enumerate() {
                let sums = &mut sums;
                // SAFETY: the cursor is at the first slot of this chunk: windows and chunks are
                // contiguous, and each chunk advances it by its counts. `sums` has LANES elements.
                unsafe { chunk.sums::<I>(counts).store(sums.as_mut_ptr()) };
                match order {
                    None => out[k * LANES..][..LANES].copy_from_slice(sums),
                    Some(order) => {
                        for (sum, &row) in sums.iter().zip(&order[k * LANES..][..LANES]) {
                            out[usize::from(row)] = *sum;
                        }
                    }
                }
            }
        }
    }
}

/// The arrays of a matrix and a cursor into them.
struct Chunk<'a, C, S> {
    values: &'a [S],
    bases: &'a [u32],
    deltas: &'a [u8],
    slot: usize,
    delta: usize,
    x: &'a [C],
}

impl<C: InLanes<S>, S: Store> Chunk<'_, C, S> {
    /// The row products of the chunk at the cursor; advances to the next.
    ///
    /// # Safety
    /// The cursor is at a chunk with these counts.
    #[inline(always)]
    unsafe fn sums<I: Isa>(&mut self, counts: [u16; WIDTHS]) -> C::In<I> {
        // SAFETY: the counts belong to this chunk, and the widths are in the order in which it
        // stores them.
        unsafe {
            let sums = C::In::<I>::zero();
            let sums = self.slots::<I, { Width::Consecutive as usize }>(counts[0], sums);
            let sums = self.slots::<I, { Width::Within64 as usize }>(counts[1], sums);
            let sums = self.slots::<I, { Width::Within128 as usize }>(counts[2], sums);
            let sums = self.slots::<I, { Width::U8 as usize }>(counts[3], sums);
            let sums = self.slots::<I, { Width::U16 as usize }>(counts[4], sums);
            self.slots::<I, { Width::U32 as usize }>(counts[5], sums)
        }
    }

    /// Adds `count` slots of one width.
    ///
    /// # Safety
    /// The cursor is at `count` slots of this width.
    #[inline(always)]
    unsafe fn slots<I: Isa, const WIDTH: usize>(&mut self, count: u16, mut sums: C::In<I>) -> C::In<I> {
        let width = Width::ALL[WIDTH];
        for _ in 0..count {
            prefetch(self.values, self.slot * LANES + AHEAD_BYTES / size_of::<S>());
            if width.bytes() > 0 {
                prefetch(self.deltas, self.delta + AHEAD_BYTES);
            }
            // SAFETY: a slot has a base, LANES values and `width.bytes()` bytes of differences, and
            // the caller guarantees that the cursor is at a slot; each base + difference (or
            // base + lane) is below the number of columns, which is the length of x. These are
            // invariants of DeltaSell.
            unsafe {
                let values = C::In::<I>::widen(self.values.as_ptr().add(self.slot * LANES));
                let x = self.x.as_ptr().add(*self.bases.get_unchecked(self.slot) as usize);
                let deltas = self.deltas.as_ptr().add(self.delta);
                let x = match width {
                    Width::Consecutive => C::In::<I>::load(x),
                    Width::Within64 => C::In::<I>::pick64(x, deltas),
                    Width::Within128 => C::In::<I>::pick128(x, deltas),
                    Width::U8 => C::In::<I>::gather(x, |lane| usize::from(*deltas.add(lane))),
                    Width::U16 => C::In::<I>::gather(x, |lane| {
                        usize::from(u16::from_le(deltas.cast::<u16>().add(lane).read_unaligned()))
                    }),
                    Width::U32 => C::In::<I>::gather(x, |lane| {
                        u32::from_le(deltas.cast::<u32>().add(lane).read_unaligned()) as usize
                    }),
                };
                sums = sums.add_product(values, x);
            }
            self.slot += 1;
            self.delta += width.bytes();
        }
        sums
    }
}
