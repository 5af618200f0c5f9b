//! Restarted GMRES, the generalised minimal residual method.
//!
//! For any nonsingular A. It builds an orthonormal basis V of span{r, A M r, (A M)² r, …} by the
//! Arnoldi process and chooses the x + M V y with the smallest residual. After `restart` steps it
//! discards the basis and restarts from the true residual. Y. Saad, M. Schultz, GMRES: a
//! generalized minimal residual algorithm for solving nonsymmetric linear systems, SIAM J. Sci.
//! Stat. Comput. 7, 1986.
//!
//! **Right preconditioning:** it minimises and reports the residual of A x = b itself, not that of
//! a preconditioned system. M must be the same linear map in every step; otherwise use
//! [`fgmres`](crate::fgmres()), the same loop that stores every M v.
//!
//! **Cost.** Per step with k basis vectors: one product with A, one with M, 2k + 5 vectors read or
//! written and two reductions, or 4k + 8 and four if Gram–Schmidt is repeated. Per restart one more
//! product with A and with M. It stores restart + 2 vectors.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

use crate::error::KrylovError;
use crate::givens::Hessenberg;
use crate::gram_schmidt::GramSchmidt;
use crate::method::MAX_RESTART;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The workspace of [`gmres`](gmres()): restart + 2 vectors and the workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{GmresWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::<Cpu, f64>::new(&device, Csr::identity(3).unwrap())?;
/// let work: GmresWork<Cpu, f64> = GmresWork::new(&device, &System::new(&a), 30)?;
/// assert!(GmresWork::<Cpu, f64>::new(&device, &System::new(&a), 0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type GmresWork<D, C> = ArnoldiWork<D, C, false>;

/// Solves A x = b by GMRES with restarts, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{GmresWork, LinearProblem, System, gmres};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// // A rotation by 90°, which is skew-symmetric.
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, -1.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = GmresWork::new(&device, &system, 30)?;
/// let (b, mut x) = (vec![1.0, 2.0], vec![0.0; 2]);
/// let report = gmres(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// assert!(report.reason.is_converged() && report.iterations == 2);
/// assert!((x[0] + 2.0_f64).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gmres<D: Device, C: Real>(
    problem: LinearProblem<'_, D, C>,
    x: &mut D::Vector<C>,
    work: &mut GmresWork<D, C>,
) -> Result<KrylovReport, KrylovError> {
    minimal_residuals(problem, x, work)
}

/// The workspace of the Arnoldi process. `FLEXIBLE` says whether M v of every step is stored, as
/// FGMRES needs it, or only that of the current step. Use it as [`GmresWork`] or
/// [`FgmresWork`](crate::FgmresWork).
#[derive(Debug)]
pub struct ArnoldiWork<D: Device, C: Real, const FLEXIBLE: bool> {
    operators: OperatorWork,
    /// restart + 1 vectors; the first one also holds the residual.
    basis: Vec<D::Vector<C>>,
    /// M v of every step, or of the current step.
    preconditioned: Vec<D::Vector<C>>,
    gram_schmidt: GramSchmidt<C>,
    hessenberg: Hessenberg,
    coefficients: Vec<C>,
}

impl<D: Device, C: Real, const FLEXIBLE: bool> ArnoldiWork<D, C, FLEXIBLE> {
    /// A workspace for systems of this size with these operators, and `restart` steps between
    /// restarts.
    pub fn new(device: &D, system: &System<'_, D, C>, restart: usize) -> Result<Self, KrylovError> {
        if !(1..=MAX_RESTART).contains(&restart) {
            let (value, must) = (restart as f64, "from 1 to 5000");
            return Err(KrylovError::Setting { name: "restart", value, must });
        }
        let n = system.rows(device)?;
        let vectors = |count: usize| (0..count).map(|_| device.zeros(n)).collect::<Result<Vec<_>, _>>();
        Ok(ArnoldiWork {
            operators: OperatorWork::new(device, system)?,
            basis: vectors(restart + 1)?,
            preconditioned: vectors(if FLEXIBLE { restart } else { 1 })?,
            gram_schmidt: GramSchmidt::new(restart + 1),
            hessenberg: Hessenberg::new(restart),
            coefficients: vec![C::zero(); restart],
        })
    }
}

/// The loop of GMRES and FGMRES.
pub(crate) fn minimal_residuals<D: Device, C: Real, const FLEXIBLE: bool>(
    problem: LinearProblem<'_, D, C>,
    x: &mut D::Vector<C>,
    work: &mut ArnoldiWork<D, C, FLEXIBLE>,
) -> Result<KrylovReport, KrylovError> {
    let ArnoldiWork { operators, basis, preconditioned, gram_schmidt, hessenberg, coefficients } = work;
    let device = problem.device;
    let rounding = 8.0 * C::KIND.facts().unit_roundoff;
    let restart = basis.len() - 1;
    let (mut run, mut residual) = Run::start(problem, operators, x, &mut basis[0])?;

    let none: &[D::Vector<C>] = &[];
    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        let beta = residual.projected;
        let mut promised = beta;
        device.combine(&[], none, C::narrow(1.0 / beta), &mut basis[0]);
        hessenberg.start(beta);

        // The steps until the next restart. They may end with a reason to stop.
        let stop = loop {
            let k = hessenberg.columns();
            if k == restart {
                break None;
            }
            if let Some(reason) = run.reason_to_stop() {
                break Some(reason);
            }
            let (v, w) = basis.split_at_mut(k + 1);
            let z = &mut preconditioned[if FLEXIBLE { k } else { 0 }];
            run.precondition(&v[k], z);
            run.apply(z, &mut w[0]);
            let column = gram_schmidt.orthonormalise(device, &mut basis[..=k + 1]);
            if column.iter().any(|h| !h.is_finite()) {
                break Some(StopReason::NotFinite);
            }
            // A M maps the Krylov space into itself, so it cannot grow.
            let complete = column[k + 1] == 0.0;
            match hessenberg.push(column, rounding) {
                Some(norm) => promised = norm,
                None => break Some(StopReason::Breakdown),
            }
            match run.record(promised) {
                Step::Stop(reason) => break Some(reason),
                Step::Verify => break None,
                Step::Continue if complete => break None,
                Step::Continue => {}
            }
        };

        let k = hessenberg.columns();
        let coefficients = &mut coefficients[..k];
        for (coefficient, y) in coefficients.iter_mut().zip(hessenberg.solve()) {
            *coefficient = C::narrow(*y);
        }
        if FLEXIBLE {
            device.combine(coefficients, &preconditioned[..k], C::one(), x);
        } else if k > 0 {
            let (v, u) = basis.split_at_mut(k); // vector k is no longer needed
            device.combine(coefficients, v, C::zero(), &mut u[0]);
            run.precondition(&u[0], &mut preconditioned[0]);
            device.axpby(C::one(), &preconditioned[0], C::one(), x);
        }
        match (stop, run.verify(promised, x, &mut basis[0])) {
            (None, Ok(verified)) => residual = verified,
            (Some(reason), _) | (None, Err(reason)) => break reason,
        }
    };
    Ok(run.finish(reason, x, &mut basis[0]))
}
