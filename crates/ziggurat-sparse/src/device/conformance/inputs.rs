//! Inputs of the suite: matrices of many edge cases, and vectors.
//!
//! An input is a few integers and a seed, so that proptest can shrink it. Entries come from
//! [`hash`](crate::hash) and are the same on every machine. Matrix entries are exact in every
//! storage type, so that a difference comes from the kernel and not from the storage.

use std::sync::Arc;

use proptest::prelude::*;

use crate::device::{HostMatrix, MatrixFormat};
use crate::grid::transfer::AxisWeights;
use crate::grid::{Grid, GridTransfer, TransferDirection};
use crate::hash::hash_id;
use crate::matrix::{Csr, Dia, ScaleFactors};
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
    pub format: MatrixFormat,
    /// Rows per block; 1 for a format that does not profit from blocks.
    pub block: usize,
    /// Determines the columns and the values.
    pub seed: u64,
}

/// The number of kinds of transfers between grids: seven choices of axes, in both directions, with
/// and without scale factors.
pub const GRID_TRANSFERS: u64 = 28;

/// A transfer between small grids, of the kind `seed % GRID_TRANSFERS`.
pub fn grid_transfer(seed: u64) -> Input {
    let (format, reach) = (MatrixFormat::GridTransfer, 0);
    Input { rows: 0, cols: 0, per_row: 0, empty_every: 0, dense_every: 0, reach, format, block: 1, seed }
}

/// Matrices of up to a few hundred rows: no rows, no columns, one row, empty and dense rows,
/// rectangular, every format and block size.
pub fn small(square: bool) -> impl Strategy<Value = Input> {
    small_in(square, move |format| !square || format != MatrixFormat::GridTransfer)
}

/// As [`small`]: square matrices in formats that are row by row.
pub fn small_by_rows() -> impl Strategy<Value = Input> {
    small_in(true, MatrixFormat::is_row_by_row)
}

/// As [`small`], in some of the formats.
fn small_in(square: bool, suits: impl Fn(MatrixFormat) -> bool) -> impl Strategy<Value = Input> {
    let extent = prop_oneof![Just(0usize), Just(1), 2..20usize, 20..300usize, 300..700usize];
    let block = prop_oneof![6 => 1..=6usize, 1 => Just(9usize)];
    let formats: Vec<_> = MatrixFormat::ALL.iter().copied().filter(|&format| suits(format)).collect();
    let format = (proptest::sample::select(formats), block)
        .prop_map(|(format, block)| (format, if has_nodes(format) { block } else { 1 }));
    let reach = prop_oneof![3 => Just(usize::MAX), 1 => Just(0usize), 2 => 1..100usize];
    (extent.clone(), extent, 0..40usize, 0..5usize, 0..9usize, reach, format, any::<u64>()).prop_map(
        move |(rows, cols, per_row, empty_every, dense_every, reach, (format, block), seed)| {
            let cols = if square { rows } else { cols };
            // Blocks multiply the size: keep the scalar matrix at a few hundred rows.
            let (rows, cols) = (rows.div_ceil(block), cols.div_ceil(block));
            Input { rows, cols, per_row, empty_every, dense_every, reach, format, block, seed }
        },
    )
}

/// Whether matrices with several unknowns per node are tested: formats with blocks, and tiles,
/// which are full or not depending on the number of unknowns.
fn has_nodes(format: MatrixFormat) -> bool {
    format.has_blocks() || format == MatrixFormat::Tiles
}

