//! GMRES with restarts: the generalised minimal residual method.
//!
//! For any nonsingular A. It builds an orthonormal basis V of span{r, A M r, (A M)² r, …} by Arnoldi's process, and takes
//! the x + M V y whose residual is smallest. After `restart` steps it forgets the basis and starts anew from the true
//! residual. Y. Saad, M. Schultz, GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems,
//! SIAM J. Sci. Stat. Comput. 7, 1986.
//!
//! **Preconditioned from the right:** the residual that it minimises and reports is that of A x = b itself, and not M
//! times it. M must be the same linear map in every step; otherwise use [`fgmres`](crate::fgmres()), which is the same
//! loop but keeps every M v.
//!
//! **Cost.** Per step one product with A and one with M; with a basis of k vectors so far, 2k + 5 vectors read or written, or
//! 4k + 8 where Gram–Schmidt repeats. Per cycle one product with each more. Two sums over processes per step,
//! or four. Keeps restart + 2 vectors.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

use crate::error::KrylovError;
use crate::givens::Hessenberg;
use crate::gram_schmidt::GramSchmidt;
use crate::monitor::{Monitor, Step};
use crate::observer::Observer;
use crate::report::KrylovReport;
use crate::stop::{StopReason, Stopping};
use crate::system::{OperatorWork, Problem, System};

/// The memory of [`gmres`](gmres()): restart + 2 vectors, and what the operators need.
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
#[derive(Debug)]
pub struct GmresWork<D: Device, C: Real>(pub(crate) ArnoldiWork<D, C>);

impl<D: Device, C: Real> GmresWork<D, C> {
    /// Memory for systems of this size with these operators, and `restart` steps before a restart.
    pub fn new(device: &D, system: &System<'_, D, C>, restart: usize) -> Result<Self, KrylovError> {
        Ok(GmresWork(ArnoldiWork::new(device, system, restart, false)?))
    }
}

/// Solves A x = b by GMRES with restarts, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{GmresWork, Stopping, System, gmres};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// // A rotation: as unsymmetric as can be.
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, -1.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = GmresWork::new(&device, &system, 30)?;
/// let mut x = vec![0.0; 2];
/// let report = gmres(&device, &system, &vec![1.0, 2.0], &mut x, &Stopping::default(), None, &mut work)?;
/// assert!(report.reason.is_converged() && (x[0] + 2.0_f64).abs() < 1e-14 && report.iterations == 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gmres<D: Device, C: Real>(
    device: &D,
    system: &System<'_, D, C>,
    b: &D::Vector<C>,
    x: &mut D::Vector<C>,
    stopping: &Stopping,
    observer: Option<&mut Observer<'_>>,
    work: &mut GmresWork<D, C>,
) -> Result<KrylovReport, KrylovError> {
    minimal_residuals(device, system, b, x, stopping, observer, &mut work.0)
}

/// What GMRES and FGMRES share. They differ in how many preconditioned vectors they keep.
#[derive(Debug)]
pub(crate) struct ArnoldiWork<D: Device, C: Real> {
    operators: OperatorWork,
    /// restart + 1 vectors; the first is the residual, too.
    basis: Vec<D::Vector<C>>,
    /// Whether M v of every step is kept, or only that of the present step.
    flexible: bool,
    preconditioned: Vec<D::Vector<C>>,
    gram_schmidt: GramSchmidt<C>,
    hessenberg: Hessenberg,
    coefficients: Vec<C>,
}

impl<D: Device, C: Real> ArnoldiWork<D, C> {
    pub(crate) fn new(
        device: &D,
        system: &System<'_, D, C>,
        restart: usize,
        flexible: bool,
    ) -> Result<Self, KrylovError> {
        if restart == 0 {
            return Err(KrylovError::Setting { name: "restart", value: 0.0, must: "at least 1" });
        }
        let n = system.rows(device)?;
        let vectors = |count: usize| (0..count).map(|_| device.zeros(n)).collect::<Result<Vec<_>, _>>();
        Ok(ArnoldiWork {
            operators: OperatorWork::new(device, system)?,
            basis: vectors(restart + 1)?,
            flexible,
            preconditioned: vectors(if flexible { restart } else { 1 })?,
            gram_schmidt: GramSchmidt::new(restart + 1),
            hessenberg: Hessenberg::new(restart),
            coefficients: vec![C::zero(); restart],
        })
    }
}

pub(crate) fn minimal_residuals<D: Device, C: Real>(
    device: &D,
    system: &System<'_, D, C>,
    b: &D::Vector<C>,
    x: &mut D::Vector<C>,
    stopping: &Stopping,
    observer: Option<&mut Observer<'_>>,
    work: &mut ArnoldiWork<D, C>,
) -> Result<KrylovReport, KrylovError> {
    let ArnoldiWork { operators, basis, flexible, preconditioned, gram_schmidt, hessenberg, coefficients } =
        work;
    let flexible = *flexible;
    let rounding = 8.0 * C::KIND.facts().unit_roundoff;
    let restart = basis.len() - 1;
    let mut problem = Problem::new(device, system, b, x, device.len(&basis[0]), operators)?;
    let (mut monitor, mut residual) = Monitor::begin(&mut problem, x, &mut basis[0], stopping, observer)?;

    let none: &[D::Vector<C>] = &[];
    let reason = loop {
        if let Some(reason) = monitor.reason_to_stop() {
            break reason;
        }
        let beta = residual.projected;
        let mut promised = beta;
        device.combine(&[], none, C::narrow(1.0 / beta), &mut basis[0]);
        hessenberg.start(beta);

        // One cycle; it ends with a reason to stop altogether, or without.
        let stop = loop {
            let k = hessenberg.columns();
            if k == restart {
                break None;
            }
            if let Some(reason) = monitor.reason_to_stop() {
                break Some(reason);
            }
            let (v, w) = basis.split_at_mut(k + 1);
            let z = &mut preconditioned[if flexible { k } else { 0 }];
            problem.precondition(&v[k], z);
            problem.apply(z, &mut w[0]);
            let column = gram_schmidt.orthonormalise(device, &mut basis[..=k + 1]);
            if column.iter().any(|h| !h.is_finite()) {
                break Some(StopReason::NotFinite);
            }
            let complete = column[k + 1] == 0.0; // A M maps the space so far into itself: no larger one to be had
            match hessenberg.push(column, rounding) {
                Some(norm) => promised = norm,
                None => break Some(StopReason::Breakdown),
            }
            match monitor.record(promised) {
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
        if flexible {
            device.combine(coefficients, &preconditioned[..k], C::one(), x);
        } else if k > 0 {
            let (v, u) = basis.split_at_mut(k); // vector k is of no more use in this cycle
            device.combine(coefficients, v, C::zero(), &mut u[0]);
            problem.precondition(&u[0], &mut preconditioned[0]);
            device.axpby(C::one(), &preconditioned[0], C::one(), x);
        }
        residual = problem.residual(x, &mut basis[0]);
        let verdict = monitor.verify(promised, residual);
        if let Some(reason) = stop.or(verdict) {
            break reason;
        }
    };
    Ok(monitor.finish(reason, &mut problem, x, &mut basis[0]))
}
