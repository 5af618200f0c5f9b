//! CGS, the conjugate gradient squared method.
//!
//! For any nonsingular A, with little memory and without Aᵀ. The residual is φ(A M)² r₀ where that
//! of BiCG is φ(A M) r₀, so it converges twice as fast where BiCG converges, and its residual
//! oscillates more. Starting from r = b − A x, the shadow residual r̃ = r and p = u = r:
//!
//! ```text
//! v = A M p      α = ρ / r̃·v      q = u − α v
//! x ← x + α M (u + q)             r ← r − α A M (u + q)
//! ρ' = r̃·r      β = ρ'/ρ          u = r + β q      p ← u + β (q + β p)
//! ```
//!
//! P. Sonneveld, CGS, a fast Lanczos-type solver for nonsymmetric linear systems, SIAM J. Sci.
//! Stat. Comput. 10, 1989. **Right preconditioning:** r is the residual of A x = b itself. M must
//! be the same linear map in every iteration. [`bicgstab`](crate::bicgstab()) converges more
//! smoothly.
//!
//! If r̃·v or ρ' vanishes, the method restarts from the true residual with a new shadow residual.
//! If that happens in the first iteration after a restart, the method has broken down.
//!
//! **Cost.** Per iteration: two products with A, two with M, 23 vectors read or written (2 for
//! r̃·v, 3 + 3 for q and u + q, 3 for x, 3 for r fused with its norm, 2 for r̃·r, 3 for u, 4 for
//! p) and three reductions. It stores seven vectors.

use ziggurat_sparse::device::{Device, DeviceExt, Vector};

use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The workspace of [`cgs`](cgs()): seven vectors and the workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{CgsWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = CgsWork::new(&device, &System::new(&a))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CgsWork {
    operators: OperatorWork,
    r: Vector,
    shadow: Vector,
    p: Vector,
    /// u, then u + q.
    u: Vector,
    q: Vector,
    /// M p, then M (u + q).
    z: Vector,
    /// A z
    v: Vector,
}

impl CgsWork {
    /// A workspace for systems of this size with these operators.
    pub fn new(device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        let n = system.rows()?;
        let operators = OperatorWork::new(device, system)?;
        let [r, shadow, p, u, q, z, v] = std::array::from_fn(|_| device.zeros(system.number, n));
        Ok(CgsWork { operators, r: r?, shadow: shadow?, p: p?, u: u?, q: q?, z: z?, v: v? })
    }
}

/// Solves A x = b by CGS, from the initial guess in `x`. An iteration has two products with A and
/// two with M.
///
/// ```
/// use ziggurat_krylov::{CgsWork, LinearProblem, System, cgs};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = CgsWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![2.0, 3.0]), Vector::from(vec![0.0; 2]));
/// let report = cgs(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// let x = x.elements::<f64>().unwrap();
/// assert!(report.reason.is_converged() && (x[1] - 1.0).abs() < 1e-7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cgs(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut CgsWork,
) -> Result<KrylovReport, KrylovError> {
    let CgsWork { operators, r, shadow, p, u, q, z, v } = work;
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
            for start in [&mut *shadow, &mut *p, &mut *u] {
                device.copy(r, start);
            }
            (rho, shadow_norm) = (norm * norm, norm);
        }

        run.precondition(p, z);
        run.apply(z, v);
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
        device.axpbypcz(1.0, u, -alpha, v, 0.0, q);
        device.axpby(1.0, q, 1.0, u);
        run.precondition(u, z);
        run.apply(z, v);
        norm = device.combine(&[-alpha], (&[&*v]).into(), 1.0, r).sqrt();
        if norm.is_finite() {
            device.axpby(alpha, z, 1.0, x); // otherwise z would spoil x
        }

        // Restart if the recurrence cannot continue, or verify if it promises convergence.
        let mut restart = match run.record(norm) {
            Step::Stop(reason) => break reason,
            Step::Verify => Some(norm),
            Step::Continue => None,
        };
        if restart.is_none() {
            if run.is_watched() {
                run.watch(x, v);
            }
            let rho_before = rho;
            rho = device.dot(shadow, r);
            if rho.abs() > rounding * shadow_norm * norm {
                let beta = rho / rho_before;
                device.axpbypcz(1.0, r, beta, q, 0.0, u);
                device.axpbypcz(1.0, u, beta, q, beta * beta, p);
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
