//! The solver with its defaults: every model problem converges within a maximum number of
//! iterations.

use ziggurat::config::{Coarsest, CycleKind, Krylov, Method};
use ziggurat::krylov::StopReason;
use ziggurat::{SolveOptions, Solver, SolverConfig};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{Coo, Csr};

fn iterations(name: &str) -> usize {
    let problem: Problem = name.parse().unwrap();
    let a = problem.matrix().unwrap();
    let b = problem.rhs().unwrap();
    let solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged(), "{name}: {}", solution.report);
    // The residual, computed independently.
    let (mut error, mut size) = (0.0, 0.0);
    for (row, b) in b.iter().enumerate() {
        let (columns, values) = a.row(row);
        let product: f64 = columns.iter().zip(values).map(|(&j, v)| v * solution.x[j as usize]).sum();
        error += (b - product) * (b - product);
        size += b * b;
    }
    assert!((error / size).sqrt() <= 1.01e-8, "{name}: {}", (error / size).sqrt());
    solution.report.iterations
}

#[test]
fn model_problems_converge_with_the_defaults() {
    for (name, ceiling) in [
        ("poisson2d:60", 16),
        ("poisson3d:24", 16),
        ("poisson3d27:20", 16),
        ("anisotropic3d:20", 18),
        ("jump3d:24", 20),
        ("convection3d:16", 25),
        ("neumann3d:20", 20),
        ("elasticity3d:6", 60),
    ] {
        let found = iterations(name);
        println!("{name}: {found}");
        assert!(found <= ceiling, "{name}: {found} iterations, at most {ceiling} expected");
    }
}

#[test]
fn concurrent_solves_give_the_solution_of_a_single_one() {
    let a = "poisson3d:16".parse::<Problem>().unwrap().matrix().unwrap();
    let solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let b: Vec<f64> = (0..a.rows()).map(|i| (i % 7) as f64).collect();
    let alone = solver.solve(&b).unwrap().x;
    let together = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| solver.solve(&b).unwrap().x));
        threads.map(|thread| thread.join().unwrap())
    });
    assert!(together.iter().all(|x| x == &alone));
}

#[test]
fn every_method_and_preset_converges() {
    let problem: Problem = "poisson3d:16".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let methods = Method::ALL.iter().filter(|&&method| method != Method::Cpr); // there are no cells
    let methods = methods.map(|&method| SolverConfig { method, ..SolverConfig::default() });
    let presets = SolverConfig::PRESETS.map(|(name, _)| SolverConfig::preset(name).unwrap());
    for config in methods.chain(presets) {
        let solver = Solver::new(&a, config).unwrap();
        let report = solver.solve(&b).unwrap().report;
        assert!(report.reason.is_converged() && report.iterations <= 30, "{:?}: {report}", solver.config());
    }
}

#[test]
fn convection_and_a_singular_system_converge_with_the_defaults() {
    for (name, ceiling) in [("convection3d:30", 25), ("neumann3d:30", 25)] {
        let found = iterations(name);
        assert!(found <= ceiling, "{name}: {found} iterations, at most {ceiling} expected");
    }
}

#[test]
fn one_and_two_threads_give_identical_results() {
    for name in ["poisson3d:20", "convection3d:14", "elasticity3d:6", "neumann3d:14"] {
        let problem: Problem = name.parse().unwrap();
        let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
        let [one, two] = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let solver = Solver::new(&a, SolverConfig::default()).unwrap();
                let coarse: Vec<_> = solver.hierarchy().levels().iter().map(|l| l.matrix().clone()).collect();
                (coarse, solver.solve(&b).unwrap().x)
            })
        });
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(one.0 == two.0, "{name}: the hierarchies differ");
        assert_eq!(bits(&one.1), bits(&two.1), "{name}");
    }
}

#[test]
fn pairwise_aggregation_solves_nonsymmetric_systems() {
    let mut a = "poisson2d:60".parse::<Problem>().unwrap().matrix().unwrap();
    let pointers = a.row_ptr().to_vec();
    for row in 0..a.rows() {
        let above = a.row(row).0.iter().filter(|&&column| column as usize > row).count();
        a.values_mut()[pointers[row + 1] - above..pointers[row + 1]]
            .iter_mut()
            .for_each(|value| *value *= 0.99);
    }
    let b = vec![1.0; a.rows()];
    let iterations = |cycle| {
        let mut config = SolverConfig { method: Method::Pairwise, ..SolverConfig::default() };
        (config.cycle.kind, config.hierarchy.coarse_rows) = (cycle, Some(10));
        let solver = Solver::new(&a, config).unwrap();
        let report = solver.solve(&b).unwrap().report;
        assert!(report.reason.is_converged(), "{cycle}: {report}");
        report.iterations
    };
    let [v, k] = [CycleKind::V, CycleKind::K].map(iterations);
    assert!(k < v && k <= 14, "V {v}, K {k}");
}

