//! Updates: solves and value updates in any order, valid and invalid. A refused update leaves the
//! solver as it was, and a converged solve has a small residual for the matrix that the solver has
//! then.
//!
//! Half of the matrices are diagonally dominant. The others have a diagonal of any sign and size,
//! so that solves fail and continue in a higher precision or with sparse factors.

use std::sync::Arc;

use ziggurat::config::{CycleKind, Precision, Rebuild, SmootherKind};
use ziggurat::{Coordinates, SolveError, Solver, SolverConfig};
use ziggurat_sparse::{Choice, Csr};

use crate::bytes::Bytes;

/// Reads a configuration, a matrix and a sequence of operations from the input.
pub fn updates(data: &[u8]) {
    let mut input = Bytes::new(data);
    let mut config = SolverConfig {
        method: pick(&mut input),
        krylov: pick(&mut input),
        precision: [Precision::Auto, Precision::F64, Precision::F32, Precision::F16, Precision::BF16]
            [input.below(5)]
        .clone(),
        ..SolverConfig::default()
    };
    config.smoother.kind = pick::<SmootherKind>(&mut input);
    config.cycle.kind = pick::<CycleKind>(&mut input);
    config.update.rebuild = pick::<Rebuild>(&mut input);
    config.hierarchy.coarse_rows = Some(4);
    let switches = input.byte();
    config.fallback = switches & 1 == 0;
    let is_dominant = switches & 2 == 0;
    // With 32, a solve that is too slow continues with factors after half of them.
    config.stopping.max_iterations = if switches & 4 == 0 { 8 } else { 32 };
    let n = 1 + input.below(40);
    let matrix = |input: &mut Bytes<'_>, n: usize, scale: f64| {
        let pattern = input.matrix(n, n);
        let surplus = if is_dominant { 1.0 } else { input.small() };
        with_diagonal(&pattern, surplus, scale)
    };
    let mut current = Arc::new(matrix(&mut input, n, 1.0));
    let Some(Ok(mut solver)) = set_up(&mut input, current.clone(), config) else {
        return;
    };
    let b: Vec<f64> = (0..n).map(|_| input.small()).collect();
    for _ in 0..5 {
        if input.is_empty() {
            break;
        }
        let scale = 2f64.powi(i32::from(input.byte() % 41) - 20);
        match input.byte() % 6 {
            0 | 1 => check(&solver, &current, &b),
            2 => {
                let next = Arc::new(matrix(&mut input, n, scale));
                if solver.update_values(next.clone()).is_ok() {
                    current = next;
                }
            }
            3 => {
                let mut next = (*current).clone();
                next.values_mut().iter_mut().for_each(|value| *value *= scale);
                solver.update_values(&next).expect("the same matrix in other units");
                current = Arc::new(next);
            }
            4 => {
                let mut next = (*current).clone();
                let place = input.below(next.nnz());
                next.values_mut()[place] = [f64::NAN, f64::INFINITY, 0.0, 1e300][input.below(4)];
                if solver.update_values(&next).is_ok() {
                    return; // the matrix may be singular now
                }
            }
            _ => {
                let other = matrix(&mut input, n + 1, scale);
                solver.update_values(other).expect_err("another size");
            }
        }
    }
    check(&solver, &current, &b);
}

/// One of the values of a choice.
fn pick<C: Choice>(input: &mut Bytes<'_>) -> C {
    C::ALL[input.below(C::ALL.len())]
}

/// A solver that knows nothing, the unknowns per node or coordinates. `None` if there are no such
/// coordinates.
fn set_up(
    input: &mut Bytes<'_>,
    a: Arc<Csr<f64>>,
    config: SolverConfig,
) -> Option<Result<Solver, SolveError>> {
    let builder = Solver::builder().config(config);
    let builder = match input.byte() % 8 {
        0..5 => builder,
        5 => builder.block_size(input.below(5)),
        kind => {
            // A row per node or per unknown; successive rows often have the same coordinates.
            let dimension = input.below(4);
            let count = if kind == 6 { a.rows() / dimension.max(1) } else { a.rows() };
            let mut point = [0.0; 3];
            let points = (0..count).map(|_| {
                let byte = input.byte();
                if byte > 250 {
                    point = [f64::INFINITY, 1e300, -1e-300];
                } else if byte % 2 == 1 {
                    point = [byte / 2 % 5, byte / 10 % 5, byte / 50].map(f64::from);
                }
                point
            });
            builder.coordinates(Coordinates::try_new(points.collect(), dimension).ok()?)
        }
    };
    Some(builder.build(a))
}

/// The pattern with a diagonal of `surplus` plus, if that is positive, what makes it dominate its
/// row; times `scale`.
fn with_diagonal(pattern: &Csr<f64>, surplus: f64, scale: f64) -> Csr<f64> {
    let weight = if surplus > 0.0 { 1.25 } else { 0.0 };
    let n = pattern.rows();
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        let (own, entries) = pattern.row(row);
        let sum: f64 =
            own.iter().zip(entries).filter(|(j, _)| **j as usize != row).map(|(_, a)| a.abs()).sum();
        let mut row_entries: Vec<(u32, f64)> =
            own.iter().copied().zip(entries.iter().copied()).filter(|(j, _)| *j as usize != row).collect();
        row_entries.push((row as u32, surplus + weight * sum));
        row_entries.sort_unstable_by_key(|entry| entry.0);
        columns.extend(row_entries.iter().map(|entry| entry.0));
        values.extend(row_entries.iter().map(|entry| entry.1 * scale));
        row_ptr.push(columns.len());
    }
    Csr::try_new(n, n, row_ptr, columns, values).expect("rows are sorted and distinct")
}

/// Solves, and recomputes the residual of a converged solve.
fn check(solver: &Solver, a: &Csr<f64>, b: &[f64]) {
    let solution = solver.solve(b).expect("sizes fit");
    if !solution.report.reason.is_converged() {
        return;
    }
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The solver computes the residual in twice the precision where this one may be inaccurate.
    let mut rounding = 0.0;
    let residual: Vec<f64> = (0..a.rows())
        .map(|row| {
            let (columns, values) = a.row(row);
            let products = || columns.iter().zip(values).map(|(&j, a)| a * solution.x[j as usize]);
            rounding += 64.0 * f64::EPSILON * products().map(f64::abs).sum::<f64>();
            b[row] - products().sum::<f64>()
        })
        .collect();
    let limit = 1.01 * solver.config().stopping.rtol * norm(b) + rounding;
    assert!(norm(&residual) <= limit, "{} of {}", norm(&residual), norm(b));
}
