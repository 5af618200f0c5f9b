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

mod alternative;
mod analysis;
mod builder;
mod certify;
mod compared;
mod empty_rows;
mod error;
mod iteration;
mod limits;
mod operator;
mod options;
mod order;
mod parts;
mod promotion;
mod refine;
mod solution;
mod stronger;
mod transposed;
mod units;
mod update;
mod watch;
mod zero_diagonal;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ziggurat_amg::halo::Whole;
use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::{Cancel, ExactMatrix, Hierarchy, Lowering, MatrixProperties, Multigrid, Part, SetupError};
use ziggurat_krylov::{Observer, Progress};
use ziggurat_sparse::device::{Cpu, Device, DeviceExt, Traffic};
use ziggurat_sparse::operator::LinearOperator;
use ziggurat_sparse::{Csr, trace};

use crate::config::{Method, SetupPlace, SolverConfig};
use crate::diagnose::{MatrixKind, unknowns_per_node};
use crate::events::{self, LevelSummary};

use alternative::{has_no_factors, multigrid_instead, no_device, positive_levels};
use analysis::{Analysed, analyse, of_fields};
pub use builder::SolverBuilder;
pub use certify::HostSystem;
pub use error::SolveError;
pub use iteration::Iteration;
use limits::SolveLimits;
pub use options::SolveOptions;
use order::{in_given_order, in_order, in_sign};
pub use promotion::{Fault, Promotion, Raise, Stronger};
use refine::{refined, refined_by_factors};
pub use solution::Solution;
use transposed::Transposing;
pub use update::{Pace, Updated};
use zero_diagonal::{factorised_instead, has_zero_diagonal};

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
/// It iterates on the CPU or on [another device](SolverBuilder::device). Every call runs in the
/// rayon pool of its thread; for your own, call it in `pool.install`, [as here](crate#threads).
pub struct Solver {
    iteration: Iteration,
    hierarchy: Hierarchy,
    /// The hierarchy of a stronger smoother, if a solve has changed to one that needs its own.
    other_hierarchy: OnceLock<Hierarchy>,
    /// The finest matrix as stored for the outer iteration.
    finest: ExactMatrix,
    kind: MatrixKind,
    near_kernel: Option<NearKernel>,
    /// For Aᵀ, since the first solve with it.
    transposing: Transposing,
    cancel: Cancel,
    pace: Pace,
    stages: Vec<(&'static str, f64)>,
}

/// A system that a solver iterates on: that of its matrix, or of the transpose.
struct Posed<'a> {
    iteration: &'a Iteration,
    /// The matrix, in the order and sign of the levels. It is only asked for if needed, because the
    /// first call may make the rows of a structured grid.
    a: &'a dyn Fn() -> Part<'a>,
    largest_row_error: f64,
    raise: &'a Raise<'a>,
    limits: &'a SolveLimits,
}

impl fmt::Debug for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solver")
            .field("hierarchy", &self.hierarchy)
            .field("config", self.config())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

impl Solver {
    /// Diagnoses the matrix, builds the hierarchy and prepares it for iterating on the CPU.
    ///
    /// The solver keeps the matrix: a borrowed matrix is copied, an owned one or an `Arc` is not.
    pub fn new(a: impl Into<Arc<Csr<f64>>>, config: SolverConfig) -> Result<Self, SolveError> {
        Self::set_up(&Cpu::new(), &a.into(), None, config, Cancel::NEVER)
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
        Self::set_up(&Cpu::new(), &a.into(), Some(kernel), config, Cancel::NEVER)
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
        Self::take_over(&Cpu::new(), hierarchy, None, asked, Cancel::NEVER)
    }

