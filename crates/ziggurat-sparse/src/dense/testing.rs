//! Matrices for the tests of this folder, and their products in the plainest way.

use crate::hash::uniform_signed;
use crate::matrix::Dense;

/// Elements between −1 and 1 that look random.
pub(super) fn random(rows: usize, columns: usize) -> Dense<f64> {
    Dense::try_new(rows, columns, (0..(rows * columns) as u64).map(uniform_signed).collect()).unwrap()
}

/// A symmetric positive definite matrix.
pub(super) fn definite(n: usize) -> Dense<f64> {
    let a = random(n, n);
    let mut definite = product(&a, &transposed(&a));
    (0..n).for_each(|i| definite[(i, i)] += 1.0);
    definite
}

/// A symmetric matrix.
pub(super) fn symmetric(n: usize) -> Dense<f64> {
    let a = random(n, n);
    from_formula(n, n, |i, j| a[(i, j)] + a[(j, i)])
}

/// Powers of two between 1e−12 and 1e12, roughly.
pub(super) fn graded(n: usize) -> Vec<f64> {
    (0..n).map(|i| 2f64.powi((i * 37 % 81) as i32 - 40)).collect()
}

pub(super) fn from_formula(
    rows: usize,
    columns: usize,
    of: impl Fn(usize, usize) -> f64 + Copy,
) -> Dense<f64> {
    let values = (0..columns).flat_map(|j| (0..rows).map(move |i| of(i, j))).collect();
    Dense::try_new(rows, columns, values).unwrap()
}

pub(super) fn transposed(a: &Dense<f64>) -> Dense<f64> {
    from_formula(a.cols(), a.rows(), |i, j| a[(j, i)])
}

pub(super) fn product(a: &Dense<f64>, b: &Dense<f64>) -> Dense<f64> {
    from_formula(a.rows(), b.cols(), |i, j| (0..a.cols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
}

pub(super) fn largest_difference(a: &Dense<f64>, b: &Dense<f64>) -> f64 {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    let differences = a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}
