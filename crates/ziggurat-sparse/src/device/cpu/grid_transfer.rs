//! y ← α P x + β y and y ← α R x + β y for interpolation between grids, axis by axis.
//!
//! ```text
//! bytes = 7/4 s n + (x and y)                  s: bytes of a stored weight, n: points of the fine grid
//! ```
//!
//! A plane of the fine grid is made from one or two coarse planes that were interpolated along x
//! and y into a buffer; restriction goes the other way. Buffers of a few planes stay in the
//! second-level cache. Every plane is computed independently, so the result does not depend on the
//! number of threads. Several unknowns per point are transferred one after another.

#![allow(unsafe_code)]

use std::ops::Range;

use super::row_products::RowProducts;
use crate::grid::transfer::AxisWeights;
use crate::grid::{GridTransfer, TransferDirection};
use crate::matrix::format::RowEntries;
use crate::number::{Real, Store};
use crate::parallel::{over_chunks, threads};
use crate::simd::lanes::{LANES, Lanes, Widened};
use crate::simd::{InLanes, Isa, Kernel, Simd};

/// The slow way, entry by entry, for kernels other than products.
impl<C: InLanes<S>, S: Store> RowProducts<C> for &GridTransfer<S> {
    fn steps(&self) -> usize {
        self.rows()
    }

    fn entries_before(&self, step: usize) -> usize {
        8 * step
    }

    fn rows_per_step(&self) -> usize {
        1
    }

    fn shape(&self) -> (usize, usize) {
        GridTransfer::shape(self)
    }

    #[inline(always)]
    fn products<I: Isa>(self, steps: Range<usize>, x: &[C], out: &mut [C]) {
        for (row, out) in steps.zip(out) {
            let mut sum = C::zero();
            self.for_each_entry(row, |column, value| sum += I::read::<C, S>(value) * x[column]);
            *out = sum;
        }
    }
}

/// y ← α T x + β y
pub(super) fn apply<C: InLanes<S>, S: Store>(
    simd: Simd,
    alpha: C,
    t: &GridTransfer<S>,
    x: &[C],
    beta: C,
    y: &mut [C],
) {
    assert_eq!(t.shape(), (y.len(), x.len()), "rows of T, length of y; columns of T, length of x");
    let ((rows, cols), (left, right, _)) = (t.points(), t.scales());
    if y.is_empty() || x.is_empty() {
        y.iter_mut().for_each(|y| *y = if beta.is_zero() { C::zero() } else { beta * *y });
        return;
    }
    for (unknown, (x, y)) in x.chunks_exact(cols).zip(y.chunks_exact_mut(rows)).enumerate() {
        let left = left.map(|left| &left[unknown * rows..][..rows]);
        let right = right.map(|right| &right[unknown * cols..][..cols]);
        transfer(simd, Plane { t, alpha, beta, x, left, right }, y);
    }
}

/// The same for one unknown of all points.
fn transfer<C: InLanes<S>, S: Store>(simd: Simd, of_plane: Plane<'_, C, S>, y: &mut [C]) {
    let t = of_plane.t;
    let (fine, coarse) = t.grids();
    let ([nx, ny, nz], [cx, cy, _]) = (fine.points(), coarse.points());
    // Whole planes, as few tasks as keep all threads busy: neighbouring tasks interpolate the plane
    // between them twice.
    let tasks = 4 * threads();
    let planes = |count: usize| (count.div_ceil(tasks)).max(2);
    let len = 2 * nx * ny + nx * cy + 4 * nx + cx * cy;
    let run = |first: usize, y: &mut [C]| {
        t.with_buffer(len, |buffer| {
            let buffer = &mut bytemuck::cast_slice_mut::<f64, C>(buffer)[..len];
            match t.direction() {
                TransferDirection::Prolongation => simd.run(Prolong { of_plane, first, buffer, y }),
                TransferDirection::Restriction => simd.run(Restrict { of_plane, first, buffer, y }),
            }
        });
    };
    let (plane, count) = match t.direction() {
        TransferDirection::Prolongation => (nx * ny, nz),
        TransferDirection::Restriction => (cx * cy, coarse.points()[2]),
    };
    let chunk = planes(count);
    if count <= chunk || y.len() < 4096 {
        return run(0, y);
    }
    t.prepare_buffers(threads(), len);
    over_chunks(y, chunk * plane, &|k, y| run(k * chunk, y));
}

/// The data that the planes of a product share.
#[derive(Clone, Copy)]
struct Plane<'a, C, S> {
    t: &'a GridTransfer<S>,
    alpha: C,
    beta: C,
    x: &'a [C],
    /// The scale factors of y and x.
    left: Option<&'a [f32]>,
    right: Option<&'a [f32]>,
}

