//! IDR(s), the method of induced dimension reduction, with s = 4.
//!
//! For any nonsingular A, with short recurrences and without Aᵀ. It forces the residual into
//! spaces G₀ ⊃ G₁ ⊃ … of decreasing dimension, G_{j+1} = (I − ω A M)(G_j ∩ P^⊥), where P holds s
//! fixed vectors that look random. Starting from r = b − A x, U = G = 0, H = I and ω = 1, a cycle
//! of s + 1 iterations takes r from G_j to G_{j+1}:
//!
//! ```text
//! f = Pᵀ r
//! for k = 1 … s:   solve H c = f for rows and columns k … s
//!                  v = r − Σ_{i≥k} c_i g_i          u_k = Σ_{i≥k} c_i u_i + ω M v      g_k = A u_k
//!                  subtract multiples of g_i, i < k, from g_k such that p_i·g_k = 0; likewise u_k
//!                  h_ik = p_i·g_k for i ≥ k         β = f_k / h_kk
//!                  x ← x + β u_k                    r ← r − β g_k        f ← f − β h_k
//! t = A M r        ω = t·r / t·t                    x ← x + ω M r        r ← r − ω t
//! ```
//!
//! M. van Gijzen, P. Sonneveld, Algorithm 913: an elegant IDR(s) variant that efficiently exploits
//! biorthogonality properties, ACM Trans. Math. Softw. 38, 2011. In exact arithmetic it terminates
//! after at most n + n/s products. IDR(1) is equivalent to BiCGStab; s = 4 usually needs few more
//! products than GMRES without restarts. **Right preconditioning:** r is the residual of A x = b
//! itself. M must be the same linear map in every iteration.
//!
//! If the cosine κ of the angle between t and r is below 0.7, ω is multiplied by 0.7/κ, which keeps
//! the recurrence accurate (G. Sleijpen, H. van der Vorst, Numer. Algorithms 10, 1995). If h_kk or
//! ω vanishes, the method restarts from the true residual. If that happens in the first iteration
//! after a restart, the method has broken down.
//!
//! **Cost.** An iteration is one product with A and one with M. With s = 4 it reads or writes 25
//! vectors, with six reductions, on average over a cycle. It stores 3 s + 3 = 15 vectors.

use std::array::from_fn;
use std::ops::Range;

use ziggurat_sparse::device::{Device, Vector};

use crate::error::KrylovError;
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::run::{Run, Step};
use crate::shadow;
use crate::stop::StopReason;
use crate::system::{OperatorWork, System};

/// The number of shadow vectors.
const S: usize = 4;

/// The least cosine of the angle between t and r for which ω minimises the residual.
const KAPPA: f64 = 0.7;

/// The workspace of [`idr`](idr()): 15 vectors and the workspaces of A and M.
///
/// ```
/// use ziggurat_krylov::{IdrWork, System};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let work = IdrWork::new(&device, &System::new(&a))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IdrWork {
    operators: OperatorWork,
    /// P, after the first solve: s vectors, or fewer if the space has fewer dimensions.
    shadow: Vec<Vector>,
    has_shadow: bool,
    space: Space,
}

impl IdrWork {
    /// A workspace for systems of this size with these operators.
    pub fn new(device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        let n = system.rows()?;
        let operators = OperatorWork::new(device, system)?;
        let vectors = || (0..S).map(|_| device.zeros(system.number, n)).collect::<Result<Vec<_>, _>>();
        let [r, v, z] = from_fn(|_| device.zeros(system.number, n));
        let space = Space {
            u: vectors()?,
            g: vectors()?,
            r: r?,
            v: v?,
            z: z?,
            h: [[0.0; S]; S],
            f: [0.0; S],
            omega: 1.0,
            norm: 0.0,
        };
        Ok(IdrWork { operators, shadow: vectors()?, has_shadow: false, space })
    }
}