/// A matrix of 10⁵ rows, including empty ones and a few of 10⁵ entries (if the format supports
/// them): large enough to be split among threads.
pub fn large(format: MatrixFormat) -> Input {
    let block = match format {
        MatrixFormat::Tiles => 4, // full tiles
        _ if has_nodes(format) => 3,
        _ => 1,
    };
    let rows = 100_000 / block;
    let (per_row, empty_every, dense_every, reach) = (9, 7, rows / 3, rows);
    let seed = 27; // of transfers: a scaled restriction along all axes
    Input { rows, cols: rows, per_row, empty_every, dense_every, reach, format, block, seed }
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
    /// The matrix, with its entries mapped by `f`. A format that does not suit it stores a more
    /// regular one instead: without dense rows and near the diagonal, with a few diagonals only, or
    /// with these in a square matrix.
    ///
    /// # Panics
    /// If no matrix suits the format.
    #[allow(clippy::expect_used)] // a fault of the suite itself, which runs in tests only
    pub fn matrix<S: Store>(&self, f: impl Fn(f64) -> f64 + Sync) -> HostMatrix<S> {
        if self.format == MatrixFormat::GridTransfer {
            return self.grid_transfer(f);
        }
        if self.format == MatrixFormat::Dia && self.rows > 64 && self.cols > 4 && self.seed % 2 == 1 {
            return self.in_sections(f);
        }
        let near = Input { dense_every: 0, reach: self.reach.min(300), ..self.clone() };
        let diagonals = Input { dense_every: 0, reach: 0, ..self.clone() };
        let square = Input { cols: self.rows, ..diagonals.clone() };
        let stored = [self, &near, &diagonals, &square].into_iter().find_map(|input| {
            let a = Arc::new(input.in_rows(&f));
            Some(HostMatrix::plan(self.format, &a, self.block)?.fill(ScaleFactors::ONE))
        });
        stored.expect("a matrix that suits the format")
    }

    /// Three sections of rows with other diagonals each, as several unknowns per point have.
    fn in_sections<S: Store>(&self, f: impl Fn(f64) -> f64 + Sync) -> HostMatrix<S> {
        let windows = self.rows.div_ceil(Dia::<S>::WINDOW);
        let far = self.cols as isize / 2;
        let near: Vec<isize> = (-1..=(self.per_row as isize).min(9)).collect();
        let sections =
            vec![(1, near), ((windows - 1) / 2, vec![-far, 0, far]), (windows / 2, vec![-65, 0, 1])];
        HostMatrix::from(Dia::from_diagonals(self.rows, self.cols, sections, |section, d, first, out| {
            for (k, out) in out.iter_mut().enumerate() {
                *out = f(value(self.seed, ((10 * section + d) * self.rows + first + k) as u64));
            }
        }))
    }

    /// A transfer between grids, of the kind `seed % GRID_TRANSFERS`: along which axes, in which
    /// direction, and whether it is scaled. The sizes come from the seed, or are about `rows`
    /// points if there are many. Products of its weights are exact in every storage type.
    fn grid_transfer<S: Store>(&self, f: impl Fn(f64) -> f64) -> HostMatrix<S> {
        let kind = self.seed % GRID_TRANSFERS;
        let is_along = |axis: usize| (1 + kind % 7) >> axis & 1 == 1;
        let hash = |k: u64| hash_id(k ^ hash_id(self.seed));
        let extent =
            |axis: usize, most: u64| 1 + usize::from(is_along(axis)) + (hash(axis as u64) % most) as usize;
        let points = match self.rows {
            0..1000 => [extent(0, 50), extent(1, 5), extent(2, 9)],
            rows => [47, 40, rows / (47 * 40)],
        };
        let (mut grid, mut steps) = (Grid::new(points), Vec::new());
        for axis in [2, 1, 0] {
            if is_along(axis) {
                let count = grid.left_out(axis).len() as u64;
                let weight = |k: u64| {
                    let bits = hash_id(k ^ hash_id(self.seed ^ axis as u64));
                    let size = 2f64.powi(-((bits % 4) as i32));
                    S::narrow(f(if bits >> 63 == 1 { -size } else { size }))
                };
                let (lower, upper) = ((0..count).map(weight), (count..2 * count).map(weight));
                steps.push(AxisWeights { axis, fine: grid, lower: lower.collect(), upper: upper.collect() });
                grid = grid.coarse(axis);
            }
        }
        let direction = match kind / 7 % 2 {
            0 => TransferDirection::Prolongation,
            _ => TransferDirection::Restriction,
        };
        let unknowns = if self.rows < 1000 { 1 + (hash(3) % 3) as usize } else { 1 };
        let transfer = HostMatrix::from(GridTransfer::of_axes(steps, direction).of_unknowns(unknowns));
        let scale = |len: usize, k: usize| (0..len).map(|i| 2f64.powi(((i * k) % 3) as i32)).collect();
        let (left, right): (Vec<f64>, Vec<f64>) = (scale(transfer.rows(), 5), scale(transfer.cols(), 7));
        let scaled = ScaleFactors { left: Some(&left), right: Some(&right), factor: 0.25 };
        let factors = if kind < 14 { ScaleFactors::ONE } else { scaled };
        transfer.scaled_as(factors).unwrap_or(transfer)
    }

    /// The matrix in scalar rows.
    #[allow(clippy::expect_used)] // as above
    fn in_rows(&self, f: impl Fn(f64) -> f64) -> Csr<f64> {
        let (mut row_ptr, mut columns, block) = (vec![0], Vec::new(), self.block);
        for row in 0..self.rows {
            let of_blocks = self.columns(row);
            for _ in 0..block {
                let scalars = |&column: &usize| (column * block..(column + 1) * block).map(|k| k as u32);
                columns.extend(of_blocks.iter().flat_map(scalars));
                row_ptr.push(columns.len());
            }
        }
        let values = (0..columns.len()).map(|index| f(value(self.seed, index as u64))).collect();
        Csr::try_new(self.rows * block, self.cols * block, row_ptr, columns, values).expect("a valid matrix")
    }

    /// The columns of a row, or the block columns of a block row.
    fn columns(&self, row: usize) -> Vec<usize> {
        let every = |n: usize| n > 0 && row % n == n - 1;
        if every(self.dense_every) {
            return (0..self.cols).collect();
        }
        if self.reach == 0 {
            return (row..=row + self.per_row).filter(|&k| k < self.cols).collect();
        }
        if every(self.empty_every) || self.cols == 0 {
            return Vec::new();
        }
        let first = row.saturating_sub(self.reach).min(self.cols - 1);
        let last = row.saturating_add(self.reach).min(self.cols - 1);
        let hash = |k: usize| hash_id((row * 64 + k) as u64 ^ hash_id(self.seed));
        let count = hash(63) as usize % (self.per_row + 1);
        let column = |k| first + (hash(k) % (last - first + 1) as u64) as usize;
        let mut columns: Vec<usize> = (0..count).map(column).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::test_runner::{Config, TestRunner};

    /// The suite computes expected products from the rows that `for_each_entry` reads, so these
    /// rows are compared with the CSR matrix here.
    #[test]
    fn every_format_has_the_entries_of_its_rows() {
        let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
        let tested = TestRunner::new(config).run(&small(false), |input| {
            let a = Arc::new(input.in_rows(|value| value));
            let plan = HostMatrix::<f64>::plan(input.format, &a, input.block);
            let Some(plan) = plan else { return Ok(()) };
            let bytes = plan.bytes();
            let stored = plan.fill(ScaleFactors::ONE);
            assert_eq!((stored.format(), stored.bytes()), (input.format, bytes));
            assert_eq!((stored.rows(), stored.cols()), (a.rows(), a.cols()));
            for row in a.all_rows() {
                let mut entries = Vec::new();
                stored.for_each_entry(row, |column, value| entries.push((column, value)));
                entries.retain(|&(_, value)| value != 0.0); // padding
                entries.sort_by_key(|&(column, _)| column);
                let (columns, values) = a.row(row);
                let expected = columns.iter().map(|&column| column as usize).zip(values.iter().copied());
                assert_eq!(entries, expected.collect::<Vec<_>>(), "row {row}");
            }
            Ok(())
        });
        tested.unwrap();
    }

    #[test]
    fn every_format_stores_large_matrices() {
        for &format in MatrixFormat::ALL {
            let a = large(format).matrix::<f32>(|value| value);
            assert!(a.format() == format && a.rows().max(a.cols()) >= 99_000 && a.nnz() > 150_000);
        }
    }
}