/// Planes of the fine grid from `first` on.
struct Prolong<'a, C, S> {
    of_plane: Plane<'a, C, S>,
    first: usize,
    buffer: &'a mut [C],
    y: &'a mut [C],
}

impl<C: InLanes<S>, S: Store> Kernel for Prolong<'_, C, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Prolong { of_plane: Plane { t, alpha, beta, x, left, right }, first, buffer, y } = self;
        let (fine, coarse) = t.grids();
        let ([nx, ny, _], [cx, cy, _]) = (fine.points(), coarse.points());
        let alpha = alpha * C::narrow(t.scales().2);
        let plane = nx * ny;
        let (mut below, rest) = buffer.split_at_mut(plane);
        let (mut above, rest) = rest.split_at_mut(plane);
        let (lines, rest) = rest.split_at_mut(nx * cy);
        let (halves, scaled) = rest.split_at_mut(4 * nx);
        let mut expand = |c: usize, out: &mut [C]| {
            let from = &x[c * cx * cy..][..cx * cy];
            let from = match right {
                None => from,
                Some(right) => {
                    let scales = &right[c * cx * cy..][..cx * cy];
                    scaled.iter_mut().zip(from).zip(scales).for_each(|((out, x), scale)| {
                        *out = *x * C::narrow(f64::from(*scale));
                    });
                    &scaled[..cx * cy]
                }
            };
            plane_from_coarse::<I, C, S>(t, c, from, lines, halves, out);
        };
        let along = t.step(2);
        // The coarse plane that `above` holds.
        let mut has_above = usize::MAX;
        for (k, y) in y.chunks_exact_mut(plane).enumerate() {
            let z = first + k;
            let scales = left.map(|left| &left[z * plane..][..plane]);
            let Some(step) = along else {
                expand(z, below);
                finish(alpha, below, scales, beta, y);
                continue;
            };
            let nc = step.fine.points()[2] / 2;
            if z % 2 == 1 {
                if has_above != z / 2 {
                    expand(z / 2, above);
                    has_above = z / 2;
                }
                finish(alpha, above, scales, beta, y);
                continue;
            }
            // `above` holds the plane of the last odd z, which is now the lower one.
            let e = z / 2;
            if e > 0 {
                if has_above == e - 1 {
                    std::mem::swap(&mut below, &mut above);
                    has_above = usize::MAX;
                } else {
                    expand(e - 1, below);
                }
            }
            if e < nc && has_above != e {
                expand(e, above);
                has_above = e;
            }
            let weights = e * plane..(e + 1) * plane;
            let (lower, upper) = (&step.lower[weights.clone()], &step.upper[weights]);
            match (e > 0, e < nc) {
                (true, true) => {
                    multiply_in_place::<I, C, S>(below, lower);
                    multiply_add::<I, C, S>(below, upper, above);
                }
                (true, false) => multiply_in_place::<I, C, S>(below, lower),
                (false, true) => multiply::<I, C, S>(below, upper, above),
                (false, false) => below.fill(C::zero()),
            }
            finish(alpha, below, scales, beta, y);
        }
    }
}

/// A coarse plane interpolated along x and y. `lines` holds lines of the fine length, `halves` the
/// points left out of one.
#[inline(always)]
fn plane_from_coarse<I: Isa, C: InLanes<S>, S: Store>(
    t: &GridTransfer<S>,
    c: usize,
    from: &[C],
    lines: &mut [C],
    halves: &mut [C],
    out: &mut [C],
) {
    let (fine, coarse) = t.grids();
    let ([nx, ny, _], [cx, cy, _]) = (fine.points(), coarse.points());
    let along_y = t.step(1);
    {
        let lines = if along_y.is_some() { &mut *lines } else { &mut *out };
        match t.step(0) {
            None => lines[..from.len()].copy_from_slice(from),
            Some(step) => {
                let ne = nx - cx;
                for (j, (from, out)) in from.chunks_exact(cx).zip(lines.chunks_exact_mut(nx)).enumerate() {
                    let weights = (c * cy + j) * ne..(c * cy + j + 1) * ne;
                    line_from_coarse::<I, C, S>(step, weights, from, halves, out);
                }
            }
        }
    }
    let Some(step) = along_y else { return };
    let ne = ny - cy;
    for (j, out) in out.chunks_exact_mut(nx).enumerate() {
        let line = |j: usize| &lines[j * nx..(j + 1) * nx];
        let e = j / 2;
        if j % 2 == 1 {
            out.copy_from_slice(line(e));
            continue;
        }
        let weights = (c * ne + e) * nx..(c * ne + e + 1) * nx;
        let (lower, upper) = (&step.lower[weights.clone()], &step.upper[weights]);
        match (e > 0, e < cy) {
            (true, true) => {
                multiply::<I, C, S>(out, lower, line(e - 1));
                multiply_add::<I, C, S>(out, upper, line(e));
            }
            (true, false) => multiply::<I, C, S>(out, lower, line(e - 1)),
            (false, true) => multiply::<I, C, S>(out, upper, line(e)),
            (false, false) => out.fill(C::zero()),
        }
    }
}

