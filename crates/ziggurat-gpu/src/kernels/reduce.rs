//! Sums and maxima over vectors, in two stages and a fixed order, and the vector updates fused with
//! them.
//!
//! ```text
//! stage 1   a cube per 4096 elements: a unit sums every 256th, then a tree reduction   → partials
//! stage 2   one cube per result: the same over all partials                            → a scalar
//! ```
//!
//! Results are bitwise reproducible: blocks depend only on the length, and there are no atomics.
//! Sums are in double precision. One scalar returns to the host. Memory traffic: the vectors once,
//! and a partial per 4096 elements.

use cubecl::prelude::*;

use super::vector::VECTOR_UNITS;

/// Number of elements per cube in the first stage.
pub(crate) const BLOCK: u32 = 16 * VECTOR_UNITS;

/// The binary operation of a reduction.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fold {
    /// The sum.
    Sum,
    /// The maximum; NaN propagates.
    Max,
}

#[cube]
fn folded<A: Float>(so_far: A, new: A, #[comptime] fold: Fold) -> A {
    match fold {
        Fold::Sum => so_far + new,
        // Operands are magnitudes. Ordered comparisons with NaN are false in every runtime (in some
        // `!=` is too), so both selections propagate NaN.
        Fold::Max => {
            let larger = select(new <= so_far, so_far, new);
            select(so_far >= A::new(0.0), larger, so_far)
        }
    }
}

/// Reduces over all units of the cube; the first unit holds the result.
#[cube]
fn cube_fold<A: Float>(part: A, #[comptime] fold: Fold) -> A {
    let mut shared = SharedMemory::<A>::new(comptime!(VECTOR_UNITS as usize));
    let unit = UNIT_POS as usize;
    shared[unit] = part;
    sync_cube();
    #[unroll]
    for step in 0..comptime!(VECTOR_UNITS.ilog2()) {
        let half = comptime!(VECTOR_UNITS) >> (step + 1);
        if UNIT_POS < half {
            let other = shared[unit + half as usize];
            let own = shared[unit];
            shared[unit] = folded::<A>(own, other, fold);
        }
        sync_cube();
    }
    shared[unit]
}

/// The first element of this unit and the end of its cube's block.
#[cube]
fn block_bounds(len: u32) -> (u32, u32) {
    let begin = u32::cast_from(CUBE_POS) * BLOCK;
    (begin + UNIT_POS, select(len - begin < BLOCK, len, begin + BLOCK))
}

/// Stage 1 of Σ x_i y_i (`Sum`) or max |x_i| (`Max`). The partials of the result start at `offset`.
#[cube(launch_unchecked)]
pub(crate) fn fold_blocks<C: Float, A: Float>(
    x: &Array<C>,
    y: &Array<C>,
    partials: &mut Array<A>,
    len: u32,
    blocks: u32,
    offset: u32,
    #[comptime] fold: Fold,
) {
    if CUBE_POS < blocks as usize {
        let mut part = A::new(0.0);
        let (first, end) = block_bounds(len);
        let mut i = first;
        while i < end {
            if comptime!(fold == Fold::Sum) {
                part += A::cast_from(x[i as usize]) * A::cast_from(y[i as usize]);
            } else {
                part = folded::<A>(part, A::cast_from(x[i as usize]).abs(), fold);
            }
            i += VECTOR_UNITS;
        }
        let sum = cube_fold::<A>(part, fold);
        if UNIT_POS == 0 {
            partials[offset as usize + CUBE_POS] = sum;
        }
    }
}

