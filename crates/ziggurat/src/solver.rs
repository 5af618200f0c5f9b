//! The solver: a matrix is diagnosed, coarsened and lowered once, and then solved with as often as needed.
//!
//! What is chosen automatically: the Krylov method by symmetry and the signs of the diagonal, and the projection of
//! singular systems whose kernel are the constants. The hierarchy is told whether the matrix is
//! symmetric, and how many unknowns a node has.

use std::sync::Arc;

use thiserror::Error;
use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::{
    Cycling, Hierarchy, HierarchyConfig, Known, LevelPrecision, Multigrid, SetupError, host_matrix,
};
use ziggurat_krylov::{
    DEFAULT_RESTART, KrylovError, KrylovReport, Local, Method, Stopping, System, Work, solve as krylov_solve,
};
use ziggurat_sparse::device::{Cpu, DeviceError};
use ziggurat_sparse::operator::MatrixOperator;
use ziggurat_sparse::{Csr, MatrixError};

use crate::diagnose::{Nature, nature};

/// Why a system could not be solved. Not converging is no error: see [`KrylovReport::reason`].
///
/// ```
/// use ziggurat::{SolveError, solve};
/// let a = ziggurat_sparse::Csr::identity(3)?;
/// assert!(matches!(solve(&a, &[1.0]), Err(SolveError::Krylov(_))));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The matrix is at fault.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The hierarchy could not be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The iteration could not be started.
    #[error(transparent)]
    Krylov(#[from] KrylovError),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The iteration ended without a solution.
    #[error("not converged: {}", .0.reason)]
    NotConverged(Box<KrylovReport>),
}

/// What a [`Solver`] is to do. Every default is a choice by the matrix or the usual one.
///
/// ```
/// use ziggurat::SolverConfig;
/// assert_eq!(SolverConfig::default().stopping.rtol, 1e-8);
/// ```
#[derive(Clone, Debug, Default)]
pub struct SolverConfig {
    /// The Krylov method; `None` chooses by the matrix.
    pub krylov: Option<Method>,
    /// When to stop.
    pub stopping: Stopping,
    /// How the hierarchy is built.
    pub hierarchy: HierarchyConfig,
    /// How its levels are visited and smoothed.
    pub cycling: Cycling,
    /// The numbers of every level.
    pub precision: LevelPrecision,
}

/// A system that is set up: solve with it as often as needed, from as many threads as wanted.
///
/// ```
/// use ziggurat::{Solver, SolverConfig};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
/// let solver = Solver::new(&a, SolverConfig::default())?;
/// let solution = solver.solve(&vec![1.0; a.rows()])?;
/// assert!(solution.report.reason.is_converged() && solution.report.relative_residual <= 1e-8);
/// println!("{}", solver.hierarchy());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Solver {
    space: Local<Cpu>,
    matrix: MatrixOperator<Cpu, f64>,
    multigrid: Multigrid<Cpu>,
    hierarchy: Hierarchy,
    /// Orthonormal vectors that the matrix maps to zero.
    kernel: Vec<Vec<f64>>,
    method: Method,
    config: SolverConfig,
}

/// A solution and how it was found.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The unknowns.
    pub x: Vec<f64>,
    /// Why the iteration stopped, and its true residual.
    pub report: KrylovReport,
}

impl Solver {
    /// Diagnoses the matrix, builds the hierarchy and moves it to the CPU.
    ///
    /// The matrix is kept: a borrowed one is copied, an owned one or an `Arc` is taken as it is.
    pub fn new(a: impl Into<Arc<Csr<f64>>>, config: SolverConfig) -> Result<Self, SolveError> {
        let a = a.into();
        Self::set_up(a, None, config)
    }

    /// As [`Solver::new`], with what the matrix maps to almost zero: the rigid-body modes of an elastic body.
    pub fn with_near_kernel(
        a: impl Into<Arc<Csr<f64>>>,
        kernel: NearKernel,
        config: SolverConfig,
    ) -> Result<Self, SolveError> {
        Self::set_up(a.into(), Some(kernel), config)
    }

    /// Without a near-kernel, the constants of every unknown of a node.
    fn set_up(
        a: Arc<Csr<f64>>,
        kernel: Option<NearKernel>,
        config: SolverConfig,
    ) -> Result<Self, SolveError> {
        a.view().check_finite()?;
        let nature = nature(a.view());
        let kernel = match kernel {
            Some(kernel) => kernel,
            None => NearKernel::constants(a.rows(), nature.block).map_err(SetupError::from)?,
        };
        let symmetry = if nature.symmetric { Symmetry::Symmetric } else { Symmetry::General };
        let known = Known { near_kernel: kernel, symmetry };
        let hierarchy = Hierarchy::with_known(a.clone(), known, &config.hierarchy)?;
        let space = Local(Cpu::new());
        let multigrid = hierarchy.lower(&space.0, &config.cycling, |_| config.precision)?;
        let constants = nature.symmetric && nature.annihilates_constants;
        let kernel =
            if constants { vec![vec![(a.rows() as f64).sqrt().recip(); a.rows()]] } else { Vec::new() };
        Ok(Solver {
            matrix: MatrixOperator::new(&space.0, host_matrix(&a, hierarchy.levels()[0].block()))?,
            method: config.krylov.unwrap_or_else(|| choose(nature, &config.cycling)),
            space,
            multigrid,
            hierarchy,
            kernel,
            config,
        })
    }

    /// Solves A x = b from a zero guess. A singular system is solved in the least-squares sense.
    pub fn solve(&self, b: &[f64]) -> Result<Solution, SolveError> {
        let system = System::new(&self.matrix).preconditioner(&self.multigrid).kernel(&self.kernel);
        let mut work = Work::new(self.method, &self.space, &system)?;
        let (mut b, mut x) = (b.to_vec(), vec![0.0; self.hierarchy.levels()[0].matrix().rows()]);
        if b.len() == x.len() {
            system.project(&self.space, &mut b);
        }
        let report = krylov_solve(&self.space, &system, &b, &mut x, &self.config.stopping, None, &mut work)?;
        Ok(Solution { x, report })
    }

    /// The levels; prints as a table.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The Krylov method in use.
    pub fn method(&self) -> Method {
        self.method
    }
}

/// Conjugate gradients where matrix and cycle can be symmetric and positive, GMRES otherwise.
fn choose(nature: Nature, cycling: &Cycling) -> Method {
    let positive = nature.symmetric && nature.positive_diagonal;
    match (positive, cycling.cycle.is_symmetric() && cycling.pre_sweeps == cycling.post_sweeps) {
        (true, true) => Method::Cg,
        (true, false) => Method::FlexibleCg,
        (false, _) => Method::Fgmres { restart: DEFAULT_RESTART },
    }
}

/// Solves A x = b, everything chosen by the matrix.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:30".parse::<Problem>()?.matrix()?;
/// let x = ziggurat::solve(&a, &vec![1.0; 900])?;
/// assert!((4.0 * x[0] - x[1] - x[30] - 1.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Also if the iteration does not converge; use [`Solver`] to get what it had reached.
pub fn solve(a: &Csr<f64>, b: &[f64]) -> Result<Vec<f64>, SolveError> {
    let solution = Solver::new(a, SolverConfig::default())?.solve(b)?;
    if solution.report.reason.is_converged() {
        Ok(solution.x)
    } else {
        Err(SolveError::NotConverged(Box::new(solution.report)))
    }
}
