//! The builder of a solver.

use std::sync::Arc;

use ziggurat_amg::interpolate::NearKernel;
use ziggurat_amg::{Cancel, Hierarchy, SetupError};
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::{Cpu, Device};

use super::{SolveError, Solver};
use crate::Coordinates;
use crate::config::{
    Basis, Combine, CycleKind, Effort, Krylov, Method, Precision, Rebuild, SmootherKind, SolverConfig,
};

/// Builds a [`Solver`]. Later calls override earlier ones.
///
/// ```
/// use ziggurat::Solver;
/// use ziggurat::config::{Krylov, Method};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "convection3d:10".parse::<Problem>()?.matrix()?;
/// let solver = Solver::builder().method(Method::Classical).krylov(Krylov::Bicgstab).rtol(1e-6).build(&a)?;
/// assert!(solver.solve(&vec![1.0; a.rows()])?.report.reason.is_converged());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SolverBuilder {
    config: SolverConfig,
    nodes: Nodes,
    device: Arc<dyn Device>,
    cancel: Cancel,
}

impl Default for SolverBuilder {
    fn default() -> Self {
        SolverBuilder {
            config: SolverConfig::default(),
            nodes: Nodes::default(),
            device: Arc::new(Cpu::new()),
            cancel: Cancel::NEVER,
        }
    }
}

/// The given information about the nodes of the matrix.
#[derive(Clone, Debug, Default)]
enum Nodes {
    /// Nothing: the number of unknowns per node is detected.
    #[default]
    Detected,
    /// The number of unknowns per node.
    BlockSize(usize),
    /// The coordinates of the nodes.
    Coordinates(Coordinates),
    /// The near-kernel.
    NearKernel(NearKernel),
}

impl Nodes {
    /// The near-kernel of a matrix, unless it is to be detected.
    fn near_kernel(self, a: &Csr<f64>) -> Result<Option<NearKernel>, SolveError> {
        Ok(match self {
            Nodes::Detected => None,
            Nodes::BlockSize(block) => {
                Some(NearKernel::constants(a.rows(), block).map_err(SetupError::from)?)
            }
            Nodes::Coordinates(coordinates) => coordinates.near_kernel(a.view())?,
            Nodes::NearKernel(kernel) => Some(kernel),
        })
    }
}

impl Solver {
    /// A builder with the default configuration, for the CPU.
    pub fn builder() -> SolverBuilder {
        SolverBuilder::default()
    }
}

