//! The parts of a solver: its device, hierarchy, cycle, choices and times.

use ziggurat_amg::{Hierarchy, Multigrid};
use ziggurat_sparse::device::Device;

use super::Solver;
use crate::config::{Decision, SolverConfig};

impl Solver {
    /// The device of the iteration.
    ///
    /// ```
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// assert!(solver.device().name().starts_with("cpu"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn device(&self) -> &dyn Device {
        &*self.iteration.device
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
    /// use ziggurat::sparse::operator::LinearOperator;
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// assert_eq!(solver.preconditioner().shape(), (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It also works on vectors in single precision, for programs that have no others:
    ///
    /// ```
    /// use ziggurat::krylov::{LinearProblem, Method, Stopping, System, Work, solve};
    /// use ziggurat::sparse::{Kind, device::Cpu, gallery::Problem, operator::MatrixOperator};
    /// let (cpu, a) = (Cpu::new(), "poisson3d:10".parse::<Problem>()?.matrix()?);
    /// let solver = ziggurat::Solver::builder().build(&a)?;
    /// let a = MatrixOperator::new(&cpu, a.view().stored_as::<f32>())?;
    /// let system = System::new(&a).preconditioner(solver.preconditioner()).in_number(Kind::F32);
    /// let mut work = Work::new(Method::Cg, &cpu, &system)?;
    /// let (b, mut x) = (vec![1.0_f32; 1000].into(), vec![0.0_f32; 1000].into());
    /// let problem = LinearProblem::new(&cpu, &system, &b).stopping(Stopping::default().rtol(1e-5));
    /// assert!(solve(problem, &mut x, &mut work)?.reason.is_converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preconditioner(&self) -> &Multigrid {
        self.iteration.preconditioner()
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
        let mut decisions = self.iteration.asked.decisions(self.kind.facts(self.device()));
        let levels = self.hierarchy.levels();
        decisions.extend(self.config().plain_finest(levels.len(), levels[0].radius()));
        decisions
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
