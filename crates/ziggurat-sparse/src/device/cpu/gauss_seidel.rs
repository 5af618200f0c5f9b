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
//! Bytes: one pass over the matrix and five vectors. Unlike in Jacobi, a row depends on the
//! previous one, but that latency is shorter than the memory traffic.

use rayon::prelude::*;

use crate::device::direction::Direction;
use crate::device::host_matrix::HostMatrix;
use crate::matrix::{BsrRef, CsrRef};
use crate::number::Store;
use crate::simd::{InLanes, Isa, Kernel, Simd};

/// The input of a sweep; see the formula in the [module](self). `x` is `None` for a zero initial
/// guess.
pub(super) struct Sweep<'a, C, S: 'static> {
    pub a: &'a HostMatrix<S>,
    pub d: &'a [C],
    pub b: &'a [C],
    pub x: Option<&'a [C]>,
    pub block: usize,
    pub direction: Direction,
}

// Not derived: that would require `C: Copy` and `S: Copy`, although both are behind references.
impl<C, S> Clone for Sweep<'_, C, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C, S> Copy for Sweep<'_, C, S> {}

/// y ← one sweep
pub(super) fn gauss_seidel<C: InLanes<S>, S: Store>(simd: Simd, sweep: Sweep<'_, C, S>, y: &mut [C]) {
    let n = sweep.a.rows();
    assert_eq!(
        [sweep.d.len(), sweep.b.len(), sweep.a.cols(), y.len()],
        [n; 4],
        "a square A, lengths of d, b and y"
    );
    assert_eq!(sweep.x.map_or(n, <[C]>::len), n, "length of x");
    // Blocks of a BSR matrix are not split.
    let unit = if let HostMatrix::Bsr(a) = sweep.a { a.block_size() } else { 1 };
    let block = sweep.block.clamp(1, n.max(1)).next_multiple_of(unit);
    let one = |(index, y): (usize, &mut [C])| simd.run(Block { sweep, first: index * block, y });
    if n <= block {
        y.chunks_mut(block).enumerate().for_each(one);
    } else {
        y.par_chunks_mut(block).enumerate().for_each(one);
    }
}

struct Block<'a, C, S: 'static> {
    sweep: Sweep<'a, C, S>,
    /// The first row of the block.
    first: usize,
    /// The result in the rows of the block.
    y: &'a mut [C],
}

impl<C: InLanes<S>, S: Store> Kernel for Block<'_, C, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Block { sweep, first, y } = self;
        match sweep.x {
            Some(x) => y.copy_from_slice(&x[first..first + y.len()]),
            None => y.fill(C::zero()),
        }
        match sweep.a {
            HostMatrix::Csr(a) => {
                rows::<I, C, S>(&sweep, first, y, |i, y| csr_row::<I, C, S>(a.view(), i, first, sweep.x, y));
            }
            HostMatrix::Bsr(a) => {
                rows::<I, C, S>(&sweep, first, y, |i, y| bsr_row::<I, C, S>(a.view(), i, first, sweep.x, y));
            }
            // Correct but slow, because each row is searched for; lowering does not choose this
            // format for this smoother.
            HostMatrix::DeltaSell(a) => rows::<I, C, S>(&sweep, first, y, |i, y| {
                let term = |(j, value)| I::read::<C, S>(value) * newest::<C, S>(j, first, sweep.x, y);
                a.row(i).map(term).sum()
            }),
        }
    }
}

/// Relaxes the rows of a block in the direction of the sweep; `product(i, y)` is (A x)_i with the
/// newest values.
#[inline(always)]
fn rows<I: Isa, C: InLanes<S>, S: Store>(
    sweep: &Sweep<'_, C, S>,
    first: usize,
    y: &mut [C],
    product: impl Fn(usize, &[C]) -> C,
) {
    let (b, d) = (&sweep.b[first..first + y.len()], &sweep.d[first..first + y.len()]);
    let mut relax = |k: usize| y[k] += d[k] * (b[k] - product(first + k, y));
    match sweep.direction {
        Direction::Forward => (0..b.len()).for_each(&mut relax),
        Direction::Backward => (0..b.len()).rev().for_each(&mut relax),
    }
}

/// The newest value of unknown `j`: y inside the block, x (or zero) outside.
#[inline(always)]
fn newest<C: InLanes<S>, S: Store>(j: usize, first: usize, x: Option<&[C]>, y: &[C]) -> C {
    // One comparison: a column before the block wraps around to a large number.
    match (y.get(j.wrapping_sub(first)), x) {
        (Some(&y), _) => y,
        (None, Some(x)) => x[j],
        (None, None) => C::zero(),
    }
}

#[inline(always)]
fn csr_row<I: Isa, C: InLanes<S>, S: Store>(
    a: CsrRef<'_, S>,
    i: usize,
    first: usize,
    x: Option<&[C]>,
    y: &[C],
) -> C {
    let (columns, values) = a.row(i);
    let mut sum = C::zero();
    for (&column, &value) in columns.iter().zip(values) {
        sum += I::read::<C, S>(value) * newest::<C, S>(column as usize, first, x, y);
    }
    sum
}

#[inline(always)]
fn bsr_row<I: Isa, C: InLanes<S>, S: Store>(
    a: BsrRef<'_, S>,
    i: usize,
    first: usize,
    x: Option<&[C]>,
    y: &[C],
) -> C {
    let size = a.block_size();
    let mut sum = C::zero();
    for k in a.row_ptr()[i / size]..a.row_ptr()[i / size + 1] {
        let row = &a.block(k)[i % size * size..(i % size + 1) * size];
        for (j, &value) in row.iter().enumerate() {
            sum += I::read::<C, S>(value) * newest::<C, S>(a.columns()[k] as usize * size + j, first, x, y);
        }
    }
    sum
}
