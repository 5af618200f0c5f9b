//! Small matrices for the tests of this crate's graph and spectrum modules.

use super::Permutation;
use crate::Csr;
use crate::hash::{hash_id, uniform_signed};

/// The five-point Laplacian on an nx × ny grid with diagonal 4 (three-point with diagonal 2 if ny
/// is 1).
pub(crate) fn grid(nx: usize, ny: usize) -> Csr<f64> {
    let neighbours = move |row: usize| {
        let (x, y) = (row % nx, row / nx);
        [
            (y > 0).then(|| row - nx),
            (x > 0).then(|| row - 1),
            Some(row),
            (x + 1 < nx).then_some(row + 1),
            (y + 1 < ny).then_some(row + nx),
        ]
    };
    let diagonal = if ny == 1 { 2.0 } else { 4.0 };
    Csr::build(
        0..nx * ny,
        nx * ny,
        || (),
        |_, row| neighbours(row).iter().flatten().count(),
        |_, row, columns, values| {
            for (k, column) in neighbours(row).into_iter().flatten().enumerate() {
                columns[k] = column as u32;
                values[k] = if column == row { diagonal } else { -1.0 };
            }
        },
    )
    .unwrap()
}

/// A square matrix with about `degree` entries per row at hashed positions; some rows are empty,
/// some values are zero.
pub(crate) fn scattered(n: usize, degree: usize, seed: u64) -> Csr<f64> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n as u64 {
        let word = |k: usize| hash_id(hash_id(row * 1000 + k as u64) ^ hash_id(seed));
        let count = if degree == 0 { 0 } else { word(999) as usize % (2 * degree + 1) };
        for k in 0..count {
            columns.push((word(k) % n as u64) as u32);
            values.push(if word(k).is_multiple_of(5) { 0.0 } else { uniform_signed(word(k)) });
        }
        row_ptr.push(columns.len());
    }
    Csr::from_unsorted(n, n, row_ptr, columns, values).unwrap()
}

/// A random permutation: indices sorted by hash.
pub(crate) fn shuffle(n: usize, seed: u64) -> Permutation {
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&index| hash_id(u64::from(index) ^ hash_id(seed)));
    Permutation::from_new_to_old(order).unwrap()
}

/// Runs `work` on the given number of threads.
pub(crate) fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}