#[test]
fn a_right_hand_side_in_the_null_space_is_inconsistent() {
    let a = "neumann3d:6".parse::<Problem>().unwrap().matrix().unwrap();
    let solution = Solver::new(&a, SolverConfig::default()).unwrap().solve(&vec![1.0; a.rows()]).unwrap();
    assert_eq!(solution.report.reason, StopReason::Inconsistent);
    assert!(solution.x.iter().all(|&x| x == 0.0));
    assert!((solution.report.relative_residual - 1.0).abs() < 1e-14);
}

/// ‖b − A x‖ / ‖b‖ in units in which nothing overflows or underflows.
fn independent_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let unit = b.iter().fold(0.0_f64, |largest, b| largest.max(b.abs())).log2().floor().exp2();
    let mut sums = [0.0, 0.0];
    for row in a.all_rows() {
        let (columns, values) = a.row(row);
        let product: f64 = columns.iter().zip(values).map(|(&j, v)| v * (x[j as usize] / unit)).sum();
        sums[0] += (b[row] / unit - product).powi(2);
        sums[1] += (b[row] / unit).powi(2);
    }
    (sums[0] / sums[1]).sqrt()
}

#[test]
fn right_hand_sides_of_any_size_are_solved_alike() {
    for (name, krylov) in
        [("poisson3d:10", Krylov::Cg), ("poisson3d:10", Krylov::Bicgstab), ("neumann3d:8", Krylov::Fcg)]
    {
        let problem: Problem = name.parse().unwrap();
        let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
        let solver = Solver::new(&a, SolverConfig { krylov, ..SolverConfig::default() }).unwrap();
        let expected = solver.solve(&b).unwrap();
        for exponent in [-990, -531, -330, -60, 50, 330, 510, 1000] {
            let unit = 2f64.powi(exponent);
            let scaled: Vec<f64> = b.iter().map(|b| unit * b).collect();
            let solution = solver.solve(&scaled).unwrap();
            assert_eq!(solution.report.reason, StopReason::Converged, "{name}, {krylov}, 2^{exponent}");
            assert_eq!(solution.report.iterations, expected.report.iterations);
            assert!(solution.x.iter().zip(&expected.x).all(|(x, y)| x / unit == *y));
            assert!(independent_residual(&a, &solution.x, &scaled) <= 1.001e-8);
            assert!((solution.report.b_norm / unit / expected.report.b_norm - 1.0).abs() < 1e-15);
        }
    }
}

#[test]
fn a_solution_that_underflows_or_overflows_has_not_converged() {
    // x = 2⁻¹¹⁰⁰ and x = 2¹⁰⁹⁰ are not numbers.
    for (entry, b) in [(2f64.powi(700), 2f64.powi(-400)), (2f64.powi(-700), 2f64.powi(390))] {
        let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, entry]).unwrap();
        let solution = Solver::new(&a, SolverConfig::default()).unwrap().solve(&[b, b]).unwrap();
        assert_eq!(solution.report.reason, StopReason::NotFinite);
        let residual = solution.report.relative_residual;
        assert!(residual.is_nan() || residual > 0.1, "{residual}");
    }
}

#[test]
fn a_nearly_singular_matrix_is_regular() {
    let neumann = "neumann3d:7".parse::<Problem>().unwrap().matrix().unwrap();
    for (shift, all) in [(1e-12, true), (1e-12, false), (1e-10, true)] {
        let mut a = neumann.clone();
        let diagonal = |row: usize| {
            let position = a.row(row).0.iter().position(|&column| column as usize == row);
            a.row_ptr()[row] + position.unwrap()
        };
        let places: Vec<usize> = (0..if all { a.rows() } else { 1 }).map(diagonal).collect();
        places.into_iter().for_each(|at| a.values_mut()[at] += shift);
        let solver = Solver::new(&a, SolverConfig::default()).unwrap();
        assert!(!solver.annihilates_constants());
        let b = vec![1.0; a.rows()];
        let solution = solver.solve(&b).unwrap();
        let truth = independent_residual(&a, &solution.x, &b);
        assert!(!solution.report.reason.is_converged() || truth <= 1.01e-8, "{truth}");
        // Two ways of adding up A x differ by the rounding of large numbers.
        let rounding = 1e-14 * solution.x.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        assert!((solution.report.relative_residual - truth).abs() <= rounding);
    }
}

/// Two matrices on the diagonal of one.
fn beside(one: &Csr<f64>, other: &Csr<f64>) -> Csr<f64> {
    let (first, rows) = (one.rows(), one.rows() + other.rows());
    let mut both = Coo::new(rows, rows).unwrap();
    for (a, shift) in [(one, 0), (other, first)] {
        for row in a.all_rows() {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                both.push(row + shift, column as usize + shift, value).unwrap();
            }
        }
    }
    both.into_csr()
}

