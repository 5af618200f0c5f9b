//! Reductions to one number, the same bits for any number of threads and any instruction set.
//!
//! A vector of length n is cut into blocks whose size depends on n alone. Within a block, element i is added to partial
//! sum i mod 32; then the 32 sums are added pairwise, and then the blocks in order. Everything is in double precision;
//! products of two `f32` are exact there. Error: that of summation in 32 · blocks parts, far below the n·u of a plain
//! loop.

use rayon::prelude::*;

use super::simd::{Isa, Kernel, Simd};
use crate::number::Real;
use crate::parallel::PIECE;

/// Partial sums per block: four AVX-512 registers of doubles, enough to hide the latency of an addition.
const LANES: usize = 32;

/// Blocks at most, so that their sums fit on the stack: nothing is allocated.
const MAX_BLOCKS: usize = 512;

/// Length of the blocks that a vector of `len` elements is cut into.
fn block_length(len: usize) -> usize {
    len.div_ceil(MAX_BLOCKS).next_multiple_of(PIECE).max(PIECE)
}

/// Reduces each block by `reduce`, given its first index and length, and returns the blocks' results in order.
fn over_blocks(len: usize, reduce: impl Fn(usize, usize) -> f64 + Sync) -> ([f64; MAX_BLOCKS], usize) {
    let block = block_length(len);
    let blocks = len.div_ceil(block);
    let mut results = [0.0; MAX_BLOCKS];
    let one = |(index, result): (usize, &mut f64)| {
        let first = index * block;
        *result = reduce(first, block.min(len - first));
    };
    if blocks <= 1 {
        results[..blocks].iter_mut().enumerate().for_each(one);
    } else {
        results[..blocks].par_iter_mut().enumerate().for_each(one);
    }
    (results, blocks)
}

/// Σ x_i y_i
pub(crate) fn dot<C: Real>(simd: Simd, x: &[C], y: &[C]) -> f64 {
    assert_eq!(x.len(), y.len(), "lengths of x and y");
    let (sums, blocks) = over_blocks(x.len(), |first, len| {
        simd.run(Dot { x: &x[first..first + len], y: &y[first..first + len] })
    });
    sums[..blocks].iter().sum()
}

/// max |x_i|, NaN if any is NaN
pub(crate) fn norm_max<C: Real>(simd: Simd, x: &[C]) -> f64 {
    let (largest, blocks) =
        over_blocks(x.len(), |first, len| simd.run(NormMax { x: &x[first..first + len] }));
    largest[..blocks].iter().copied().fold(0.0, larger_or_nan)
}

/// The larger of two magnitudes; NaN wins. (`f64::max` would drop it.)
#[inline(always)]
fn larger_or_nan<C: Real>(a: C, b: C) -> C {
    if b > a || b.is_nan() { b } else { a }
}

struct Dot<'a, C> {
    x: &'a [C],
    y: &'a [C],
}

impl<C: Real> Kernel for Dot<'_, C> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let mut sums = [0.0; LANES];
        let (x, x_rest) = self.x.as_chunks::<LANES>();
        let (y, y_rest) = self.y.as_chunks::<LANES>();
        for (x, y) in x.iter().zip(y) {
            for lane in 0..LANES {
                sums[lane] += x[lane].wide() * y[lane].wide();
            }
        }
        for ((sum, x), y) in sums.iter_mut().zip(x_rest).zip(y_rest) {
            *sum += x.wide() * y.wide();
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                sums[lane] += sums[lane + width];
            }
        }
        sums[0]
    }
}

struct NormMax<'a, C> {
    x: &'a [C],
}

impl<C: Real> Kernel for NormMax<'_, C> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let mut largest = [C::zero(); LANES];
        let (x, rest) = self.x.as_chunks::<LANES>();
        for x in x {
            for lane in 0..LANES {
                largest[lane] = larger_or_nan(largest[lane], x[lane].abs());
            }
        }
        let all = rest.iter().map(|x| x.abs()).chain(largest);
        all.fold(C::zero(), larger_or_nan).wide()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_any_length_and_fit_the_stack() {
        for len in [0, 1, PIECE, PIECE + 1, PIECE * MAX_BLOCKS, PIECE * MAX_BLOCKS + 1, usize::MAX / 16] {
            let block = block_length(len);
            assert!(len.div_ceil(block) <= MAX_BLOCKS, "{len}");
            assert_eq!(block % PIECE, 0);
        }
    }

    #[test]
    fn every_instruction_set_and_thread_count_gives_the_same_bits() {
        let x: Vec<f64> = (0..300_001u64).map(|i| ((i * 7919) % 1013) as f64 / 37.0 - 10.0).collect();
        let y: Vec<f64> = (0..300_001u64).map(|i| ((i * 104_729) % 997) as f64 / 41.0 - 3.0).collect();
        let expected = dot(Simd::Portable, &x, &y);
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for simd in Simd::available() {
                let found = pool.install(|| dot(simd, &x, &y));
                assert_eq!(found.to_bits(), expected.to_bits(), "{simd:?}, {threads} threads");
            }
        }
    }
}
