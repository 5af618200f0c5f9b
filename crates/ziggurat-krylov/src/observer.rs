//! Observers follow a solve: progress bars, callbacks from other languages, interrupts.

use std::ops::ControlFlow;

/// The state of a solve after an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of iterations so far.
    pub iteration: usize,
    /// The residual norm of the method's recurrence, not the true one.
    pub residual: f64,
    /// The same, relative to ‖b‖.
    pub relative_residual: f64,
    /// The residual norm to reach.
    pub target: f64,
    /// Seconds since the start of the solve.
    pub seconds: f64,
}

/// Called after every iteration; may ask to stop. Under MPI either all processes have an observer
/// or none has, and all processes stop if any observer asks to.
///
/// ```
/// use std::ops::ControlFlow;
/// use ziggurat_krylov::{LinearProblem, Method, Progress, StopReason, System, Work, solve};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
///
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = Work::new(Method::Cg, &device, &system)?;
/// let mut stop_at_once = |progress: &Progress| {
///     assert_eq!(progress.iteration, 1);
///     ControlFlow::Break(())
/// };
/// let (b, mut x) = (Vector::from(vec![1.0, 1.0]), Vector::from(vec![0.0, 0.0]));
/// let problem = LinearProblem::new(&device, &system, &b).observer(&mut stop_at_once);
/// let report = solve(problem, &mut x, &mut work)?;
/// assert_eq!(report.reason, StopReason::Interrupted);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Observer<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;