/// Solves A x = b by IDR(4), from the initial guess in `x`. An iteration has one product with A and
/// one with M.
///
/// ```
/// use ziggurat_krylov::{IdrWork, LinearProblem, System, idr};
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 2.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = IdrWork::new(&device, &system)?;
/// let (b, mut x) = (Vector::from(vec![2.0, 3.0]), Vector::from(vec![0.0; 2]));
/// let report = idr(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
/// let x = x.elements::<f64>().unwrap();
/// assert!(report.reason.is_converged() && (x[1] - 1.0).abs() < 1e-7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn idr(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut IdrWork,
) -> Result<KrylovReport, KrylovError> {
    let IdrWork { operators, shadow, has_shadow, space } = work;
    let device = problem.device;
    let (mut run, residual) = Run::start(problem, operators, x, &mut space.r)?;
    if !*has_shadow {
        shadow::fill(device, shadow)?; // not in `IdrWork::new`, because all processes take part
        *has_shadow = true;
    }
    let shadow: &[Vector] = shadow;
    let s = shadow.len();

    space.norm = residual.projected;
    // The step of the cycle, and whether the method has just (re)started.
    let (mut k, mut fresh) = (0, true);
    let reason = loop {
        if let Some(reason) = run.reason_to_stop() {
            break reason;
        }
        if fresh {
            space.start(device);
            k = 0;
        }
        if k == 0 {
            device.dots(shadow.into(), &space.r, &mut space.f[..s]);
        }
        let done = if k < s {
            space.step(device, &mut run, shadow, k, x)
        } else {
            space.stabilise(device, &mut run, x)
        };
        let promised = match done {
            Ok(()) => match run.record(space.norm) {
                Step::Stop(reason) => break reason,
                Step::Verify => space.norm,
                Step::Continue => {
                    if run.is_watched() {
                        run.watch(x, &mut space.v);
                    }
                    (k, fresh) = ((k + 1) % (s + 1), false);
                    continue;
                }
            },
            Err(StopReason::Breakdown) if !fresh => f64::INFINITY,
            Err(reason) => break reason,
        };
        match run.verify(promised, x, &mut space.r) {
            Ok(residual) => (space.norm, fresh) = (residual.projected, true),
            Err(reason) => break reason,
        }
    };
    Ok(run.finish(reason, x, &mut space.r))
}

/// All that changes during a solve, except x.
#[derive(Debug)]
struct Space {
    u: Vec<Vector>,
    /// A u_k, for every k.
    g: Vec<Vector>,
    r: Vector,
    /// v; t in the last iteration of a cycle.
    v: Vector,
    /// M v or M r.
    z: Vector,
    /// H = PᵀG by rows, a lower triangular matrix.
    h: [[f64; S]; S],
    /// Pᵀr.
    f: [f64; S],
    omega: f64,
    /// ‖r‖.
    norm: f64,
}

impl Space {
    /// The state before the first cycle, except for r.
    fn start(&mut self, device: &dyn Device) {
        for vector in self.u.iter_mut().chain(&mut self.g) {
            device.fill(0.0, vector);
        }
        self.h = from_fn(|i| from_fn(|j| if i == j { 1.0 } else { 0.0 }));
        self.omega = 1.0;
    }

    /// Solves H c = `rhs` for a range of rows and columns.
    fn solve(&self, range: Range<usize>, rhs: &[f64]) -> [f64; S] {
        let mut c = [0.0; S];
        for i in range.clone() {
            let known: f64 = (range.start..i).map(|j| self.h[i][j] * c[j]).sum();
            c[i] = (rhs[i] - known) / self.h[i][i];
        }
        c
    }

