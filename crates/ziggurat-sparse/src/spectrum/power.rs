//! The spectral radius of a general operator B by power iteration:
//!
//! ```text
//! vₖ₊₁ = B vₖ / ‖B vₖ‖        gₖ = ‖B vₖ‖ → ρ(B)
//! ```
//!
//! (R. von Mises & H. Pollaczek-Geiringer, 1929). Its only advantage is that it needs no symmetry:
//! for a symmetric matrix, [`lanczos`](super::lanczos()) computes more in fewer steps. The growth
//! factor gₖ converges if one eigenvalue dominates. If several have the same modulus (a complex
//! pair, or ±ρ in a nonsymmetric scaling), gₖ oscillates indefinitely, but its geometric mean still
//! tends to ρ, because ‖Bᵏv‖^(1/k) does (Gelfand's formula). So the result is the last growth
//! factor if it has converged, and otherwise the geometric mean of the later ones. Either is
//! usually a few percent too small.
//!
//! The cost is k applications of B, k + 1 inner products and two vectors.

use super::jacobi_scaled::{JacobiScaled, normalise};
use super::{SpectrumError, check_norm};
use crate::CsrRef;
use crate::number::Store;

/// Number of steps that gives an estimate within ten percent on model problems.
pub const POWER_STEPS: usize = 20;

/// The growth factor has converged if one more step changes it by less than this fraction.
const SETTLED: f64 = 0.01;

/// Result of power iteration.
///
/// ```
/// use ziggurat_sparse::{Csr, spectrum::{POWER_STEPS, power_jacobi}};
/// // D⁻¹A = [1 4; -1 1]: a complex pair 1 ± 2i of modulus √5.
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 4.0, -1.0, 1.0])?;
/// let estimate = power_jacobi(a.view(), POWER_STEPS)?;
/// assert!(!estimate.settled);
/// assert!((estimate.radius / 5.0_f64.sqrt() - 1.0).abs() < 0.2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerEstimate {
    /// The estimated spectral radius. Multiply it by about 1.1 before using it as a bound.
    pub radius: f64,
    /// Whether the last two growth factors agree within one percent. If not, several eigenvalues
    /// have about the same modulus or more steps are needed, and `radius` is a mean.
    pub settled: bool,
    /// Steps performed.
    pub steps: usize,
}

/// Estimates the spectral radius of the operator that `apply` computes (y = B x), in the norm of
/// the inner product `dot`. Starts from `start` and performs `steps` steps, at least one.
///
/// Under MPI, every rank passes its own part of the vectors; `apply` exchanges the halo and `dot`
/// returns the sum over all ranks. A start vector with norm zero (such as an empty one), or one
/// that B maps to zero, gives radius 0.
///
/// ```
/// use ziggurat_sparse::spectrum::power;
/// // Diagonal, with eigenvalues 1, 2, -3: the sign does not matter.
/// let b = [1.0, 2.0, -3.0];
/// let estimate = power(
///     vec![1.0, 1.0, 1.0],
///     40,
///     |x, y| (0..3).for_each(|i| y[i] = b[i] * x[i]),
///     |x, y| x.iter().zip(y).map(|(x, y)| x * y).sum(),
/// )?;
/// assert!(estimate.settled && (estimate.radius - 3.0).abs() < 1e-10);
/// # Ok::<(), ziggurat_sparse::spectrum::SpectrumError>(())
/// ```
pub fn power(
    start: Vec<f64>,
    steps: usize,
    mut apply: impl FnMut(&[f64], &mut [f64]),
    mut dot: impl FnMut(&[f64], &[f64]) -> f64,
) -> Result<PowerEstimate, SpectrumError> {
    let (mut v, mut growths) = (start, Vec::with_capacity(steps));
    let mut norm = check_norm(0, dot(&v, &v))?;
    let mut next = vec![0.0; v.len()];
    for step in 1..=steps.max(1) {
        if norm == 0.0 {
            return Ok(PowerEstimate { radius: 0.0, settled: true, steps: step - 1 });
        }
        normalise(&mut v, norm);
        apply(&v, &mut next);
        norm = check_norm(step, dot(&next, &next))?;
        growths.push(norm);
        std::mem::swap(&mut v, &mut next);
    }
    let settled = match growths[..] {
        [.., before, last] => (last - before).abs() <= SETTLED * last,
        _ => false,
    };
    let radius = if settled { norm } else { mean_of_later(&growths) };
    Ok(PowerEstimate { radius, settled, steps: growths.len() })
}

/// The geometric mean of the last 2^m growth factors, where 2^m is at most half of them. It is
/// computed by square roots of pairs, level by level, because square roots are rounded identically
/// on every machine and logarithms are not.
fn mean_of_later(growths: &[f64]) -> f64 {
    let count = 1 << (growths.len() / 2).max(1).ilog2();
    let mut means = growths[growths.len() - count..].to_vec();
    while means.len() > 1 {
        means = means.chunks(2).map(|pair| pair.iter().map(|growth| growth.sqrt()).product()).collect();
    }
    means[0]
}

/// Estimates ρ(D⁻¹A) for a square local matrix without zeros on its diagonal. [`POWER_STEPS`] steps
/// are typical.
///
/// ```
/// use ziggurat_sparse::{Csr, spectrum::{POWER_STEPS, power_jacobi}};
/// let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, -4.0])?; // triangular: ρ = 1
/// assert!((power_jacobi(a.view(), POWER_STEPS)?.radius - 1.0).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn power_jacobi<T: Store>(a: CsrRef<'_, T>, steps: usize) -> Result<PowerEstimate, SpectrumError> {
    let operator = JacobiScaled::whole(a)?;
    let start = operator.start_vector(0);
    let estimate = power(start, steps, |x, y| operator.apply(x, y), |x, y| operator.dot(x, y));
    operator.name_entry(estimate)
}
