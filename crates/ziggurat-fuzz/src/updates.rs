//! Updates: solves and value updates in any order, valid and invalid. A refused update leaves the
//! solver as it was, and a converged solve has a small residual for the matrix that the solver has
//! then.

use std::sync::Arc;

use ziggurat::config::{CycleKind, Precision, Rebuild, SmootherKind};
use ziggurat::{Solver, SolverConfig};
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
    config.hierarchy.coarse_rows = 4;
    config.stopping.max_iterations = 8;
    let n = 1 + input.below(40);
    // Diagonally dominant, so that the matrix is regular and its scale is that of the diagonal.
    let pattern = input.matrix(n, n);
    let mut current = Arc::new(dominant(&pattern, 1.0));
    let Ok(mut solver) = Solver::new(current.clone(), config) else {
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
                let next = Arc::new(dominant(&input.matrix(n, n), scale));
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
                let other = dominant(&input.matrix(n + 1, n + 1), scale);
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

/// The pattern with a diagonal that dominates its rows, times `scale`.
fn dominant(pattern: &Csr<f64>, scale: f64) -> Csr<f64> {
    let n = pattern.rows();
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        let (own, entries) = pattern.row(row);
        let sum: f64 =
            own.iter().zip(entries).filter(|(j, _)| **j as usize != row).map(|(_, a)| a.abs()).sum();
        let mut row_entries: Vec<(u32, f64)> =
            own.iter().copied().zip(entries.iter().copied()).filter(|(j, _)| *j as usize != row).collect();
        row_entries.push((row as u32, 1.0 + 1.25 * sum));
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
    let residual: Vec<f64> = (0..a.rows())
        .map(|row| {
            let (columns, values) = a.row(row);
            let ax: f64 = columns.iter().zip(values).map(|(&j, a)| a * solution.x[j as usize]).sum();
            b[row] - ax
        })
        .collect();
    let rtol = solver.config().stopping.rtol;
    assert!(norm(&residual) <= 1.01 * rtol * norm(b), "{} of {}", norm(&residual), norm(b));
}
