//! Systems for benchmarks of whole solvers: model problems with right-hand sides and near-kernels.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use ziggurat::SolveError;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::{Problem, rigid_body_modes, shuffle};

use super::BenchError;

/// ‖b − A x‖ / ‖b‖
pub(super) fn relative_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let square = |row: usize| {
        let (columns, values) = a.row(row);
        let product: f64 =
            columns.iter().zip(values).map(|(&column, value)| value * x[column as usize]).sum();
        (b[row] - product).powi(2)
    };
    let residual: f64 = (0..a.rows()).into_par_iter().map(square).sum();
    (residual / b.iter().map(|value| value * value).sum::<f64>()).sqrt()
}

/// The matrices of the shared collection whose row of its index is `wanted`; `None` if the
/// collection is not there.
pub(super) fn collection(wanted: impl Fn(&[&str]) -> bool) -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/matrices");
    let index = std::fs::read_to_string(folder.join("INDEX.md")).ok()?;
    // `| name | rows | nnz | verified | … |`
    let path = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let path = folder.join(format!("{}.mtx.gz", cells.get(1)?));
        (wanted(&cells) && path.exists()).then_some(path)
    };
    Some(index.lines().filter_map(path).collect())
}

/// A linear system.
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
    /// Generates the problem of this name. With a slash and a number, as in `poisson3d:100/64`, its
    /// rows are shuffled within windows of that size, and the right-hand side is all ones.
    pub(super) fn new(name: &str) -> Result<Self, BenchError> {
        let refused = |error: String| BenchError::Solve(name.to_owned(), error);
        if let Some((problem, window)) = name.split_once('/') {
            let window = window.parse().map_err(|_| refused("a window is a positive number".to_owned()))?;
            let system = ModelSystem::new(problem)?;
            let (a, _) = shuffle(system.a.view(), system.block, window)?;
            let near_kernel = NearKernel::constants(a.rows(), system.block);
            let near_kernel = near_kernel.map_err(|error| refused(error.to_string()))?;
            let b = vec![1.0; a.rows()];
            return Ok(ModelSystem { name: name.to_owned(), a: Arc::new(a), b, near_kernel, ..system });
        }
        let problem: Problem = name.parse()?;
        let (a, block) = (Arc::new(problem.matrix()?), problem.block_size());
        let near_kernel = match problem.coordinates() {
            Ok(coordinates) if block > 1 => NearKernel::from_vectors(&rigid_body_modes(&coordinates), block),
            _ => NearKernel::constants(a.rows(), block),
        };
        let near_kernel = near_kernel.map_err(|error| refused(error.to_string()))?;
        Ok(ModelSystem { name: name.to_owned(), b: problem.rhs()?, a, block, near_kernel })
    }

    /// The error of a solver on this system.
    pub(super) fn refused(&self, error: &SolveError) -> BenchError {
        BenchError::Solve(self.name.clone(), error.to_string())
    }
}
