//! Operations on a row product (A x)_i, and the summation over the units that share a row.
//!
//! ```text
//! product     y ← α A x + β y
//! residual    y ← b − A x
//! sweep       y ← x + α d∘(b − A x) + β (x − y)
//! ```
//!
//! Every format's kernel computes row products and ends in [`finish_row`], so every format supports
//! every operation in one pass, as on the CPU. Restriction and prolongation are products with R and
//! P, which are both stored by rows, so they gather and need no atomics.

use cubecl::prelude::*;

/// An operation on a row product.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// y ← α A x; the old y is not read.
    Product,
    /// y ← α A x + β y
    ProductAdded,
    /// y ← b − A x
    Residual,
    /// y ← x + α d∘(b − A x); the old y is not read.
    Sweep,
    /// y ← x + α d∘(b − A x) + β (x − y)
    SweepWithMomentum,
}

/// Writes the result of a row from its product.
#[cube]
pub(crate) fn finish_row<C: Float>(
    row: usize,
    product: C,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    #[comptime] operation: Operation,
) {
    match operation {
        Operation::Product => y[row] = alpha * product,
        Operation::ProductAdded => y[row] = alpha * product + beta * y[row],
        Operation::Residual => y[row] = b[row] - product,
        Operation::Sweep => y[row] = x[row] + alpha * d[row] * (b[row] - product),
        Operation::SweepWithMomentum => {
            y[row] = x[row] + alpha * d[row] * (b[row] - product) + beta * (x[row] - y[row]);
        }
    }
}

/// The group of units that share a row.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Subgroup {
    /// Units per row: a power of two, at most [`UNITS`].
    pub(crate) size: u32,
    /// Whether they exchange registers; otherwise they use the cube's shared memory.
    pub(crate) planes: bool,
}

/// Number of units per cube of matrix kernels.
pub(crate) const UNITS: u32 = 128;

/// Sums over a subgroup; the first unit holds the result. Every unit of the cube must call this.
/// The order of additions, and hence the result, is the same with and without planes.
#[cube]
pub(crate) fn subgroup_sum<C: Float>(part: C, #[comptime] subgroup: Subgroup) -> C {
    let steps = comptime!(subgroup.size.ilog2());
    let mut sum = part;
    if comptime!(subgroup.size > 1) {
        if comptime!(subgroup.planes) {
            #[unroll]
            for step in 0..steps {
                let other = plane_shuffle_xor(sum, comptime!(subgroup.size) >> (step + 1));
                sum += other;
            }
        } else {
            let mut shared = SharedMemory::<C>::new(comptime!(UNITS as usize));
            let unit = UNIT_POS as usize;
            let lane = UNIT_POS % comptime!(subgroup.size);
            sync_cube(); // all units have read the result of the previous call
            shared[unit] = sum;
            sync_cube();
            #[unroll]
            for step in 0..steps {
                let half = comptime!(subgroup.size) >> (step + 1);
                if lane < half {
                    let other = shared[unit + half as usize];
                    shared[unit] += other;
                }
                sync_cube();
            }
            sum = shared[unit];
        }
    }
    sum
}
