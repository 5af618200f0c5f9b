//! Both ends of the spectrum of a self-adjoint operator B, by k steps of Lanczos.
//!
//! ```text
//! B vⱼ = βⱼ₋₁ vⱼ₋₁ + αⱼ vⱼ + βⱼ vⱼ₊₁        T = tridiag(β, α, β)        θ, s: an eigenpair of T
//! ```
//!
//! The eigenvalues θ of T (Ritz values) lie within the spectrum, and the outermost converge to its ends first
//! (C. Lanczos, 1950). The residual of the largest is βₖ |sₖ|, with sₖ the last component of its eigenvector, so
//!
//! ```text
//! upper = θ_max + βₖ |sₖ|
//! ```
//!
//! is a bound in practice (Y. Zhou & R.-C. Li, *Bounding the spectrum of large Hermitian matrices*, 2011, and Zhou, Saad,
//! Tiago & Chelikowsky, 2006, who add all of βₖ). It is not a proof: some eigenvalue lies within the residual of θ_max, but
//! one above it may hide from the start vector. Measured with 12 steps and 40 start vectors each: for Laplacians in 1, 2
//! and 3 dimensions `upper` was always a bound, 0.4 to 2 percent too large; for a dense band with one eigenvalue 5 to
//! 10 percent above it, it was too small by up to 9 percent in up to 37 of 40 (15 steps: 9 of 40). So a method that
//! diverges beyond the bound, as Chebyshev does, should multiply `upper` by 1.1, as is usual; and
//! [`gershgorin`](super::gershgorin()) is a proof, so where it is smaller it is what to use.
//!
//! Costs k applications of B, 2k + 1 inner products and three vectors. Nothing is reorthogonalised: what a dozen steps
//! lose in orthogonality repeats Ritz values, but does not move the outermost (Paige, 1980).

use super::jacobi_scaled::{JacobiScaled, normalise, subtract};
use super::tridiagonal::Tridiagonal;
use super::{SpectrumError, check_norm};
use crate::CsrRef;
use crate::number::Store;

/// Enough steps for a bound that is sharp to a few percent.
pub const LANCZOS_STEPS: usize = 12;

/// βₖ below this part of ‖T‖ means that the Krylov space is exhausted: the next vector would be rounding errors.
const EXHAUSTED: f64 = 1e-12;

/// What Lanczos found.
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
    /// The smallest Ritz value: not below the smallest eigenvalue, and far above it until many steps are made.
    pub smallest: f64,
    /// The largest Ritz value: not above the largest eigenvalue.
    pub largest: f64,
    /// `largest` plus the norm of its residual: in practice not below the largest eigenvalue.
    pub upper: f64,
    /// Steps made; fewer than asked for when the space was exhausted, 0 when it is empty.
    pub steps: usize,
}

/// Bounds the spectrum of the operator that `apply` computes (y = B x), which must be self-adjoint in the inner product
/// `dot`. Starts from `start` and makes at most `steps` steps, at least one.
///
/// Under MPI every rank passes its own part of the vectors; `apply` exchanges the halo and `dot` returns the sum over all
/// ranks. Since every rank gets the same products, every rank makes the same steps. A start vector whose norm is zero
/// (an operator on nothing) gives zeros.
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
    run(start, steps, apply, dot, |_, _| false)
}

/// [`lanczos`] that ends early when `enough`, given the steps made and a way to ask for the largest Ritz value, says so.
fn run(
    start: Vec<f64>,
    steps: usize,
    mut apply: impl FnMut(&[f64], &mut [f64]),
    mut dot: impl FnMut(&[f64], &[f64]) -> f64,
    enough: impl Fn(usize, &dyn Fn() -> f64) -> bool,
) -> Result<LanczosBounds, SpectrumError> {
    let mut v = start;
    let norm = check_norm(0, dot(&v, &v))?;
    if norm == 0.0 {
        return Ok(LanczosBounds { smallest: 0.0, largest: 0.0, upper: 0.0, steps: 0 });
    }
    normalise(&mut v, norm);
    let (mut previous, mut next) = (vec![0.0; v.len()], vec![0.0; v.len()]);
    let mut t = Tridiagonal { diagonal: Vec::new(), off_diagonal: Vec::new() };
    let (mut beta, mut size) = (0.0, 0.0f64);
    for step in 1..=steps.max(1) {
        if step > 1 {
            normalise(&mut next, beta);
            std::mem::swap(&mut previous, &mut v);
            std::mem::swap(&mut v, &mut next);
            t.off_diagonal.push(beta);
        }
        apply(&v, &mut next);
        let alpha = dot(&next, &v);
        subtract(&mut next, alpha, &v, beta, &previous);
        beta = check_norm(step, dot(&next, &next))?;
        t.diagonal.push(alpha);
        size = size.max(alpha.abs() + beta);
        if beta <= EXHAUSTED * size || enough(step, &|| t.eigenvalue(step - 1)) {
            break;
        }
    }
    let steps = t.diagonal.len();
    let largest = t.eigenvalue(steps - 1);
    let upper = largest + beta * t.last_component(largest);
    Ok(LanczosBounds { smallest: t.eigenvalue(0), largest, upper, steps })
}

/// Bounds the spectrum of D⁻¹A for a square, symmetric matrix with a positive diagonal that one process holds entirely.
/// [`LANCZOS_STEPS`] steps are usual. Symmetry is the caller's word: it is not checked.
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
    of_jacobi(a, steps, |_, _| false)
}

/// As [`lanczos_jacobi`], but ends after `first` steps if these have found a value of at least `reached`: then a bound that
/// is known already is sharp enough, and further steps would be for nothing.
///
/// ```
/// use ziggurat_sparse::{gallery::Problem, spectrum::lanczos_jacobi_until};
/// let a = "poisson3d:10".parse::<Problem>()?.matrix()?;
/// // The rows of D⁻¹A sum to 2 at most, in size: that bounds the spectrum.
/// let bounds = lanczos_jacobi_until(a.view(), 8, 4, 0.85 * 2.0)?;
/// assert_eq!(bounds.steps, 4);
/// assert_eq!(lanczos_jacobi_until(a.view(), 8, 4, 0.99 * 2.0)?.steps, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lanczos_jacobi_until<T: Store>(
    a: CsrRef<'_, T>,
    steps: usize,
    first: usize,
    reached: f64,
) -> Result<LanczosBounds, SpectrumError> {
    of_jacobi(a, steps, |step, largest| step == first && largest() >= reached)
}

fn of_jacobi<T: Store>(
    a: CsrRef<'_, T>,
    steps: usize,
    enough: impl Fn(usize, &dyn Fn() -> f64) -> bool,
) -> Result<LanczosBounds, SpectrumError> {
    let operator = JacobiScaled::whole(a)?;
    operator.check_positive()?;
    let start = operator.start_vector(0);
    let bounds = run(start, steps, |x, y| operator.apply(x, y), |x, y| operator.dot(x, y), enough);
    operator.name_entry(bounds)
}
