//! Inputs of the suite: matrices of many edge cases, and vectors.
//!
//! An input is a few integers and a seed, so that proptest can shrink it. Entries come from
//! [`hash`](crate::hash) and are the same on every machine. Matrix entries are exact in every
//! storage type, so that a difference comes from the kernel and not from the storage.

use proptest::prelude::*;

use crate::device::HostMatrix;
use crate::hash::hash_id;
use crate::matrix::{Bsr, Csr, DeltaSell};
use crate::number::{Real, Store};

/// The description of a matrix.
#[derive(Clone, Debug)]
pub struct Input {
    /// Rows, or block rows.
    pub rows: usize,
    /// Columns, or block columns.
    pub cols: usize,
    /// Maximum number of entries in an ordinary row.
    pub per_row: usize,
    /// Every `empty_every`-th row is empty (0: none).
    pub empty_every: usize,
    /// Every `dense_every`-th row is full (0: none).
    pub dense_every: usize,
    /// Maximum distance of columns from the diagonal; the number of columns means anywhere. 0:
    /// every row has the diagonals from 0 to `per_row`, as far as they exist.
    pub reach: usize,
    /// The format.
    pub format: Format,
    /// Determines the columns and the values.
    pub seed: u64,
}

/// The format of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Compressed sparse rows.
    Csr,
    /// Blocks of this size.
    Bsr(usize),
    /// Sliced rows with compressed column indices.
    DeltaSell,
}

impl Format {
    /// Rows per block.
    fn block(self) -> usize {
        if let Format::Bsr(block) = self { block } else { 1 }
    }
}

/// Matrices of up to a few hundred rows: no rows, no columns, one row, empty and dense rows,
/// rectangular, every block size.
pub fn small(square: bool) -> impl Strategy<Value = Input> {
    let extent = prop_oneof![Just(0usize), Just(1), 2..20usize, 20..300usize, 300..700usize];
    let format = prop_oneof![
        3 => Just(Format::Csr),
        6 => Just(Format::DeltaSell),
        6 => (1..=6usize).prop_map(Format::Bsr),
        1 => Just(Format::Bsr(9)),
    ];
    let reach = prop_oneof![3 => Just(usize::MAX), 1 => Just(0usize), 2 => 1..100usize];
    (extent.clone(), extent, 0..40usize, 0..5usize, 0..9usize, reach, format, any::<u64>()).prop_map(
        move |(rows, cols, per_row, empty_every, dense_every, reach, format, seed)| {
            let cols = if square { rows } else { cols };
            // Blocks multiply the size: keep the scalar matrix at a few hundred rows.
            let shrink = |extent: usize| extent.div_ceil(format.block());
            let (rows, cols) = (shrink(rows), shrink(cols));
            Input { rows, cols, per_row, empty_every, dense_every, reach, format, seed }
        },
    )
}

/// A matrix of 10⁵ rows, including empty ones and a few of 10⁵ entries (if the format supports
/// them): large enough to be split among threads.
pub fn large(format: Format) -> Input {
    let rows = 100_000 / format.block();
    let (dense_every, reach) = if format == Format::DeltaSell { (0, 300) } else { (rows / 3, rows) };
    Input { rows, cols: rows, per_row: 9, empty_every: 7, dense_every, reach, format, seed: 5 }
}

/// A value that every storage type represents exactly: a sign, three significant bits, exponents
/// from -3 to 4.
pub fn value(seed: u64, index: u64) -> f64 {
    let bits = hash_id(index ^ hash_id(seed));
    let magnitude = (4 + bits % 4) as f64 * 2f64.powi((bits >> 8 & 7) as i32 - 5);
    if bits >> 63 == 1 { -magnitude } else { magnitude }
}

/// A vector of such values, divided by three. Its elements use all digits of their type, so that a
/// kernel that computes in a narrower type is detected.
pub fn vector<C: Real>(len: usize, seed: u64) -> Vec<C> {
    (0..len as u64).map(|index| C::narrow(value(seed, index) / 3.0)).collect()
}

impl Input {
    /// The matrix, with its entries mapped by `f`.
    ///
    /// # Panics
    /// If the input does not describe a valid matrix; the strategies above always do.
    #[allow(clippy::expect_used)] // a fault of the suite itself, which runs in tests only
    pub fn matrix<S: Store>(&self, f: impl Fn(f64) -> f64) -> HostMatrix<S> {
        let (mut row_ptr, mut columns) = (vec![0], Vec::new());
        for row in 0..self.rows {
            let every = |n: usize| n > 0 && row % n == n - 1;
            if every(self.dense_every) {
                columns.extend(0..self.cols as u32);
            } else if self.reach == 0 {
                columns.extend((row..=row + self.per_row).filter(|&k| k < self.cols).map(|k| k as u32));
            } else if !every(self.empty_every) && self.cols > 0 {
                let first = row.saturating_sub(self.reach).min(self.cols - 1);
                let last = row.saturating_add(self.reach).min(self.cols - 1);
                let hash = |k: usize| hash_id((row * 64 + k) as u64 ^ hash_id(self.seed));
                let count = hash(63) as usize % (self.per_row + 1);
                let column = |k| first as u32 + (hash(k) % (last - first + 1) as u64) as u32;
                let mut row_columns: Vec<u32> = (0..count).map(column).collect();
                row_columns.sort_unstable();
                row_columns.dedup();
                columns.append(&mut row_columns);
            }
            row_ptr.push(columns.len());
        }
        let block = self.format.block();
        let values: Vec<f64> =
            (0..columns.len() * block * block).map(|index| f(value(self.seed, index as u64))).collect();
        let (rows, cols) = (self.rows * block, self.cols * block);
        if let Format::Bsr(_) = self.format {
            let values = values.into_iter().map(S::narrow).collect();
            return Bsr::try_new(rows, cols, block, row_ptr, columns, values).expect("a valid matrix").into();
        }
        let a = Csr::try_new(rows, cols, row_ptr, columns, values).expect("a valid matrix");
        match self.format {
            Format::DeltaSell => DeltaSell::<S>::from_csr(a.view()).expect("short rows").into(),
            _ => a.view().stored_as::<S>().into(),
        }
    }
}
