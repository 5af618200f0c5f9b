//! Systems that several tests solve, what a method has to do with them, and the residual of a
//! solution.

use ziggurat::config::{Method, Precision};
use ziggurat::sparse::Csr;
use ziggurat::sparse::device::Reference;
use ziggurat::sparse::gallery::{Problem, shuffle};
use ziggurat::{Solver, Updated};

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

/// Solves with a method on two devices and in three precisions, and again after `change` has given
/// the matrix new values, which may take `more` iterations.
pub(crate) fn solved_everywhere(
    method: Method,
    a: &mut Csr<f64>,
    change: impl FnOnce(&mut Csr<f64>),
    more: usize,
) {
    let b = vec![1.0; a.rows()];
    let of = |precision| Solver::builder().method(method).precision(precision);
    let mut solver = of(Precision::F64).build(&*a).unwrap();
    let iterations = solver.solve(&b).unwrap().report.iterations;
    let on_reference = of(Precision::F64).device(&Reference).build(&*a).unwrap().solve(&b).unwrap();
    assert_eq!(on_reference.report.iterations, iterations);
    for precision in [Precision::F32, Precision::F16] {
        let solution = of(precision.clone()).build(&*a).unwrap().solve(&b).unwrap();
        assert!(solution.report.iterations <= iterations + 2, "{precision}: {}", solution.report.iterations);
        assert!(residual(a, &solution.x, &b) <= 1e-8, "{precision}");
    }
    change(a);
    assert_eq!(solver.update_values(&*a).unwrap(), Updated::Values);
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.iterations <= iterations + more && residual(a, &solution.x, &b) <= 1e-8);
}

/// A right-hand side without symmetry, so that a wrong order or sign shows.
pub(crate) fn uneven(rows: usize) -> Vec<f64> {
    (0..rows).map(|row| ((row * 7919) % 101) as f64 - 20.0).collect()
}
