//! Coarsening of a grid along one axis: interpolation weights, and the Galerkin product.
//!
//! The coarse grid has the points 1, 3, 5, … of the axis. A point e between two of them
//! interpolates with weights from its stencil, summed over the other axes:
//!
//! ```text
//! w∓(e) = −σ∓ / σ₀,   σ_k = Σ_d a_(k,d)(e),   k = −1, 0, 1 along the axis, d across it
//! ```
//!
//! This is the interpolation of PFMG (S. Ashby & R. Falgout, *A parallel multigrid preconditioned
//! conjugate gradient algorithm for groundwater flow simulations*, Nucl. Sci. Eng. 124, 1996). It
//! follows jumps of the coefficient, because for a flux through layers it is the exact solution
//! between two coarse points. Coarsening along all axes, one after another, gives the full
//! coarsening by eight in three dimensions, and fewer axes give semi-coarsening. The coarse matrix
//! is Pᵀ A P. With f = 2c + 1, e = 2c and e' = 2c + 2:
//!
//! ```text
//! A_c(−1, d) = a_f(−) w₋(e+d) + w₊(e) [a_e(−) + a_e(0) w₋(e+d)]
//! A_c( 0, d) = a_f(0) + a_f(−) w₊(e+d) + a_f(+) w₋(e'+d)
//!            + w₊(e) [a_e(0) w₊(e+d) + a_e(+)] + w₋(e') [a_e'(−) + a_e'(0) w₋(e'+d)]
//! A_c(+1, d) = a_f(+) w₊(e'+d) + w₋(e') [a_e'(+) + a_e'(0) w₊(e'+d)]
//! ```
//!
//! where a_i(k) is the entry of point i in direction (k, d). A weight is limited so that both of a
//! point sum to at most one.
//!
//! Cost: the stencil is read three times and the coarse one written once; all loops run over lines
//! of points.

use rayon::prelude::*;

use super::{Grid, GridMatrix};
use crate::simd::{Isa, Kernel, Simd};

/// The interpolation weights of the points that coarsening along an axis leaves out.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisWeights {
    /// The axis.
    pub(crate) axis: usize,
    /// The grid before coarsening.
    pub(crate) fine: Grid,
    /// The weights towards smaller and larger coordinates. The points left out are numbered as a
    /// grid of their own. `pad` zeros come before and after, so that a shift by a neighbour stays
    /// within the list.
    lower: Vec<f64>,
    upper: Vec<f64>,
    pad: usize,
}

impl AxisWeights {
    /// The weights towards smaller coordinates.
    pub(crate) fn lower(&self) -> &[f64] {
        &self.lower[self.pad..self.lower.len() - self.pad]
    }

    /// The weights towards larger coordinates.
    pub(crate) fn upper(&self) -> &[f64] {
        &self.upper[self.pad..self.upper.len() - self.pad]
    }

