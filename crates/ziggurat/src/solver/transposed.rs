//! Solves with Aᵀ by the hierarchy of A, as for adjoint equations.
//!
//! ```text
//! Aᵀ x = b,   preconditioned by the transposed cycle,   until ‖b − Aᵀ x‖ is small
//! ```
//!
//! The levels are those of A with P and R in each other's place
//! (`ziggurat_amg::lower::transposed`), so nothing is coarsened again. The iteration is that of
//! every solve: its residual is computed with Aᵀ, and it may change to wider levels, a stronger
//! smoother or factors, all of them transposed. F- and K-cycles, whose transpose is not a cycle,
//! run on the transposed levels, which precondition Aᵀ as well. A symmetric matrix is its own
//! transpose and needs none of this; one that is symmetric up to rounding is solved in the same way
//! if rounding does not matter for x.
//!
//! Cost: the first solve transposes and converts the levels, which takes a fraction of a setup, and
//! doubles the memory of the solver. Of a symmetric matrix, it compares A with Aᵀ.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ziggurat_amg::{Cancel, ExactMatrix, Hierarchy, Lowering, Multigrid, Part};
use ziggurat_krylov::Observer;
use ziggurat_sparse::algebra::transpose;
use ziggurat_sparse::device::DeviceExt;
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel, trace};

use super::watch::joined;
use super::{Iteration, Posed, Solution, SolveError, SolveLimits, SolveOptions, Solver};
use crate::config::{ConfigError, SolverConfig};

/// Rounding may change the residual by this fraction of the tolerance.
const NEGLIGIBLE: f64 = 0.005;

/// Number of rows per task.
const ROWS: usize = 4096;

/// Data of solves with Aᵀ that is kept.
#[derive(Default)]
pub(super) struct Transposing {
    system: OnceLock<Transposed>,
    /// max_i Σ_j |a_ij − a_ji|
    asymmetry: OnceLock<f64>,
}

/// Aᵀ and its preconditioner, in the order and sign of the levels.
struct Transposed {
    a: Arc<Csr<f64>>,
    /// Aᵀ as stored for the outer iteration.
    finest: ExactMatrix,
    iteration: Iteration,
    largest_row_error: f64,
}

impl Solver {
    /// Solves Aᵀ x = b with a zero initial guess, by the same hierarchy: an adjoint solve. The
    /// residual in the report is that of the transposed system.
    ///
    /// The first call transposes the levels, and the solver then needs twice the memory. If the
    /// matrix is symmetric, this is [`Solver::solve`].
    ///
    /// ```
    /// use ziggurat::Solver;
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "convection3d:10".parse::<Problem>()?.matrix()?;
    /// let solver = Solver::builder().rtol(1e-10).build(&a)?;
    /// let (b, c) = (vec![1.0; 1000], (0..1000).map(f64::from).collect::<Vec<_>>());
    /// let x = solver.solve(&b)?.into_result()?.x;
    /// let adjoint = solver.solve_transposed(&c)?.into_result()?.x;
    /// // cᵀ A⁻¹ b, with one solve for every b or for every c.
    /// let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    /// assert!((dot(&c, &x) / dot(&adjoint, &b) - 1.0).abs() < 1e-8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Solver::solve`], and if the transposed levels do not fit into memory.
    pub fn solve_transposed(&self, b: &[f64]) -> Result<Solution, SolveError> {
        self.solve_transposed_with(b, None, &SolveOptions::from(self.config()), None)
    }