impl SolverBuilder {
    /// The device of the iteration, which holds the levels and vectors. Setup runs on the host
    /// unless [`SolverConfig::setup`] says otherwise.
    ///
    /// ```
    /// use ziggurat::Solver;
    /// use ziggurat::sparse::device::{Cpu, Simd};
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let portable = Cpu::with_simd(Simd::Portable).ok_or("every CPU has it")?; // or a GPU
    /// let solver = Solver::builder().device(&portable).rtol(1e-10).build(&a)?;
    /// assert!(solver.device().name().starts_with("cpu (Portable"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn device(self, device: &dyn Device) -> Self {
        SolverBuilder { device: device.share(), ..self }
    }

    /// Replaces the configuration, for example by one from a file or a preset.
    ///
    /// ```
    /// use ziggurat::{Solver, SolverConfig};
    /// let builder = Solver::builder().config(SolverConfig::preset("robust")?).rtol(1e-10);
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    #[must_use]
    pub fn config(self, config: SolverConfig) -> Self {
        SolverBuilder { config, ..self }
    }

    /// Changes the configuration directly, including parameters that have no setter.
    ///
    /// ```
    /// let builder = ziggurat::Solver::builder().with(|config| config.smoother.degree = 3);
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut SolverConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// The coarsening method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        self.with(|config| config.method = method)
    }

    /// The Krylov method of the outer iteration.
    #[must_use]
    pub fn krylov(self, krylov: Krylov) -> Self {
        self.with(|config| config.krylov = krylov)
    }

    /// Iterations between restarts of GMRES and FGMRES.
    #[must_use]
    pub fn restart(self, restart: usize) -> Self {
        self.with(|config| config.restart = restart)
    }

    /// How GMRES and FGMRES store their basis.
    ///
    /// ```
    /// use ziggurat::{Solver, config::Basis, sparse::gallery::Problem};
    /// let a = "convection3d:8".parse::<Problem>()?.matrix()?;
    /// let solver = Solver::builder().basis(Basis::F16).build(&a)?;
    /// assert!(solver.solve(&vec![1.0; a.rows()])?.report.relative_residual <= 1e-8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn basis(self, basis: Basis) -> Self {
        self.with(|config| config.basis = basis)
    }

    /// The storage and working precision of the hierarchy.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        self.with(|config| config.precision = precision)
    }

    /// The tolerance, relative to the norm of the right-hand side.
    #[must_use]
    pub fn rtol(self, rtol: f64) -> Self {
        self.with(|config| config.stopping.rtol = rtol)
    }

    /// The absolute tolerance.
    #[must_use]
    pub fn atol(self, atol: f64) -> Self {
        self.with(|config| config.stopping.atol = atol)
    }

    /// The tolerance relative to the residual of the initial guess.
    ///
    /// ```
    /// use ziggurat::{Solver, config::Combine, sparse::gallery::Problem};
    /// let a = "poisson3d:10".parse::<Problem>()?.matrix()?;
    /// let b = vec![1.0; a.rows()];
    /// // Both: six digits of b, and three digits better than the guess.
    /// let solver = Solver::builder().rtol(1e-6).reduction(1e-3).combine(Combine::All).build(&a)?;
    /// let guess = solver.solve(&b)?.x;
    /// let options = ziggurat::SolveOptions::from(solver.config());
    /// let report = solver.solve_with(&b, Some(&guess), &options, None)?.report;
    /// assert!(report.reason.is_converged() && report.residual <= 1e-3 * report.initial_residual);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reduction(self, reduction: f64) -> Self {
        self.with(|config| config.stopping.reduction = reduction)
    }

    /// Whether one of the tolerances has to be reached or all.
    #[must_use]
    pub fn combine(self, combine: Combine) -> Self {
        self.with(|config| config.stopping.combine = combine)
    }

    /// Maximum number of iterations.
    #[must_use]
    pub fn max_iterations(self, iterations: usize) -> Self {
        self.with(|config| config.stopping.max_iterations = iterations)
    }

    /// Time limit in seconds: of setup, of every solve and of every update of the values. A setup
    /// that reaches it is an error, a solve returns its last iterate. It is looked at before every
    /// stage of every level and in every iteration; sparse factors are not computed if that is
    /// expected to take longer ([`Cancel`]).
    ///
    /// ```
    /// use ziggurat::{Solver, krylov::StopReason, sparse::gallery::Problem};
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let error = Solver::builder().max_seconds(1e-6).build(&a).unwrap_err();
    /// assert_eq!(error.stop_reason(), Some(StopReason::TimeLimit));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_seconds(self, seconds: f64) -> Self {
        self.with(|config| config.stopping.max_seconds = Some(seconds))
    }

    /// When setup and solves stop, in addition to the time limit: as soon as another thread has set
    /// a flag, or at a given time.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use ziggurat::krylov::StopReason;
    /// use ziggurat::sparse::gallery::Problem;
    /// use ziggurat::{Cancel, Solver};
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let flag = Arc::new(AtomicBool::new(false));
    /// let solver = Solver::builder().cancel(Cancel::on(flag.clone())).build(&a)?;
    /// flag.store(true, Ordering::Relaxed); // by a handler of Ctrl-C, for example
    /// let solution = solver.solve(&vec![1.0; a.rows()])?;
    /// assert_eq!(solution.report.reason, StopReason::Interrupted);
    /// let error = Solver::builder().cancel(Cancel::on(flag)).build(&a).unwrap_err();
    /// assert_eq!(error.to_string(), "level 0, diagnosis: interrupted on request");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cancel(self, cancel: Cancel) -> Self {
        SolverBuilder { cancel, ..self }
    }

    /// The order in which levels are visited.
    #[must_use]
    pub fn cycle(self, cycle: CycleKind) -> Self {
        self.with(|config| config.cycle.kind = cycle)
    }

    /// Number of sweeps before and after the coarse-grid correction.
    #[must_use]
    pub fn sweeps(self, before: usize, after: usize) -> Self {
        self.with(|config| (config.cycle.pre_sweeps, config.cycle.post_sweeps) = (before, after))
    }

    /// The smoother.
    #[must_use]
    pub fn smoother(self, smoother: SmootherKind) -> Self {
        self.with(|config| config.smoother.kind = smoother)
    }

    /// The setup cost budget: few solves with one matrix, or many.
    #[must_use]
    pub fn effort(self, effort: Effort) -> Self {
        self.with(|config| config.effort = effort)
    }

    /// When [`Solver::update_values`] rebuilds the hierarchy.
    #[must_use]
    pub fn rebuild(self, rebuild: Rebuild) -> Self {
        self.with(|config| config.update.rebuild = rebuild)
    }

    /// The near-null space of the matrix, such as the rigid-body modes of an elastic body.
    #[must_use]
    pub fn near_kernel(self, kernel: NearKernel) -> Self {
        SolverBuilder { nodes: Nodes::NearKernel(kernel), ..self }
    }

    /// The number of unknowns per node, numbered node by node. By default it is detected.
    ///
    /// ```
    /// use ziggurat::Solver;
    /// use ziggurat::sparse::gallery::Problem;
    /// let a = "elasticity3d:4".parse::<Problem>()?.matrix()?;
    /// assert_eq!(Solver::builder().block_size(3).build(&a)?.hierarchy().levels()[0].block(), 3);
    /// assert!(Solver::builder().block_size(7).build(&a).is_err(), "7 does not divide the rows");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn block_size(self, block: usize) -> Self {
        SolverBuilder { nodes: Nodes::BlockSize(block), ..self }
    }

    /// The coordinates of the nodes or unknowns of an elastic body, which give the rigid-body
    /// modes.
    #[must_use]
    pub fn coordinates(self, coordinates: Coordinates) -> Self {
        SolverBuilder { nodes: Nodes::Coordinates(coordinates), ..self }
    }

    /// Sets up the solver for a matrix. A borrowed matrix is copied, an owned one or an `Arc` is
    /// not.
    ///
    /// # Errors
    /// As [`Solver::new`].
    pub fn build(self, a: impl Into<Arc<Csr<f64>>>) -> Result<Solver, SolveError> {
        let a = a.into();
        let near_kernel = self.nodes.near_kernel(&a)?;
        Solver::set_up(&*self.device, &a, near_kernel, self.config, self.cancel)
    }

    /// Sets up the solver for an existing hierarchy, as [`Solver::from_hierarchy`] does.
    ///
    /// ```
    /// use ziggurat::Solver;
    /// use ziggurat::amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(&a, &HierarchyConfig::default())?; // or Hierarchy::load(file)?
    /// let solver = Solver::builder().rtol(1e-10).build_from(hierarchy)?;
    /// assert!(solver.solve(&vec![1.0; a.rows()])?.report.relative_residual <= 1e-10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Solver::from_hierarchy`].
    pub fn build_from(self, hierarchy: Hierarchy) -> Result<Solver, SolveError> {
        let near_kernel = self.nodes.near_kernel(hierarchy.levels()[0].matrix())?;
        Solver::take_over(&*self.device, hierarchy, near_kernel, self.config, self.cancel)
    }
}
