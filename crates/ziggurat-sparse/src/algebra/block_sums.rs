//! Accumulating one row of a product of blocks: Σ_J A_IJ · B_JK for all K, as small dense products.
//!
//! The blocks of the row are accumulated in a buffer in which each block is contiguous, and copied
//! to the result at the end: every J adds to them, and in CSR the rows of a block are not
//! contiguous. Frequent sizes are compiled separately, with loops that the compiler unrolls and
//! vectorises (6 numbers as 4 and 2).

use super::block_shape::BlockShape;
use crate::number::Real;

/// Accumulates the blocks of one row of C at a time.
pub(super) trait SumBlocks<T> {
    fn shape(&self) -> BlockShape;

    /// Begins a row of `blocks` blocks.
    fn begin(&mut self, blocks: usize);

    /// Adds A_IJ · B_JK for all K to the blocks at these positions. `a` and `b` hold the values of
    /// rows I and J; J is block number `block` in row I.
    fn add(&mut self, a: &[T], block: usize, b: &[T], places: &[u32]);

    /// Ends the row: writes its values.
    fn end(&mut self, values: &mut [T]);
}

/// [`SumBlocks`] for a size known at compile time.
pub(super) struct FixedSums<T, const M: usize, const S: usize, const N: usize> {
    sums: Vec<[[T; N]; M]>,
    /// Blocks of the current row.
    blocks: usize,
}

impl<T: Real, const M: usize, const S: usize, const N: usize> FixedSums<T, M, S, N> {
    pub(super) fn new(longest: usize) -> Self {
        FixedSums { sums: vec![[[T::zero(); N]; M]; longest], blocks: 0 }
    }
}

impl<T: Real, const M: usize, const S: usize, const N: usize> SumBlocks<T> for FixedSums<T, M, S, N> {
    #[inline(always)]
    fn shape(&self) -> BlockShape {
        BlockShape { rows: M, inner: S, cols: N }
    }

    #[inline(always)]
    fn begin(&mut self, blocks: usize) {
        self.blocks = blocks;
        self.sums[..blocks].fill([[T::zero(); N]; M]);
    }

    #[inline(always)]
    fn add(&mut self, a: &[T], block: usize, b: &[T], places: &[u32]) {
        let a_len = a.len() / M;
        let mut factor = [[T::zero(); S]; M];
        for (k, row) in factor.iter_mut().enumerate() {
            row.copy_from_slice(&a[k * a_len + block * S..][..S]);
        }
        let (b, _) = b.as_chunks::<N>();
        let mut b_rows = [b; S];
        for (k, row) in b_rows.iter_mut().enumerate() {
            *row = &b[k * places.len()..][..places.len()];
        }
        for (k, &place) in places.iter().enumerate() {
            let sum = &mut self.sums[place as usize];
            for (sum, factor) in sum.iter_mut().zip(&factor) {
                let mut row = *sum;
                for (&scale, b_row) in factor.iter().zip(&b_rows) {
                    for (x, &y) in row.iter_mut().zip(&b_row[k]) {
                        *x += scale * y;
                    }
                }
                *sum = row;
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, values: &mut [T]) {
        let sums = &self.sums[..self.blocks];
        let (values, _) = values.as_chunks_mut::<N>();
        for (place, sum) in sums.iter().enumerate() {
            for (k, row) in sum.iter().enumerate() {
                values[k * sums.len() + place] = *row;
            }
        }
    }
}

/// [`SumBlocks`] for any size.
pub(super) struct AnySums<T> {
    shape: BlockShape,
    /// Block by block, each block in row-major order.
    sums: Vec<T>,
    /// Blocks of the current row.
    blocks: usize,
}

impl<T: Real> AnySums<T> {
    pub(super) fn new(shape: BlockShape, longest: usize) -> Self {
        AnySums { shape, sums: vec![T::zero(); longest * shape.entries()], blocks: 0 }
    }
}

impl<T: Real> SumBlocks<T> for AnySums<T> {
    #[inline(always)]
    fn shape(&self) -> BlockShape {
        self.shape
    }

    #[inline(always)]
    fn begin(&mut self, blocks: usize) {
        self.blocks = blocks;
        self.sums[..blocks * self.shape.entries()].fill(T::zero());
    }

    #[inline(always)]
    fn add(&mut self, a: &[T], block: usize, b: &[T], places: &[u32]) {
        let BlockShape { rows: m, inner: s, cols: n } = self.shape;
        let (a_len, b_len) = (a.len() / m, places.len() * n);
        for (k, &place) in places.iter().enumerate() {
            let sum = &mut self.sums[place as usize * m * n..][..m * n];
            for (row, sum) in sum.chunks_exact_mut(n).enumerate() {
                let factor = &a[row * a_len + block * s..][..s];
                for (inner, &scale) in factor.iter().enumerate() {
                    for (x, &y) in sum.iter_mut().zip(&b[inner * b_len + k * n..][..n]) {
                        *x += scale * y;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, values: &mut [T]) {
        let BlockShape { rows: m, cols: n, .. } = self.shape;
        let sums = &self.sums[..self.blocks * m * n];
        for (place, sum) in sums.chunks_exact(m * n).enumerate() {
            for (k, row) in sum.chunks_exact(n).enumerate() {
                values[(k * self.blocks + place) * n..][..n].copy_from_slice(row);
            }
        }
    }
}
