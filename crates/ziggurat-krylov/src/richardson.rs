//! Richardson's iteration with a preconditioner: no Krylov method at all.
//!
//! ```text
//! x ← x + M (b − A x)
//! ```
//!
//! With a multigrid cycle as M it is stand-alone multigrid, with factors or a cycle in lower
//! precision as M it is iterative refinement. The error is multiplied by I − M A in every
//! iteration, so the method converges if the spectral radius of I − M A is below 1, and otherwise
//! diverges. L. F. Richardson, The approximate arithmetical solution by finite differences of
//! physical problems, Phil. Trans. R. Soc. A 210, 1911. A Krylov method with the same M needs fewer
//! iterations and also converges if a few eigenvalues of I − M A are outside the unit circle.
//!
//! The residual is computed from x in every iteration, so it is always the true one. If it exceeds
//! its minimum by a factor of 10⁴, or if 50 iterations do not reduce it, the method stops and
//! reports [`StopReason::Stagnated`].
//!
//! **Cost.** Per iteration: one residual b − A x, one product with M, 4 vectors read or written (3
//! for the update of x, 1 for the norm) and one reduction. To verify convergence takes one more
//! residual. It stores two vectors.

use ziggurat_sparse::device::{Device, Vector};

use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The method diverges if the residual norm exceeds its minimum by this factor. Before they
/// converge, iterations with a nonnormal I − M A may increase it by a smaller one.
const GROWTH: f64 = 1e4;

/// Iterations without a decrease of the residual norm after which the method stops.
const PATIENCE: u32 = 50;

/// The relative decrease of the residual norm that counts as none.
const NO_DECREASE: f64 = 1e-8;

/// The workspace of [`richardson`](richardson()): two vectors and the workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{RichardsonWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = RichardsonWork::new(&device, &System::new(&a))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RichardsonWork {
    operators: OperatorWork,
    r: Vector,
    /// M r, then the next x.
    z: Vector,
}

impl RichardsonWork {
    /// A workspace for systems of this size with these operators.
    pub fn new(device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        let n = system.rows()?;
        let operators = OperatorWork::new(device, system)?;
        Ok(RichardsonWork {
            operators,
            r: device.zeros(system.number, n)?,
            z: device.zeros(system.number, n)?,
        })
    }
}

/// Solves A x = b by Richardson's iteration, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{LinearProblem, RichardsonWork, System, richardson};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 4.0])?;
/// let jacobi = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![0.25, 0.25])?;
/// let device = Cpu::new();
/// let (a, m) = (MatrixOperator::new(&device, a)?, MatrixOperator::new(&device, jacobi)?);
/// let system = System::new(&a).preconditioner(&m);
/// let mut work = RichardsonWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![5.0, 5.0]), Vector::from(vec![0.0; 2]));
/// let report = richardson(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// // The residual falls by a factor of 4 in every iteration, to 10⁻⁸.
/// assert!(report.reason.is_converged() && report.iterations == 14);
/// let x = x.elements::<f64>().unwrap();
/// assert!((x[0] - 1.0).abs() < 1e-8 && (x[1] - 1.0).abs() < 1e-8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn richardson(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut RichardsonWork,
) -> Result<KrylovReport, KrylovError> {
    let RichardsonWork { operators, r, z } = work;
    let device = problem.device;
    let (mut run, residual) = Run::start(problem, operators, x, r)?;

    // The smallest residual norm, and the number of iterations since then.
    let (mut best, mut since) = (residual.projected, 0);
    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        run.precondition(r, z);
        device.axpby(1.0, x, 1.0, z);
        let norm = run.residual(z, r).projected;
        if norm.is_finite() {
            std::mem::swap(x, z); // otherwise z would spoil x
        }
        match run.record(norm) {
            Step::Stop(reason) => break reason,
            Step::Verify => {
                if let Err(reason) = run.verify(norm, x, r) {
                    break reason;
                }
            }
            Step::Continue if run.is_watched() => run.watch(x, r),
            Step::Continue => {}
        }
        if norm < (1.0 - NO_DECREASE) * best {
            (best, since) = (norm, 0);
        } else {
            since += 1;
        }
        if since >= PATIENCE || norm > GROWTH * best {
            break StopReason::Stagnated;
        }
    };
    Ok(run.finish(reason, x, r))
}
