//! Empty rows: isolated nodes of graphs, whose equations read 0 = b.

use ziggurat::config::{Krylov, Method, Precision, SmootherKind};
use ziggurat::krylov::StopReason;
use ziggurat::{SolveError, SolveOptions, Solver, SolverConfig};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::graph::{Permutation, permute_symmetric};
use ziggurat_sparse::{Coo, Csr};

/// The rows and columns of `a`, with `more` isolated nodes among them. The old number of every row
/// is returned as well, `None` for isolated nodes.
fn with_isolated(a: &Csr<f64>, more: usize) -> (Csr<f64>, Vec<Option<usize>>) {
    let rows = a.rows() + more;
    // The first and the last row are among them.
    let isolated: Vec<usize> = (0..more).map(|k| k * (rows - 1) / (more - 1)).collect();
    let mut next = 0..;
    let old: Vec<Option<usize>> =
        (0..rows).map(|row| if isolated.contains(&row) { None } else { next.next() }).collect();
    let new: Vec<usize> = (0..rows).filter(|&row| old[row].is_some()).collect();
    let mut larger = Coo::new(rows, rows).unwrap();
    for row in a.all_rows() {
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            larger.push(new[row], new[column as usize], value).unwrap();
        }
    }
    (larger.into_csr(), old)
}

/// A graph as networkx makes them: every node is joined with a few others by weights of one.
fn graph(nodes: usize) -> Csr<f64> {
    let mut laplacian = Coo::new(nodes, nodes).unwrap();
    for i in 1..nodes {
        for j in [i - 1, i * 7919 % i, i * i % i.max(1), i / 2] {
            if j < i {
                for (row, column, value) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                    laplacian.push(row, column, value).unwrap();
                }
            }
        }
    }
    laplacian.into_csr()
}

fn residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let of_row = |row: usize| {
        let (columns, values) = a.row(row);
        b[row] - columns.iter().zip(values).map(|(&j, v)| v * x[j as usize]).sum::<f64>()
    };
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut a.all_rows().map(of_row)) / norm(&mut b.iter().copied())
}

/// A right-hand side that sums to zero over the rows that are not isolated, and has `value` in the
/// others.
fn rhs(old: &[Option<usize>], value: f64) -> Vec<f64> {
    let count = old.iter().flatten().count();
    let wave = |row: usize| (row as f64 * 0.7).sin();
    let mean = (0..count).map(wave).sum::<f64>() / count as f64;
    old.iter().map(|row| row.map_or(value, |row| wave(row) - mean)).collect()
}

#[test]
fn a_graph_with_isolated_nodes_is_solved_like_the_graph_without_them() {
    let graph = graph(2000);
    let (a, old) = with_isolated(&graph, 7);
    let (b, without) = (rhs(&old, 0.0), rhs(&(0..2000).map(Some).collect::<Vec<_>>(), 0.0));
    let solver = Solver::new(a.clone(), SolverConfig::default()).unwrap();
    assert!(solver.annihilates_constants());
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && solution.report.left_out < 1e-15, "{}", solution.report);
    assert!(residual(&a, &solution.x, &b) <= 1.01e-8);
    let expected = Solver::new(graph, SolverConfig::default()).unwrap().solve(&without).unwrap();
    let difference = solution.report.iterations.abs_diff(expected.report.iterations);
    assert!(difference <= 2, "{} and {}", solution.report, expected.report);
    assert!(solution.x.iter().zip(&old).all(|(&x, old)| old.is_some() || x == 0.0));
}

#[test]
fn b_in_isolated_nodes_is_inconsistent_unless_it_is_projected() {
    let (a, old) = with_isolated(&graph(600), 20);
    let b = rhs(&old, 3.0);
    let norm = |b: &[f64]| b.iter().map(|x| x * x).sum::<f64>().sqrt();
    let left_out = 3.0 * 20_f64.sqrt() / norm(&b);
    let guess: Vec<f64> = (0..b.len()).map(|row| row as f64).collect();
    for krylov in [Krylov::Cg, Krylov::Fcg, Krylov::Minres, Krylov::Fgmres, Krylov::Gmres, Krylov::Bicgstab] {
        for (project_rhs, reason) in [(false, StopReason::Inconsistent), (true, StopReason::Converged)] {
            let mut config = SolverConfig { krylov, ..SolverConfig::default() };
            config.stopping.project_rhs = project_rhs;
            let solver = Solver::new(a.clone(), config).unwrap();
            for factor in [1.0, 1e-200, 1e200] {
                let b: Vec<f64> = b.iter().map(|x| factor * x).collect();
                let report = solver.solve(&b).unwrap().report;
                assert_eq!(report.reason, reason, "{krylov} {factor:e}: {report}");
                assert!((report.left_out - left_out).abs() < 1e-12, "{krylov} {factor:e}: {report}");
                assert!((report.relative_residual - left_out).abs() < 1e-7, "{krylov} {factor:e}: {report}");
            }
            // x keeps the guess in these rows.
            let options = SolveOptions::from(solver.config());
            let x = solver.solve_with(&b, Some(&guess), &options, None).unwrap().x;
            let kept = (0..x.len()).filter(|&row| old[row].is_none()).all(|row| x[row] == guess[row]);
            assert!(kept, "{krylov}");
        }
    }
}