/// A line interpolated along x.
#[inline(always)]
fn line_from_coarse<I: Isa, C: InLanes<S>, S: Store>(
    step: &AxisWeights<S>,
    weights: Range<usize>,
    from: &[C],
    halves: &mut [C],
    out: &mut [C],
) {
    let (lower, upper) = (&step.lower[weights.clone()], &step.upper[weights]);
    let (ne, nc) = (lower.len(), from.len());
    let even = &mut halves[..ne];
    multiply::<I, C, S>(&mut even[..nc], &upper[..nc], from);
    if ne > nc {
        even[nc] = C::zero();
    }
    multiply_add::<I, C, S>(&mut even[1..], &lower[1..], &from[..ne - 1]);
    let (pairs, last) = out.as_chunks_mut::<2>();
    for ((pair, &even), &odd) in pairs.iter_mut().zip(&*even).zip(from) {
        *pair = [even, odd];
    }
    if let (Some(last), Some(&even)) = (last.first_mut(), even.last()) {
        *last = even;
    }
}

/// Planes of the coarse grid from `first` on.
struct Restrict<'a, C, S> {
    of_plane: Plane<'a, C, S>,
    first: usize,
    buffer: &'a mut [C],
    y: &'a mut [C],
}

impl<C: InLanes<S>, S: Store> Kernel for Restrict<'_, C, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Restrict { of_plane: Plane { t, alpha, beta, x, left, right }, first, buffer, y } = self;
        let (fine, coarse) = t.grids();
        let ([nx, ny, nz], [cx, cy, _]) = (fine.points(), coarse.points());
        let alpha = alpha * C::narrow(t.scales().2);
        let plane = nx * ny;
        let (sum, rest) = buffer.split_at_mut(plane);
        let (scaled, rest) = rest.split_at_mut(plane);
        let (lines, rest) = rest.split_at_mut(nx * cy);
        let (halves, out) = rest.split_at_mut(4 * nx);
        for (k, y) in y.chunks_exact_mut(cx * cy).enumerate() {
            let c = first + k;
            let mut with_plane = |z: usize, add: &mut dyn FnMut(&[C])| {
                let from = &x[z * plane..][..plane];
                match right {
                    None => add(from),
                    Some(right) => {
                        scaled
                            .iter_mut()
                            .zip(from)
                            .zip(&right[z * plane..][..plane])
                            .for_each(|((out, x), scale)| *out = *x * C::narrow(f64::from(*scale)));
                        add(scaled);
                    }
                }
            };
            match t.step(2) {
                None => with_plane(c, &mut |from| sum.copy_from_slice(from)),
                Some(step) => {
                    let weights = |e: usize| e * plane..(e + 1) * plane;
                    with_plane(2 * c + 1, &mut |from| sum.copy_from_slice(from));
                    let upper = &step.upper[weights(c)];
                    with_plane(2 * c, &mut |from| multiply_add::<I, C, S>(sum, upper, from));
                    if 2 * c + 2 < nz {
                        let lower = &step.lower[weights(c + 1)];
                        with_plane(2 * c + 2, &mut |from| multiply_add::<I, C, S>(sum, lower, from));
                    }
                }
            }
            coarse_from_plane::<I, C, S>(t, c, sum, lines, halves, out);
            finish(alpha, &out[..cx * cy], left.map(|left| &left[c * cx * cy..][..cx * cy]), beta, y);
        }
    }
}

