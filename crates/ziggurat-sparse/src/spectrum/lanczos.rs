//! Both ends of the spectrum of a self-adjoint operator B, by k Lanczos steps.
//!
//! ```text
//! B vⱼ = βⱼ₋₁ vⱼ₋₁ + αⱼ vⱼ + βⱼ vⱼ₊₁        T = tridiag(β, α, β)        θ, s: an eigenpair of T
//! ```
//!
//! The eigenvalues θ of T (Ritz values) lie within the spectrum, and the extreme ones converge
//! first (C. Lanczos, 1950). The residual norm of the largest is βₖ |sₖ|, where sₖ is the last
//! component of its eigenvector, so
//!
//! ```text
//! upper = θ_max + βₖ |sₖ|
//! ```
//!
//! is an upper bound in practice (Y. Zhou & R.-C. Li, *Bounding the spectrum of large Hermitian
//! matrices*, 2011, and Zhou, Saad, Tiago & Chelikowsky, 2006, who add the full βₖ). It is not
//! rigorous: some eigenvalue lies within the residual norm of θ_max, but the start vector may have
//! almost no component along a larger one. Measured with 12 steps and 40 start vectors per problem:
//! for Laplacians in 1, 2 and 3 dimensions, `upper` was always a bound and 0.4 to 2 percent too
//! large; for a dense band of eigenvalues with one eigenvalue 5 to 10 percent above it, `upper` was
//! too small by up to 9 percent in up to 37 of 40 runs (15 steps: 9 of 40). So a method that
//! diverges beyond the bound, such as Chebyshev, should multiply `upper` by 1.1, as is common. The
//! bound of [`gershgorin`](super::gershgorin()) is rigorous, so use it where it is smaller.
//!
//! The cost is k applications of B, each with one pass over three vectors, and storage for these
//! vectors. There is no reorthogonalisation: the loss of orthogonality in a dozen steps may
//! duplicate Ritz values but does not move the extreme ones (Paige, 1980).

use super::jacobi_scaled::{JacobiScaled, combine};
use super::tridiagonal::Tridiagonal;
use super::{SpectrumError, check_norm};
use crate::CsrRef;
use crate::number::Store;

/// Number of steps that gives a bound accurate to a few percent.
pub const LANCZOS_STEPS: usize = 12;

/// If βₖ is less than this fraction of ‖T‖, the Krylov space is exhausted: the next vector would be
/// rounding errors.
const EXHAUSTED: f64 = 1e-12;

/// Spectral bounds computed by the Lanczos method.
///
/// ```
/// use ziggurat_sparse::{Csr, spectrum::{LANCZOS_STEPS, lanczos_jacobi}};
/// let a = Csr::<f64>::identity(5)?;
/// let bounds = lanczos_jacobi(a.view(), LANCZOS_STEPS)?;
/// assert_eq!(bounds.steps, 1); // one step exhausts the space of the identity
/// assert!((bounds.smallest - 1.0).abs() < 1e-14 && (bounds.upper - 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LanczosBounds {
    /// The smallest Ritz value: at least the smallest eigenvalue, and far above it unless many
    /// steps are made.
    pub smallest: f64,
    /// The largest Ritz value: at most the largest eigenvalue.
    pub largest: f64,
    /// `largest` plus its residual norm: in practice an upper bound on the spectrum.
    pub upper: f64,
    /// Steps performed; fewer than requested if the Krylov space was exhausted, 0 if it is empty.
    pub steps: usize,
}

/// Bounds the spectrum of the operator that `apply` computes (y = B x), which must be self-adjoint
/// in the inner product `dot`. Starts from `start` and performs at most `steps` steps, at least
/// one.
///
/// Under MPI, every rank passes its own part of the vectors; `apply` exchanges the halo and `dot`
/// returns the sum over all ranks. All ranks get the same inner products, so they perform the same
/// steps. A start vector with norm zero (such as an empty one) gives zeros.
///
/// ```
/// use ziggurat_sparse::spectrum::lanczos;
/// // A diagonal operator with eigenvalues 1, 2, 3.
/// let bounds = lanczos(
///     vec![1.0, 1.0, 1.0],
///     10,
///     |x, y| (0..3).for_each(|i| y[i] = (i + 1) as f64 * x[i]),
///     |x, y| x.iter().zip(y).map(|(x, y)| x * y).sum(),
/// )?;
/// assert_eq!(bounds.steps, 3);
/// assert!((bounds.smallest - 1.0).abs() < 1e-12 && (bounds.largest - 3.0).abs() < 1e-12);
/// # Ok::<(), ziggurat_sparse::spectrum::SpectrumError>(())
/// ```
pub fn lanczos(
    start: Vec<f64>,
    steps: usize,
    apply: impl FnMut(&[f64], &mut [f64]),
    dot: impl FnMut(&[f64], &[f64]) -> f64,
) -> Result<LanczosBounds, SpectrumError> {
    lanczos_with(with_zeros(start), steps, Given { apply, dot })
}

/// A self-adjoint operator B and the vectors it acts on, wherever these are.
///
/// ```
/// use ziggurat_sparse::spectrum::{LanczosOperator, lanczos_with};
/// /// Eigenvalues 1 and 3.
/// struct Two;
/// impl LanczosOperator for Two {
///     type Vector = [f64; 2];
///     fn square(&mut self, x: &[f64; 2]) -> f64 {
///         x[0] * x[0] + x[1] * x[1]
///     }
///     fn apply(&mut self, x: &[f64; 2], y: &mut [f64; 2]) -> f64 {
///         *y = [x[0], 3.0 * x[1]];
///         x[0] * y[0] + x[1] * y[1]
///     }
///     fn combine(&mut self, a: f64, y: &mut [f64; 2], b: f64, v: &[f64; 2], c: f64, u: &[f64; 2]) -> f64 {
///         *y = [0, 1].map(|i| a * y[i] + b * v[i] + c * u[i]);
///         self.square(y)
///     }
/// }
/// let bounds = lanczos_with([[1.0, 1.0], [0.0; 2], [0.0; 2]], 5, Two)?;
/// assert!((bounds.smallest - 1.0).abs() < 1e-12 && (bounds.largest - 3.0).abs() < 1e-12);
/// # Ok::<(), ziggurat_sparse::spectrum::SpectrumError>(())
/// ```
pub trait LanczosOperator {
    /// A vector.
    type Vector;

