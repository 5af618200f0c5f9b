//! The configurations of `examples/configurations` are what their comments say, and solve.

use ziggurat::amg::{Cycle, Level};
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::Kind;
use ziggurat_sparse::gallery::Problem;

/// Sets up and solves a model problem with the configuration of a file.
fn solved(file: &str, problem: &str) -> Solver {
    let path = format!("{}/examples/configurations/{file}", env!("CARGO_MANIFEST_DIR"));
    let config = SolverConfig::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    let problem: Problem = problem.parse().unwrap();
    let rtol = config.stopping.rtol;
    let solver = Solver::new(problem.matrix().unwrap(), config).unwrap();
    let report = solver.solve(&problem.rhs().unwrap()).unwrap().report;
    assert!(report.reason.is_converged() && report.relative_residual <= rtol, "{file}: {report}");
    solver
}

#[test]
fn flexible_multigrid() {
    let solver = solved("flexible-multigrid.toml", "poisson3d:24");
    let cycling = solver.config().cycling();
    assert_eq!(cycling.cycle, Cycle::W);
    let [first, third, fourth] = [0, 2, 3].map(|level| cycling.on_level(level));
    assert_eq!(first.smoother, third.smoother);
    assert_ne!(third.smoother, fourth.smoother);
    assert_eq!((third.pre_sweeps, third.post_sweeps), (1, 2));
    assert_eq!((fourth.pre_sweeps, fourth.post_sweeps), (2, 1));
}

#[test]
fn mixed_precision_multigrid() {
    let solver = solved("mixed-precision-multigrid.toml", "poisson3d:20");
    let stored = solver.preconditioner().stored();
    assert!(stored.len() > 5 && stored.len() <= 11, "{} levels", stored.len());
    assert_eq!((stored[0].storage, stored[0].working), (Kind::F64, Kind::F64));
    assert!(stored[1..].iter().all(|level| (level.storage, level.working) == (Kind::F32, Kind::F32)));
    let levels = solver.hierarchy().levels();
    let sizes: Vec<usize> = levels.iter().map(Level::rows).collect();
    // Pairs, and rows without a partner that join one.
    assert!(sizes.windows(2).all(|pair| pair[0] < 3 * pair[1]), "{sizes:?}");
}
