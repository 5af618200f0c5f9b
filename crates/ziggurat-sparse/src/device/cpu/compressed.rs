//! Vectors stored in a narrower number type than arithmetic uses: y ← α x in both directions,
//! x_k·y, and y ← Σ_k c_k x_k + β y.
//!
//! Bytes: each stored vector is read or written once, in its own number type; y as in `reduce`.
//! Stored numbers are widened sixteen at a time into a buffer in the first-level cache, so that
//! `reduce` computes the sums, with the same bits as if the vectors were wide.

#![allow(unsafe_code)]

use super::reduce::{AddProducts, LANES, STRIP, add_lanes, over_blocks_of, over_strips};
use crate::number::Store;
use crate::parallel::over_pieces;
use crate::simd::lanes::{LANES as IN_REGISTERS, Lanes, Widened};
use crate::simd::{InLanes, Isa, Kernel, Simd};

/// Numbers widened at a time: 2 KiB of doubles. A multiple of [`LANES`], so that partial sums do
/// not depend on it.
const BATCH: usize = 256;

const _: () = assert!(BATCH.is_multiple_of(LANES) && STRIP.is_multiple_of(BATCH));

/// y_i ← α x_i, rounded once.
pub(super) fn compress<C: InLanes<S>, S: Store>(simd: Simd, alpha: C, x: &[C], y: &mut [S]) {
    assert_eq!(x.len(), y.len(), "lengths of x and y");
    over_pieces(y, &|first, y| simd.run(Compress { alpha, x: &x[first..first + y.len()], y }));
}

/// y_i ← α x_i
pub(super) fn decompress<C: InLanes<S>, S: Store>(simd: Simd, alpha: C, x: &[S], y: &mut [C]) {
    assert_eq!(x.len(), y.len(), "lengths of x and y");
    over_pieces(y, &|first, y| simd.run(Decompress { alpha, x: &x[first..first + y.len()], y }));
}

/// out_k ← Σ x_ki y_i
pub(super) fn dots<C: InLanes<S>, S: Store>(simd: Simd, xs: &[&Vec<S>], y: &[C], out: &mut [f64]) {
    assert_eq!(xs.len(), out.len(), "vectors and results");
    for x in xs {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
    }
    over_strips(y.len(), out, &|k, strip, sums| {
        simd.run(AddWidened { x: &xs[k][strip.clone()], y: &y[strip], sums });
    });
}

/// y ← β y, then y ← y + c_k x_k for every k in order; returns Σ y_i².
pub(super) fn combine<C: InLanes<S>, S: Store>(
    simd: Simd,
    coefficients: &[C],
    xs: &[&Vec<S>],
    beta: C,
    y: &mut [C],
) -> f64 {
    assert_eq!(coefficients.len(), xs.len(), "coefficients and vectors");
    for x in xs {
        assert_eq!(x.len(), y.len(), "lengths of x and y");
    }
    let (squares, blocks) = over_blocks_of(y, &|first, y| {
        let mut sums = [0.0; LANES];
        for (batch, y) in y.chunks_mut(BATCH).enumerate() {
            let first = first + batch * BATCH;
            simd.run(CombineWidened { coefficients, xs, first, beta, y, sums: &mut sums });
        }
        add_lanes(sums)
    });
    squares[..blocks].iter().sum()
}

/// Widens stored numbers into the beginning of `buffer`, and returns them.
#[inline(always)]
fn widen<'a, I: Isa, C: InLanes<S>, S: Store>(stored: &[S], buffer: &'a mut [C; BATCH]) -> &'a [C] {
    let wide = &mut buffer[..stored.len()];
    let (groups, rest) = stored.as_chunks::<IN_REGISTERS>();
    let (wide_groups, wide_rest) = wide.as_chunks_mut::<IN_REGISTERS>();
    for (group, wide) in groups.iter().zip(wide_groups) {
        // SAFETY: `I` is the instruction set of the running kernel, and both chunks have as many
        // elements as are loaded and stored.
        unsafe { C::In::<I>::widen(group.as_ptr()).store(wide.as_mut_ptr()) };
    }
    for (&stored, wide) in rest.iter().zip(wide_rest) {
        *wide = I::read(stored);
    }
    wide
}

struct Compress<'a, C, S> {
    alpha: C,
    x: &'a [C],
    y: &'a mut [S],
}