    /// The share of points between two coarse ones that follow one of them ten times as much as the
    /// other. Where that is most points, coefficients change from point to point, and a coarser
    /// grid does not resolve them.
    pub fn one_sided(&self) -> f64 {
        let pairs = self.lower().par_chunks(1024).zip(self.upper().par_chunks(1024));
        let count = |(lower, upper): (&[f64], &[f64])| {
            let inner = lower.iter().zip(upper).filter(|(lower, upper)| **lower > 0.0 && **upper > 0.0);
            inner.fold((0usize, 0usize), |(sided, all), (&lower, &upper)| {
                (sided + usize::from(lower.max(upper) > 10.0 * lower.min(upper)), all + 1)
            })
        };
        let (sided, all) =
            pairs.map(count).reduce(|| (0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
        sided as f64 / all.max(1) as f64
    }
}

/// Points that a kernel processes at a time; its buffers fit into the first-level cache.
const SEGMENT: usize = 256;

/// How the points of a grid lie along an axis: groups of `along` lines of `inner` points.
#[derive(Clone, Copy)]
struct Lines {
    inner: usize,
    along: usize,
}

impl Lines {
    fn new(grid: &Grid, axis: usize) -> Self {
        Lines { inner: grid.stride(axis), along: grid.points()[axis] }
    }
}

impl GridMatrix {
    /// The weights of interpolation from every second point along an axis, and the matrix of these
    /// points.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (_, coarse) = a.coarsen(0);
    /// assert_eq!(coarse.grid().points(), [4, 1, 9]);
    /// assert_eq!(coarse.stencil().len(), 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the axis is not 0, 1 or 2.
    pub fn coarsen(&self, axis: usize) -> (AxisWeights, GridMatrix) {
        let weights = self.weights(axis);
        let coarse = self.galerkin(&weights);
        (weights, coarse)
    }

    fn weights(&self, axis: usize) -> AxisWeights {
        let (fine, left_out) = (self.grid(), self.grid().left_out(axis));
        // A neighbour across the axis is at most one line and one plane away.
        let pad = (0..3).filter(|&other| other != axis).map(|other| left_out.stride(other)).sum();
        let len = left_out.len();
        let (mut lower, mut upper) = (vec![0.0; len + 2 * pad], vec![0.0; len + 2 * pad]);
        let lines = Lines::new(&fine, axis);
        let half = lines.along - lines.along / 2;
        let piece = if axis == 0 { half } else { lines.inner };
        let pieces = (lower[pad..pad + len].par_chunks_mut(piece.max(1)))
            .zip(upper[pad..pad + len].par_chunks_mut(piece.max(1)));
        pieces.enumerate().for_each(|(k, (lower, upper))| {
            let (first, step) = if axis == 0 {
                (k * lines.along, 2)
            } else {
                ((k / half * lines.along + k % half * 2) * lines.inner, 1)
            };
            Simd::best().run(Weights { a: self, axis, first, step, lower, upper });
        });
        AxisWeights { axis, fine, lower, upper, pad }
    }

    fn galerkin(&self, weights: &AxisWeights) -> GridMatrix {
        let (axis, fine) = (weights.axis, weights.fine);
        let (coarse, left_out) = (fine.coarse(axis), fine.left_out(axis));
        let mut across: Vec<[i8; 3]> = self.stencil().iter().map(|&d| with(d, axis, 0)).collect();
        across.sort_unstable_by_key(|&[x, y, z]| [z, y, x]);
        across.dedup();
        let mut stencil: Vec<[i8; 3]> =
            across.iter().flat_map(|&d| [-1, 0, 1].map(|k| with(d, axis, k))).collect();
        stencil.sort_unstable_by_key(|&[x, y, z]| [z, y, x]);
        let place = |stencil: &[[i8; 3]], d| stencil.iter().position(|&other| other == d);
        let groups: Vec<Across> = (across.iter())
            .map(|&d| Across {
                fine: [-1, 0, 1].map(|k| place(self.stencil(), with(d, axis, k))),
                coarse: [-1, 0, 1].map(|k| place(&stencil, with(d, axis, k)).unwrap_or(0)),
                shift: left_out.offset(d),
            })
            .collect();
        let lines = Lines::new(&fine, axis);
        let (nc, half) = (lines.along / 2, lines.along - lines.along / 2);
        let mut product = GridMatrix::zeros(coarse, stencil);
        // A piece is a line of the coarse grid along x, or the points between two lines of the
        // axis.
        let piece = if axis == 0 { nc } else { lines.inner };
        if product.grid().is_empty() {
            return product;
        }
        product.pieces(piece).into_par_iter().enumerate().for_each(|(k, mut out)| {
            let (outer, c) = if axis == 0 { (k, 0) } else { (k / nc, k % nc) };
            let step = if axis == 0 { 2 } else { 1 };
            let gap = if axis == 0 { 1 } else { lines.inner };
            let left = (outer * lines.along + 2 * c) * lines.inner;
            let left_weight = (outer * half + c) * if axis == 0 { 1 } else { lines.inner };
            let mut start = 0;
            while start < piece {
                // Along x, the last point may have no right neighbour; otherwise no point of the
                // line has one.
                let has_right = |i: usize| 2 * (if axis == 0 { i } else { c }) + 2 < lines.along;
                let mut end = (start + SEGMENT).min(piece);
                if has_right(start) && !has_right(end - 1) {
                    end -= 1;
                }
                let segment = Galerkin {
                    a: self,
                    weights,
                    groups: &groups,
                    left: left + start * step,
                    gap,
                    step,
                    left_weight: left_weight + start,
                    right: has_right(start),
                    range: start..end,
                    out: &mut out,
                };
                Simd::best().run(segment);
                start = end;
            }
        });
        product
    }
}

/// The direction with another step along an axis.
fn with(mut direction: [i8; 3], axis: usize, step: i8) -> [i8; 3] {
    direction[axis] = step;
    direction
}

/// The three directions with the same step across the axis.
struct Across {
    /// Their places in the fine stencil.
    fine: [Option<usize>; 3],
    /// Their places in the coarse stencil.
    coarse: [usize; 3],
    /// The distance of this neighbour in the numbering of the weights.
    shift: isize,
}

/// The weights of a line of points, `step` apart.
struct Weights<'a> {
    a: &'a GridMatrix,
    axis: usize,
    first: usize,
    step: usize,
    lower: &'a mut [f64],
    upper: &'a mut [f64],
}

impl Kernel for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Weights { a, axis, first, step, lower, upper } = self;
        let pieces = lower.chunks_mut(SEGMENT).zip(upper.chunks_mut(SEGMENT)).enumerate();
        for (k, (lower, upper)) in pieces {
            let len = lower.len();
            let first = first + k * SEGMENT * step;
            let mut sums = [[0.0; SEGMENT]; 3];
            for (s, direction) in a.stencil().iter().enumerate() {
                let sums = &mut sums[(direction[axis] + 1) as usize][..len];
                let values = &a.values_of(s)[first..];
                if step == 1 {
                    sums.iter_mut().zip(&values[..len]).for_each(|(sum, value)| *sum += value);
                } else {
                    sums.iter_mut().zip(values.iter().step_by(2)).for_each(|(sum, value)| *sum += value);
                }
            }
            let [below, own, above] = sums.each_ref().map(|sums| &sums[..len]);
            let (lower, upper) = (&mut lower[..len], &mut upper[..len]);
            for i in 0..len {
                let (low, high) = ((-below[i]).max(0.0), (-above[i]).max(0.0));
                let whole = own[i].max(low + high);
                let inverse = if whole > 0.0 { 1.0 / whole } else { 0.0 };
                (lower[i], upper[i]) = (low * inverse, high * inverse);
            }
        }
    }
}