/// A plane restricted along y and x.
#[inline(always)]
fn coarse_from_plane<I: Isa, C: InLanes<S>, S: Store>(
    t: &GridTransfer<S>,
    c: usize,
    from: &[C],
    lines: &mut [C],
    halves: &mut [C],
    out: &mut [C],
) {
    let (fine, coarse) = t.grids();
    let ([nx, ny, _], [cx, cy, _]) = (fine.points(), coarse.points());
    let lines = match t.step(1) {
        None => from,
        Some(step) => {
            let ne = ny - cy;
            for (j, out) in lines.chunks_exact_mut(nx).enumerate() {
                let line = |j: usize| &from[j * nx..(j + 1) * nx];
                let weights = |e: usize| (c * ne + e) * nx..(c * ne + e + 1) * nx;
                out.copy_from_slice(line(2 * j + 1));
                multiply_add::<I, C, S>(out, &step.upper[weights(j)], line(2 * j));
                if 2 * j + 2 < ny {
                    multiply_add::<I, C, S>(out, &step.lower[weights(j + 1)], line(2 * j + 2));
                }
            }
            &*lines
        }
    };
    let Some(step) = t.step(0) else {
        out[..cx * cy].copy_from_slice(&lines[..cx * cy]);
        return;
    };
    let ne = nx - cx;
    for (j, (from, out)) in lines.chunks_exact(nx).zip(out.chunks_exact_mut(cx)).enumerate() {
        let even = &mut halves[..ne];
        let (pairs, last) = from.as_chunks::<2>();
        for ((pair, even), out) in pairs.iter().zip(&mut *even).zip(&mut *out) {
            (*even, *out) = (pair[0], pair[1]);
        }
        if let Some(&last) = last.first() {
            even[ne - 1] = last;
        }
        let weights = (c * cy + j) * ne..(c * cy + j + 1) * ne;
        let (lower, upper) = (&step.lower[weights.clone()], &step.upper[weights]);
        multiply_add::<I, C, S>(out, &upper[..cx], &even[..cx]);
        multiply_add::<I, C, S>(&mut out[..ne - 1], &lower[1..], &even[1..]);
    }
}

/// y ← α d∘x + β y
#[inline(always)]
fn finish<C: Real>(alpha: C, x: &[C], d: Option<&[f32]>, beta: C, y: &mut [C]) {
    match (d, beta.is_zero()) {
        (None, true) => y.iter_mut().zip(x).for_each(|(y, x)| *y = alpha * *x),
        (None, false) => y.iter_mut().zip(x).for_each(|(y, x)| *y = alpha * *x + beta * *y),
        (Some(d), true) => {
            let scaled = x.iter().zip(d).map(|(x, d)| alpha * *x * C::narrow(f64::from(*d)));
            y.iter_mut().zip(scaled).for_each(|(y, x)| *y = x);
        }
        (Some(d), false) => {
            let scaled = x.iter().zip(d).map(|(x, d)| alpha * *x * C::narrow(f64::from(*d)));
            y.iter_mut().zip(scaled).for_each(|(y, x)| *y = x + beta * *y);
        }
    }
}

/// y ← w∘x
#[inline(always)]
fn multiply<I: Isa, C: InLanes<S>, S: Store>(y: &mut [C], w: &[S], x: &[C]) {
    assert!(y.len() == w.len() && y.len() == x.len(), "lengths of y, w and x");
    let whole = y.len() / LANES * LANES;
    for k in (0..whole).step_by(LANES) {
        // SAFETY: all three have at least k + LANES elements; `I` is the instruction set of the
        // running kernel.
        unsafe {
            let (w, x) = (C::In::<I>::widen(w.as_ptr().add(k)), C::In::<I>::load(x.as_ptr().add(k)));
            C::In::<I>::zero().add_product(w, x).store(y.as_mut_ptr().add(k));
        }
    }
    for ((y, &w), &x) in y[whole..].iter_mut().zip(&w[whole..]).zip(&x[whole..]) {
        *y = C::zero() + I::read::<C, S>(w) * x;
    }
}

/// y ← w∘y
#[inline(always)]
fn multiply_in_place<I: Isa, C: InLanes<S>, S: Store>(y: &mut [C], w: &[S]) {
    assert!(y.len() == w.len(), "lengths of y and w");
    let whole = y.len() / LANES * LANES;
    for k in (0..whole).step_by(LANES) {
        // SAFETY: as in `multiply`.
        unsafe {
            let (w, x) = (C::In::<I>::widen(w.as_ptr().add(k)), C::In::<I>::load(y.as_ptr().add(k)));
            C::In::<I>::zero().add_product(w, x).store(y.as_mut_ptr().add(k));
        }
    }
    for (y, &w) in y[whole..].iter_mut().zip(&w[whole..]) {
        *y = C::zero() + I::read::<C, S>(w) * *y;
    }
}

/// y ← y + w∘x
#[inline(always)]
fn multiply_add<I: Isa, C: InLanes<S>, S: Store>(y: &mut [C], w: &[S], x: &[C]) {
    assert!(y.len() == w.len() && y.len() == x.len(), "lengths of y, w and x");
    let whole = y.len() / LANES * LANES;
    for k in (0..whole).step_by(LANES) {
        // SAFETY: as in `multiply`.
        unsafe {
            let (w, x) = (C::In::<I>::widen(w.as_ptr().add(k)), C::In::<I>::load(x.as_ptr().add(k)));
            C::In::<I>::load(y.as_ptr().add(k)).add_product(w, x).store(y.as_mut_ptr().add(k));
        }
    }
    for ((y, &w), &x) in y[whole..].iter_mut().zip(&w[whole..]).zip(&x[whole..]) {
        *y += I::read::<C, S>(w) * x;
    }
}
