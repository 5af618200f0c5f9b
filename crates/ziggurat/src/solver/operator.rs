//! A solver as a linear operator: x ↦ A⁻¹ x within the tolerance, as the preconditioner of another
//! iteration.
//!
//! Everything that a solve does is included, such as wider levels where rounding slows it. The
//! result depends on x in a way that is not linear, so the outer method has to be flexible. One
//! cycle alone, which is linear and stays on the device, is
//! [`Solver::preconditioner`](super::Solver::preconditioner); any Krylov method around it on the
//! device is [`InnerSolver`](crate::krylov::InnerSolver).
//!
//! Cost: a solve, with b and x copied to the host and back.

use ziggurat_sparse::device::Device;
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use super::Solver;

/// ```
/// use ziggurat::krylov::{LinearProblem, Method, System, Work, solve};
/// use ziggurat::sparse::{device::Cpu, gallery::Problem, operator::MatrixOperator};
/// use ziggurat::Solver;
/// let cpu = Cpu::new();
/// let convection = "convection3d:10".parse::<Problem>()?.matrix()?;
/// let diffusion = Solver::builder().rtol(0.1).build("poisson3d:10".parse::<Problem>()?.matrix()?)?;
/// let a = MatrixOperator::<Cpu, f64>::new(&cpu, convection)?;
/// let system = System::new(&a).preconditioner(&diffusion);
/// let mut work = Work::new(Method::Fgmres { restart: 30 }, &cpu, &system)?;
/// let (b, mut x) = (vec![1.0; 1000], vec![0.0; 1000]);
/// assert!(solve(LinearProblem::new(&cpu, &system, &b), &mut x, &mut work)?.reason.is_converged());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<D: Device> LinearOperator<D, f64> for Solver<D> {
    fn shape(&self) -> (usize, usize) {
        LinearOperator::<D, f64>::shape(self.preconditioner())
    }

    fn apply(&self, device: &D, x: &D::Vector<f64>, y: &mut D::Vector<f64>, _: &mut Workspace) {
        let mut b = vec![0.0; device.len(x)];
        let solution = device.download(x, &mut b).map(|()| self.solve(&b));
        let written = match solution {
            Ok(Ok(solution)) => device.write(&solution.x, y).is_ok(),
            _ => false,
        };
        if !written {
            // The outer method reports what is not a number.
            device.fill(f64::NAN, y);
        }
    }
}
