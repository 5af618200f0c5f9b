//! One axis of coarsening in one plane of a grid: interpolation weights and Galerkin products.
//!
//! With a coarse point f = 2c + 1 of the axis and its neighbours e = 2c and e' = 2c + 2:
//!
//! ```text
//! A_c(−1, d) = a_f(−) w₋(e+d) + w₊(e) [a_e(−) + a_e(0) w₋(e+d)]
//! A_c( 0, d) = a_f(0) + a_f(−) w₊(e+d) + a_f(+) w₋(e'+d)
//!            + w₊(e) [a_e(0) w₊(e+d) + a_e(+)] + w₋(e') [a_e'(−) + a_e'(0) w₋(e'+d)]
//! A_c(+1, d) = a_f(+) w₊(e'+d) + w₋(e') [a_e'(+) + a_e'(0) w₊(e'+d)]
//! ```
//!
//! where a_i(k) is the entry of point i in direction (k, d), and w₋ and w₊ are the weights of
//! [`coarsen`](super::coarsen). All loops run over lines of points.

use std::ops::Range;

use super::transfer::AxisWeights;
use super::{Grid, GridMatrix, GridValues};
use crate::matrix::dia::Dia;
use crate::simd::{Isa, Kernel, Simd};

/// Points that a kernel processes at a time; its buffers fit into the first-level cache.
const SEGMENT: usize = 256;

/// The values of all directions in a plane.
#[derive(Clone, Copy)]
pub(super) struct Plane<'a> {
    source: Source<'a>,
    /// The place of the plane's first point.
    first: usize,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Single(&'a Dia<f32>),
    /// The values of a direction; the values of the next one are `stride` further on.
    ByDirection {
        values: &'a [f64],
        stride: usize,
    },
}

impl<'a> Plane<'a> {
    /// The values of direction `s` at `len` points from `point` on, which may be copied to a
    /// buffer.
    #[inline(always)]
    fn run(self, s: usize, point: usize, len: usize, buffer: &'a mut [f64]) -> &'a [f64] {
        let first = self.first + point;
        match self.source {
            Source::Single(values) => {
                values.copy_diagonal(s, first, &mut buffer[..len]);
                &buffer[..len]
            }
            Source::ByDirection { values, stride } => &values[s * stride + first..][..len],
        }
    }
}

impl GridMatrix {
    /// The values in a plane of constant z.
    pub(super) fn plane(&self, z: usize) -> Plane<'_> {
        let source = match self.values() {
            GridValues::Single(values) => Source::Single(values),
            GridValues::ByDirection(values) => Source::ByDirection { values, stride: self.grid().len() },
        };
        Plane { source, first: z * self.grid().stride(2) }
    }
}

/// The weights of the points of a plane that coarsening leaves out, in the order of a grid of their
/// own.
pub(super) struct PlaneWeights {
    /// Towards smaller and larger coordinates. `pad` zeros come before and after, so that a shift
    /// to a neighbour within the plane stays in the list.
    lower: Vec<f64>,
    upper: Vec<f64>,
    pad: usize,
}

impl PlaneWeights {
    /// Makes all weights zero.
    pub(super) fn clear(&mut self) {
        self.lower.fill(0.0);
        self.upper.fill(0.0);
    }

    /// The weights in plane `at` of an axis.
    pub(super) fn copy_from(&mut self, from: &AxisWeights<f64>, at: usize) {
        let inner = self.pad..self.lower.len() - self.pad;
        let plane = at * inner.len()..(at + 1) * inner.len();
        self.lower[inner.clone()].copy_from_slice(&from.lower[plane.clone()]);
        self.upper[inner].copy_from_slice(&from.upper[plane]);
    }

    /// Copies the weights to plane `at` of lists without padding.
    pub(super) fn copy_to(&self, to: &mut [&mut [f64]; 2], at: usize) {
        let inner = self.pad..self.lower.len() - self.pad;
        for (to, weights) in to.iter_mut().zip([&self.lower, &self.upper]) {
            to[at * inner.len()..(at + 1) * inner.len()].copy_from_slice(&weights[inner.clone()]);
        }
    }
}

/// Buffers of the kernels, whose content is arbitrary.
pub(super) struct Scratch {
    /// Values of a direction at two points in turn, as they are read.
    pairs: [f64; 2 * SEGMENT + 1],
    /// The even and the odd ones of them, for three directions.
    apart: [[[f64; SEGMENT + 1]; 2]; 3],
    /// Values of three directions at e, f and e'.
    sides: [[[f64; SEGMENT]; 3]; 3],
}

