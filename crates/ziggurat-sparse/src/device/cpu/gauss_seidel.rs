//! Gauss–Seidel within fixed blocks of rows, Jacobi between them.
//!
//! For each block K of consecutive rows, in order of increasing (forward) or decreasing (backward)
//! row i ∈ K:
//!
//! ```text
//! y_i = x_i + d_i (b_i − Σ_{j ∈ K} a_ij y_j − Σ_{j ∉ K} a_ij x_j)
//! y_j = x_j for rows j that have not been visited
//! ```
//!
//! Blocks are independent, so they run in parallel. The caller chooses their size, so the result
//! does not depend on the number of threads. This is the hybrid Gauss–Seidel of Baker, Falgout,
//! Kolev & Yang (2011), with fixed blocks instead of one block per process. A backward sweep is the
//! adjoint of a forward one, which keeps a cycle symmetric.
//!
//! Compiled only for formats that are row by row
//! ([`MatrixFormat::is_row_by_row`](crate::device::MatrixFormat::is_row_by_row)).
//!
//! Bytes: one pass over the matrix and five vectors. Unlike in Jacobi, a row depends on the
//! previous one, but that latency is shorter than the memory traffic.

use crate::device::direction::Direction;
use crate::matrix::format::RowEntries;
use crate::number::Real;
use crate::parallel::over_chunks;
use crate::simd::{InLanes, Isa, Kernel, Simd};

/// The input of a sweep; see the formula in the [module](self). `x` is `None` for a zero initial
/// guess.
#[derive(Clone, Copy)]
pub(super) struct Sweep<'a, A, C> {
    pub a: A,
    pub d: &'a [C],
    pub b: &'a [C],
    pub x: Option<&'a [C]>,
    pub block: usize,
    pub direction: Direction,
}

/// y ← one sweep
pub(super) fn gauss_seidel<A: RowEntries, C: InLanes<A::Value>>(
    simd: Simd,
    sweep: Sweep<'_, A, C>,
    y: &mut [C],
) {
    // Blocks of a BSR matrix are not split.
    let block = sweep.block.clamp(1, y.len().max(1)).next_multiple_of(sweep.a.rows_per_block());
    over_chunks(y, block, &|index, y| simd.run(Block { sweep, first: index * block, y }));
}

struct Block<'a, A, C> {
    sweep: Sweep<'a, A, C>,
    /// The first row of the block.
    first: usize,
    /// The result in the rows of the block.
    y: &'a mut [C],
}

impl<A: RowEntries, C: InLanes<A::Value>> Kernel for Block<'_, A, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Block { sweep, first, y } = self;
        match sweep.x {
            Some(x) => y.copy_from_slice(&x[first..first + y.len()]),
            None => y.fill(C::zero()),
        }
        let (b, d) = (&sweep.b[first..first + y.len()], &sweep.d[first..first + y.len()]);
        let mut relax = |k: usize| {
            let mut product = C::zero();
            sweep.a.for_each_entry(first + k, |j, value| {
                product += I::read::<C, A::Value>(value) * newest(j, first, sweep.x, y);
            });
            y[k] += d[k] * (b[k] - product);
        };
        match sweep.direction {
            Direction::Forward => (0..b.len()).for_each(&mut relax),
            Direction::Backward => (0..b.len()).rev().for_each(&mut relax),
        }
    }
}

/// The newest value of unknown `j`: y inside the block, x (or zero) outside.
#[inline(always)]
fn newest<C: Real>(j: usize, first: usize, x: Option<&[C]>, y: &[C]) -> C {
    // One comparison: a column before the block wraps around to a large number.
    match (y.get(j.wrapping_sub(first)), x) {
        (Some(&y), _) => y,
        (None, Some(x)) => x[j],
        (None, None) => C::zero(),
    }
}
