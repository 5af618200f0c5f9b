//! MINRES, the minimal residual method for symmetric matrices.
//!
//! For a symmetric A, which may be indefinite, and a symmetric positive definite M. It builds a
//! basis of span{r, A M r, (A M)² r, …} by the Lanczos process, whose vectors v are orthonormal
//! with respect to M, and chooses the x with the smallest √(r·M r). Starting from v = r = b − A x,
//! z = M v, γ = √(v·z), η = γ, c = c₋ = 1 and s = s₋ = 0, with β = 0 in the first iteration and
//! β = γ afterwards:
//!
//! ```text
//! δ = z·A z / γ²      v' = A z / γ − (δ/γ) v − (β/γ₋) v₋      z' = M v'      γ' = √(v'·z')
//! α₀ = c δ − c₋ s β   α₁ = √(α₀² + γ'²)   α₂ = s δ + c₋ c β   α₃ = s₋ β
//! c' = α₀/α₁          s' = γ'/α₁
//! w' = (z/γ − α₂ w − α₃ w₋) / α₁      x ← x + c' η w'      r ← s'² r − (c' η/α₁) v'
//! η ← −s' η
//! ```
//!
//! where a minus sign as an index marks the previous value and a prime the next one. C. Paige,
//! M. Saunders, Solution of sparse indefinite systems of linear equations, SIAM J. Numer. Anal. 12,
//! 1975; with a preconditioner, H. Elman, D. Silvester, A. Wathen, Finite elements and fast
//! iterative solvers, 2005, algorithm 6.1.
//!
//! **Which norm.** The method reduces √(r·M r) monotonically; |η| is its value. As for all methods,
//! ‖r‖ decides, so r is updated as well. ‖r‖ may increase between iterations unless M is a multiple
//! of the identity.
//!
//! If v'·M v' ≤ 0, M is not positive definite. If v' vanishes, the space is complete and x is the
//! solution, or A is singular and the method has broken down.
//!
//! **Cost.** Per iteration: one product with A, one with M, 18 vectors read or written (2 for δ, 4
//! for v', 2 for γ', 4 for w', 3 for x, 3 for r fused with its norm) and three reductions. It
//! stores seven vectors.

use std::mem::swap;

use ziggurat_sparse::device::{Device, DeviceExt, Vector};