impl Scratch {
    pub(super) fn new() -> Box<Self> {
        Box::new(Scratch {
            pairs: [0.0; 2 * SEGMENT + 1],
            apart: [[[0.0; SEGMENT + 1]; 2]; 3],
            sides: [[[0.0; SEGMENT]; 3]; 3],
        })
    }
}

/// Coarsening along an axis.
pub(super) struct Step {
    axis: usize,
    fine: Grid,
    stencil: Vec<[i8; 3]>,
    coarse_stencil: Vec<[i8; 3]>,
    groups: Vec<Across>,
}

/// The three directions with the same step across the axis.
struct Across {
    /// Their places in the fine stencil.
    fine: [Option<usize>; 3],
    /// Their places in the coarse stencil.
    coarse: [usize; 3],
    /// The distance of this neighbour within its plane, in the numbering of the weights.
    shift: isize,
    /// Its plane: 0, 1 or 2, where 1 is the point's own plane.
    plane: usize,
}

impl Step {
    /// Coarsening of a grid with the given directions.
    pub(super) fn new(fine: Grid, stencil: &[[i8; 3]], axis: usize) -> Self {
        let sort = |directions: &mut Vec<[i8; 3]>| directions.sort_unstable_by_key(|&[x, y, z]| [z, y, x]);
        let mut across: Vec<[i8; 3]> = stencil.iter().map(|&d| with(d, axis, 0)).collect();
        sort(&mut across);
        across.dedup();
        let mut coarse_stencil: Vec<[i8; 3]> =
            across.iter().flat_map(|&d| [-1, 0, 1].map(|k| with(d, axis, k))).collect();
        sort(&mut coarse_stencil);
        let place = |stencil: &[[i8; 3]], d| stencil.iter().position(|&other| other == d);
        let groups = (across.iter())
            .map(|&d| Across {
                fine: [-1, 0, 1].map(|k| place(stencil, with(d, axis, k))),
                coarse: [-1, 0, 1].map(|k| place(&coarse_stencil, with(d, axis, k)).unwrap_or(0)),
                shift: fine.left_out(axis).offset(with(d, 2, 0)),
                plane: (d[2] + 1) as usize,
            })
            .collect();
        Step { axis, fine, stencil: stencil.to_vec(), coarse_stencil, groups }
    }

    /// The axis.
    pub(super) fn axis(&self) -> usize {
        self.axis
    }

    /// The grid before coarsening.
    pub(super) fn fine(&self) -> Grid {
        self.fine
    }

    /// The grid after coarsening.
    pub(super) fn coarse(&self) -> Grid {
        self.fine.coarse(self.axis)
    }

    /// The directions of the coarse grid.
    pub(super) fn coarse_stencil(&self) -> &[[i8; 3]] {
        &self.coarse_stencil
    }

    /// The number of weights of each kind in a plane.
    pub(super) fn weights_of_plane(&self) -> usize {
        self.fine.left_out(self.axis).stride(2)
    }

    /// The number of values in a plane before coarsening.
    pub(super) fn values_of_plane(&self) -> usize {
        self.stencil.len() * self.fine.stride(2)
    }

    /// The weights of a plane, all zero.
    pub(super) fn no_weights(&self) -> PlaneWeights {
        let left_out = self.fine.left_out(self.axis);
        // A neighbour across the axis is at most one line and one point away.
        let pad = (0..2).filter(|&other| other != self.axis).map(|other| left_out.stride(other)).sum();
        let len = left_out.stride(2) + 2 * pad;
        PlaneWeights { lower: vec![0.0; len], upper: vec![0.0; len], pad }
    }

