//! The flexible conjugate gradient method: CG for a preconditioner that varies between iterations.
//!
//! It is [`cg`](crate::cg()) with the β of Polak and Ribière, β = z·(r − previous r) / (previous
//! r·z), which makes the new direction conjugate to the previous one for any M. It is FCG(1) of Y.
//! Notay, Flexible conjugate gradients, SIAM J. Sci. Comput. 22, 2000. Use it if M contains an
//! inner iteration, a K-cycle, a nonsymmetric smoother, or arithmetic of so low a precision that M
//! is not quite linear. With a fixed symmetric M it is equivalent to CG.
//!
//! Because r − previous r = −α A p, β = −z·Ap / p·Ap: it needs no extra vector, and z·r and z·Ap
//! are computed in one pass.
//!
//! **Cost.** That of CG and one more vector read, 13 per iteration; three reductions, as CG.

use ziggurat_sparse::device::Vector;

use crate::cg::{Beta, CgWork, conjugate_gradients};
use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;

/// Solves A x = b by flexible conjugate gradients, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{CgWork, LinearProblem, System, flexible_cg};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = CgWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![3.0, 0.0]), Vector::from(vec![0.0; 2]));
/// let report = flexible_cg(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// let x = x.elements::<f64>().unwrap();
/// assert!((x[0] - 2.0).abs() < 1e-12 && report.iterations == 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn flexible_cg(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut CgWork,
) -> Result<KrylovReport, KrylovError> {
    conjugate_gradients(Beta::PolakRibiere, problem, x, work)
}
