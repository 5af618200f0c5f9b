//! What iterates: a Krylov method preconditioned by a multigrid cycle, on any device.
//!
//! ```text
//! b ← b − N Nᵀ b (N: the kernel);   x ← krylov(A, cycle, b, x) from zero;   again with a wide cycle, if it was slow
//! ```
//!
//! A solver of one process and one of many differ in how a system is set up, not in how it is solved: that is here, once. All
//! that is decided here is decided by numbers that every process has: norms, and agreement on what users want
//! ([`Device::any`]). Cost: that of the iterations.

use std::fmt;
use std::sync::OnceLock;

use ziggurat_amg::Multigrid;
use ziggurat_krylov::{self as krylov, KrylovReport, LinearProblem, Observer, System, Work};
use ziggurat_sparse::device::Device;
use ziggurat_sparse::operator::LinearOperator;

use super::{Solution, SolveError, SolveOptions, traffic_since};
use crate::config::SolverConfig;

/// A projected vector of this part of its size is rounding.
const ROUNDING: f64 = 1e-13;

/// The matrix as the outer iteration applies it.
pub(super) type Matrix<D> = Box<dyn LinearOperator<D, f64>>;

/// A matrix and its cycle, ready to iterate on a device.
///
/// ```
/// use ziggurat::amg::{Formats, Hierarchy, HierarchyConfig};
/// use ziggurat::sparse::{device::Cpu, gallery::Problem};
/// use ziggurat::{Iteration, SolveOptions, SolverConfig, config::Precision};
/// let (a, cpu) = ("poisson3d:12".parse::<Problem>()?.matrix()?, Cpu::new());
/// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
/// let config = SolverConfig::default();
/// let lower = |precision: Precision| {
///     hierarchy.lower(&cpu, &config.cycling(), |index| precision.level(index), config.lowering())
/// };
/// let matrix = hierarchy.finest(Formats::FewestBytes).operator(&cpu)?;
/// let narrow = lower(Precision::F16)?;
/// let chosen = SolverConfig { precision: Precision::F16, ..config.clone() };
/// let iteration = Iteration::new(cpu, matrix, narrow, Vec::new(), chosen, config.clone());
/// let options = SolveOptions::from(iteration.config());
/// let solution = iteration.solve(vec![1.0; 1728], None, &options, None, || Ok(lower(Precision::F64)?))?;
/// assert!(solution.report.reason.is_converged() && !iteration.is_wide());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Iteration<D: Device> {
    /// Where vectors live.
    pub device: D,
    matrix: Matrix<D>,
    pub(super) multigrid: Multigrid<D>,
    /// The cycle in double precision, once a solve has needed it.
    pub(super) wide: OnceLock<Multigrid<D>>,
    /// Orthonormal vectors that the matrix maps to zero.
    kernel: Vec<D::Vector<f64>>,
    pub(super) config: SolverConfig,
    pub(super) asked: SolverConfig,
}

impl<D: Device> fmt::Debug for Iteration<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iteration")
            .field("multigrid", self.preconditioner())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl<D: Device> Iteration<D> {
    /// Joins what has been set up. `kernel` are orthonormal vectors that the matrix maps to zero; nothing is left to be chosen
    /// in `config`, which the cycle was lowered with; `asked` is what it was before: a precision that was left to be
    /// chosen is watched.
    pub fn new(
        device: D,
        matrix: Box<dyn LinearOperator<D, f64>>,
        multigrid: Multigrid<D>,
        kernel: Vec<D::Vector<f64>>,
        config: SolverConfig,
        asked: SolverConfig,
    ) -> Self {
        Iteration { device, matrix, multigrid, wide: OnceLock::new(), kernel, config, asked }
    }

    /// Solves A x = b from a guess, or from zero; a singular system in the least-squares sense. `widen` makes the cycle in double
    /// precision if a watched solve needs it.
    pub fn solve(
        &self,
        mut b: D::Vector<f64>,
        guess: Option<D::Vector<f64>>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
        widen: impl FnOnce() -> Result<Multigrid<D>, SolveError>,
    ) -> Result<Solution<D::Vector<f64>>, SolveError> {
        let (device, rows) = (&self.device, self.matrix.shape().0);
        let before = device.traffic();
        let mut x = match guess {
            Some(guess) => guess,
            None => device.zeros(rows)?,
        };
        if device.len(&b) == rows && !self.kernel.is_empty() {
            let before = self.device.norm(&b);
            System::new(&*self.matrix).kernel(&self.kernel).project(&self.device, &mut b);
            // What rounding leaves of a right-hand side in the kernel is no right-hand side: zero solves it.
            if self.device.norm(&b) <= ROUNDING * before {
                device.fill(0.0, &mut b);
            }
        }
        let (report, promotion) = self.solve_watched(&b, &mut x, options, observer, widen)?;
        Ok(Solution { x, report, promotion, traffic: traffic_since(device, before) })
    }

    /// Iterates from x with the given cycle.
    pub(super) fn run(
        &self,
        cycle: &Multigrid<D>,
        b: &D::Vector<f64>,
        x: &mut D::Vector<f64>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<KrylovReport, SolveError> {
        let system = System::new(&*self.matrix).preconditioner(cycle).kernel(&self.kernel);
        let mut work = Work::new(options.method(&self.config), &self.device, &system)?;
        let mut problem = LinearProblem::new(&self.device, &system, b).stopping(options.stopping);
        if let Some(observer) = observer {
            problem = problem.observer(observer);
        }
        let report = krylov::solve(problem, x, &mut work)?;
        // A device that failed says so, before anybody looks at x or blames the precision.
        self.device.finish()?;
        Ok(report)
    }

    /// Puts another matrix of the same size in the place of this one, with its cycle, which is in double precision where
    /// [`is_wide`](Iteration::is_wide), and its kernel.
    pub fn replace(
        &mut self,
        matrix: Box<dyn LinearOperator<D, f64>>,
        multigrid: Multigrid<D>,
        kernel: Vec<D::Vector<f64>>,
    ) {
        (self.matrix, self.kernel) = (matrix, kernel);
        match self.wide.get_mut() {
            Some(wide) => *wide = multigrid,
            None => self.multigrid = multigrid,
        }
    }

    /// Whether a solve has needed the cycle in double precision; all later ones begin with it.
    pub fn is_wide(&self) -> bool {
        self.wide.get().is_some()
    }

    /// The cycle that the next solve begins with.
    pub fn preconditioner(&self) -> &Multigrid<D> {
        self.wide.get().unwrap_or(&self.multigrid)
    }

    /// The configuration in use: nothing is left to be chosen in it.
    pub fn config(&self) -> &SolverConfig {
        &self.config
    }
}