/// Stage 2: reduces the partials k·blocks..(k+1)·blocks to result k.
#[cube(launch_unchecked)]
pub(crate) fn fold_partials<A: Float>(
    partials: &Array<A>,
    results: &mut Array<A>,
    blocks: u32,
    count: u32,
    #[comptime] fold: Fold,
) {
    if CUBE_POS < count as usize {
        let begin = u32::cast_from(CUBE_POS) * blocks;
        let mut part = A::new(0.0);
        let mut i = UNIT_POS;
        while i < blocks {
            part = folded::<A>(part, partials[(begin + i) as usize], fold);
            i += VECTOR_UNITS;
        }
        let sum = cube_fold::<A>(part, fold);
        if UNIT_POS == 0 {
            results[CUBE_POS] = sum;
        }
    }
}

/// Maximum number of vectors in one launch of [`combine_blocks`].
pub(crate) const AT_ONCE: usize = 4;

/// Compile-time arguments of [`combine_blocks`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CombineShape {
    /// Number of vectors in use.
    pub(crate) count: u32,
    /// Whether the old y is read.
    pub(crate) old: bool,
    /// Whether y·y is computed.
    pub(crate) measured: bool,
}

/// y ← Σ_k c_k x_k + β y, and stage 1 of y·y.
#[cube(launch_unchecked)]
pub(crate) fn combine_blocks<C: Float + CubeElement, A: Float>(
    x0: &Array<C>,
    x1: &Array<C>,
    x2: &Array<C>,
    x3: &Array<C>,
    y: &mut Array<C>,
    partials: &mut Array<A>,
    c0: C,
    c1: C,
    c2: C,
    c3: C,
    beta: C,
    len: u32,
    blocks: u32,
    #[comptime] shape: CombineShape,
) {
    if CUBE_POS < blocks as usize {
        let mut part = A::new(0.0);
        let (first, end) = block_bounds(len);
        let mut at = first;
        while at < end {
            let i = at as usize;
            let mut new = C::new(0.0);
            if comptime!(shape.count > 0) {
                new += c0 * x0[i];
            }
            if comptime!(shape.count > 1) {
                new += c1 * x1[i];
            }
            if comptime!(shape.count > 2) {
                new += c2 * x2[i];
            }
            if comptime!(shape.count > 3) {
                new += c3 * x3[i];
            }
            if comptime!(shape.old) {
                new += beta * y[i];
            }
            y[i] = new;
            part += A::cast_from(new) * A::cast_from(new);
            at += VECTOR_UNITS;
        }
        if comptime!(shape.measured) {
            let sum = cube_fold::<A>(part, comptime!(Fold::Sum));
            if UNIT_POS == 0 {
                partials[CUBE_POS] = sum;
            }
        }
    }
}

/// Compile-time arguments of [`cast_scaled_blocks`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CastShape {
    /// Whether d is given.
    pub(crate) scaled: bool,
    /// Whether max |y_i| is computed.
    pub(crate) measured: bool,
}

/// y ← α d∘x, computed in `A` and rounded once, and stage 1 of max |y_i|.
#[cube(launch_unchecked)]
pub(crate) fn cast_scaled_blocks<X: Float, Y: Float, A: Float + CubeElement>(
    d: &Array<f32>,
    x: &Array<X>,
    y: &mut Array<Y>,
    partials: &mut Array<A>,
    alpha: A,
    len: u32,
    blocks: u32,
    #[comptime] shape: CastShape,
) {
    if CUBE_POS < blocks as usize {
        let mut part = A::new(0.0);
        let (first, end) = block_bounds(len);
        let mut at = first;
        while at < end {
            let i = at as usize;
            let mut factor = alpha;
            if comptime!(shape.scaled) {
                factor = alpha * A::cast_from(d[i]);
            }
            let new = Y::cast_from(factor * A::cast_from(x[i]));
            y[i] = new;
            part = folded::<A>(part, A::cast_from(new).abs(), comptime!(Fold::Max));
            at += VECTOR_UNITS;
        }
        if comptime!(shape.measured) {
            let largest = cube_fold::<A>(part, comptime!(Fold::Max));
            if UNIT_POS == 0 {
                partials[CUBE_POS] = largest;
            }
        }
    }
}