    /// (x, x)
    fn square(&mut self, x: &Self::Vector) -> f64;

    /// y = B x, and (y, x).
    fn apply(&mut self, x: &Self::Vector, y: &mut Self::Vector) -> f64;

    /// y ← a y + b v + c u, and (y, y).
    fn combine(
        &mut self,
        a: f64,
        y: &mut Self::Vector,
        b: f64,
        v: &Self::Vector,
        c: f64,
        u: &Self::Vector,
    ) -> f64;
}

/// An operator and an inner product given as closures.
struct Given<A, D> {
    apply: A,
    dot: D,
}

impl<A: FnMut(&[f64], &mut [f64]), D: FnMut(&[f64], &[f64]) -> f64> LanczosOperator for Given<A, D> {
    type Vector = Vec<f64>;

    fn square(&mut self, x: &Vec<f64>) -> f64 {
        (self.dot)(x, x)
    }

    fn apply(&mut self, x: &Vec<f64>, y: &mut Vec<f64>) -> f64 {
        (self.apply)(x, y);
        (self.dot)(y, x)
    }

    fn combine(&mut self, a: f64, y: &mut Vec<f64>, b: f64, v: &Vec<f64>, c: f64, u: &Vec<f64>) -> f64 {
        combine(a, y, b, v, c, u);
        (self.dot)(y, y)
    }
}

impl<T: Store> LanczosOperator for &JacobiScaled<'_, T> {
    type Vector = Vec<f64>;

    fn square(&mut self, x: &Vec<f64>) -> f64 {
        self.dot(x, x)
    }

    fn apply(&mut self, x: &Vec<f64>, y: &mut Vec<f64>) -> f64 {
        self.apply_dot(x, y)
    }

    fn combine(&mut self, a: f64, y: &mut Vec<f64>, b: f64, v: &Vec<f64>, c: f64, u: &Vec<f64>) -> f64 {
        self.combine_dot(a, y, b, v, c, u)
    }
}

/// As [`lanczos`], for vectors that are not slices. The first of `vectors` is the start vector; the
/// others are zero, and of the same length.
///
/// Vectors are not normalised, which would take an extra pass; instead, divisions by their norms
/// are folded into other operations.
pub fn lanczos_with<O: LanczosOperator>(
    vectors: [O::Vector; 3],
    steps: usize,
    mut operator: O,
) -> Result<LanczosBounds, SpectrumError> {
    let [mut v, mut previous, mut next] = vectors;
    let mut norm = check_norm(0, operator.square(&v))?;
    if norm == 0.0 {
        return Ok(LanczosBounds { smallest: 0.0, largest: 0.0, upper: 0.0, steps: 0 });
    }
    let mut t = Tridiagonal { diagonal: Vec::new(), off_diagonal: Vec::new() };
    let (mut beta, mut previous_norm, mut size) = (0.0, 1.0, 0.0f64);
    for step in 1..=steps.max(1) {
        if step > 1 {
            std::mem::swap(&mut previous, &mut v);
            std::mem::swap(&mut v, &mut next);
            (previous_norm, norm) = (norm, beta);
            t.off_diagonal.push(beta);
        }
        let alpha = operator.apply(&v, &mut next) / norm / norm;
        let square =
            operator.combine(norm.recip(), &mut next, -alpha / norm, &v, -beta / previous_norm, &previous);
        beta = check_norm(step, square)?;
        t.diagonal.push(alpha);
        size = size.max(alpha.abs() + beta);
        if beta <= EXHAUSTED * size {
            break;
        }
    }
    let steps = t.diagonal.len();
    let largest = t.eigenvalue(steps - 1);
    let upper = largest + beta * t.last_component(largest);
    Ok(LanczosBounds { smallest: t.eigenvalue(0), largest, upper, steps })
}

/// The vectors of an iteration in host memory.
fn with_zeros(start: Vec<f64>) -> [Vec<f64>; 3] {
    let [previous, next] = [vec![0.0; start.len()], vec![0.0; start.len()]];
    [start, previous, next]
}

/// Bounds the spectrum of D⁻¹A for a square, symmetric local matrix with a positive diagonal.
/// [`LANCZOS_STEPS`] steps are typical. Symmetry is assumed, not checked.
///
/// ```
/// use ziggurat_sparse::{Csr, spectrum::lanczos_jacobi};
/// // The second difference on 3 points: D⁻¹A has the eigenvalues 1 - √½, 1, 1 + √½.
/// let values = vec![2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0];
/// let a = Csr::try_new(3, 3, vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], values)?;
/// let bounds = lanczos_jacobi(a.view(), 3)?;
/// assert!((bounds.largest - (1.0 + 0.5_f64.sqrt())).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lanczos_jacobi<T: Store>(a: CsrRef<'_, T>, steps: usize) -> Result<LanczosBounds, SpectrumError> {
    let operator = JacobiScaled::whole(a)?;
    operator.check_positive()?;
    let bounds = lanczos_with(with_zeros(operator.start_vector(0)), steps, &operator);
    operator.name_entry(bounds)
}
