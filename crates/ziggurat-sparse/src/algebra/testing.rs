//! Matrices for the tests of this module.

use std::ops::Range;

use proptest::prelude::*;

use crate::matrix::{Csr, CsrRef};

/// Runs `work` on a pool with this many threads.
pub(super) fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// The 7-point Laplacian on n x n x n points.
pub(super) fn poisson3d(n: usize) -> Csr<f64> {
    let neighbours = move |row: usize| {
        let (i, j, k) = (row % n, row / n % n, row / (n * n));
        [
            (k > 0, row.wrapping_sub(n * n), -1.0),
            (j > 0, row.wrapping_sub(n), -1.0),
            (i > 0, row.wrapping_sub(1), -1.0),
            (true, row, 6.0),
            (i + 1 < n, row + 1, -1.0),
            (j + 1 < n, row + n, -1.0),
            (k + 1 < n, row + n * n, -1.0),
        ]
        .into_iter()
        .filter(|&(inside, ..)| inside)
    };
    Csr::assemble(
        0..n * n * n,
        n * n * n,
        || (),
        |(), row| neighbours(row).count(),
        |(), row, columns, values| {
            for ((column, value), (_, c, v)) in columns.iter_mut().zip(values).zip(neighbours(row)) {
                (*column, *value) = (c as u32, v);
            }
        },
    )
}

/// Interpolation that is constant on boxes of 3 x 3 x 3 points of an n x n x n grid.
pub(super) fn aggregation3d(n: usize) -> Csr<f64> {
    let coarse = n.div_ceil(3);
    let box_of = move |row: usize| {
        let (i, j, k) = (row % n / 3, row / n % n / 3, row / (n * n) / 3);
        (i + coarse * (j + coarse * k)) as u32
    };
    let rows = n * n * n;
    let columns = (0..rows).map(box_of).collect();
    Csr::try_new(rows, coarse * coarse * coarse, (0..=rows).collect(), columns, vec![1.0; rows]).unwrap()
}

/// The matrix as a dense array, row by row.
pub(super) fn dense(a: CsrRef<'_, f64>) -> Vec<Vec<f64>> {
    (0..a.rows())
        .map(|row| {
            let mut full = vec![0.0; a.cols()];
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                full[column as usize] = value;
            }
            full
        })
        .collect()
}

/// A matrix of the given extents, about a third full, with empty rows and some dense ones. Its
/// values are small integers, so that sums are exact in any order.
pub(super) fn of_extents(rows: usize, cols: usize) -> impl Strategy<Value = Csr<f64>> {
    let row = (0..6u8, prop::collection::vec((any::<u8>(), -8..=8i8), cols));
    prop::collection::vec(row, rows).prop_map(move |drawn| {
        let (mut row_ptr, mut columns, mut values) = (vec![0], vec![], vec![]);
        for (kind, entries) in drawn {
            let density = match kind {
                0 => 0,
                1 => 255,
                _ => 85,
            };
            for (column, (lot, value)) in entries.into_iter().enumerate() {
                if lot < density {
                    columns.push(column as u32);
                    values.push(f64::from(value));
                }
            }
            row_ptr.push(columns.len());
        }
        Csr::try_new(rows, cols, row_ptr, columns, values).unwrap()
    })
}

/// The matrix with an m x n block for each entry of `nodes`. `value` receives the index of that
/// entry, and the row and the column within the block.
pub(super) fn blocks_of(
    nodes: &Csr<f64>,
    m: usize,
    n: usize,
    value: impl Fn(usize, usize, usize) -> f64,
) -> Csr<f64> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in 0..nodes.rows() * m {
        for entry in nodes.row_ptr()[row / m]..nodes.row_ptr()[row / m + 1] {
            for k in 0..n {
                columns.push(nodes.columns()[entry] * n as u32 + k as u32);
                values.push(value(entry, row % m, k));
            }
        }
        row_ptr.push(columns.len());
    }
    Csr::try_new(nodes.rows() * m, nodes.cols() * n, row_ptr, columns, values).unwrap()
}

/// A matrix of at most the given extents, and a range of its rows.
pub(super) fn arbitrary(rows: usize, cols: usize) -> impl Strategy<Value = (Csr<f64>, Range<usize>)> {
    (0..=rows, 0..=cols).prop_flat_map(|(rows, cols)| (of_extents(rows, cols), range_within(rows)))
}

/// Any range within this many rows.
pub(super) fn range_within(rows: usize) -> impl Strategy<Value = Range<usize>> {
    (0..=rows, 0..=rows).prop_map(|(a, b)| a.min(b)..a.max(b))
}

/// `a` with its rows and columns renumbered by a stride, so that neighbours are far apart.
pub(super) fn scattered(a: &Csr<f64>, stride: usize) -> Csr<f64> {
    let place = |k: usize, extent: usize| k * stride % extent;
    let mut triplets = Vec::new();
    for row in 0..a.rows() {
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            triplets.push((place(row, a.rows()), place(column as usize, a.cols()) as u32, value));
        }
    }
    triplets.sort_by_key(|&(row, column, _)| (row, column));
    let mut row_ptr = vec![0; a.rows() + 1];
    for &(row, ..) in &triplets {
        row_ptr[row + 1] += 1;
    }
    for row in 0..a.rows() {
        row_ptr[row + 1] += row_ptr[row];
    }
    let (columns, values) = triplets.into_iter().map(|(_, column, value)| (column, value)).unzip();
    Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values).unwrap()
}