    /// A plane before coarsening, whose directions follow one another.
    pub(super) fn plane<'a>(&self, values: &'a [f64]) -> Plane<'a> {
        Plane { source: Source::ByDirection { values, stride: self.fine.stride(2) }, first: 0 }
    }

    /// The directions of a plane after coarsening, which follow one another.
    pub(super) fn directions<'a>(&self, values: &'a mut [f64]) -> Vec<&'a mut [f64]> {
        values.chunks_mut(self.coarse().stride(2)).collect()
    }

    /// The weights of the points that are left out in a plane; along z, of all its points.
    pub(super) fn weights(&self, plane: Plane<'_>, out: &mut PlaneWeights) {
        let [nx, _, _] = self.fine.points();
        let (len, distance, step) = match self.axis {
            0 => (nx - nx / 2, nx, 2),
            1 => (nx, 2 * nx, 1),
            _ => (self.fine.stride(2), 0, 1),
        };
        let (pad, all) = (out.pad, out.lower.len());
        let lines = out.lower[pad..all - pad].chunks_mut(len).zip(out.upper[pad..all - pad].chunks_mut(len));
        for (line, (lower, upper)) in lines.enumerate() {
            let (stencil, axis, first) = (&self.stencil, self.axis, line * distance);
            Simd::best().run(Weights { plane, stencil, axis, first, step, lower, upper });
        }
    }

    /// The coarse values of a plane for an axis within it, with the weights of the planes before,
    /// here and after.
    pub(super) fn product_within(
        &self,
        plane: Plane<'_>,
        weights: [&PlaneWeights; 3],
        out: &mut [&mut [f64]],
        scratch: &mut Scratch,
    ) {
        let [nx, ny, _] = self.fine.points();
        if self.axis == 0 {
            let (nc, half) = (nx / 2, nx - nx / 2);
            for line in 0..ny {
                let (e, at) = (line * nx, line * half);
                // The last point may have no neighbour e'.
                let inner = (nx - 1) / 2;
                let both =
                    Sides { e: (plane, e), f: (plane, e + 1), right: Some((plane, e + 2)), alternate: true };
                let to = line * nc;
                self.segments(both, [(weights, at), (weights, at + 1)], to..to + inner, out, scratch);
                let last = Sides {
                    e: (plane, e + 2 * inner),
                    f: (plane, e + 2 * inner + 1),
                    right: None,
                    alternate: true,
                };
                let at = at + inner;
                self.segments(last, [(weights, at), (weights, at)], to + inner..to + nc, out, scratch);
            }
        } else {
            for c in 0..ny / 2 {
                let e = 2 * c * nx;
                let right = (2 * c + 2 < ny).then_some((plane, e + 2 * nx));
                let sides = Sides { e: (plane, e), f: (plane, e + nx), right, alternate: false };
                let at = [(weights, c * nx), (weights, (c + 1) * nx)];
                self.segments(sides, at, c * nx..(c + 1) * nx, out, scratch);
            }
        }
    }

    /// The coarse values between two planes e and e' for the axis z, with their weights.
    pub(super) fn product_across(
        &self,
        [e, f]: [Plane<'_>; 2],
        right: Option<Plane<'_>>,
        weights: [&PlaneWeights; 2],
        out: &mut [&mut [f64]],
        scratch: &mut Scratch,
    ) {
        let sides = Sides { e: (e, 0), f: (f, 0), right: right.map(|right| (right, 0)), alternate: false };
        let weights = weights.map(|weights| ([weights; 3], 0));
        self.segments(sides, weights, 0..self.fine.stride(2), out, scratch);
    }

    fn segments(
        &self,
        sides: Sides<'_>,
        weights: [Around<'_>; 2],
        to: Range<usize>,
        out: &mut [&mut [f64]],
        scratch: &mut Scratch,
    ) {
        for start in to.clone().step_by(SEGMENT) {
            let (skip, range) = (start - to.start, start..(start + SEGMENT).min(to.end));
            let weights = weights.map(|(planes, first)| (planes, first + skip));
            let sides = sides.skip(skip);
            Simd::best().run(Galerkin { groups: &self.groups, sides, weights, range, out, scratch });
        }
    }
}

/// The direction with another step along an axis.
fn with(mut direction: [i8; 3], axis: usize, step: i8) -> [i8; 3] {
    direction[axis] = step;
    direction
}

/// The weights of the planes before, here and after, and a place in them.
type Around<'a> = ([&'a PlaneWeights; 3], usize);