#[test]
fn every_floating_part_has_its_constants() {
    let matrix = |name: &str| name.parse::<Problem>().unwrap().matrix().unwrap();
    let (poisson, neumann) = (matrix("poisson3d:9"), matrix("neumann3d:8"));
    let halves = |n: usize| (0..n).map(move |i| if 2 * i < n { 1.0 } else { -1.0 });
    for (a, floating) in [(beside(&poisson, &neumann), 512), (beside(&neumann, &neumann), 1024)] {
        let n = a.rows();
        let mut solver = Solver::new(&a, SolverConfig::default()).unwrap();
        assert_eq!(solver.annihilates_constants(), floating == n);
        // Consistent in every part.
        let b: Vec<f64> = halves(n - 512).chain(halves(512)).collect();
        let solution = solver.solve(&b).unwrap();
        assert_eq!(solution.report.reason, StopReason::Converged, "{}", solution.report);
        assert!(independent_residual(&a, &solution.x, &b) <= 1.001e-8);
        // Consistent as a whole, but not in the last part.
        let mut b = vec![0.0; n];
        (b[0], b[n - 1]) = (1.0, -1.0);
        let report = solver.solve(&b).unwrap().report;
        let left_out = if floating == n { (2.0_f64 / 512.0).sqrt() } else { (1.0_f64 / 512.0).sqrt() };
        assert_eq!(report.reason, StopReason::Inconsistent, "{report}");
        assert!((report.left_out * 2f64.sqrt() - left_out).abs() < 1e-12, "{}", report.left_out);
        // The component of b outside the range is left out on request.
        let mut options = SolveOptions::from(solver.config());
        options.stopping.project_rhs = true;
        let waves: Vec<f64> = (0..n).map(|i| 1.0 + (0.3 * i as f64).sin()).collect();
        let report = solver.solve_with(&waves, None, &options, None).unwrap().report;
        assert!(report.reason == StopReason::Converged && report.left_out > 0.5, "{report}");
        // The same after an update, which grounds one part and scales the other.
        let mut next = a.clone();
        next.values_mut().iter_mut().for_each(|value| *value *= 2.0);
        let diagonal = next.row(n - 1).0.iter().position(|&j| j as usize == n - 1).unwrap();
        let place = next.row_ptr()[n - 1] + diagonal;
        next.values_mut()[place] += 1.0;
        solver.update_values(&next).unwrap();
        let report = solver.solve(&b).unwrap().report;
        let expected = if floating == n { StopReason::Inconsistent } else { StopReason::Converged };
        assert_eq!(report.reason, expected, "{report}");
    }
}

/// The fallback continues a solve from a better guess, which must not move its goal.
#[test]
fn a_reduction_is_relative_to_the_first_guess_of_a_solve() {
    let problem: Problem = "poisson3d:10".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let solver = Solver::builder().rtol(1e-12).reduction(1e-4).build(&a).unwrap();
    let report = solver.solve(&b).unwrap().report;
    assert!(report.reason.is_converged());
    assert_eq!(report.target, 1e-4 * report.initial_residual);
    assert!(report.residual <= report.target && report.residual > 1e-12 * report.b_norm);
    // In very small units, too.
    let tiny: Vec<f64> = b.iter().map(|b| 1e-200 * b).collect();
    let small = solver.solve(&tiny).unwrap().report;
    assert_eq!(small.iterations, report.iterations);
    assert!((small.target / report.target / 1e-200 - 1.0).abs() < 1e-12);
}

#[test]
fn every_solver_of_the_coarsest_level_leads_to_the_solution() {
    let problem: Problem = "poisson3d:20".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let iterations = Coarsest::ALL.iter().map(|&coarsest| {
        // Two levels, so that the coarsest one has some hundred rows.
        let config = |config: &mut SolverConfig| {
            (config.hierarchy.coarsest, config.hierarchy.max_levels) = (coarsest, 2);
            config.fallback = false;
        };
        let report = Solver::builder().with(config).build(&a).unwrap().solve(&b).unwrap().report;
        assert!(report.reason.is_converged(), "{coarsest}: {report}");
        (coarsest, report.iterations)
    });
    let iterations: Vec<_> = iterations.collect();
    let direct = iterations[0].1;
    for (coarsest, count) in iterations {
        // Only sweeps do not solve the level.
        assert_eq!(count > direct, coarsest == Coarsest::Smoothed, "{coarsest}: {count}, {direct}");
    }
}

#[test]
fn a_dense_inverse_solves_a_singular_coarsest_level() {
    let problem: Problem = "neumann3d:8".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let dense = |config: &mut SolverConfig| config.hierarchy.coarsest = Coarsest::Dense;
    let solver = Solver::builder().with(dense).build(&a).unwrap();
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
}