    /// Step k of a cycle: a new u_k and g_k, with which r becomes orthogonal to p_k.
    fn step(
        &mut self,
        device: &dyn Device,
        run: &mut Run<'_, '_>,
        shadow: &[Vector],
        k: usize,
        x: &mut Vector,
    ) -> Result<(), StopReason> {
        let s = shadow.len();
        let c = self.solve(k..s, &self.f);
        let Space { u, g, r, v, z, .. } = self;
        let (rest, omega) = (s - k, self.omega);
        let of_g: [f64; S + 1] = from_fn(|i| if i < rest { -c[k + i] } else { 1.0 });
        device.combine(&of_g[..=rest], (&followed_by(&g[k..s], r)[..=rest]).into(), 0.0, v);
        run.precondition(v, z);
        let (before, after) = u.split_at_mut(k + 1);
        let of_u: [f64; S + 1] = from_fn(|i| if i + 1 < rest { c[k + 1 + i] } else { omega });
        let vectors = followed_by(&after[..rest - 1], z);
        device.combine(&of_u[..rest], (&vectors[..rest]).into(), c[k], &mut before[k]);
        run.apply(&before[k], &mut g[k]);

        // p_i·g_k for every i, then g_k·g_k.
        let mut products = [0.0; S + 1];
        device.dots((&followed_by(shadow, &g[k])[..=s]).into(), &g[k], &mut products[..=s]);
        let mut gg = products[s];
        if k > 0 {
            let alpha = self.solve(0..k, &products);
            let minus_alpha = alpha.map(|alpha| -alpha);
            for (vectors, square) in [(&mut self.u, &mut 0.0), (&mut self.g, &mut gg)] {
                let (before, this) = vectors.split_at_mut(k);
                *square = device.combine(&minus_alpha[..k], (&*before).into(), 1.0, &mut this[0]);
            }
            device.dots((&shadow[k..]).into(), &self.g[k], &mut products[k..s]);
        }
        if !(gg.is_finite() && products[..s].iter().all(|product| product.is_finite())) {
            return Err(StopReason::NotFinite);
        }
        let pivot = products[k];
        if pivot.abs() <= run.unit_roundoff() * gg.sqrt() {
            return Err(StopReason::Breakdown);
        }
        for (row, product) in self.h.iter_mut().zip(products).take(s).skip(k) {
            row[k] = product;
        }
        let beta = self.f[k] / pivot;
        for (f, row) in self.f.iter_mut().zip(&self.h).take(s).skip(k + 1) {
            *f -= beta * row[k];
        }
        self.advance(device, beta, Some(k), x);
        Ok(())
    }

    /// The last iteration of a cycle, which takes r into the next space.
    fn stabilise(
        &mut self,
        device: &dyn Device,
        run: &mut Run<'_, '_>,
        x: &mut Vector,
    ) -> Result<(), StopReason> {
        run.precondition(&self.r, &mut self.z);
        run.apply(&self.z, &mut self.v);
        let mut products = [0.0; 2];
        device.dots((&[&self.r, &self.v]).into(), &self.v, &mut products);
        let [tr, tt] = products;
        if !(tr.is_finite() && tt.is_finite()) {
            return Err(StopReason::NotFinite);
        }
        let lengths = tt.sqrt() * self.norm;
        if tr.abs() <= run.unit_roundoff() * lengths {
            return Err(StopReason::Breakdown);
        }
        let cosine = tr.abs() / lengths;
        self.omega = tr / tt * (KAPPA / cosine).max(1.0);
        self.advance(device, self.omega, None, x);
        Ok(())
    }

    /// A step of this length along u_k, or along M r.
    fn advance(&mut self, device: &dyn Device, length: f64, k: Option<usize>, x: &mut Vector) {
        let (direction, image) = k.map_or((&self.z, &self.v), |k| (&self.u[k], &self.g[k]));
        self.norm = device.combine(&[-length], (&[image]).into(), 1.0, &mut self.r).sqrt();
        if self.norm.is_finite() {
            device.axpby(length, direction, 1.0, x); // otherwise it would spoil x
        }
    }
}

/// References to at most s vectors, followed by `last`.
fn followed_by<'a>(vectors: &'a [Vector], last: &'a Vector) -> [&'a Vector; S + 1] {
    from_fn(|i| vectors.get(i).unwrap_or(last))
}
