//! The iteration: a Krylov method preconditioned by a multigrid cycle, on any device.
//!
//! ```text
//! x ← krylov(A, cycle, b, x)    (from zero, or from a guess)
//! x ← krylov(A, wide cycle, b, x)  (only if rounding slowed or stopped the first)
//! ```
//!
//! If b is very small or very large, b and x are scaled by a power of two (`units.rs`). If A is
//! singular, the Krylov method projects the null space out and reports what b has in it.
//!
//! Solvers with one and with several processes differ in setup only and share this code. All
//! decisions here depend on values that are equal on every process: norms, and requests to stop
//! that are combined over all processes ([`DeviceExt::any`]).

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use ziggurat_amg::Multigrid;
use ziggurat_krylov::{self as krylov, KrylovReport, LinearProblem, Observer, Progress, System, Work};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceExt, Vector};
use ziggurat_sparse::operator::LinearOperator;

use super::units::Unit;
use super::{Raise, Solution, SolveError, SolveOptions, traffic_since};
use crate::config::{SmootherKind, SolverConfig};
use crate::diagnose::NullSpace;

/// A matrix and its cycle, ready to iterate on a device.
///
/// ```
/// use ziggurat::amg::{Formats, Hierarchy, HierarchyConfig};
/// use ziggurat::sparse::{device::Cpu, gallery::Problem};
/// use ziggurat::{Iteration, SolveOptions, SolverConfig, Stronger, config::Precision, diagnose::NullSpace};
/// let (a, cpu) = ("poisson3d:12".parse::<Problem>()?.matrix()?, Cpu::new());
/// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
/// let config = SolverConfig::default();
/// let lower = |precision: Precision| {
///     hierarchy.lower(&cpu, &config.cycling(), |index| precision.level(index), config.lowering())
/// };
/// let matrix = hierarchy.finest(Formats::FewestBytes).operator(&cpu)?;
/// let narrow = lower(Precision::F16)?;
/// let chosen = SolverConfig { precision: Precision::F16, ..config.clone() };
/// let iteration = Iteration::new(&cpu, matrix, narrow, NullSpace::default(), chosen, config.clone());
/// let options = SolveOptions::from(iteration.config());
/// let raise = |to, _| match to {
///     Stronger::Levels(kind) => Ok(Some(lower(Precision::uniform(kind))?)),
///     Stronger::Smoother(_) | Stronger::Factors => Ok(None),
/// };
/// let solution = iteration.solve(vec![1.0; 1728].into(), None, &options, None, &raise)?;
/// assert!(solution.report.reason.is_converged() && iteration.raised_to().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Iteration {
    /// The device of the vectors.
    pub device: Arc<dyn Device>,
    /// The matrix as the outer iteration applies it.
    pub(super) matrix: Box<dyn LinearOperator>,
    pub(super) multigrid: Multigrid,
    /// The cycle in single precision, set by the first solve that needs it.
    pub(super) single: OnceLock<Multigrid>,
    /// The cycle in double precision, likewise.
    pub(super) double: OnceLock<Multigrid>,
    /// The cycle with a stronger smoother, likewise.
    pub(super) smoothed: OnceLock<Multigrid>,
    /// Whether solves start with it.
    pub(super) keeps_smoothed: AtomicBool,
    /// Sparse factors, likewise.
    pub(super) factors: OnceLock<Multigrid>,
    /// Whether solves start with the factors.
    pub(super) keeps_factors: AtomicBool,
    /// The number of iterations of a slow solve up to which rounding was not the cause.
    pub(super) cleared_until: AtomicUsize,
    /// Whether a narrow precision that was asked for has been found to slow a solve.
    pub(super) rounding_slows: AtomicBool,
    /// The known null space of the matrix.
    pub(super) kernel: NullSpace,
    pub(super) config: SolverConfig,
    pub(super) asked: SolverConfig,
}

