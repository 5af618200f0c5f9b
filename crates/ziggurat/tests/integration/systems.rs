//! Systems that several tests solve, and the residual of a solution.

use ziggurat::sparse::Csr;
use ziggurat::sparse::gallery::{Problem, shuffle};

/// A model problem whose nodes are in random order.
pub(crate) fn scattered(name: &str) -> Csr<f64> {
    let problem: Problem = name.parse().unwrap();
    let a = problem.matrix().unwrap();
    shuffle(a.view(), problem.block_size(), a.rows().try_into().unwrap()).unwrap().0
}

/// ‖b − A x‖ / ‖b‖
pub(crate) fn residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let product = |row: usize| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).map(|(&j, value)| value * x[j as usize]).sum::<f64>()
    };
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut (0..a.rows()).map(|row| b[row] - product(row))) / norm(&mut b.iter().copied())
}
