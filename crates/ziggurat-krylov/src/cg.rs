//! The preconditioned conjugate gradient method.
//!
//! For symmetric positive definite A and M. Starting from r = b − A x and p = z = M r:
//!
//! ```text
//! α = r·z / p·Ap      x ← x + α p     r ← r − α A p
//! z = M r             β = r·z / (previous r·z)     p ← z + β p
//! ```
//!
//! M. Hestenes, E. Stiefel, Methods of conjugate gradients for solving linear systems, 1952. In
//! exact arithmetic it terminates after at most n iterations, and after k iterations the error in
//! the energy norm is at most 2 ((√κ−1)/(√κ+1))ᵏ times the initial error, where κ is the condition
//! number of M A.
//!
//! **Cost.** Per iteration: one product with A, one with M, 12 vectors read or written (2 for p·Ap,
//! 3 for the update of r fused with its norm, 2 for r·z, 5 for the fused update of x and p) and
//! three reductions. The fused update lags x behind by one step until the method stops. Separate
//! BLAS calls would move 14 vectors.
//!
//! [`flexible_cg`](crate::flexible_cg()) is the same loop with another β.

use ziggurat_sparse::device::{Device, DeviceExt, Vector};

use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The workspace of [`cg`](cg()) and [`flexible_cg`](crate::flexible_cg()): four vectors and the
/// workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{CgWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = CgWork::new(&device, &System::new(&a))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CgWork {
    operators: OperatorWork,
    r: Vector,
    z: Vector,
    p: Vector,
    /// A p
    q: Vector,
}

impl CgWork {
    /// A workspace for systems of this size with these operators.
    pub fn new(device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        let n = system.rows()?;
        let operators = OperatorWork::new(device, system)?;
        let [r, z, p, q] = std::array::from_fn(|_| device.zeros(system.number, n));
        Ok(CgWork { operators, r: r?, z: z?, p: p?, q: q? })
    }
}

/// Solves A x = b by conjugate gradients, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{CgWork, LinearProblem, System, cg};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = CgWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![1.0, 1.0]), Vector::from(vec![0.0; 2]));
/// let report = cg(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// assert_eq!((x.elements(), report.iterations), (Some(&[1.0, 1.0][..]), 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cg(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut CgWork,
) -> Result<KrylovReport, KrylovError> {
    conjugate_gradients(Beta::FletcherReeves, problem, x, work)
}

/// The formula for β, which makes the new search direction conjugate to the previous one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Beta {
    /// r·z / (previous r·z), for a fixed M.
    FletcherReeves,
    /// z·(r − previous r) / (previous r·z), for an M that may change.
    PolakRibiere,
}

/// The loop of CG and flexible CG.
pub(crate) fn conjugate_gradients(
    rule: Beta,
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut CgWork,
) -> Result<KrylovReport, KrylovError> {
    let CgWork { operators, r, z, p, q } = work;
    let device = problem.device;
    let (mut run, _) = Run::start(problem, operators, x, r)?;

    // The α of a step x ← x + α p that is still to be done.
    let mut pending: Option<f64> = None;
    // r·z and p·Ap of the previous iteration, unless the method has just (re)started.
    let mut previous: Option<(f64, f64)> = None;
    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        run.precondition(r, z);
        let mut products = [0.0; 2]; // r·z and, if β needs it, Ap·z
        match rule {
            Beta::FletcherReeves => products[0] = device.dot(r, z),
            Beta::PolakRibiere => device.dots((&[&*r, &*q]).into(), z, &mut products),
        }
        let [rz, qz] = products;
        if !rz.is_finite() {
            break StopReason::NotFinite;
        }
        if rz <= 0.0 {
            break StopReason::NotPositivePreconditioner;
        }
        match (pending.take(), previous) {
            (Some(alpha), Some((previous_rz, previous_pq))) => {
                let beta = match rule {
                    Beta::FletcherReeves => rz / previous_rz,
                    // Because r − previous r = −α A p and α = (previous r·z) / p·Ap.
                    Beta::PolakRibiere => -qz / previous_pq,
                };
                device.step_and_turn(alpha, x, beta, z, p);
            }
            _ => device.copy(z, p),
        }

        run.apply(p, q);
        let pq = device.dot(p, q);
        if !pq.is_finite() {
            break StopReason::NotFinite;
        }
        if pq <= 0.0 {
            break StopReason::NotPositiveMatrix;
        }
        let alpha = rz / pq;
        let norm = device.combine(&[-alpha], (&[&*q]).into(), 1.0, r).sqrt();
        if norm.is_finite() {
            pending = Some(alpha); // otherwise α would spoil x
        }
        previous = Some((rz, pq));
        match run.record(norm) {
            Step::Continue if run.is_watched() => {
                device.axpby(alpha, p, 1.0, x);
                pending = Some(0.0); // x is up to date, and p is still the previous direction
                run.watch(x, z);
            }
            Step::Continue => {}
            Step::Stop(reason) => break reason,
            Step::Verify => {
                device.axpby(alpha, p, 1.0, x);
                (pending, previous) = (None, None);
                if let Err(reason) = run.verify(norm, x, r) {
                    break reason;
                }
            }
        }
    };
    if let Some(alpha) = pending {
        device.axpby(alpha, p, 1.0, x);
    }
    Ok(run.finish(reason, x, r))
}