/// The coarse stencil of a segment of points.
struct Galerkin<'a, 'b> {
    a: &'a GridMatrix,
    weights: &'a AxisWeights,
    groups: &'a [Across],
    /// The first point e; f and e' are one and two `gap`s further.
    left: usize,
    gap: usize,
    /// The distance between two points of the segment.
    step: usize,
    /// The number of the first e among the points left out.
    left_weight: usize,
    /// Whether there are points e'.
    right: bool,
    /// The coarse points within `out`.
    range: std::ops::Range<usize>,
    /// The values of all coarse directions.
    out: &'a mut [&'b mut [f64]],
}

/// In place of a direction that the stencil does not have.
static ZEROS: [f64; SEGMENT] = [0.0; SEGMENT];

/// The values of three directions at the points of a segment.
#[derive(Clone, Copy)]
struct Three<'a>([&'a [f64]; 3]);

impl Kernel for Galerkin<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Galerkin { a, weights, groups, left, gap, step, left_weight, right, range, out } = self;
        let len = range.len();
        let next = left_weight + if step == 2 { 1 } else { gap };
        // Along x, the values of e, f and e' alternate in memory.
        let mut apart = [[[0.0; SEGMENT + 1]; 2]; 3];
        for group in groups {
            let (e, f, g);
            if step == 2 {
                for (place, [even, odd]) in group.fine.iter().zip(&mut apart) {
                    if let Some(s) = *place {
                        let (pairs, _) = a.values_of(s)[left..left + 2 * len].as_chunks::<2>();
                        for ((even, odd), pair) in even.iter_mut().zip(odd).zip(pairs) {
                            (*even, *odd) = (pair[0], pair[1]);
                        }
                        if right {
                            even[len] = a.values_of(s)[left + 2 * len];
                        }
                    }
                }
                let all = |part: usize, shift: usize| {
                    let of = |k: usize| match group.fine[k] {
                        Some(_) => &apart[k][part][shift..shift + len],
                        None => &ZEROS[..len],
                    };
                    Three([of(0), of(1), of(2)])
                };
                (e, f, g) = (all(0, 0), all(1, 0), all(0, 1));
            } else {
                let all = |first: usize| {
                    let of = |k: usize| match group.fine[k] {
                        Some(s) => &a.values_of(s)[first..first + len],
                        None => &ZEROS[..len],
                    };
                    Three([of(0), of(1), of(2)])
                };
                (e, f) = (all(left), all(left + gap));
                g = if right { all(left + 2 * gap) } else { e };
            }
            // The weights from `first` on, at a neighbour across the axis.
            let cut = |first: usize, shift: isize| {
                let first = (weights.pad + first).wrapping_add_signed(shift);
                [&weights.lower[first..first + len], &weights.upper[first..first + len]]
            };
            let [minus, zero, plus] = group.coarse;
            let mut sums = [0.0; SEGMENT];
            let own = cut(left_weight, 0)[1];
            from_left(e, f, own, cut(left_weight, group.shift), &mut out[minus][range.clone()], &mut sums);
            if right {
                let own = cut(next, 0)[0];
                from_right(g, f, own, cut(next, group.shift), &mut out[plus][range.clone()], &mut sums);
            }
            out[zero][range.clone()].copy_from_slice(&sums[..len]);
        }
    }
}

