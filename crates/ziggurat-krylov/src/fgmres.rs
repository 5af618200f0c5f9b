//! Flexible GMRES: GMRES for a preconditioner that varies between steps.
//!
//! It stores z_k = M_k v_k of every step, so that x + Σ y_k z_k needs no further product with M.
//! The rest is [`gmres`](crate::gmres()). Y. Saad, A flexible inner-outer preconditioned GMRES
//! algorithm, SIAM J. Sci. Comput. 14, 1993. Use it if M contains an inner iteration, a K-cycle, or
//! arithmetic of so low a precision that M is not quite linear.
//!
//! **Cost.** Per step that of GMRES; per restart one product with M less. It stores 2 restart + 1
//! vectors.

use ziggurat_sparse::device::Vector;

use crate::error::KrylovError;
use crate::gmres::{ArnoldiWork, minimal_residuals};
use crate::problem::LinearProblem;
use crate::report::KrylovReport;

/// The workspace of [`fgmres`](fgmres()): 2 restart + 1 vectors and the workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{FgmresWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = FgmresWork::new(&device, &System::new(&a), 30)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type FgmresWork = ArnoldiWork<true>;

/// Solves A x = b by flexible GMRES with restarts, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{FgmresWork, LinearProblem, System, fgmres};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = FgmresWork::new(&device, &system, 30)?;
/// let (b, mut x) = (Vector::from(vec![2.0, 3.0]), Vector::from(vec![0.0; 2]));
/// let report = fgmres(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// let x = x.elements::<f64>().unwrap();
/// assert!(report.reason.is_converged() && (x[1] - 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fgmres(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut FgmresWork,
) -> Result<KrylovReport, KrylovError> {
    minimal_residuals(problem, x, work)
}
