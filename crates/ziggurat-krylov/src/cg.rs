//! The conjugate gradient method, preconditioned.
//!
//! For A and M symmetric positive definite. From r = b − A x and p = z = M r, until r is small:
//!
//! ```text
//! α = r·z / p·Ap      x ← x + α p     r ← r − α A p
//! z = M r             β = r·z / (r·z before)     p ← z + β p
//! ```
//!
//! M. Hestenes, E. Stiefel, Methods of conjugate gradients for solving linear systems, 1952. In exact arithmetic it ends
//! after at most n steps, and after k steps the error in the energy norm is at most 2 ((√κ−1)/(√κ+1))ᵏ of the first,
//! where κ is the condition number of M A.
//!
//! **Cost.** Per iteration one product with A, one with M, and 12 vectors read or written: 2 for p·Ap, 3 to update r
//! together with its norm, 2 for r·z, and 5 to update x and p together. (x is therefore one step behind until the method
//! stops.) A plain sequence of BLAS calls moves 14. Three sums over processes.
//!
//! [`flexible_cg`](crate::flexible_cg()) is the same loop with another β.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The memory of [`cg`](cg()) and of [`flexible_cg`](crate::flexible_cg()): four vectors, and what the operators need.
///
/// ```
/// use ziggurat_krylov::{CgWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::<Cpu, f64>::new(&device, Csr::identity(3).unwrap())?;
/// let work: CgWork<Cpu, f64> = CgWork::new(&device, &System::new(&a))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CgWork<D: Device, C: Real> {
    operators: OperatorWork,
    r: D::Vector<C>,
    z: D::Vector<C>,
    p: D::Vector<C>,
    /// A p
    q: D::Vector<C>,
}

impl<D: Device, C: Real> CgWork<D, C> {
    /// Memory for systems of this size with these operators.
    pub fn new(device: &D, system: &System<'_, D, C>) -> Result<Self, KrylovError> {
        let n = system.rows(device)?;
        let operators = OperatorWork::new(device, system)?;
        let [r, z, p, q] = std::array::from_fn(|_| device.zeros(n));
        Ok(CgWork { operators, r: r?, z: z?, p: p?, q: q? })
    }
}

/// Solves A x = b by conjugate gradients, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{CgWork, LinearProblem, System, cg};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = CgWork::new(&device, &system)?;
/// let (b, mut x) = (vec![1.0, 1.0], vec![0.0; 2]);
/// let report = cg(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// assert_eq!((x, report.iterations), (vec![1.0, 1.0], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cg<D: Device, C: Real>(
    problem: LinearProblem<'_, D, C>,
    x: &mut D::Vector<C>,
    work: &mut CgWork<D, C>,
) -> Result<KrylovReport, KrylovError> {
    conjugate_gradients(Beta::FletcherReeves, problem, x, work)
}

/// How the new direction is made conjugate to the old one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Beta {
    /// r·z / (r·z before), for an M that stays the same.
    FletcherReeves,
    /// z·(r − r before) / (r·z before), for an M that may change.
    PolakRibiere,
}

pub(crate) fn conjugate_gradients<D: Device, C: Real>(
    rule: Beta,
    problem: LinearProblem<'_, D, C>,
    x: &mut D::Vector<C>,
    work: &mut CgWork<D, C>,
) -> Result<KrylovReport, KrylovError> {
    let CgWork { operators, r, z, p, q } = work;
    let device = problem.device;
    let (mut run, _) = Run::start(problem, operators, x, r)?;

    // α p is still to be added to x.
    let mut pending: Option<f64> = None;
    // r·z and p·Ap of the iteration before, unless there is none to be conjugate to.
    let mut before: Option<(f64, f64)> = None;
    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        run.precondition(r, z);
        let mut products = [0.0; 2]; // r·z and, where β asks for it, Ap·z
        match rule {
            Beta::FletcherReeves => products[0] = device.dot(r, z),
            Beta::PolakRibiere => device.dots(&[&*r, &*q], z, &mut products),
        }
        let [rz, qz] = products;
        if !rz.is_finite() {
            break StopReason::NotFinite;
        }
        if rz <= 0.0 {
            break StopReason::NotPositivePreconditioner;
        }
        match (pending.take(), before) {
            (Some(alpha), Some((rz_before, pq_before))) => {
                let beta = match rule {
                    Beta::FletcherReeves => rz / rz_before,
                    // r − r before = −α A p, and α = (r·z before) / p·Ap: no vector need be kept for it.
                    Beta::PolakRibiere => -qz / pq_before,
                };
                device.step_and_turn(C::narrow(alpha), x, C::narrow(beta), z, p);
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
        let norm = device.combine(&[C::narrow(-alpha)], &[&*q], C::one(), r).sqrt();
        if norm.is_finite() {
            pending = Some(alpha); // otherwise α is not fit for x
        }
        before = Some((rz, pq));
        match run.record(norm) {
            Step::Continue if run.is_watched() => {
                device.axpby(C::narrow(alpha), p, C::one(), x);
                pending = Some(0.0); // p goes on being the direction that the next one turns from
                run.watch(x, z);
            }
            Step::Continue => {}
            Step::Stop(reason) => break reason,
            Step::Verify => {
                device.axpby(C::narrow(alpha), p, C::one(), x);
                (pending, before) = (None, None);
                if let Err(reason) = run.verify(norm, x, r) {
                    break reason;
                }
            }
        }
    };
    if let Some(alpha) = pending {
        device.axpby(C::narrow(alpha), p, C::one(), x);
    }
    Ok(run.finish(reason, x, r))
}