/// The terms of f and e: A_c(−1, d) in `outer`, and their part of A_c(0, d) in `sums`.
#[inline(always)]
fn from_left(e: Three<'_>, f: Three<'_>, own: &[f64], at: [&[f64]; 2], outer: &mut [f64], sums: &mut [f64]) {
    let len = outer.len();
    let ([em, e0, ep], [fm, f0, _]) = (e.0.map(|x| &x[..len]), f.0.map(|x| &x[..len]));
    let ([low, high], own, sums) = (at.map(|x| &x[..len]), &own[..len], &mut sums[..len]);
    for i in 0..len {
        outer[i] = fm[i] * low[i] + own[i] * (em[i] + e0[i] * low[i]);
        sums[i] = f0[i] + fm[i] * high[i] + own[i] * (e0[i] * high[i] + ep[i]);
    }
}

/// The terms of f and e': A_c(1, d) in `outer`, and their part of A_c(0, d), added to `sums`.
#[inline(always)]
fn from_right(e: Three<'_>, f: Three<'_>, own: &[f64], at: [&[f64]; 2], outer: &mut [f64], sums: &mut [f64]) {
    let len = outer.len();
    let ([em, e0, ep], [_, _, fp]) = (e.0.map(|x| &x[..len]), f.0.map(|x| &x[..len]));
    let ([low, high], own, sums) = (at.map(|x| &x[..len]), &own[..len], &mut sums[..len]);
    for i in 0..len {
        sums[i] += fp[i] * low[i] + own[i] * (em[i] + e0[i] * low[i]);
        outer[i] = fp[i] * high[i] + own[i] * (ep[i] + e0[i] * high[i]);
    }
}
