//! The spectral radius of any operator B by power iteration:
//!
//! ```text
//! vₖ₊₁ = B vₖ / ‖B vₖ‖        gₖ = ‖B vₖ‖ → ρ(B)
//! ```
//!
//! (R. von Mises & H. Pollaczek-Geiringer, 1929). It needs no symmetry, which is its only merit: for a symmetric matrix
//! [`lanczos`](super::lanczos()) finds more from fewer steps. The growth gₖ converges when one eigenvalue dominates. When
//! several of the same modulus do (a complex pair, or ±ρ in a non-symmetric scaling), it oscillates for ever, but its
//! geometric mean still tends to ρ, since ‖Bᵏv‖^(1/k) does (Gelfand's formula). So a growth that has settled is
//! the answer, and otherwise the geometric mean of the later steps is. Either is usually a few percent too small.
//!
//! Costs k applications of B, k + 1 inner products and two vectors.

use super::jacobi_scaled::{JacobiScaled, normalise};
use super::{SpectrumError, check_norm};
use crate::CsrRef;
use crate::number::Store;

/// Enough steps for an estimate within ten percent on model problems.
pub const POWER_STEPS: usize = 20;

/// The growth has settled when one more step changes it by less than this part.
const SETTLED: f64 = 0.01;

/// What power iteration found.
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
    /// The estimated spectral radius. Multiply it by 1.1 or so before trusting it as a bound.
    pub radius: f64,
    /// Whether the last two steps agreed within one percent. If not, several eigenvalues compete, or more steps are
    /// needed, and `radius` is a mean.
    pub settled: bool,
    /// Steps made.
    pub steps: usize,
}

/// Estimates the spectral radius of the operator that `apply` computes (y = B x), in the norm of the inner product `dot`.
/// Starts from `start` and makes `steps` steps, at least one.
///
/// Under MPI every rank passes its own part of the vectors; `apply` exchanges the halo and `dot` returns the sum over all
/// ranks. A start vector whose norm is zero (an operator on nothing), or that B turns into zero, gives radius 0.
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

/// The geometric mean of the last 2^m growths, with 2^m at most half of them. Square roots of pairs, level by level: they
/// are rounded alike on every machine, which logarithms are not.
fn mean_of_later(growths: &[f64]) -> f64 {
    let count = 1 << (growths.len() / 2).max(1).ilog2();
    let mut means = growths[growths.len() - count..].to_vec();
    while means.len() > 1 {
        means = means.chunks(2).map(|pair| pair.iter().map(|growth| growth.sqrt()).product()).collect();
    }
    means[0]
}

/// Estimates ρ(D⁻¹A) for a square matrix without zeros on its diagonal that one process holds entirely.
/// [`POWER_STEPS`] steps are usual.
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