impl<C: InLanes<S>, S: Store> Kernel for Compress<'_, C, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let alpha = self.alpha;
        let mut buffer = [0.0; BATCH];
        for (x, y) in self.x.chunks(BATCH).zip(self.y.chunks_mut(BATCH)) {
            let scaled = &mut buffer[..x.len()];
            scaled.iter_mut().zip(x).for_each(|(scaled, &x)| *scaled = (alpha * x).wide());
            S::narrow_all(scaled, y);
        }
    }
}

struct Decompress<'a, C, S> {
    alpha: C,
    x: &'a [S],
    y: &'a mut [C],
}

impl<C: InLanes<S>, S: Store> Kernel for Decompress<'_, C, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let alpha = self.alpha;
        let mut buffer = [C::zero(); BATCH];
        for (x, y) in self.x.chunks(BATCH).zip(self.y.chunks_mut(BATCH)) {
            let wide = widen::<I, C, S>(x, &mut buffer);
            y.iter_mut().zip(wide).for_each(|(y, &wide)| *y = alpha * wide);
        }
    }
}

/// As [`AddProducts`], for stored x.
struct AddWidened<'a, C, S> {
    x: &'a [S],
    y: &'a [C],
    sums: &'a mut [f64; LANES],
}

impl<C: InLanes<S>, S: Store> Kernel for AddWidened<'_, C, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut buffer = [C::zero(); BATCH];
        for (x, y) in self.x.chunks(BATCH).zip(self.y.chunks(BATCH)) {
            AddProducts { x: widen::<I, C, S>(x, &mut buffer), y, sums: &mut *self.sums }.run::<I>();
        }
    }
}

/// One batch of [`combine`]: the elements of y starting with `first`.
struct CombineWidened<'a, C, S> {
    coefficients: &'a [C],
    xs: &'a [&'a Vec<S>],
    first: usize,
    beta: C,
    y: &'a mut [C],
    sums: &'a mut [f64; LANES],
}

impl<C: InLanes<S>, S: Store> Kernel for CombineWidened<'_, C, S> {
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
        let mut buffer = [C::zero(); BATCH];
        for (&c, x) in self.coefficients.iter().zip(self.xs) {
            let x = widen::<I, C, S>(&x[self.first..self.first + y.len()], &mut buffer);
            for (y, &x) in y.iter_mut().zip(x) {
                *y += c * x;
            }
        }
        AddProducts { x: y, y, sums: self.sums }.run::<I>();
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::device::cpu::reduce::{self, TOGETHER};

    #[test]
    fn the_same_bits_as_wide_vectors_for_every_instruction_set_and_thread_count() {
        let n = 100_003_u64;
        let y: Vec<f64> = (0..n).map(|i| ((i * 104_729) % 997) as f64 / 41.0 - 3.0).collect();
        let mut stored = vec![vec![f16::ZERO; y.len()]; TOGETHER + 3];
        for (k, x) in stored.iter_mut().enumerate() {
            compress(Simd::Portable, 1.0 / (k + 1) as f64, &y, x);
        }
        let wide: Vec<Vec<f64>> = stored.iter().map(|x| x.iter().map(|x| x.to_f64()).collect()).collect();
        let (stored, wide): (Vec<_>, Vec<_>) = (stored.iter().collect(), wide.iter().collect());
        let coefficients: Vec<f64> = (0..wide.len()).map(|k| 0.3 - k as f64 / 7.0).collect();
        let mut expected = vec![0.0; wide.len()];
        reduce::dots(Simd::Portable, &wide, &y, &mut expected);
        let mut sum = y.clone();
        let square = reduce::combine(Simd::Portable, &coefficients, &wide, 0.5, &mut sum);
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for simd in Simd::available() {
                let mut found = vec![f64::NAN; wide.len()];
                pool.install(|| dots(simd, &stored, &y, &mut found));
                assert_eq!(found, expected, "{simd:?}, {threads} threads");
                let mut z = y.clone();
                let found = pool.install(|| combine(simd, &coefficients, &stored, 0.5, &mut z));
                assert_eq!((found.to_bits(), &z), (square.to_bits(), &sum));
                let mut again = vec![f16::NAN; y.len()];
                pool.install(|| compress(simd, 0.5, &y, &mut again));
                assert_eq!(again, *stored[1]);
                pool.install(|| decompress(simd, 1.0, &again, &mut z));
                assert_eq!(z, *wide[1]);
            }
        }
    }
}