/// The first points e, f and e' of a segment.
#[derive(Clone, Copy)]
struct Sides<'a> {
    e: (Plane<'a>, usize),
    f: (Plane<'a>, usize),
    right: Option<(Plane<'a>, usize)>,
    /// Whether e, f and e' alternate in memory: along x.
    alternate: bool,
}

impl Sides<'_> {
    fn skip(mut self, points: usize) -> Self {
        let distance = if self.alternate { 2 * points } else { points };
        self.e.1 += distance;
        self.f.1 += distance;
        if let Some(right) = &mut self.right {
            right.1 += distance;
        }
        self
    }
}

/// The weights of a line of points, `step` apart.
struct Weights<'a> {
    plane: Plane<'a>,
    stencil: &'a [[i8; 3]],
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
        let Weights { plane, stencil, axis, first, step, lower, upper } = self;
        let pieces = lower.chunks_mut(SEGMENT).zip(upper.chunks_mut(SEGMENT)).enumerate();
        for (k, (lower, upper)) in pieces {
            let len = lower.len();
            let first = first + k * SEGMENT * step;
            let mut sums = [[0.0; SEGMENT]; 3];
            let mut buffer = [0.0; 2 * SEGMENT];
            for (s, direction) in stencil.iter().enumerate() {
                let sums = &mut sums[(direction[axis] + 1) as usize][..len];
                let values = plane.run(s, first, step * (len - 1) + 1, &mut buffer);
                if step == 1 {
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
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
    groups: &'a [Across],
    sides: Sides<'a>,
    /// The weights of e and of e'.
    weights: [Around<'a>; 2],
    /// The coarse points within `out`.
    range: Range<usize>,
    /// The values of all coarse directions.
    out: &'a mut [&'b mut [f64]],
    scratch: &'a mut Scratch,
}

/// In place of a direction that the stencil does not have.
static ZEROS: [f64; SEGMENT] = [0.0; SEGMENT];

/// The values of three directions at the points of a segment.
#[derive(Clone, Copy)]
struct Three<'a>([&'a [f64]; 3]);

/// The values of a group's directions at the points from a place on.
#[inline(always)]
fn three<'a>(
    group: &Across,
    (plane, first): (Plane<'a>, usize),
    len: usize,
    buffers: &'a mut [[f64; SEGMENT]; 3],
) -> Three<'a> {
    let [one, two, three] = buffers;
    let of = |k: usize, buffer: &'a mut [f64]| match group.fine[k] {
        Some(s) => plane.run(s, first, len, buffer),
        None => &ZEROS[..len],
    };
    Three([of(0, one), of(1, two), of(2, three)])
}

impl Kernel for Galerkin<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Galerkin { groups, sides, weights, range, out, scratch } = self;
        let len = range.len();
        for group in groups {
            let Scratch { pairs: buffer, apart, sides: buffers } = &mut *scratch;
            let (e, f, g);
            if sides.alternate {
                let (plane, first) = sides.e;
                let both = 2 * len + usize::from(sides.right.is_some());
                for (place, [even, odd]) in group.fine.iter().zip(&mut *apart) {
                    if let Some(s) = *place {
                        let values = plane.run(s, first, both, buffer);
                        let (pairs, last) = values.as_chunks::<2>();
                        for ((even, odd), pair) in even.iter_mut().zip(odd).zip(pairs) {
                            (*even, *odd) = (pair[0], pair[1]);
                        }
                        if let [last] = last {
                            even[len] = *last;
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
                let [of_e, of_f, of_g] = buffers;
                e = three(group, sides.e, len, of_e);
                f = three(group, sides.f, len, of_f);
                g = sides.right.map_or(e, |right| three(group, right, len, of_g));
            }
            let [minus, zero, plus] = group.coarse;
            let mut sums = [0.0; SEGMENT];
            let own = cut(weights[0], 1, 0, len)[1];
            let at = cut(weights[0], group.plane, group.shift, len);
            from_left(e, f, own, at, &mut out[minus][range.clone()], &mut sums);
            if sides.right.is_some() {
                let own = cut(weights[1], 1, 0, len)[0];
                let at = cut(weights[1], group.plane, group.shift, len);
                from_right(g, f, own, at, &mut out[plus][range.clone()], &mut sums);
            } else {
                out[plus][range.clone()].fill(0.0);
            }
            out[zero][range.clone()].copy_from_slice(&sums[..len]);
        }
    }
}

/// The weights of `len` points, at a neighbour across the axis.
#[inline(always)]
fn cut((planes, first): Around<'_>, plane: usize, shift: isize, len: usize) -> [&[f64]; 2] {
    let weights = planes[plane];
    let first = (weights.pad + first).wrapping_add_signed(shift);
    [&weights.lower[first..first + len], &weights.upper[first..first + len]]
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
