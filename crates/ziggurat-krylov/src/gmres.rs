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

use ziggurat_sparse::device::{Device, Vector};

use crate::arnoldi::{ArnoldiBasis, WideBasis};
use crate::compressed_basis::{Basis, CompressedBasis};
use crate::error::KrylovError;
use crate::givens::Hessenberg;
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
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = GmresWork::new(&device, &System::new(&a), 30)?;
/// assert!(GmresWork::new(&device, &System::new(&a), 0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type GmresWork = ArnoldiWork<false>;

/// Solves A x = b by GMRES with restarts, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{GmresWork, LinearProblem, System, gmres};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// // A rotation by 90°, which is skew-symmetric.
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, -1.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = GmresWork::new(&device, &system, 30)?;
/// let (b, mut x) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![0.0; 2]));
/// let report = gmres(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// let x = x.elements::<f64>().unwrap();
/// assert!(report.reason.is_converged() && report.iterations == 2);
/// assert!((x[0] + 2.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gmres(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut GmresWork,
) -> Result<KrylovReport, KrylovError> {
    minimal_residuals(problem, x, work)
}

/// The workspace of the Arnoldi process. `FLEXIBLE` says whether M v of every step is stored, as
/// FGMRES needs it, or only that of the current step. Use it as [`GmresWork`] or
/// [`FgmresWork`](crate::FgmresWork).
#[derive(Debug)]
pub struct ArnoldiWork<const FLEXIBLE: bool> {
    operators: OperatorWork,
    basis: Box<dyn ArnoldiBasis>,
    hessenberg: Hessenberg,
}

impl<const FLEXIBLE: bool> ArnoldiWork<FLEXIBLE> {
    /// A workspace for systems of this size with these operators, and `restart` steps between
    /// restarts.
    pub fn new(device: &dyn Device, system: &System<'_>, restart: usize) -> Result<Self, KrylovError> {
        Self::with_basis(Basis::F64, device, system, restart)
    }

    /// The same with the basis stored in fewer bits than the iteration has
    /// ([compressed basis](crate::compressed_basis)).
    ///
    /// ```
    /// use ziggurat_krylov::{Basis, GmresWork, LinearProblem, System, gmres};
    /// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
    /// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![3.0, 1.0, -1.0, 3.0])?;
    /// let device = Cpu::new();
    /// let a = MatrixOperator::new(&device, a)?;
    /// let system = System::new(&a);
    /// let mut work = GmresWork::with_basis(Basis::F16, &device, &system, 30)?;
    /// let (b, mut x) = (Vector::from(vec![4.0, 2.0]), Vector::from(vec![0.0; 2]));
    /// let report = gmres(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
    /// let x = x.elements::<f64>().unwrap();
    /// assert!(report.reason.is_converged() && (x[0] - 1.0).abs() < 1e-8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Also if the device does not compress vectors.
    pub fn with_basis(
        basis: Basis,
        device: &dyn Device,
        system: &System<'_>,
        restart: usize,
    ) -> Result<Self, KrylovError> {
        check_restart(restart)?;
        let (rows, number) = (system.rows()?, system.number);
        let basis: Box<dyn ArnoldiBasis> = if basis.is_compressed(number) {
            Box::new(CompressedBasis::new(FLEXIBLE, basis.kind(), device, number, rows, restart)?)
        } else {
            Box::new(WideBasis::new(FLEXIBLE, device, number, rows, restart)?)
        };
        let operators = OperatorWork::new(device, system)?;
        Ok(ArnoldiWork { operators, basis, hessenberg: Hessenberg::new(restart) })
    }

    /// Bytes of the stored basis: V, and Z = M V if it is flexible.
    pub(crate) fn basis_bytes(&self) -> usize {
        self.basis.bytes()
    }
}

fn check_restart(restart: usize) -> Result<(), KrylovError> {
    if (1..=MAX_RESTART).contains(&restart) {
        return Ok(());
    }
    Err(KrylovError::Setting { name: "restart", value: restart as f64, must: "from 1 to 5000" })
}

/// The loop of GMRES and FGMRES.
pub(crate) fn minimal_residuals<const FLEXIBLE: bool>(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut ArnoldiWork<FLEXIBLE>,
) -> Result<KrylovReport, KrylovError> {
    let ArnoldiWork { operators, basis, hessenberg } = work;
    let (mut run, mut residual) = Run::start(problem, operators, x, basis.residual())?;
    let rounding = 8.0 * run.unit_roundoff();
    run.verify_below(basis.unit_roundoff());

    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        let beta = residual.projected;
        let mut promised = beta;
        basis.start(&run, beta);
        hessenberg.start(beta);

        // The steps until the next restart. They may end with a reason to stop.
        let stop = loop {
            let k = hessenberg.columns();
            if k == basis.capacity() {
                break None;
            }
            if let Some(reason) = run.reason_to_stop() {
                break Some(reason);
            }
            let column = basis.step(&mut run, k);
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

        basis.update(&mut run, hessenberg.solve(), x);
        match (stop, run.verify(promised, x, basis.residual())) {
            (None, Ok(verified)) => residual = verified,
            (Some(reason), _) | (None, Err(reason)) => break reason,
        }
    };
    Ok(run.finish(reason, x, basis.residual()))
}
