//! The solver: diagnoses, coarsens and lowers a matrix once, then solves any number of systems with
//! it.
//!
//! Choices that the configuration leaves open depend on the matrix ([`SolverConfig::resolve`]). The
//! null space of a singular matrix is projected out if it consists of the constants, on the whole
//! matrix or on connected components. The symmetry of the matrix and the number of unknowns per
//! node are detected and passed to the hierarchy.
//!
//! Setup runs on the host, or on the solver's device if the configuration says so; the iteration
//! always runs on the device. Right-hand sides and solutions are in host memory: each solve uploads
//! b once and downloads x once.

mod builder;
mod certify;
mod compared;
mod compiled;
mod error;
mod iteration;
mod known;
mod operator;
mod options;
mod order;
mod promotion;
mod refine;
mod stronger;
mod units;
mod update;
mod watch;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ziggurat_amg::halo::Whole;
use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::{ExactMatrix, Hierarchy, MatrixProperties, Multigrid, Part, SetupError};
use ziggurat_krylov::{KrylovReport, Observer};
use ziggurat_sparse::device::{Cpu, Device, Traffic};
use ziggurat_sparse::{Csr, MatrixError, trace};

use crate::config::{ConfigError, Decision, Method, SetupPlace, SolverConfig};
use crate::diagnose::{MatrixKind, unknowns_per_node};
use crate::events::{self, LevelSummary};

pub use builder::SolverBuilder;
pub use certify::certified;
use compiled::{Compiled, on_cpu};
pub use error::SolveError;
pub use iteration::Iteration;
use iteration::Matrix;
use known::{Oriented, of_fields, oriented};
pub use options::SolveOptions;
use order::{in_given_order, in_order, in_sign};
pub use promotion::{Fault, Promotion, Raise, Stronger};
use refine::{refined, refined_by_factors};
pub use update::{Pace, Updated};

/// A solver for one matrix: set up once, it solves any number of right-hand sides, also from
/// several threads.
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
///
/// It iterates on the CPU or on [another device](SolverBuilder::device).
pub struct Solver<D: Device = Cpu> {
    iteration: Iteration<D>,
    hierarchy: Hierarchy,
    /// The hierarchy of a stronger smoother, if a solve has changed to one that needs its own.
    other_hierarchy: OnceLock<Hierarchy>,
    /// The finest matrix as stored for the outer iteration.
    finest: ExactMatrix,
    kind: MatrixKind,
    near_kernel: Option<NearKernel>,
    pace: Pace,
    stages: Vec<(&'static str, f64)>,
    compiled: Compiled<D>,
}

impl<D: Device> fmt::Debug for Solver<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solver")
            .field("hierarchy", &self.hierarchy)
            .field("config", self.config())
            .field("device", self.device())
            .finish_non_exhaustive()
    }
}

/// A solution and the report of the iteration.
#[derive(Clone, Debug)]
pub struct Solution<X = Vec<f64>> {
    /// The solution vector.
    pub x: X,
    /// Why the iteration stopped, the true residual and the convergence history.
    pub report: KrylovReport,
    /// Set if the precision of the levels was raised during the solve.
    pub promotion: Option<Promotion>,
    /// Transfers to and from a device with its own memory, including b and x. Concurrent solves on
    /// one device each count the transfers of all of them.
    pub traffic: Option<Traffic>,
}

impl Solver {
    /// Diagnoses the matrix, builds the hierarchy and prepares it for iterating on the CPU.
    ///
    /// The solver keeps the matrix: a borrowed matrix is copied, an owned one or an `Arc` is not.
    pub fn new(a: impl Into<Arc<Csr<f64>>>, config: SolverConfig) -> Result<Self, SolveError> {
        (on_cpu().set_up)(Cpu::new(), &a.into(), None, config)
    }

