//! Saved hierarchies: a file is refused, or the hierarchy can be solved with, updated and saved.

use ziggurat::{Solver, SolverConfig};
use ziggurat_amg::Hierarchy;

/// Loads the input, solves a few iterations with it, updates its values and saves it again.
pub fn hierarchy(data: &[u8]) {
    let Ok(mut loaded) = Hierarchy::load(data) else {
        return;
    };
    let mut saved = Vec::new();
    loaded.save(&mut saved).expect("memory can be written");
    let again = Hierarchy::load(&saved[..]).expect("what was saved");
    assert_eq!(again.levels().len(), loaded.levels().len());
    let a = loaded.levels()[0].matrix().clone();
    let mut config = SolverConfig::default();
    config.stopping.max_iterations = 3;
    if let Ok(solver) = Solver::from_hierarchy(again, config) {
        let solution = solver.solve(&vec![1.0; a.rows()]).expect("sizes fit");
        assert_eq!(solution.x.len(), a.rows());
    }
    let _ = loaded.update_values(a);
}