    /// Sets up a solver. Without a given near-kernel, it consists of the constants of every unknown
    /// of a node.
    fn set_up(
        device: &dyn Device,
        a: &Arc<Csr<f64>>,
        mut near_kernel: Option<NearKernel>,
        asked: SolverConfig,
        cancel: Cancel,
    ) -> Result<Self, SolveError> {
        asked.validate()?;
        let until = limits::of_setup(&cancel, &asked);
        let _setup = trace::stage("setup", None, a.rows() as u64);
        let start = Instant::now();
        let diagnosis = trace::stage("diagnosis", None, a.rows() as u64);
        let block = match &near_kernel {
            Some(kernel) => kernel.block(),
            None => unknowns_per_node(a.view(), &Whole::new(a.rows())),
        };
        let Analysed { a: analysed, mut kind, grid } = analyse(a, block, near_kernel.as_ref())?;
        let mut config = asked.resolve(kind.facts(device));
        let may_have_fields = kind.grid.as_ref().is_none_or(|grid| grid.unknowns > 1);
        if near_kernel.is_none()
            && block == 1
            && kind.symmetric
            && may_have_fields
            && config.method != Method::Structured
        {
            near_kernel = of_fields(a)?;
            kind.block = near_kernel.as_ref().map_or(1, NearKernel::unknowns_per_node);
            config = asked.resolve(kind.facts(device));
        }
        let kernel = match &near_kernel {
            Some(kernel) => kernel.clone(),
            None => NearKernel::constants(a.rows(), block).map_err(SetupError::from)?,
        };
        kind.check(&config, device)?;
        limits::before("diagnosis", &until)?;
        let symmetry = if kind.symmetric { Symmetry::Symmetric } else { Symmetry::General };
        let grid = grid.filter(|_| config.method == Method::Structured);
        let properties = MatrixProperties { near_kernel: kernel, symmetry, grid };
        drop(diagnosis);
        let diagnosed = start.elapsed().as_secs_f64();
        let replaces = asked.fallback && asked.method == Method::Auto;
        let (by_factors, direct) = (asked.by_factors(), asked.method == Method::Direct);
        let by_multigrid = multigrid_instead(&asked, &config, kind.facts(device));
        let hierarchy = match (config.setup, device.setup()) {
            (SetupPlace::Host, _) => {
                Hierarchy::with_properties_until(analysed, properties, &config.hierarchy_config(), &until)
            }
            (SetupPlace::Device, Some(device)) => {
                let config = config.hierarchy_config();
                Hierarchy::build_on_until(device, analysed, &properties, &config, &until)
            }
            (SetupPlace::Device, None) => return Err(no_device()),
        };
        if let Ok(hierarchy) = &hierarchy
            && let Some(levels) = positive_levels(hierarchy, &config, &kind)
        {
            let set_up = Self::set_up(device, a, near_kernel, asked.with_levels(levels), until)?;
            return Ok(Solver { cancel, ..set_up });
        }
        let set_up = hierarchy.map_err(SolveError::from).and_then(|hierarchy| {
            let hierarchy = if kind.negated { hierarchy.of_negative() } else { hierarchy };
            let near_kernel = near_kernel.clone();
            Self::with_parts(device, hierarchy, kind, config, asked, near_kernel, diagnosed, &until)
        });
        match set_up {
            Err(SolveError::Setup(error)) if !direct && has_zero_diagonal(&error) => {
                let factorise = || Self::set_up(device, a, near_kernel, by_factors, until);
                Ok(Solver { cancel, ..factorised_instead(error, replaces, factorise)? })
            }
            Err(SolveError::Setup(error)) => match by_multigrid.filter(|_| has_no_factors(&error)) {
                Some(config) => {
                    events::set_up_failed(&error, config.method);
                    let set_up = Self::set_up(device, a, near_kernel, config, until);
                    let set_up = set_up.map_err(|second| match second.stop_reason() {
                        Some(_) => second,
                        None => error.into(),
                    });
                    Ok(Solver { cancel, ..set_up? })
                }
                None => Err(error.into()),
            },
            set_up => Ok(Solver { cancel, ..set_up? }),
        }
    }

    /// Sets up a solver for an existing hierarchy. The near-kernel is only used for a rebuild.
    fn take_over(
        device: &dyn Device,
        hierarchy: Hierarchy,
        near_kernel: Option<NearKernel>,
        asked: SolverConfig,
        cancel: Cancel,
    ) -> Result<Self, SolveError> {
        asked.validate()?;
        let until = limits::of_setup(&cancel, &asked);
        let rows = hierarchy.levels()[0].rows() as u64;
        let _setup = trace::stage("setup", None, rows);
        let start = Instant::now();
        let diagnosis = trace::stage("diagnosis", None, rows);
        let mut kind = MatrixKind::of(&hierarchy.finest_matrix().0)?;
        kind.scattered = hierarchy.order().is_some();
        kind.negated = hierarchy.is_negated();
        let config = asked.resolve(kind.facts(device));
        config.check_for(kind.facts(device))?;
        drop(diagnosis);
        let diagnosed = start.elapsed().as_secs_f64();
        let made = Self::with_parts(device, hierarchy, kind, config, asked, near_kernel, diagnosed, &until)?;
        Ok(Solver { cancel, ..made })
    }

    /// Lowers a hierarchy. `diagnosed` is the time of the diagnosis in seconds.
    #[expect(clippy::too_many_arguments, reason = "they become the fields of a solver")]
    fn with_parts(
        device: &dyn Device,
        mut hierarchy: Hierarchy,
        kind: MatrixKind,
        config: SolverConfig,
        asked: SolverConfig,
        near_kernel: Option<NearKernel>,
        diagnosed: f64,
        until: &Cancel,
    ) -> Result<Self, SolveError> {
        let start = Instant::now();
        let conversion = trace::stage("conversion", None, hierarchy.levels()[0].rows() as u64);
        let finest = hierarchy.finest(config.lowering().formats);
        let (matrix, multigrid) = lower(device, &hierarchy, &finest, &config, until)?;
        hierarchy.release();
        let (finest_matrix, order) = hierarchy.finest_matrix();
        let kernel = kind.null_space(device, &finest_matrix, order.map(|order| &**order))?;
        drop(conversion);
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
        Ok(Solver {
            iteration,
            hierarchy,
            other_hierarchy: OnceLock::new(),
            finest,
            kind,
            near_kernel,
            transposing: Transposing::default(),
            cancel: Cancel::NEVER,
            pace: Pace::default(),
            stages,
        })
    }