    /// As [`Solver::new`], with given near-null-space vectors, such as the rigid-body modes of an
    /// elastic body.
    ///
    /// ```
    /// use ziggurat::amg::interpolate::NearKernel;
    /// use ziggurat::{Solver, SolverConfig};
    /// use ziggurat_sparse::gallery::{Problem, rigid_body_modes};
    /// let problem: Problem = "elasticity3d:4".parse()?;
    /// let modes = NearKernel::from_vectors(&rigid_body_modes(&problem.coordinates()?), 3)?;
    /// let solver = Solver::with_near_kernel(problem.matrix()?, modes, SolverConfig::default())?;
    /// assert!(solver.solve(&problem.rhs()?)?.report.reason.is_converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_near_kernel(
        a: impl Into<Arc<Csr<f64>>>,
        kernel: NearKernel,
        config: SolverConfig,
    ) -> Result<Self, SolveError> {
        (on_cpu().set_up)(Cpu::new(), &a.into(), Some(kernel), config)
    }

    /// A solver for an existing hierarchy, such as one loaded from a file: only the smoothers are
    /// set up. If an update of the values causes a rebuild, the configuration determines how the
    /// hierarchy is rebuilt.
    ///
    /// ```
    /// use ziggurat::amg::Hierarchy;
    /// use ziggurat::{Solver, SolverConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let mut file = Vec::new(); // or File::create(path)?
    /// Solver::new(&a, SolverConfig::default())?.hierarchy().save(&mut file)?;
    ///
    /// let solver = Solver::from_hierarchy(Hierarchy::load(&file[..])?, SolverConfig::default())?;
    /// assert!(solver.solve(&vec![1.0; a.rows()])?.report.reason.is_converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_hierarchy(hierarchy: Hierarchy, asked: SolverConfig) -> Result<Self, SolveError> {
        (on_cpu().take_over)(Cpu::new(), hierarchy, None, asked)
    }
}

impl<D: Device> Solver<D> {
    /// Sets up a solver. Without a given near-kernel, it consists of the constants of every unknown
    /// of a node.
    fn set_up(
        device: D,
        a: &Arc<Csr<f64>>,
        mut near_kernel: Option<NearKernel>,
        asked: SolverConfig,
    ) -> Result<Self, SolveError> {
        asked.validate()?;
        let _setup = trace::stage("setup", None, a.rows() as u64);
        let start = Instant::now();
        let diagnosis = trace::stage("diagnosis", None, a.rows() as u64);
        let block = match &near_kernel {
            Some(kernel) => kernel.block(),
            None => unknowns_per_node(a.view(), &Whole::new(a.rows())),
        };
        let Oriented { a: oriented, mut kind, grid } = oriented(a, block, near_kernel.as_ref())?;
        let mut config = asked.resolve(kind.facts(&device));
        let may_have_fields = kind.grid.as_ref().is_none_or(|grid| grid.unknowns > 1);
        if near_kernel.is_none()
            && block == 1
            && kind.symmetric
            && may_have_fields
            && config.method != Method::Structured
        {
            near_kernel = of_fields(a)?;
            kind.block = near_kernel.as_ref().map_or(1, NearKernel::unknowns_per_node);
            config = asked.resolve(kind.facts(&device));
        }
        let kernel = match &near_kernel {
            Some(kernel) => kernel.clone(),
            None => NearKernel::constants(a.rows(), block).map_err(SetupError::from)?,
        };
        config.check_for(kind.facts(&device))?;
        let symmetry = if kind.symmetric { Symmetry::Symmetric } else { Symmetry::General };
        let grid = grid.filter(|_| config.method == Method::Structured);
        let properties = MatrixProperties { near_kernel: kernel, symmetry, grid };
        drop(diagnosis);
        let diagnosed = start.elapsed().as_secs_f64();
        let direct =
            (asked.fallback && asked.method == Method::Auto).then(|| (device.clone(), asked.by_factors()));
        let hierarchy = match (config.setup, device.for_setup()) {
            (SetupPlace::Host, _) => {
                Hierarchy::with_properties(oriented, properties, &config.hierarchy_config())
            }
            (SetupPlace::Device, Some(device)) => {
                Hierarchy::build_on(device, oriented, &properties, &config.hierarchy_config())
            }
            (SetupPlace::Device, None) => {
                let reason =
                    "`device` needs a GPU; choose one as the device of the solver, or leave it at host";
                return Err(ConfigError::Value { path: "setup".into(), reason: reason.into() }.into());
            }
        };
        let set_up = hierarchy.map_err(SolveError::from).and_then(|hierarchy| {
            let hierarchy = if kind.negated { hierarchy.of_negative() } else { hierarchy };
            Self::with_parts(device, hierarchy, kind, config, asked, near_kernel.clone(), diagnosed)
        });
        match set_up {
            // Smoothers divide by the diagonal, a factorisation exchanges rows.
            Err(SolveError::Setup(error)) if has_zero_diagonal(&error) => match direct {
                Some((device, config)) => {
                    events::set_up_failed(&error);
                    Self::set_up(device, a, near_kernel, config).map_err(|_| error.into())
                }
                None => Err(error.into()),
            },
            set_up => set_up,
        }
    }

