//! The solver with its defaults: every model problem converges within a maximum number of
//! iterations.

use ziggurat::config::Method;
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::gallery::Problem;

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
    let methods = Method::ALL.iter().map(|&method| SolverConfig { method, ..SolverConfig::default() });
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
fn a_right_hand_side_in_the_null_space_has_the_solution_zero() {
    let a = "neumann3d:6".parse::<Problem>().unwrap().matrix().unwrap();
    let solution = Solver::new(&a, SolverConfig::default()).unwrap().solve(&vec![1.0; a.rows()]).unwrap();
    assert!(solution.report.reason.is_converged(), "{}", solution.report.reason);
    assert!(solution.x.iter().all(|&x| x == 0.0));
}
