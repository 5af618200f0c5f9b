//! The flexible conjugate gradient method: CG for a preconditioner that is not quite the same in every step.
//!
//! It is [`cg`](crate::cg()) with the β of Polak and Ribière, β = z·(r − r before) / (r·z before), which makes the new
//! direction conjugate to the last one whatever M did. Y. Notay, Flexible conjugate gradients, SIAM J. Sci. Comput. 22,
//! 2000, calls it FCG(1). Use it when M contains an inner iteration, a K-cycle, a smoother that is not symmetric, or
//! arithmetic so narrow that it is not quite linear; with a fixed symmetric M both methods do the same.
//!
//! Because r − r before = −α A p, β = −z·Ap / p·Ap: no extra vector is kept, and z·r and z·Ap come from one pass.
//!
//! **Cost.** That of CG with one vector more to read, 13 per iteration. Three sums over processes, as CG.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

use crate::cg::{Beta, CgWork, conjugate_gradients};
use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;

/// Solves A x = b by flexible conjugate gradients, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{CgWork, LinearProblem, System, flexible_cg};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = CgWork::new(&device, &system)?;
/// let (b, mut x) = (vec![3.0, 0.0], vec![0.0; 2]);
/// let report = flexible_cg(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// assert!((x[0] - 2.0_f64).abs() < 1e-12 && report.iterations == 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn flexible_cg<D: Device, C: Real>(
    problem: LinearProblem<'_, D, C>,
    x: &mut D::Vector<C>,
    work: &mut CgWork<D, C>,
) -> Result<KrylovReport, KrylovError> {
    conjugate_gradients(Beta::PolakRibiere, problem, x, work)
}