    /// Sets up a solver for an existing hierarchy. The near-kernel is only used for a rebuild.
    fn take_over(
        device: D,
        hierarchy: Hierarchy,
        near_kernel: Option<NearKernel>,
        asked: SolverConfig,
    ) -> Result<Self, SolveError> {
        asked.validate()?;
        let rows = hierarchy.levels()[0].rows() as u64;
        let _setup = trace::stage("setup", None, rows);
        let start = Instant::now();
        let diagnosis = trace::stage("diagnosis", None, rows);
        let mut kind = MatrixKind::of(&hierarchy.finest_matrix().0)?;
        kind.scattered = hierarchy.order().is_some();
        kind.negated = hierarchy.is_negated();
        let config = asked.resolve(kind.facts(&device));
        config.check_for(kind.facts(&device))?;
        drop(diagnosis);
        let diagnosed = start.elapsed().as_secs_f64();
        Self::with_parts(device, hierarchy, kind, config, asked, near_kernel, diagnosed)
    }

    /// Lowers a hierarchy. `diagnosed` is the time of the diagnosis in seconds.
    fn with_parts(
        device: D,
        mut hierarchy: Hierarchy,
        kind: MatrixKind,
        config: SolverConfig,
        asked: SolverConfig,
        near_kernel: Option<NearKernel>,
        diagnosed: f64,
    ) -> Result<Self, SolveError> {
        let start = Instant::now();
        let conversion = trace::stage("conversion", None, hierarchy.levels()[0].rows() as u64);
        let finest = hierarchy.finest(config.lowering().formats);
        let (matrix, multigrid) = lower(&device, &hierarchy, &finest, &config)?;
        hierarchy.release();
        let (finest_matrix, order) = hierarchy.finest_matrix();
        let kernel = kind.null_space(&device, &finest_matrix, order.map(|order| &**order))?;
        drop(conversion);
        let pace = Pace::default();
        let mut stages = hierarchy.stages();
        stages.insert(0, ("diagnosis", diagnosed));
        stages.push(("conversion", start.elapsed().as_secs_f64()));
        let iteration = Iteration::new(device, matrix, multigrid, kernel, config, asked);
        let stored = iteration.preconditioner().stored();
        let levels: Vec<_> = (hierarchy.levels().iter().zip(&stored))
            .map(|(level, stored)| LevelSummary {
                rows: level.rows() as u64,
                nnz: level.nnz() as u64,
                storage: &stored.storage,
                working: &stored.working,
                format: &stored.format,
            })
            .collect();
        events::set_up(&levels, iteration.config(), &stages);
        let compiled = Compiled::new();
        let other_hierarchy = OnceLock::new();
        Ok(Solver {
            iteration,
            hierarchy,
            other_hierarchy,
            finest,
            kind,
            near_kernel,
            pace,
            stages,
            compiled,
        })
    }