    /// As [`Solver::solve_transposed`], with an optional initial guess, per-solve overrides of the
    /// options, and an optional callback: [`Solver::solve_with`] for Aᵀ.
    ///
    /// ```
    /// use ziggurat::{SolveOptions, Solver, config::Krylov};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "convection3d:10".parse::<Problem>()?.matrix()?;
    /// let solver = Solver::builder().build(&a)?;
    /// let options = SolveOptions { krylov: Krylov::Fgmres, ..SolveOptions::from(solver.config()) };
    /// let solution = solver.solve_transposed_with(&[1.0; 1000], Some(&[0.1; 1000]), &options, None)?;
    /// assert!(solution.report.relative_residual <= 1e-8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Solver::solve_transposed`].
    pub fn solve_transposed_with(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        options: &SolveOptions,
        mut observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, SolveError> {
        if !self.kind.symmetric {
            return self.solve_nonsymmetric(b, guess, options, observer);
        }
        let observing = observer.as_mut().map(|observer| &mut **observer as &mut Observer<'_>);
        let solution = self.solve_with(b, guess, options, observing)?;
        let solution = self.with_transposed_residual(b, options, solution)?;
        let report = &solution.report;
        if !report.reason.is_converged() || report.residual <= report.target {
            return Ok(solution);
        }
        // The difference between A and Aᵀ matters for this x.
        let mut rest = options.clone();
        rest.stopping = rest.stopping.with_target(report.target);
        let next = self.solve_nonsymmetric(b, Some(&solution.x), &rest, observer)?;
        Ok(Solution { report: joined(solution.report, next.report), ..next })
    }

    /// Iterates with Aᵀ.
    fn solve_nonsymmetric(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, SolveError> {
        let limits = SolveLimits::new(&self.cancel, options);
        let transposed = self.transposed(&limits.cancel)?;
        let Transposed { a, finest, iteration, largest_row_error } = transposed;
        let lower = |levels: &Hierarchy, config: &SolverConfig| {
            self.lower_transposed(levels, a, finest, config, &limits.cancel)
        };
        let raise =
            |to, kind| limits.unless_cancelled(self.stronger(iteration, to, kind, &limits.cancel, &lower));
        let largest_row_error = *largest_row_error;
        let a = || Part::from(a);
        let system = Posed { iteration, a: &a, largest_row_error, raise: &raise, limits: &limits };
        self.solve_posed(&system, b, guess, options, observer)
    }

    /// Aᵀ and its preconditioner, which the first call makes.
    fn transposed(&self, cancel: &Cancel) -> Result<&Transposed, SolveError> {
        if let Some(made) = self.transposing.system.get() {
            return Ok(made);
        }
        let (device, hierarchy) = (self.device(), &self.hierarchy);
        let _stage = trace::stage("transpose", None, hierarchy.levels()[0].rows() as u64);
        let config = self.iteration.config_in_use();
        let (a, finest) = hierarchy.finest_transposed(config.lowering().formats)?;
        let multigrid = self.lower_transposed(hierarchy, &a, &finest, &config, cancel)?;
        let (matrix, order) = hierarchy.finest_matrix();
        let kernel = self.kind.null_space(device, &matrix, order.map(|order| &**order))?;
        let operator = finest.operator(device)?;
        let asked = self.iteration.asked.clone();
        let iteration = Iteration::new(device, operator, multigrid, kernel, config, asked);
        let largest_row_error = largest_row_error(a.view());
        let made = Transposed { a, finest, iteration, largest_row_error };
        // If another thread was faster, what it made is identical.
        Ok(self.transposing.system.get_or_init(|| made))
    }

    /// Moves levels to the device, transposed; `a` is the transpose of their finest matrix.
    fn lower_transposed(
        &self,
        levels: &Hierarchy,
        a: &Arc<Csr<f64>>,
        finest: &ExactMatrix,
        config: &SolverConfig,
        cancel: &Cancel,
    ) -> Result<Multigrid, SolveError> {
        let precision = |index| config.precision.level(index);
        let (cycling, lowering) = (config.cycling(), Lowering { cancel: Some(cancel), ..config.lowering() });
        Ok(levels.lower_transposed_with((a, finest), self.device(), &cycling, precision, lowering)?)
    }

    /// A solution of A x = b for an A that is symmetric up to rounding, with the residual for Aᵀ.
    /// It is computed only if a bound does not show that it is the same.
    fn with_transposed_residual(
        &self,
        b: &[f64],
        options: &SolveOptions,
        solution: Solution,
    ) -> Result<Solution, SolveError> {
        let Solution { x, mut report, promotion, traffic } = solution;
        let largest = x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let change = self.asymmetry()? * largest * (x.len() as f64).sqrt();
        let projected = options.stopping.project_rhs && report.left_out * report.b_norm > report.target;
        if change > NEGLIGIBLE * report.target && report.b_norm > 0.0 && !projected {
            let a = self.hierarchy.matrix()?;
            let transposed = Arc::new(transpose(a.view(), a.all_rows()));
            let unit = report.b_norm.log2().floor().clamp(-1000.0, 1000.0).exp2();
            let device = self.device();
            let r = Part::from(&transposed).accurate_residual(device, unit, &x, b);
            let residual = device.norm(&device.upload(&r)?);
            (report.residual, report.relative_residual) =
                (residual * unit, residual / (report.b_norm / unit));
        }
        Ok(Solution { x, report, promotion, traffic })
    }

    /// max_i Σ_j |a_ij − a_ji|, computed by the first call.
    fn asymmetry(&self) -> Result<f64, MatrixError> {
        if let Some(known) = self.transposing.asymmetry.get() {
            return Ok(*known);
        }
        let (matrix, _) = self.hierarchy.finest_matrix();
        let a = matrix.a();
        let transposed = transpose(a.view(), a.all_rows());
        let difference = largest_difference(a.view(), transposed.view());
        Ok(*self.transposing.asymmetry.get_or_init(|| difference))
    }

    /// The transpose of [`Solver::preconditioner`], for methods that also multiply by Aᵀ. Every
    /// call builds it again, and it takes as much memory as the preconditioner. To solve with Aᵀ,
    /// use [`Solver::solve_transposed`].
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
    pub fn transposed_preconditioner(&self) -> Result<Multigrid, SolveError> {
        let config = self.iteration.config_in_use();
        let cycling = config.cycling();
        if !cycling.cycle.has_transpose() {
            let reason = format!("`{}` cycles have no transpose; use `v` or `w`", config.cycle.kind);
            return Err(ConfigError::Value { path: "cycle.kind".into(), reason }.into());
        }
        let precision = |index| config.precision.level(index);
        Ok(self.hierarchy.lower_transposed(self.device(), &cycling, precision, config.lowering())?)
    }
}

/// max_i (k_i + 2) Σ_j |a_ij|, for rows of k_i entries.
fn largest_row_error(a: CsrRef<'_, f64>) -> f64 {
    let error = |row| {
        let values = a.row(row).1;
        (values.len() + 2) as f64 * values.iter().map(|x| x.abs()).sum::<f64>()
    };
    largest(a.all_rows(), error)
}

/// max_i Σ_j |a_ij − b_ij| for matrices of the same size.
fn largest_difference(a: CsrRef<'_, f64>, b: CsrRef<'_, f64>) -> f64 {
    let row_difference = |row| {
        let ((columns, values), (others, other_values)) = (a.row(row), b.row(row));
        if columns == others {
            return values.iter().zip(other_values).map(|(x, y)| (x - y).abs()).sum::<f64>();
        }
        let entry = |a: CsrRef<'_, f64>, column| a.get(row, column).unwrap_or(0.0);
        let own = columns.iter().zip(values);
        let own = own.map(|(&column, x)| (x - entry(b, column as usize)).abs()).sum::<f64>();
        let only_there = others.iter().zip(other_values).filter(|(column, _)| !columns.contains(column));
        own + only_there.map(|(_, y)| y.abs()).sum::<f64>()
    };
    largest(a.all_rows(), row_difference)
}

/// The largest value of rows, or zero.
fn largest(rows: Range<usize>, of_row: impl Fn(usize) -> f64 + Sync) -> f64 {
    let of_rows = |rows: Range<usize>| rows.map(&of_row).fold(0.0, f64::max);
    parallel::map_pieces(rows, ROWS, &of_rows).into_iter().fold(0.0, f64::max)
}
