//! A solver as a linear operator: x ↦ A⁻¹ x within the tolerance, as the preconditioner of another
//! iteration.
//!
//! Everything that a solve does is included, such as wider levels where rounding slows it. The
//! result depends on x in a way that is not linear, so the outer method has to be flexible. One
//! cycle alone, which is linear and stays on the device, is
//! [`Solver::preconditioner`](super::Solver::preconditioner); any Krylov method around it on the
//! device is [`InnerSolver`](crate::krylov::InnerSolver).
//!
//! Cost: a solve, with b and x copied to the host and back, in double precision.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, DeviceExt, Vector};
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use super::Solver;

/// ```
/// use ziggurat::krylov::{LinearProblem, Method, System, Work, solve};
/// use ziggurat::sparse::{device::Cpu, gallery::Problem, operator::MatrixOperator};
/// use ziggurat::Solver;
/// let cpu = Cpu::new();
/// let convection = "convection3d:10".parse::<Problem>()?.matrix()?;
/// let diffusion = Solver::builder().rtol(0.1).build("poisson3d:10".parse::<Problem>()?.matrix()?)?;
/// let a = MatrixOperator::new(&cpu, convection)?;
/// let system = System::new(&a).preconditioner(&diffusion);
/// let mut work = Work::new(Method::Fgmres { restart: 30 }, &cpu, &system)?;
/// let (b, mut x) = (vec![1.0; 1000].into(), vec![0.0; 1000].into());
/// assert!(solve(LinearProblem::new(&cpu, &system, &b), &mut x, &mut work)?.reason.is_converged());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl LinearOperator for Solver {
    fn shape(&self) -> (usize, usize) {
        self.preconditioner().shape()
    }

    fn workspace(&self, device: &dyn Device, _: Kind) -> Result<Workspace, DeviceError> {
        Ok(Workspace::new(device.zeros(Kind::F64, self.shape().0)?))
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        let (wide, mut b) = (work.get::<Vector>(), vec![0.0; x.len()]);
        device.copy(x, wide);
        let solution = device.copy_to(wide, &mut b).map(|()| self.solve(&b));
        let written = match solution {
            Ok(Ok(solution)) => device.overwrite(&solution.x, wide).is_ok(),
            _ => false,
        };
        if written {
            device.copy(wide, y);
        } else {
            // The outer method reports what is not a number.
            device.fill(f64::NAN, y);
        }
    }
}
