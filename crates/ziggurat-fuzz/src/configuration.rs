//! Configurations: a text is refused with a message, or a small system is solved with it.

use std::sync::{Arc, LazyLock};

use ziggurat::{SolveError, Solver, SolverConfig};
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::Problem;

/// The matrix to solve with.
static MATRIX: LazyLock<Arc<Csr<f64>>> = LazyLock::new(|| {
    let problem: Problem = "poisson2d:9".parse().expect("a model problem");
    Arc::new(problem.matrix().expect("a small matrix"))
});

/// Reads the input as JSON if it begins with a brace, otherwise as TOML.
pub fn configuration(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let config = if text.trim_start().starts_with('{') {
        SolverConfig::from_json(text)
    } else {
        SolverConfig::from_toml(text)
    };
    let mut config = match config {
        Ok(config) => config,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    // TOML has no integers above 2⁶³.
    if let Ok(text) = config.to_toml() {
        assert_eq!(SolverConfig::from_toml(&text).expect("what was written"), config);
    }
    // Several levels, and few iterations; after half of them a solve may continue with factors.
    config.hierarchy.coarse_rows = Some(config.hierarchy.coarse_rows.unwrap_or(20).min(20));
    config.stopping.max_iterations = config.stopping.max_iterations.min(32);
    let a = &*MATRIX;
    match Solver::new(a.clone(), config) {
        Ok(solver) => {
            let solution = solver.solve(&vec![1.0; a.rows()]).expect("sizes fit");
            assert_eq!(solution.x.len(), a.rows());
        }
        Err(SolveError::Config(error)) => panic!("accepted before: {error}"),
        Err(_) => {}
    }
}