    /// Solves A x = b with a zero initial guess.
    ///
    /// If the constants are the null space of A, or of a connected component of it, and b does not
    /// sum to zero there, there is no solution. x then minimises the residual, and the report says
    /// `Inconsistent`, or `Converged` if
    /// [`Stopping::project_rhs`](crate::krylov::Stopping::project_rhs) is set. Either way it states
    /// the size of what b has outside the range
    /// ([`left_out`](crate::krylov::KrylovReport::left_out)).
    ///
    /// ```
    /// use ziggurat::krylov::StopReason;
    /// use ziggurat::{Solver, SolverConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "neumann3d:6".parse::<Problem>()?.matrix()?;
    /// let mut b = vec![0.0; a.rows()];
    /// b[0] = 1.0; // a source without a sink
    /// let report = Solver::new(&a, SolverConfig::default())?.solve(&b)?.report;
    /// assert_eq!(report.reason, StopReason::Inconsistent);
    /// assert!((report.left_out - (1.0_f64 / 216.0).sqrt()).abs() < 1e-12);
    ///
    /// let mut config = SolverConfig::default();
    /// config.stopping.project_rhs = true;
    /// assert!(Solver::new(&a, config)?.solve(&b)?.report.reason.is_converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn solve(&self, b: &[f64]) -> Result<Solution, SolveError> {
        self.solve_with(b, None, &SolveOptions::from(self.config()), None)
    }

    /// As [`Solver::solve`], with a callback that is called after every iteration and can stop the
    /// solve.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use ziggurat::{Solver, SolverConfig, krylov::{Progress, StopReason}};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let solver = Solver::new(&a, SolverConfig::default())?;
    /// let mut history = Vec::new();
    /// let mut observer = |progress: &Progress| {
    ///     history.push(progress.relative_residual);
    ///     if progress.iteration < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// };
    /// let solution = solver.solve_observed(&vec![1.0; a.rows()], &mut observer)?;
    /// assert_eq!((solution.report.reason, history.len()), (StopReason::Interrupted, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn solve_observed(&self, b: &[f64], observer: &mut Observer<'_>) -> Result<Solution, SolveError> {
        self.solve_with(b, None, &SolveOptions::from(self.config()), Some(observer))
    }

    /// As [`Solver::solve`], with an optional initial guess and per-solve overrides of the solver's
    /// options.
    ///
    /// ```
    /// use ziggurat::{SolveOptions, Solver, SolverConfig, config::Krylov, krylov::Stopping};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let (solver, b) = (Solver::new(&a, SolverConfig::default())?, vec![1.0; a.rows()]);
    /// let rough = SolveOptions { stopping: Stopping::default().rtol(1e-3), ..SolveOptions::default() };
    /// let near = solver.solve_with(&b, None, &rough, None)?;
    /// let fine = SolveOptions { krylov: Krylov::Fgmres, ..SolveOptions::default() };
    /// let solution = solver.solve_with(&b, Some(&near.x), &fine, None)?;
    /// assert!(solution.report.initial_residual == near.report.residual && solution.report.relative_residual <= 1e-8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn solve_with(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, SolveError> {
        (self.compiled.solve)(self, b, guess, options, observer)
    }

    /// [`Solver::solve_with`], where it is compiled.
    fn solve_here(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, SolveError> {
        let device = self.device();
        let _solve = trace::stage("solve", None, b.len() as u64);
        let before = device.traffic();
        let raise = |to| match to {
            Stronger::Levels(kind) => {
                let config = self.config().in_precision(kind);
                Ok(Some(lower(device, &self.hierarchy, &self.finest, &config)?.1))
            }
            Stronger::Smoother(smoother) => self.smoothed_by(smoother),
            Stronger::Factors => self.factors(),
        };
        // The iteration is in the order of the levels, and (−A)(−x) = b in their sign.
        let order = self.hierarchy.order();
        let b = &*in_order(order, b);
        let guess = guess.map(|guess| in_sign(self.kind.negated, in_order(order, guess)));
        let (uploaded, guess) = (device.upload(b)?, guess.map(|guess| device.upload(&guess)).transpose()?);
        let observing = observer.as_mut().map(|observer| &mut **observer as &mut Observer<'_>);
        let solution = self.iteration.solve(uploaded, guess, options, observing, raise)?;
        let Solution { x, report, promotion, .. } = solution;
        let x = device.to_host(x)?;
        let a = || Part::from(self.hierarchy.levels()[0].matrix());
        let report = certified(report, device, a, self.kind.largest_row_sum, &options.stopping, b, &x)?;
        let solution = Solution { x, report, promotion, traffic: None };
        let residual = |unit, x: &[f64]| a().accurate_residual(device, unit, x, b);
        let steps = self.config().refinement_steps;
        let factorised = solution.promotion.as_ref().is_some_and(Promotion::is_to_factors);
        let solution = if steps == 0 && (factorised || self.iteration.is_factorised()) {
            refined_by_factors(&self.iteration, options, b, solution, residual, observer, raise)?
        } else {
            refined(&self.iteration, steps, options, solution, residual, observer, raise)?
        };
        let Solution { x, report, promotion, .. } = solution;
        let x = in_sign(self.kind.negated, in_given_order(order, x)?.into()).into_owned();
        self.pace.note(report.iterations);
        events::solved(&report, promotion.as_ref());
        Ok(Solution { x, report, promotion, traffic: traffic_since(device, before) })
    }

    /// The device of the iteration.
    ///
    /// ```
    /// use ziggurat::sparse::device::Device;
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// assert!(solver.device().name().starts_with("cpu"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn device(&self) -> &D {
        &self.iteration.device
    }

    /// The hierarchy, as set up. Its `Display` is a table of the levels. If the unknowns were
    /// renumbered, its levels are in [another order](Hierarchy::order) than the matrix of the
    /// caller.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Whether the matrix is symmetric and its rows sum to zero, so that the constants are in its
    /// null space. Right-hand sides in its range then sum to zero.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "neumann3d:4".parse::<Problem>()?.matrix()?;
    /// assert!(ziggurat::Solver::builder().build(&a)?.annihilates_constants());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn annihilates_constants(&self) -> bool {
        self.kind.symmetric && self.kind.annihilates_constants
    }

    /// The stages of the last full setup in order, with their times in seconds. The last one,
    /// `conversion`, changes the levels to their number types and formats.
    ///
    /// ```
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// assert_eq!(solver.stages().first().map(|stage| stage.0), Some("diagnosis"));
    /// assert_eq!(solver.stages().last().map(|stage| stage.0), Some("conversion"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    /// One multigrid cycle as an operator, for use as a preconditioner elsewhere, for example of a
    /// matrix-free operator.
    ///
    /// ```
    /// use ziggurat::sparse::{device::Cpu, operator::LinearOperator};
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// assert_eq!(LinearOperator::<Cpu, f64>::shape(solver.preconditioner()), (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It also works on vectors in single precision, for programs that have no others:
    ///
    /// ```
    /// use ziggurat::krylov::{LinearProblem, Method, Stopping, System, Work, solve};
    /// use ziggurat::sparse::{device::Cpu, gallery::Problem, operator::MatrixOperator};
    /// let (cpu, a) = (Cpu::new(), "poisson3d:10".parse::<Problem>()?.matrix()?);
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// let a = MatrixOperator::<Cpu, f32>::new(&cpu, a.view().stored_as::<f32>())?;
    /// let system = System::<Cpu, f32>::new(&a).preconditioner(solver.preconditioner());
    /// let mut work = Work::new(Method::Cg, &cpu, &system)?;
    /// let (b, mut x) = (vec![1.0_f32; 1000], vec![0.0_f32; 1000]);
    /// let problem = LinearProblem::new(&cpu, &system, &b).stopping(Stopping::default().rtol(1e-5));
    /// assert!(solve(problem, &mut x, &mut work)?.reason.is_converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preconditioner(&self) -> &Multigrid<D> {
        self.iteration.preconditioner()
    }

    /// The transpose of [`Solver::preconditioner`], for methods that also multiply by Aᵀ. Every
    /// call builds it again, and it takes as much memory as the preconditioner.
    ///
    /// ```
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// assert_eq!(solver.transposed_preconditioner()?.stored().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// For F- and K-cycles, whose transpose is not a cycle.
    pub fn transposed_preconditioner(&self) -> Result<Multigrid<D>, SolveError> {
        (self.compiled.transposed)(self)
    }

    /// [`Solver::transposed_preconditioner`], where it is compiled.
    fn transposed_here(&self) -> Result<Multigrid<D>, SolveError> {
        let config = self.iteration.config_in_use();
        let cycling = config.cycling();
        if !cycling.cycle.has_transpose() {
            let reason = format!("`{}` cycles have no transpose; use `v` or `w`", config.cycle.kind);
            return Err(ConfigError::Value { path: "cycle.kind".into(), reason }.into());
        }
        let precision = |index| config.precision.level(index);
        Ok(self.hierarchy.lower_transposed(self.device(), &cycling, precision, config.lowering())?)
    }

    /// The choices that the configuration left open, with the reason for each.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "convection3d:8".parse::<Problem>()?.matrix()?;
    /// for decision in ziggurat::Solver::builder().build(&a)?.decisions() {
    ///     println!("{} = {}: {}", decision.key, decision.value, decision.reason);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decisions(&self) -> Vec<Decision> {
        self.iteration.asked.decisions(self.kind.facts(self.device()))
    }

    /// The configuration in use, with every `auto` resolved.
    ///
    /// ```
    /// use ziggurat::{Solver, SolverConfig, config::Krylov};
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// assert_eq!(Solver::new(&a, SolverConfig::default())?.config().krylov, Krylov::Cg);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn config(&self) -> &SolverConfig {
        self.iteration.config()
    }
}