#[test]
fn every_method_smoother_and_precision_has_empty_rows() {
    let (a, old) = with_isolated(&"poisson2d:30".parse::<Problem>().unwrap().matrix().unwrap(), 11);
    let b = rhs(&old, 0.0);
    let solve = |name: &str, config: SolverConfig| {
        let solver = Solver::new(a.clone(), config).unwrap_or_else(|error| panic!("{name}: {error}"));
        let solution = solver.solve(&b).unwrap();
        assert!(solution.report.reason.is_converged(), "{name}: {}", solution.report);
        assert!(solution.promotion.is_none(), "{name}: {}", solution.report);
        assert!(residual(&a, &solution.x, &b) <= 1.01e-8, "{name}");
    };
    for &method in Method::ALL {
        match method {
            // It needs cells.
            Method::Cpr => continue,
            Method::Structured => {
                let config = SolverConfig { method, ..SolverConfig::default() };
                let error = Solver::new(a.clone(), config).unwrap_err().to_string();
                assert!(error.contains("11 rows have no nonzero entry; choose `sa`"), "{error}");
            }
            _ => {
                let mut config = SolverConfig { method, ..SolverConfig::default() };
                config.stopping.max_iterations = 200;
                solve(method.name(), config);
            }
        }
    }
    for &kind in SmootherKind::ALL {
        for precision in [Precision::F64, Precision::F32, Precision::F16, Precision::BF16] {
            let method = if kind == SmootherKind::FcJacobi { Method::Classical } else { Method::Sa };
            let mut config = SolverConfig { method, precision, ..SolverConfig::default() };
            (config.smoother.kind, config.hierarchy.coarse_rows) = (kind, Some(40));
            if kind == SmootherKind::FcJacobi {
                config.krylov = Krylov::Fgmres;
            }
            solve(&format!("{kind} in {}", config.precision), config);
        }
    }
}

#[test]
fn threads_orders_signs_and_units_do_not_matter() {
    let (a, old) = with_isolated(&graph(1500), 5);
    let b = rhs(&old, 1.0);
    let solve = |a: &Csr<f64>, b: &[f64]| {
        let mut config = SolverConfig::default();
        config.stopping.project_rhs = true;
        let solution = Solver::new(a.clone(), config).unwrap().solve(b).unwrap();
        assert!(solution.report.reason.is_converged(), "{}", solution.report);
        solution.x
    };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&a, &b))
    };
    assert_eq!(on(1), on(2));
    for factor in [-1.0, 1e-250, 1e250] {
        let mut scaled = a.clone();
        scaled.values_mut().iter_mut().for_each(|value| *value *= factor);
        solve(&scaled, &b);
    }
    let reversed = Permutation::from_new_to_old((0..a.rows() as u32).rev().collect()).unwrap();
    solve(&permute_symmetric(a.view(), &reversed).unwrap(), &b.iter().rev().copied().collect::<Vec<_>>());
}

#[test]
fn nodes_may_become_isolated_and_be_joined_again() {
    let mut a = "poisson2d:20".parse::<Problem>().unwrap().matrix().unwrap();
    let given = a.clone();
    let mut b = vec![1.0; a.rows()];
    let mut solver = Solver::new(a.clone(), SolverConfig::default()).unwrap();
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
    // The entries stay, as zeros.
    let node = 123;
    for row in a.all_rows() {
        let range = a.row_ptr()[row]..a.row_ptr()[row + 1];
        for place in range {
            if row == node || a.columns()[place] as usize == node {
                a.values_mut()[place] = 0.0;
            }
        }
    }
    solver.update_values(a.clone()).unwrap();
    let report = solver.solve(&b).unwrap().report;
    assert_eq!(report.reason, StopReason::Inconsistent, "{report}");
    assert!((report.left_out - 0.05).abs() < 1e-12, "{report}");
    b[node] = 0.0;
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged(), "{}", solution.report);
    assert!(residual(&a, &solution.x, &b) <= 1.01e-8);
    solver.update_values(given).unwrap();
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
}

#[test]
fn matrices_of_empty_rows_only_and_empty_rows_with_columns() {
    let zero = Coo::new(4, 4).unwrap().into_csr();
    let solver = Solver::new(zero, SolverConfig::default()).unwrap();
    assert!(solver.solve(&[0.0; 4]).unwrap().report.reason.is_converged());
    let report = solver.solve(&[0.0, 2.0, 0.0, 0.0]).unwrap().report;
    assert_eq!((report.reason, report.left_out), (StopReason::Inconsistent, 1.0));
    // Row 1 is empty, column 1 is not.
    let a = Csr::try_new(3, 3, vec![0, 2, 2, 3], vec![0, 1, 2], vec![2.0, 1.0, 4.0]).unwrap();
    let solver = Solver::new(a.clone(), SolverConfig::default()).unwrap();
    let solution = solver.solve(&[1.0, 0.0, 1.0]).unwrap();
    assert!(solution.report.reason.is_converged(), "{}", solution.report);
    assert!(residual(&a, &solution.x, &[1.0, 0.0, 1.0]) <= 1e-8);
    assert_eq!(solver.solve(&[1.0; 3]).unwrap().report.reason, StopReason::Inconsistent);
}

#[test]
fn hierarchies_with_empty_rows_are_saved_and_loaded() -> Result<(), SolveError> {
    let (a, old) = with_isolated(&graph(900), 3);
    let b = rhs(&old, 0.0);
    let solver = Solver::new(a, SolverConfig::default())?;
    let mut file = Vec::new();
    solver.hierarchy().save(&mut file).unwrap();
    let hierarchy = ziggurat::amg::Hierarchy::load(&file[..]).unwrap();
    let loaded = Solver::from_hierarchy(hierarchy, SolverConfig::default())?;
    assert_eq!(loaded.solve(&b)?.x, solver.solve(&b)?.x);
    let inconsistent = loaded.solve(&rhs(&old, 1.0))?.report;
    assert_eq!(inconsistent.reason, StopReason::Inconsistent);
    Ok(())
}
