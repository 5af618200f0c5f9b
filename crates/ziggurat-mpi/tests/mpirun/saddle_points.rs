//! Saddle points whose coarse diagonals turn negative: ranks leave out the levels that one process
//! leaves out, and MINRES solves them.

use ziggurat::config::Krylov;
use ziggurat::{Solver, SolverConfig};
use ziggurat_mpi::{DistributedCsr, DistributedSolver};
use ziggurat_sparse::Coo;

use crate::launch::{is_rank, mpirun, rank};

/// Cells in each direction.
const CELLS: usize = 32;

/// Stokes flow in a box of n × n cells: velocities on inner faces, in x and then in y, and the
/// pressures of all cells but the last. The number of rows, and the entries.
fn stokes(n: usize) -> (usize, Vec<(u64, u64, f64)>) {
    let faces = (n - 1) * n;
    let mut entries = Vec::new();
    let mut add = |row: usize, column: usize, value| {
        entries.push((row as u64, column as u64, value));
        if row != column {
            entries.push((column as u64, row as u64, value));
        }
    };
    for (first, [across, down]) in [(0, [n - 1, n]), (faces, [n, n - 1])] {
        for point in 0..across * down {
            add(first + point, first + point, 4.0);
            if point % across + 1 < across {
                add(first + point, first + point + 1, -1.0);
            }
            if point + across < across * down {
                add(first + point, first + point + across, -1.0);
            }
        }
    }
    for cell in 0..n * n - 1 {
        let (x, y, pressure) = (cell % n, cell / n, 2 * faces + cell);
        if x + 1 < n {
            add(pressure, y * (n - 1) + x, 1.0);
        }
        if x > 0 {
            add(pressure, y * (n - 1) + x - 1, -1.0);
        }
        if y + 1 < n {
            add(pressure, faces + y * n + x, 1.0);
        }
        if y > 0 {
            add(pressure, faces + (y - 1) * n + x, -1.0);
        }
    }
    (2 * faces + n * n - 1, entries)
}

/// Nothing pushes the pressures.
fn force(rows: impl Iterator<Item = u64>) -> Vec<f64> {
    let velocities = 2 * (CELLS - 1) as u64 * CELLS as u64;
    rows.map(|row| if row < velocities { 1.0 + (row % 5) as f64 } else { 0.0 }).collect()
}

/// Without factors, as on ranks.
fn config() -> SolverConfig {
    SolverConfig { krylov: Krylov::Minres, fallback: false, ..SolverConfig::default() }
}

/// A line about a solve, which must not depend on ranks.
fn line(levels: &[(u64, u64)], config: &SolverConfig, iterations: usize, residual: f64) -> String {
    assert!(residual <= 1e-8, "{residual:e}");
    assert_eq!(levels.len(), config.hierarchy.max_levels, "the test needs levels that are left out");
    format!("{levels:?}, {} in {iterations}", config.krylov)
}

#[test]
fn levels_that_are_not_positive_are_left_out() {
    let (rows, entries) = stokes(CELLS);
    if is_rank() {
        return rank(|comm| {
            let (ranks, this) = (comm.size(), comm.rank());
            let here = rows * (this + 1) / ranks - rows * this / ranks;
            let entries = if this == 0 { entries } else { Vec::new() };
            let a = DistributedCsr::from_entries(comm, here, 1, entries).unwrap();
            let solver = DistributedSolver::new(&a, config()).unwrap();
            let report = solver.solve(&force(a.own_rows())).unwrap().report;
            let levels: Vec<_> = solver.levels().iter().map(|level| (level.rows, level.nnz)).collect();
            vec![line(&levels, solver.config(), report.iterations, report.relative_residual)]
        });
    }
    let mut a = Coo::new(rows, rows).unwrap();
    entries.iter().for_each(|&(row, column, value)| a.push(row as usize, column as usize, value).unwrap());
    let solver = Solver::new(a.into_csr(), config()).unwrap();
    let report = solver.solve(&force(0..rows as u64)).unwrap().report;
    let levels = solver.hierarchy().levels().iter();
    let levels: Vec<_> = levels.map(|level| (level.rows() as u64, level.nnz() as u64)).collect();
    let alone = line(&levels, solver.config(), report.iterations, report.relative_residual);
    for ranks in [1, 2, 3] {
        let ran = mpirun("saddle_points::levels_that_are_not_positive_are_left_out", ranks);
        assert!(ran.success, "{ranks} ranks:\n{}", ran.everything);
        assert_eq!(ran.lines, std::slice::from_ref(&alone), "{ranks} ranks");
    }
}