/// The transfers since `before`, if the device counts them.
fn traffic_since(device: &impl Device, before: Option<Traffic>) -> Option<Traffic> {
    Some(device.traffic()?.since(before?))
}

/// Moves the hierarchy and the finest matrix, which is the operator of the outer iteration, to the
/// device.
fn lower<D: Device>(
    device: &D,
    hierarchy: &Hierarchy,
    finest: &ExactMatrix,
    config: &SolverConfig,
) -> Result<(Matrix<D>, Multigrid<D>), SolveError> {
    let precision = |index| config.precision.level(index);
    let multigrid = hierarchy.lower_with(finest, device, &config.cycling(), precision, config.lowering())?;
    Ok((finest.operator(device)?, multigrid))
}

fn has_zero_diagonal(error: &SetupError) -> bool {
    matches!(error.cause(), SetupError::Matrix(MatrixError::ZeroDiagonal { .. }))
}

/// Solves A x = b with settings chosen for the matrix.
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
/// If setup fails or the iteration does not converge. [`Solver`] returns the last iterate in that
/// case.
pub fn solve(a: &Csr<f64>, b: &[f64]) -> Result<Vec<f64>, SolveError> {
    let solution = Solver::new(a, SolverConfig::default())?.solve(b)?;
    if solution.report.reason.is_converged() {
        Ok(solution.x)
    } else {
        Err(SolveError::NotConverged(Box::new(solution.report)))
    }
}
