//! The systems that whole solvers are measured on: model problems with their right-hand sides and near-kernels.

use std::sync::Arc;

use ziggurat::SolveError;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::{Problem, rigid_body_modes};

use super::BenchError;

/// A system to be solved.
pub(super) struct ModelSystem {
    pub(super) name: String,
    pub(super) a: Arc<Csr<f64>>,
    pub(super) b: Vec<f64>,
    /// Unknowns per node.
    pub(super) block: usize,
    /// The constants, or the rigid-body modes of an elastic body.
    pub(super) near_kernel: NearKernel,
}

impl ModelSystem {
    /// Generates the problem of this name.
    pub(super) fn new(name: &str) -> Result<Self, BenchError> {
        let problem: Problem = name.parse()?;
        let (a, block) = (Arc::new(problem.matrix()?), problem.block_size());
        let near_kernel = match problem.coordinates() {
            Ok(coordinates) if block > 1 => NearKernel::from_vectors(&rigid_body_modes(&coordinates), block),
            _ => NearKernel::constants(a.rows(), block),
        };
        let near_kernel =
            near_kernel.map_err(|error| BenchError::Solve(name.to_owned(), error.to_string()))?;
        Ok(ModelSystem { name: name.to_owned(), b: problem.rhs()?, a, block, near_kernel })
    }

    /// The error of a solver that refuses this system.
    pub(super) fn refused(&self, error: &SolveError) -> BenchError {
        BenchError::Solve(self.name.clone(), error.to_string())
    }
}
