//! The argument of every Krylov method: A x = b, when to stop, and who observes.

use std::fmt;

use ziggurat_sparse::device::{Device, Vector};

use crate::error::KrylovError;
use crate::observer::Observer;
use crate::stop::Stopping;
use crate::system::System;

/// The linear problem A x = b on a device, with stopping criteria and optionally an observer.
///
/// A method takes the problem, the initial guess, which it overwrites with the solution, and its
/// workspace.
///
/// ```
/// use ziggurat_krylov::{CgWork, LinearProblem, Stopping, System, cg};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(2)?)?;
/// let system = System::new(&a);
/// let mut work = CgWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![0.0; 2]));
/// let stopping = Stopping::default().rtol(1e-12);
/// let problem = LinearProblem::new(&device, &system, &b).stopping(stopping);
/// assert!(cg(problem, &mut x, &mut work)?.reason.is_converged());
/// assert_eq!(x.elements::<f64>(), b.elements());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinearProblem<'a> {
    /// The device that holds all vectors.
    pub device: &'a dyn Device,
    /// The matrix, its preconditioner and its kernel.
    pub system: &'a System<'a>,
    /// The right-hand side.
    pub b: &'a Vector,
    /// When to stop.
    pub stopping: Stopping,
    /// Called after every iteration.
    pub observer: Option<&'a mut Observer<'a>>,
}

impl<'a> LinearProblem<'a> {
    /// A problem with the default [`Stopping`] and no observer.
    pub fn new(device: &'a dyn Device, system: &'a System<'a>, b: &'a Vector) -> Self {
        LinearProblem { device, system, b, stopping: Stopping::default(), observer: None }
    }

    /// Sets the stopping criteria.
    #[must_use]
    pub fn stopping(self, stopping: Stopping) -> Self {
        LinearProblem { stopping, ..self }
    }

    /// Sets the observer.
    #[must_use]
    pub fn observer(self, observer: &'a mut Observer<'a>) -> Self {
        LinearProblem { observer: Some(observer), ..self }
    }

    /// Checks that A, M, the kernel, b, x and a vector of the method have matching sizes and number
    /// types, and that the stopping criteria are valid.
    pub(crate) fn validate(&self, x: &Vector, work: &Vector) -> Result<(), KrylovError> {
        let n = self.system.rows()?;
        self.system.check("the right-hand side", self.b, n)?;
        self.system.check("the initial guess", x, n)?;
        self.system.check("the workspace (made for another system)", work, n)?;
        self.stopping.validate()
    }
}

impl fmt::Debug for LinearProblem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinearProblem")
            .field("system", self.system)
            .field("stopping", &self.stopping)
            .field("observed", &self.observer.is_some())
            .finish_non_exhaustive()
    }
}