impl fmt::Debug for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iteration")
            .field("multigrid", self.preconditioner())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Iteration {
    /// Combines a matrix and its cycle. `kernel` is the known null space of the matrix.
    /// `config` is the resolved configuration that the cycle was lowered with, `asked` the one
    /// before it was resolved. If the precision was `auto` there, the solve is monitored.
    pub fn new(
        device: &dyn Device,
        matrix: Box<dyn LinearOperator>,
        multigrid: Multigrid,
        kernel: NullSpace,
        config: SolverConfig,
        asked: SolverConfig,
    ) -> Self {
        Iteration {
            device: device.share(),
            matrix,
            multigrid,
            single: OnceLock::new(),
            double: OnceLock::new(),
            smoothed: OnceLock::new(),
            keeps_smoothed: AtomicBool::new(false),
            factors: OnceLock::new(),
            keeps_factors: AtomicBool::new(false),
            cleared_until: AtomicUsize::new(0),
            rounding_slows: AtomicBool::new(false),
            kernel,
            config,
            asked,
        }
    }

    /// Solves A x = b with an initial guess or from zero. `raise` builds a stronger
    /// preconditioner if a solve needs it.
    ///
    /// If A is singular and b is not in its range, x minimises the residual; whether that counts as
    /// converged is decided by [`Stopping::project_rhs`](ziggurat_krylov::Stopping::project_rhs).
    /// The residual is that of doubles, in which rounding may hide a larger one: see
    /// [`solve_certified`](Self::solve_certified).
    pub fn solve(
        &self,
        mut b: Vector,
        guess: Option<Vector>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
        raise: &Raise<'_>,
    ) -> Result<Solution<Vector>, SolveError> {
        let (device, rows) = (&*self.device, self.matrix.shape().0);
        let before = device.traffic();
        let mut x = match guess {
            Some(guess) => guess,
            None => on_all_processes(device, device.zeros(Kind::F64, rows))?,
        };
        let unit = Unit::of(device, &b);
        let (report, promotion) = if unit.is_one() {
            self.solve_watched(&b, &mut x, options, observer, raise)?
        } else {
            unit.divide(device, &mut b);
            unit.divide(device, &mut x);
            let mut observer = observer;
            let mut in_own_units = |progress: &Progress| match &mut observer {
                Some(observer) => observer(&unit.progress(progress)),
                None => ControlFlow::Continue(()),
            };
            let options = unit.options(options);
            let (report, promotion) =
                self.solve_watched(&b, &mut x, &options, Some(&mut in_own_units), raise)?;
            (self.in_own_units(unit, report, &b, &mut x)?, promotion)
        };
        Ok(Solution { x, report, promotion, traffic: traffic_since(device, before) })
    }

    /// Multiplies x by the unit, and states what that does to the residual: elements of x may
    /// overflow or underflow.
    fn in_own_units(
        &self,
        unit: Unit,
        report: KrylovReport,
        b: &Vector,
        x: &mut Vector,
    ) -> Result<KrylovReport, SolveError> {
        let device = &*self.device;
        unit.multiply(device, x);
        let vector = || device.zeros(Kind::F64, x.len());
        let work = || self.matrix.workspace(device, Kind::F64);
        let memory = vector().and_then(|returned| Ok((returned, vector()?, work()?)));
        let (mut returned, mut r, mut work) = on_all_processes(device, memory)?;
        device.copy(x, &mut returned);
        unit.divide(device, &mut returned);
        self.matrix.residual(device, &returned, b, &mut r, &mut work);
        let residual = device.norm(&r);
        device.finish()?;
        Ok(unit.report(report, residual))
    }

    /// Iterates with the given cycle, starting at `x`.
    pub(super) fn run(
        &self,
        cycle: &dyn LinearOperator,
        b: &Vector,
        x: &mut Vector,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<KrylovReport, SolveError> {
        let with_empty_rows = self.kernel_with_empty_rows(b)?;
        let kernel = with_empty_rows.as_deref().unwrap_or(&self.kernel.vectors);
        let system = System::new(&*self.matrix).preconditioner(cycle).kernel(kernel);
        let work = Work::with_basis(options.method(&self.config), options.basis, &*self.device, &system);
        let mut work = on_all_processes(&*self.device, work)?;
        let mut problem = LinearProblem::new(&*self.device, &system, b).stopping(options.stopping);
        if let Some(observer) = observer {
            problem = problem.observer(observer);
        }
        let report = krylov::solve(problem, x, &mut work)?;
        // Report a device failure before x is used or slow convergence is attributed to rounding.
        self.device.finish()?;
        Ok(report)
    }

    /// Replaces the matrix by another one of the same size, with its cycle and null space. The
    /// cycle must be in the precision that [`raised_to`](Iteration::raised_to) states.
    pub fn replace(&mut self, matrix: Box<dyn LinearOperator>, multigrid: Multigrid, kernel: NullSpace) {
        (self.matrix, self.kernel) = (matrix, kernel);
        *self.cleared_until.get_mut() = 0;
        *self.rounding_slows.get_mut() = false;
        (self.smoothed, self.factors) = (OnceLock::new(), OnceLock::new());
        (*self.keeps_smoothed.get_mut(), *self.keeps_factors.get_mut()) = (false, false);
        match (self.double.get_mut(), self.single.get_mut()) {
            (Some(cycle), _) | (None, Some(cycle)) => *cycle = multigrid,
            (None, None) => self.multigrid = multigrid,
        }
    }

    /// The precision that a solve has raised the levels to. All later solves start with it.
    pub fn raised_to(&self) -> Option<Kind> {
        match (self.double.get(), self.single.get()) {
            (Some(_), _) => Some(Kind::F64),
            (None, Some(_)) => Some(Kind::F32),
            (None, None) => None,
        }
    }

    /// Whether a slow solve has found that the same cycle in single precision reduces the error by
    /// more than the one in the narrower precision that was asked for, which it kept. If the
    /// precision was left open, the solve has [raised](Self::raised_to) it instead.
    pub fn rounding_slows(&self) -> bool {
        self.rounding_slows.load(Ordering::Relaxed)
    }

    /// Whether a solve has changed from multigrid to sparse factors of the matrix. All later solves
    /// start with them.
    pub fn is_factorised(&self) -> bool {
        self.keeps_factors.load(Ordering::Relaxed)
    }

    /// The smoother that a solve has changed to. All later solves start with it, unless
    /// they [start with factors](Self::is_factorised).
    pub fn smoother_in_use(&self) -> Option<SmootherKind> {
        self.keeps_smoothed.load(Ordering::Relaxed).then(|| self.config.stronger_smoother())
    }

    /// The configuration that the levels are stored in now: the resolved one, with the precision
    /// that a solve has raised it to.
    pub fn config_in_use(&self) -> SolverConfig {
        self.raised_to().map_or_else(|| self.config.clone(), |kind| self.config.in_precision(kind))
    }

    /// The cycle that the next solve starts with.
    pub fn preconditioner(&self) -> &Multigrid {
        let factors = self.factors.get().filter(|_| self.is_factorised());
        let smoothed = self.smoothed.get().filter(|_| self.keeps_smoothed.load(Ordering::Relaxed));
        factors.or(smoothed).unwrap_or_else(|| self.levels())
    }

    /// The cycle over the levels of the hierarchy, with the configured smoother.
    pub(super) fn levels(&self) -> &Multigrid {
        self.double.get().or(self.single.get()).unwrap_or(&self.multigrid)
    }

    /// The configuration before it was resolved.
    pub fn asked(&self) -> &SolverConfig {
        &self.asked
    }

    /// The configuration in use, with every `auto` resolved.
    pub fn config(&self) -> &SolverConfig {
        &self.config
    }
}

/// Memory may run out on one process only. Then no process continues, because the others would wait
/// for its messages.
pub(super) fn on_all_processes<T>(
    device: &dyn Device,
    made: Result<T, impl Into<SolveError>>,
) -> Result<T, SolveError> {
    match (device.any(made.is_err()), made) {
        (true, Ok(_)) => Err(SolveError::OtherProcess),
        (_, made) => made.map_err(Into::into),
    }
}
