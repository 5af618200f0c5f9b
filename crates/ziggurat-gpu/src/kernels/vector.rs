//! Vector updates in one pass, with one unit per element.
//!
//! Memory traffic: every vector of a formula once; the result twice if its old value is read.

use cubecl::prelude::*;

/// Number of units per cube of vector kernels.
pub(crate) const VECTOR_UNITS: u32 = 256;

/// The element of this unit.
#[cube]
pub(crate) fn position() -> usize {
    CUBE_POS * comptime!(VECTOR_UNITS as usize) + UNIT_POS as usize
}

/// x ← value
#[cube(launch_unchecked)]
pub(crate) fn fill_all<C: Numeric + CubeElement>(x: &mut Array<C>, value: C, len: u32) {
    let i = position();
    if i < len as usize {
        x[i] = value;
    }
}

/// y ← x, possibly converted to another number type
#[cube(launch_unchecked)]
pub(crate) fn cast_all<X: Float, Y: Float>(x: &Array<X>, y: &mut Array<Y>, len: u32) {
    let i = position();
    if i < len as usize {
        y[i] = Y::cast_from(x[i]);
    }
}

/// y ← α x + β y; if `old` is false, y ← α x and the old y is not read
#[cube(launch_unchecked)]
pub(crate) fn axpby_all<C: Float + CubeElement>(
    x: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    len: u32,
    #[comptime] old: bool,
) {
    let i = position();
    if i < len as usize {
        let mut new = alpha * x[i];
        if old {
            new += beta * y[i];
        }
        y[i] = new;
    }
}

/// z ← α x + β y + γ z; if `old` is false, without γ z
#[cube(launch_unchecked)]
pub(crate) fn axpbypcz_all<C: Float + CubeElement>(
    x: &Array<C>,
    y: &Array<C>,
    z: &mut Array<C>,
    alpha: C,
    beta: C,
    gamma: C,
    len: u32,
    #[comptime] old: bool,
) {
    let i = position();
    if i < len as usize {
        let mut new = alpha * x[i] + beta * y[i];
        if old {
            new += gamma * z[i];
        }
        z[i] = new;
    }
}

/// y ← α d∘x + β y; if `old` is false, without β y
#[cube(launch_unchecked)]
pub(crate) fn diagonal_all<C: Float + CubeElement>(
    d: &Array<C>,
    x: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    len: u32,
    #[comptime] old: bool,
) {
    let i = position();
    if i < len as usize {
        let mut new = alpha * d[i] * x[i];
        if old {
            new += beta * y[i];
        }
        y[i] = new;
    }
}

/// x ← x + α p, then p ← z + β p
#[cube(launch_unchecked)]
pub(crate) fn step_and_turn_all<C: Float + CubeElement>(
    z: &Array<C>,
    x: &mut Array<C>,
    p: &mut Array<C>,
    alpha: C,
    beta: C,
    len: u32,
) {
    let i = position();
    if i < len as usize {
        let old = p[i];
        x[i] += alpha * old;
        p[i] = z[i] + beta * old;
    }
}