    /// Solves A x = b with a zero initial guess.
    ///
    /// If the constants are the null space of A, or of a connected component of it, and b does not
    /// sum to zero there, there is no solution; nor if b is not zero in an empty row. x then
    /// minimises the residual, and the report says `Inconsistent`, or `Converged` if
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
        let limits = SolveLimits::new(&self.cancel, options);
        let lower = |levels: &Hierarchy, config: &SolverConfig| {
            let lowered = lower(self.device(), levels, &self.finest, config, &limits.cancel);
            lowered.map(|(_, cycle)| cycle)
        };
        let raise = |to, kind| {
            limits.unless_cancelled(self.stronger(&self.iteration, to, kind, &limits.cancel, &lower))
        };
        let a = || Part::from(self.hierarchy.levels()[0].matrix());
        let (iteration, largest_row_error) = (&self.iteration, self.kind.largest_row_error);
        let system = Posed { iteration, a: &a, largest_row_error, raise: &raise, limits: &limits };
        let solution = self.solve_posed(&system, b, guess, options, observer)?;
        self.pace.note(solution.report.iterations);
        Ok(solution)
    }

    /// Solves with A or with Aᵀ, by an iteration in the order and sign of the levels.
    fn solve_posed(
        &self,
        system: &Posed<'_>,
        b: &[f64],
        guess: Option<&[f64]>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, SolveError> {
        let Posed { iteration, largest_row_error, raise, limits, .. } = *system;
        let mut within_limits;
        let mut observer = if limits.cancel.is_never() {
            observer.map(|observer| observer as &mut Observer<'_>)
        } else {
            let mut observer = observer;
            within_limits = move |progress: &Progress| limits.watch(progress, observer.as_mut());
            Some(&mut within_limits as &mut Observer<'_>)
        };
        let device = self.device();
        let _solve = trace::stage("solve", None, b.len() as u64);
        let before = device.traffic();
        // The iteration is in the order of the levels, and (−A)(−x) = b in their sign.
        let order = self.hierarchy.order();
        let b = &*in_order(order, b);
        let guess = guess.map(|guess| in_sign(self.kind.negated, in_order(order, guess)));
        let guess = guess.map(|guess| device.upload(&guess)).transpose()?;
        let observing = observer.as_mut().map(|observer| &mut **observer as &mut Observer<'_>);
        let a = || (system.a)(); // for as long as b lives
        let host = HostSystem { a: &a, largest_row_error, b };
        let solution = iteration.solve_certified(&host, guess, options, observing, raise)?;
        let residual = |unit: f64, x: &[f64]| a().accurate_residual(device, unit, x, b);
        let steps = self.config().refinement_steps;
        let factorised = solution.promotion.as_ref().is_some_and(Promotion::is_to_factors);
        let factorised = factorised || self.config().method == Method::Direct;
        let solution = if steps == 0 && (factorised || iteration.is_factorised()) {
            refined_by_factors(iteration, options, b, solution, &residual, observer, raise)?
        } else {
            refined(iteration, steps, options, b, solution, &residual, observer, raise)?
        };
        let Solution { x, report, promotion, .. } = solution;
        let (x, report) = (in_given_order(order, x)?.into(), limits.told(report));
        let x = in_sign(self.kind.negated, x).into_owned();
        events::solved(&report, promotion.as_ref());
        Ok(Solution { x, report, promotion, traffic: traffic_since(device, before) })
    }
}

/// The transfers since `before`, if the device counts them.
fn traffic_since(device: &dyn Device, before: Option<Traffic>) -> Option<Traffic> {
    Some(device.traffic()?.since(before?))
}

/// Moves the hierarchy and the finest matrix, which is the operator of the outer iteration, to the
/// device.
fn lower(
    device: &dyn Device,
    hierarchy: &Hierarchy,
    finest: &ExactMatrix,
    config: &SolverConfig,
    cancel: &Cancel,
) -> Result<(Box<dyn LinearOperator>, Multigrid), SolveError> {
    let precision = |index| config.precision.level(index);
    let lowering = Lowering { cancel: Some(cancel), ..config.lowering() };
    let multigrid = hierarchy.lower_with(finest, device, &config.cycling(), precision, lowering)?;
    Ok((finest.operator(device)?, multigrid))
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
    Ok(Solver::new(a, SolverConfig::default())?.solve(b)?.into_result()?.x)
}
