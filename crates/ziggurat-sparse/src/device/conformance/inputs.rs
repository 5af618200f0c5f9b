//! What the suite feeds to kernels: matrices of every awkward shape, and vectors.
//!
//! An input is a handful of integers and a seed, so that proptest can shrink it; entries come from
//! [`hash`](crate::hash) and are the same on every machine. Matrix entries are exact in every storage number, so that a
//! difference found is the kernel's and not the storage's.

use proptest::prelude::*;

use crate::device::HostMatrix;
use crate::hash::hash_id;
use crate::matrix::{Bsr, Csr};
use crate::number::{Real, Store};

/// A matrix to be made.
#[derive(Clone, Debug)]
pub struct Input {
    /// Rows, or rows of blocks.
    pub rows: usize,
    /// Columns, or columns of blocks.
    pub cols: usize,
    /// Entries of an ordinary row, at most.
    pub per_row: usize,
    /// Every `empty_every`-th row is empty (0: none is).
    pub empty_every: usize,
    /// Every `dense_every`-th row is full (0: none is).
    pub dense_every: usize,
    /// 0 for CSR, otherwise the block size of BSR.
    pub block: usize,
    /// Chooses the columns and the values.
    pub seed: u64,
}

/// Matrices of up to some hundred rows: no rows, no columns, one row, empty and dense rows, rectangular, every block size.
pub fn small(square: bool) -> impl Strategy<Value = Input> {
    let extent = prop_oneof![Just(0usize), Just(1), 2..20usize, 20..300usize];
    let block = prop_oneof![3 => Just(0usize), 1 => Just(1usize), 5 => 2..=6usize, 1 => Just(9usize)];
    (extent.clone(), extent, 0..40usize, 0..5usize, 0..9usize, block, any::<u64>()).prop_map(
        move |(rows, cols, per_row, empty_every, dense_every, block, seed)| {
            let cols = if square { rows } else { cols };
            // Blocks multiply the size: keep the scalar matrix at some hundred rows.
            let shrink = |extent: usize| if block > 1 { extent.div_ceil(block) } else { extent };
            Input { rows: shrink(rows), cols: shrink(cols), per_row, empty_every, dense_every, block, seed }
        },
    )
}

/// A matrix of 10⁵ rows, among them empty ones and a few of 10⁵ entries: enough to be split among threads.
pub fn large(block: usize) -> Input {
    let rows = 100_000 / block.max(1);
    Input { rows, cols: rows, per_row: 9, empty_every: 7, dense_every: rows / 3, block, seed: 5 }
}

/// A value that every storage number holds exactly: a sign, three significant bits, exponents from -3 to 4.
pub fn value(seed: u64, index: u64) -> f64 {
    let bits = hash_id(index ^ hash_id(seed));
    let magnitude = (4 + bits % 4) as f64 * 2f64.powi((bits >> 8 & 7) as i32 - 5);
    if bits >> 63 == 1 { -magnitude } else { magnitude }
}

/// A vector of such values, divided by three: vectors have all the digits of their number, so that a kernel which
/// computes in a narrower one shows.
pub fn vector<C: Real>(len: usize, seed: u64) -> Vec<C> {
    (0..len as u64).map(|index| C::narrow(value(seed, index) / 3.0)).collect()
}

impl Input {
    /// The matrix, its entries passed through `f`.
    ///
    /// # Panics
    /// If the input does not describe a matrix; the strategies above always do.
    #[allow(clippy::expect_used)] // a fault of the suite itself, which runs in tests only
    pub fn matrix<S: Store>(&self, f: impl Fn(f64) -> f64) -> HostMatrix<S> {
        let (mut row_ptr, mut columns) = (vec![0], Vec::new());
        for row in 0..self.rows {
            let every = |n: usize| n > 0 && row % n == n - 1;
            if every(self.dense_every) {
                columns.extend(0..self.cols as u32);
            } else if !every(self.empty_every) && self.cols > 0 {
                let hash = |k: usize| hash_id((row * 64 + k) as u64 ^ hash_id(self.seed));
                let count = hash(63) as usize % (self.per_row + 1);
                let first = columns.len();
                columns.extend((0..count).map(|k| (hash(k) % self.cols as u64) as u32));
                columns[first..].sort_unstable();
                let mut row_columns = columns.split_off(first);
                row_columns.dedup();
                columns.append(&mut row_columns);
            }
            row_ptr.push(columns.len());
        }
        let per_entry = self.block.max(1).pow(2);
        let values = (0..columns.len() * per_entry)
            .map(|index| S::narrow(f(value(self.seed, index as u64))))
            .collect();
        if self.block == 0 {
            Csr::try_new(self.rows, self.cols, row_ptr, columns, values).expect("a valid matrix").into()
        } else {
            let (rows, cols) = (self.rows * self.block, self.cols * self.block);
            Bsr::try_new(rows, cols, self.block, row_ptr, columns, values).expect("a valid matrix").into()
        }
    }
}