use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The workspace of [`minres`](minres()): seven vectors and the workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{MinresWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = MinresWork::new(&device, &System::new(&a))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MinresWork {
    operators: OperatorWork,
    r: Vector,
    /// The Lanczos vector, not normalised.
    v: Vector,
    v_before: Vector,
    /// M v.
    z: Vector,
    /// A z, then M v of the next iteration.
    q: Vector,
    /// The search direction.
    w: Vector,
    w_before: Vector,
}

impl MinresWork {
    /// A workspace for systems of this size with these operators.
    pub fn new(device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        let n = system.rows()?;
        let operators = OperatorWork::new(device, system)?;
        let [r, v, v_before, z, q, w, w_before] = std::array::from_fn(|_| device.zeros(system.number, n));
        let (v_before, w_before) = (v_before?, w_before?);
        Ok(MinresWork { operators, r: r?, v: v?, v_before, z: z?, q: q?, w: w?, w_before })
    }
}

/// The scalars of the recurrence that an iteration takes from the two before it.
#[derive(Clone, Copy, Debug)]
struct Recurrence {
    /// √(v·M v) of the Lanczos vector and of the previous one.
    gamma: f64,
    gamma_before: f64,
    /// The off-diagonal entry of the tridiagonal matrix: γ, or 0 in the first iteration.
    beta: f64,
    /// Cosine and sine of the last rotation and of the one before it.
    rotation: (f64, f64),
    rotation_before: (f64, f64),
    eta: f64,
}

impl Recurrence {
    /// The recurrence after a (re)start.
    fn new(gamma: f64) -> Self {
        let none = (1.0, 0.0);
        Recurrence { gamma, gamma_before: 1.0, beta: 0.0, rotation: none, rotation_before: none, eta: gamma }
    }
}

/// Solves A x = b by MINRES, from the initial guess in `x`.
///
/// ```
/// use ziggurat_krylov::{LinearProblem, MinresWork, System, minres};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// // Symmetric and indefinite: the eigenvalues are 3 and −1.
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 1.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = MinresWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![4.0, 5.0]), Vector::from(vec![0.0; 2]));
/// let report = minres(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// let x = x.elements::<f64>().unwrap();
/// assert!(report.reason.is_converged() && report.iterations == 2);
/// assert!((x[0] - 2.0).abs() < 1e-12 && (x[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn minres(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut MinresWork,
) -> Result<KrylovReport, KrylovError> {
    let MinresWork { operators, r, v, v_before, z, q, w, w_before } = work;
    let device = problem.device;
    let (mut run, _) = Run::start(problem, operators, x, r)?;
    let rounding = 8.0 * run.unit_roundoff();

    let mut recurrence: Option<Recurrence> = None;
    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        let Recurrence { gamma, gamma_before, beta, rotation, rotation_before, eta } = match recurrence {
            Some(recurrence) => recurrence,
            None => {
                device.copy(r, v);
                device.fill(0.0, w);
                run.precondition(v, z);
                match root(device.dot(v, z)) {
                    Ok(gamma) => Recurrence::new(gamma),
                    Err(reason) => break reason,
                }
            }
        };
        let ((c, s), (c_before, s_before)) = (rotation, rotation_before);

        // The next Lanczos vector, in v, and its product with M, in q.
        run.apply(z, q);
        let mut products = [0.0; 2];
        device.dots((&[&*z, &*q]).into(), q, &mut products);
        let [zq, qq] = products;
        let delta = zq / (gamma * gamma);
        let [of_q, of_v, of_before] = [1.0 / gamma, -delta / gamma, -beta / gamma_before];
        device.axpbypcz(of_q, q, of_v, v, of_before, v_before);
        swap(v, v_before);
        run.precondition(v, q);
        device.dots((&[&*q, &*v]).into(), v, &mut products);
        let [vz, vv] = products;
        if !(zq.is_finite() && qq.is_finite() && vz.is_finite() && vv.is_finite()) {
            break StopReason::NotFinite;
        }
        // A M maps the Krylov space into itself, so it cannot grow.
        let complete = vv.sqrt() <= rounding * qq.sqrt() / gamma;
        let gamma_next = match root(vz) {
            _ if complete => 0.0,
            Ok(gamma) => gamma,
            Err(reason) => break reason,
        };

        // The rotation that makes the tridiagonal matrix triangular.
        let diagonal = c * delta - c_before * s * beta;
        let [a1, a2, a3] = [diagonal.hypot(gamma_next), s * delta + c_before * c * beta, s_before * beta];
        if a1 <= rounding * beta.hypot(delta).hypot(gamma_next) {
            break StopReason::Breakdown;
        }
        let (c_next, s_next) = (diagonal / a1, gamma_next / a1);
        let step = c_next * eta;
        let norm = device.combine(&[-step / a1], (&[&*v]).into(), s_next * s_next, r).sqrt();
        if norm.is_finite() {
            let [of_z, of_w, of_before] = [1.0 / (gamma * a1), -a2 / a1, -a3 / a1];
            device.axpbypcz(of_z, z, of_w, w, of_before, w_before);
            swap(w, w_before);
            device.axpby(step, w, 1.0, x);
        }
        swap(z, q);
        recurrence = Some(Recurrence {
            gamma: gamma_next,
            gamma_before: gamma,
            beta: gamma_next,
            rotation: (c_next, s_next),
            rotation_before: rotation,
            eta: -s_next * eta,
        });
        match run.record(norm) {
            Step::Stop(reason) => break reason,
            Step::Continue if !complete => {
                if run.is_watched() {
                    run.watch(x, q);
                }
            }
            Step::Continue | Step::Verify => {
                recurrence = None;
                if let Err(reason) = run.verify(norm, x, r) {
                    break reason;
                }
            }
        }
    };
    Ok(run.finish(reason, x, r))
}

/// The square root of v·M v for a vector v that is not zero.
fn root(vz: f64) -> Result<f64, StopReason> {
    if !vz.is_finite() {
        Err(StopReason::NotFinite)
    } else if vz <= 0.0 {
        Err(StopReason::NotPositivePreconditioner)
    } else {
        Ok(vz.sqrt())
    }
}
