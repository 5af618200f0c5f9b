//! Systems for benchmarks of whole solvers: model problems with right-hand sides and near-kernels,
//! and real systems.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::{Coordinates, SolveError, Solver, diagnose};
use ziggurat_sparse::gallery::{Problem, rigid_body_modes, shuffle};
use ziggurat_sparse::io::{ReadError, read_dense, read_matrix, read_vector};
use ziggurat_sparse::{Csr, CsrRef};

use super::BenchError;

/// All matrices of the shared collection, or the two smallest for a quick run. Says so if the
/// collection is not there.
pub(super) fn whole_collection(quick: bool) -> Vec<PathBuf> {
    let mut paths = collection(|_| true).unwrap_or_default();
    if paths.is_empty() {
        println!("no real matrices: the collection is missing");
    }
    if quick {
        keep_smallest(&mut paths, 2);
    }
    paths
}

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

/// Keeps the smallest files only, for quick runs.
pub(super) fn keep_smallest(paths: &mut Vec<PathBuf>, count: usize) {
    paths.sort_by_key(|path| path.metadata().map_or(u64::MAX, |file| file.len()));
    paths.truncate(count);
}

/// A system of the shared collection.
pub(super) struct RealSystem {
    pub(super) name: String,
    pub(super) a: Arc<Csr<f64>>,
    /// The right-hand side that comes with the matrix, if any.
    pub(super) b: Option<Vec<f64>>,
}

impl RealSystem {
    pub(super) fn read(path: &Path) -> Result<Self, BenchError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().replace(".mtx.gz", "");
        let refused = |error: ReadError| BenchError::Solve(name.clone(), error.to_string());
        let a = Arc::new(read_matrix(path).map_err(refused)?);
        let b = Self::rhs_path(path).map(read_vector).transpose().map_err(refused)?;
        Ok(RealSystem { name, a, b })
    }

    /// The file of the right-hand side that comes with a matrix.
    pub(super) fn rhs_path(matrix: &Path) -> Option<PathBuf> {
        let path = PathBuf::from(matrix.to_string_lossy().replace(".mtx.gz", "_b.mtx.gz"));
        path.exists().then_some(path)
    }

    /// The near-kernel of the coordinates, or the one itself, that comes with a matrix.
    pub(super) fn modes(matrix: &Path, a: CsrRef<'_, f64>) -> Result<Option<NearKernel>, BenchError> {
        let file = |ending: &str| {
            let name = matrix.to_string_lossy().replace(".mtx.gz", &format!("_{ending}.mtx.gz"));
            Some(name).filter(|name| Path::new(name).exists())
        };
        let failed = |error: String| BenchError::Solve(matrix.display().to_string(), error);
        if let Some(file) = file("coords") {
            let columns = read_dense(file).map_err(|error| failed(error.to_string()))?;
            let mut points = vec![[0.0; 3]; columns.rows()];
            for (axis, column) in columns.columns().enumerate() {
                points.iter_mut().zip(column).for_each(|(point, &value)| point[axis] = value);
            }
            let coordinates = Coordinates::try_new(points, columns.cols());
            let coordinates = coordinates.map_err(|error| failed(error.to_string()))?;
            return coordinates.near_kernel(a).map_err(|error| failed(error.to_string()));
        }
        let (rotations, block) = (file("rbm"), diagnose(a).graph.block_size);
        let mut columns = Vec::new();
        if rotations.is_some() {
            // hypre's files have no translations.
            let translation = |axis: usize| (0..a.rows()).map(|row| f64::from(row % block == axis)).collect();
            columns.extend((0..block).map(|axis| -> Vec<f64> { translation(axis) }));
        }
        let Some(file) = rotations.or_else(|| file("nns")) else { return Ok(None) };
        let modes = read_dense(file).map_err(|error| failed(error.to_string()))?;
        columns.extend(modes.columns().map(<[f64]>::to_vec));
        NearKernel::from_vectors(&columns, block).map(Some).map_err(|error| failed(error.to_string()))
    }

    /// The right-hand side of a matrix without one, as the command has it: all ones or, if the
    /// constants are the null space, 1 in the first half and −1 in the second.
    pub(super) fn default_rhs(solver: &Solver) -> Vec<f64> {
        let rows = solver.hierarchy().levels()[0].matrix().rows();
        let value = |row: usize| match (2 * row + 1).cmp(&rows) {
            _ if !solver.annihilates_constants() => 1.0,
            Ordering::Less => 1.0,
            Ordering::Equal => 0.0,
            Ordering::Greater => -1.0,
        };
        (0..rows).map(value).collect()
    }
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
            Ok(coordinates) if problem.has_displacements() => {
                NearKernel::from_vectors(&rigid_body_modes(&coordinates), block)
            }
            _ => NearKernel::constants(a.rows(), block),
        };
        let near_kernel = near_kernel.map_err(|error| refused(error.to_string()))?;
        Ok(ModelSystem { name: name.to_owned(), b: problem.rhs()?, a, block, near_kernel })
    }

    /// A model problem, or a matrix of the collection; `None` if the collection is not there.
    pub(super) fn named(name: &str) -> Result<Option<Self>, BenchError> {
        if name.contains(':') {
            return ModelSystem::new(name).map(Some);
        }
        let paths = collection(|cells| cells.get(1) == Some(&name)).unwrap_or_default();
        let Some(path) = paths.first() else { return Ok(None) };
        let RealSystem { a, b, .. } = RealSystem::read(path)?;
        let constants = NearKernel::constants(a.rows(), 1);
        let near_kernel = constants.map_err(|error| BenchError::Solve(name.to_owned(), error.to_string()))?;
        let b = b.unwrap_or_else(|| vec![1.0; a.rows()]);
        Ok(Some(ModelSystem { name: name.to_owned(), a, b, block: 1, near_kernel }))
    }

    /// As [`named`](Self::named), with the near-kernel that comes with a matrix of the collection;
    /// without one, the constants of the unknowns of its nodes.
    pub(super) fn with_modes(name: &str) -> Result<Option<Self>, BenchError> {
        let Some(system) = ModelSystem::named(name)? else { return Ok(None) };
        let paths = collection(|cells| cells.get(1) == Some(&name)).unwrap_or_default();
        let Some(path) = paths.first() else { return Ok(Some(system)) };
        let near_kernel = match RealSystem::modes(path, system.a.view())? {
            Some(modes) => modes,
            None => {
                let constants =
                    NearKernel::constants(system.a.rows(), diagnose(system.a.view()).graph.block_size);
                constants.map_err(|error| BenchError::Solve(name.to_owned(), error.to_string()))?
            }
        };
        Ok(Some(ModelSystem { block: near_kernel.block(), near_kernel, ..system }))
    }

    /// The error of a solver on this system.
    pub(super) fn refused(&self, error: &SolveError) -> BenchError {
        BenchError::Solve(self.name.clone(), error.to_string())
    }
}
