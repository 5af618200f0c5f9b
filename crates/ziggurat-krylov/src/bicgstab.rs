//! BiCGStab, the stabilised biconjugate gradient method.
//!
//! For any nonsingular A, with little memory and without Aᵀ. Starting from r = b − A x, the shadow
//! residual r̃ = r and p = r:
//!
//! ```text
//! v = A M p      α = ρ / r̃·v            s = r − α v
//! t = A M s      ω = t·s / t·t           x ← x + α M p + ω M s     r = s − ω t
//! ρ' = r̃·r      β = (ρ'/ρ) (α/ω)        p ← r + β (p − ω v)
//! ```
//!
//! H. van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG, SIAM J. Sci. Stat.
//! Comput. 13, 1992. **Right preconditioning:** r is the residual of A x = b itself. M must be the
//! same linear map in every iteration.
//!
//! If r̃·v, ω or ρ' vanishes, the method restarts from the true residual with a new shadow
//! residual. If that happens in the first iteration after a restart, the method has broken down.
//!
//! **Cost.** Per iteration: two products with A, two with M, 20 vectors read or written (2 for
//! r̃·v, 3 + 3 for the two updates of r fused with its norm, 2 for t·s and t·t, 4 for x, 2 for
//! r̃·r, 4 for p) and five reductions.

use ziggurat_sparse::device::{Device, DeviceExt, Vector};

use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The workspace of [`bicgstab`](bicgstab()): seven vectors and the workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{BiCgStabWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = BiCgStabWork::new(&device, &System::new(&a))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BiCgStabWork {
    operators: OperatorWork,
    /// The residual; s between the two halves of an iteration.
    r: Vector,
    shadow: Vector,
    p: Vector,
    /// M p
    mp: Vector,
    /// A M p
    v: Vector,
    /// M s
    ms: Vector,
    /// A M s
    t: Vector,
}

impl BiCgStabWork {
    /// A workspace for systems of this size with these operators.
    pub fn new(device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        let n = system.rows()?;
        let operators = OperatorWork::new(device, system)?;
        let [r, shadow, p, mp, v, ms, t] = std::array::from_fn(|_| device.zeros(system.number, n));
        Ok(BiCgStabWork { operators, r: r?, shadow: shadow?, p: p?, mp: mp?, v: v?, ms: ms?, t: t? })
    }
}

/// Solves A x = b by BiCGStab, from the initial guess in `x`. An iteration has two products with A
/// and two with M.
///
/// ```
/// use ziggurat_krylov::{BiCgStabWork, LinearProblem, System, bicgstab};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = BiCgStabWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![2.0, 3.0]), Vector::from(vec![0.0; 2]));
/// let report = bicgstab(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// let x = x.elements::<f64>().unwrap();
/// assert!(report.reason.is_converged() && (x[1] - 1.0).abs() < 1e-7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bicgstab(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut BiCgStabWork,
) -> Result<KrylovReport, KrylovError> {
    let BiCgStabWork { operators, r, shadow, p, mp, v, ms, t } = work;
    let device = problem.device;
    let (mut run, residual) = Run::start(problem, operators, x, r)?;

    // |x·y| ≤ rounding ‖x‖‖y‖ counts as zero.
    let rounding = run.unit_roundoff();
    let mut norm = residual.projected;
    let (mut rho, mut shadow_norm) = (0.0, 0.0);
    let mut fresh = true;
    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        if fresh {
            device.copy(r, shadow);
            device.copy(r, p);
            (rho, shadow_norm) = (norm * norm, norm);
        }

        // First half: along M p.
        run.precondition(p, mp);
        run.apply(mp, v);
        let mut products = [0.0; 2];
        device.dots((&[&*shadow, &*v]).into(), v, &mut products);
        let [shadow_v, vv] = products;
        if !(shadow_v.is_finite() && vv.is_finite()) {
            break StopReason::NotFinite;
        }
        if shadow_v.abs() <= rounding * shadow_norm * vv.sqrt() {
            if fresh {
                break StopReason::Breakdown;
            }
            match run.verify(f64::INFINITY, x, r) {
                Ok(residual) => (norm, fresh) = (residual.projected, true),
                Err(reason) => break reason,
            }
            continue;
        }
        let alpha = rho / shadow_v;
        let s_norm = device.combine(&[-alpha], (&[&*v]).into(), 1.0, r).sqrt();
        if !s_norm.is_finite() {
            break StopReason::NotFinite;
        }

        // Second half: along M s, unless s is within the tolerance already.
        let mut omega = 0.0;
        norm = s_norm;
        if s_norm > run.target() {
            run.precondition(r, ms);
            run.apply(ms, t);
            device.dots((&[&*r, &*t]).into(), t, &mut products);
            let [ts, tt] = products;
            if ts.abs() > rounding * s_norm * tt.sqrt() {
                omega = ts / tt;
                norm = device.combine(&[-omega], (&[&*t]).into(), 1.0, r).sqrt();
            } else if !(ts.is_finite() && tt.is_finite()) {
                norm = f64::NAN;
            }
        }
        if omega != 0.0 && norm.is_finite() {
            device.axpbypcz(alpha, mp, omega, ms, 1.0, x);
        } else {
            device.axpby(alpha, mp, 1.0, x);
        }

        // Restart if the recurrence cannot continue, or verify if it promises convergence.
        let mut restart = match run.record(norm) {
            Step::Stop(reason) => break reason,
            Step::Verify => Some(norm),
            Step::Continue => (omega == 0.0).then_some(f64::INFINITY),
        };
        if restart.is_none() && run.is_watched() {
            run.watch(x, t);
        }
        if restart.is_none() {
            let rho_before = rho;
            rho = device.dot(shadow, r);
            if rho.abs() > rounding * shadow_norm * norm {
                let beta = (rho / rho_before) * (alpha / omega);
                device.axpbypcz(1.0, r, -beta * omega, v, beta, p);
            } else {
                restart = Some(f64::INFINITY);
            }
        }
        if let Some(promised) = restart {
            match run.verify(promised, x, r) {
                Ok(residual) => norm = residual.projected,
                Err(reason) => break reason,
            }
        }
        fresh = restart.is_some();
    };
    Ok(run.finish(reason, x, r))
}
