//! Reductions to a scalar, with the same bits for any number of threads and any instruction set.
//!
//! A vector of length n is split into blocks whose size depends only on n. Within a block, element
//! i is added to partial sum i mod 32; then the 32 sums are added pairwise, and then the blocks in
//! order. All sums are in double precision, in which products of two `f32` are exact. The error is
//! as small as for a sum in 32 · blocks parts, far below the n·u of a plain loop.

use std::ops::Range;

use crate::number::Real;
use crate::parallel::{PIECE, over_chunks, over_two};
use crate::simd::{Isa, Kernel, Simd};

/// Partial sums per block: four AVX-512 registers of doubles, enough to hide the latency of an
/// addition.
pub(super) const LANES: usize = 32;

/// Maximum number of blocks. Their sums fit on the stack, so nothing is allocated.
const MAX_BLOCKS: usize = 512;

/// Elements taken from each of several vectors in turn: 8 KiB of doubles, so that the shared vector
/// stays in the first-level cache from one vector to the next. A multiple of [`LANES`], so that
/// partial sums do not depend on it.
pub(super) const STRIP: usize = 1024;

/// Number of dot products computed in one pass over the shared vector.
pub(super) const TOGETHER: usize = 8;

/// Block length for a vector of `len` elements.
fn block_length(len: usize) -> usize {
    len.div_ceil(MAX_BLOCKS).next_multiple_of(PIECE).max(PIECE)
}

/// Reduces each block by `reduce`, which receives its first index and length, and returns the
/// results in block order.
fn over_blocks<R: Copy + Default + Send>(
    len: usize,
    reduce: &(dyn Fn(usize, usize) -> R + Sync),
) -> ([R; MAX_BLOCKS], usize) {
    let block = block_length(len);
    let blocks = len.div_ceil(block);
    let mut results = [R::default(); MAX_BLOCKS];
    over_chunks(&mut results[..blocks], 1, &|index, result| {
        let first = index * block;
        result[0] = reduce(first, block.min(len - first));
    });
    (results, blocks)
}

/// As [`over_blocks`], for blocks of y that are written: `reduce` receives the first index and
/// elements of one.
pub(super) fn over_blocks_of<T: Send>(
    y: &mut [T],
    reduce: &(dyn Fn(usize, &mut [T]) -> f64 + Sync),
) -> ([f64; MAX_BLOCKS], usize) {
    let block = block_length(y.len());
    let blocks = y.len().div_ceil(block);
    let mut results = [0.0; MAX_BLOCKS];
    over_two(y, &mut results[..blocks], [block, 1], &|index, y, result| {
        result[0] = reduce(index * block, y);
    });
    (results, blocks)
}

/// Sums of products of several vectors with one: `add` adds the products of vector k in a strip to
/// the partial sums of that vector. The shared vector is read once for every [`TOGETHER`] of the
/// others.
pub(super) fn over_strips(
    len: usize,
    out: &mut [f64],
    add: &(dyn Fn(usize, Range<usize>, &mut [f64; LANES]) + Sync),
) {
    for (group, out) in out.chunks_mut(TOGETHER).enumerate() {
        let vectors = out.len();
        let (sums, blocks) = over_blocks(len, &|first, len| {
            let mut sums = [[0.0; LANES]; TOGETHER];
            for strip in (first..first + len).step_by(STRIP) {
                let strip = strip..(strip + STRIP).min(first + len);
                for (k, sums) in sums[..vectors].iter_mut().enumerate() {
                    add(group * TOGETHER + k, strip.clone(), sums);
                }
            }
            sums.map(add_lanes)
        });
        for (k, out) in out.iter_mut().enumerate() {
            *out = sums[..blocks].iter().map(|sums| sums[k]).sum();
        }
    }
}

/// Σ x_i y_i
pub(crate) fn dot<C: Real>(simd: Simd, x: &[C], y: &[C]) -> f64 {
    assert_eq!(x.len(), y.len(), "lengths of x and y");
    let (sums, blocks) = over_blocks(x.len(), &|first, len| {
        let mut sums = [0.0; LANES];
        simd.run(AddProducts { x: &x[first..first + len], y: &y[first..first + len], sums: &mut sums });
        add_lanes(sums)
    });
    sums[..blocks].iter().sum()
}

/// out_k ← Σ x_ki y_i, with the same bits as [`dot`].
pub(crate) fn dots<C: Real>(simd: Simd, xs: &[&Vec<C>], y: &[C], out: &mut [f64]) {
    assert_eq!(xs.len(), out.len(), "vectors and results");
    for x in xs {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
    }
    over_strips(y.len(), out, &|k, strip, sums| {
        simd.run(AddProducts { x: &xs[k][strip.clone()], y: &y[strip], sums });
    });
}

