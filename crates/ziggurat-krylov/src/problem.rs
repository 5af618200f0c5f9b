//! The argument of every Krylov method: A x = b, when to stop, and who observes.

use std::fmt;

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

use crate::error::KrylovError;
use crate::observer::Observer;
use crate::stop::Stopping;
use crate::system::{System, check_length};

/// The linear problem A x = b on a device, with stopping criteria and optionally an observer.
///
/// A method takes the problem, the initial guess, which it overwrites with the solution, and its
/// workspace.
///
/// ```
/// use ziggurat_krylov::{CgWork, LinearProblem, Stopping, System, cg};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::<Cpu, f64>::new(&device, Csr::identity(2)?)?;
/// let system = System::new(&a);
/// let mut work = CgWork::new(&device, &system)?;
/// let (b, mut x) = (vec![1.0, 2.0], vec![0.0; 2]);
/// let stopping = Stopping::default().rtol(1e-12);
/// let problem = LinearProblem::new(&device, &system, &b).stopping(stopping);
/// assert!(cg(problem, &mut x, &mut work)?.reason.is_converged());
/// assert_eq!(x, b);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinearProblem<'a, D: Device, C: Real> {
    /// The device that holds all vectors.
    pub device: &'a D,
    /// The matrix, its preconditioner and its kernel.
    pub system: &'a System<'a, D, C>,
    /// The right-hand side.
    pub b: &'a D::Vector<C>,
    /// When to stop.
    pub stopping: Stopping,
    /// Called after every iteration.
    pub observer: Option<&'a mut Observer<'a>>,
}

impl<'a, D: Device, C: Real> LinearProblem<'a, D, C> {
    /// A problem with the default [`Stopping`] and no observer.
    pub fn new(device: &'a D, system: &'a System<'a, D, C>, b: &'a D::Vector<C>) -> Self {
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

    /// Checks that A, M, the kernel, b, x and the method's vectors (`work_len`) have matching
    /// sizes, and that the stopping criteria are valid.
    pub(crate) fn validate(&self, x: &D::Vector<C>, work_len: usize) -> Result<(), KrylovError> {
        let device = self.device;
        let n = self.system.rows(device)?;
        check_length("the right-hand side", device.len(self.b), n)?;
        check_length("the initial guess", device.len(x), n)?;
        check_length("the workspace (made for another system)", work_len, n)?;
        self.stopping.validate()
    }
}

impl<D: Device, C: Real> fmt::Debug for LinearProblem<'_, D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinearProblem")
            .field("system", self.system)
            .field("stopping", &self.stopping)
            .field("observed", &self.observer.is_some())
            .finish_non_exhaustive()
    }
}