/// y ← β y, then y ← y + c_k x_k for every k in order; returns Σ y_i², with the same bits as
/// [`dot`].
pub(crate) fn combine<C: Real>(simd: Simd, coefficients: &[C], xs: &[&Vec<C>], beta: C, y: &mut [C]) -> f64 {
    assert_eq!(coefficients.len(), xs.len(), "coefficients and vectors");
    for x in xs {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
    }
    let (squares, blocks) = over_blocks_of(y, &|first, y| {
        let mut sums = [0.0; LANES];
        for (strip, y) in y.chunks_mut(STRIP).enumerate() {
            let first = first + strip * STRIP;
            let here = first..first + y.len();
            let x = |k: usize| &xs[k][here.clone()];
            simd.run(Combine { coefficients, x: &x, beta, y, sums: &mut sums });
        }
        add_lanes(sums)
    });
    squares[..blocks].iter().sum()
}

/// y_i ← α d_i x_i; returns max |y_i|, or NaN if any is NaN.
pub(crate) fn cast_scaled_max<X: Real, Y: Real>(
    simd: Simd,
    alpha: f64,
    d: Option<&[f32]>,
    x: &[X],
    y: &mut [Y],
) -> f64 {
    assert_eq!([x.len(), d.map_or(x.len(), <[f32]>::len)], [y.len(); 2], "lengths of x, d and y");
    let (largest, blocks) = over_blocks_of(y, &|first, y| {
        let mut largest = 0.0;
        for (strip, y) in y.chunks_mut(STRIP).enumerate() {
            let first = first + strip * STRIP;
            let here = first..first + y.len();
            let (d, x) = (d.map(|d| &d[here.clone()]), &x[here]);
            largest = larger_or_nan(largest, simd.run(CastScaled { alpha, d, x, y }));
        }
        largest
    });
    largest[..blocks].iter().copied().fold(0.0, larger_or_nan)
}

/// max |x_i|, or NaN if any is NaN.
pub(crate) fn norm_max<C: Real>(simd: Simd, x: &[C]) -> f64 {
    let (largest, blocks) =
        over_blocks(x.len(), &|first, len| simd.run(NormMax { x: &x[first..first + len] }));
    largest[..blocks].iter().copied().fold(0.0, larger_or_nan)
}

/// The larger of two magnitudes, or NaN if one is NaN. (`f64::max` would drop it.)
#[inline(always)]
fn larger_or_nan<C: Real>(a: C, b: C) -> C {
    if b > a || b.is_nan() { b } else { a }
}

/// Adds the partial sums of a block pairwise.
pub(super) fn add_lanes(mut sums: [f64; LANES]) -> f64 {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
    }
    sums[0]
}

/// Adds x_i y_i to the partial sum i mod 32.
pub(super) struct AddProducts<'a, C> {
    pub(super) x: &'a [C],
    pub(super) y: &'a [C],
    pub(super) sums: &'a mut [f64; LANES],
}

impl<C: Real> Kernel for AddProducts<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut sums = *self.sums; // in registers, which a reference would not be
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
        *self.sums = sums;
    }
}

/// One strip of [`combine`]; `x` returns the same strip of a vector.
struct Combine<'a, C> {
    coefficients: &'a [C],
    x: &'a dyn Fn(usize) -> &'a [C],
    beta: C,
    y: &'a mut [C],
    sums: &'a mut [f64; LANES],
}

impl<C: Real> Kernel for Combine<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let y = self.y;
        if self.beta.is_zero() {
            y.fill(C::zero()); // not read: it may be NaN
        } else if !self.beta.is_one() {
            for y in &mut *y {
                *y *= self.beta;
            }
        }
        for (k, &c) in self.coefficients.iter().enumerate() {
            for (y, &x) in y.iter_mut().zip((self.x)(k)) {
                *y += c * x;
            }
        }
        AddProducts { x: y, y, sums: self.sums }.run::<I>();
    }
}

/// One strip of [`cast_scaled_max`].
struct CastScaled<'a, X, Y> {
    alpha: f64,
    d: Option<&'a [f32]>,
    x: &'a [X],
    y: &'a mut [Y],
}

impl<X: Real, Y: Real> Kernel for CastScaled<'_, X, Y> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let CastScaled { alpha, d, x, y } = self;
        match d {
            None => y.iter_mut().zip(x).for_each(|(y, x)| *y = Y::narrow(alpha * x.wide())),
            Some(d) => {
                for ((y, x), &d) in y.iter_mut().zip(x).zip(d) {
                    *y = Y::narrow(alpha * f64::from(d) * x.wide());
                }
            }
        }
        NormMax { x: y }.run::<I>()
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
        let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| y + 0.3 * x).collect();
        let expected_sum = dot(Simd::Portable, &sum, &sum);
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for simd in Simd::available() {
                let found = pool.install(|| dot(simd, &x, &y));
                assert_eq!(found.to_bits(), expected.to_bits(), "{simd:?}, {threads} threads");
                // More vectors than are read together; each result has the bits of a single dot
                // product.
                let (many, mut out) = ([&x; TOGETHER + 3], [f64::NAN; TOGETHER + 3]);
                pool.install(|| dots(simd, &many, &y, &mut out));
                assert!(out.iter().all(|out| out.to_bits() == expected.to_bits()));
                let mut z = y.clone();
                let found = pool.install(|| combine(simd, &[0.3], &[&x], 1.0, &mut z));
                assert_eq!((found.to_bits(), &z), (expected_sum.to_bits(), &sum));
            }
        }
    }
}
