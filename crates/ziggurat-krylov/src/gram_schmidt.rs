//! Classical Gram–Schmidt with selective reorthogonalisation: w ← w − V (Vᵀ w).
//!
//! All coefficients are computed in one pass with one reduction ([`Device::dots`]); modified
//! Gram–Schmidt needs one reduction per vector. If cancellation reduces ‖w‖ by more than a factor
//! √2, the projection is repeated, which keeps V orthonormal to rounding. J. Daniel, W. Gragg, L.
//! Kaufman, G. Stewart, Math. Comp. 30, 1976; "twice is enough" (Kahan, in B. Parlett, The
//! symmetric eigenvalue problem, 1980).
//!
//! Cost with k vectors: reads them twice with two reductions, or four times with four if repeated.

use ziggurat_sparse::device::Device;
use ziggurat_sparse::{Reads, Real, Store};

/// The projection is repeated if it leaves less than this fraction of ‖w‖².
const REPEAT_BELOW: f64 = 0.5;

/// Scratch memory for the coefficients.
#[derive(Debug)]
pub(crate) struct GramSchmidt<C> {
    /// Coefficients of the first projection, then the totals; after them ‖w‖², then the new norm.
    total: Vec<f64>,
    /// Coefficients of the repeated projection.
    again: Vec<f64>,
    /// Negated coefficients in the precision of the vectors.
    narrow: Vec<C>,
}

impl<C: Real> GramSchmidt<C> {
    /// For a basis of up to `capacity` vectors.
    pub(crate) fn new(capacity: usize) -> Self {
        GramSchmidt {
            total: vec![0.0; capacity + 1],
            again: vec![0.0; capacity],
            narrow: vec![C::zero(); capacity],
        }
    }

    /// Orthonormalises the last of `vectors` against all others, which are orthonormal. Returns its
    /// coefficients in the new basis; the last one is the norm it was divided by. If only rounding
    /// errors remain, that norm is returned as zero and the vector must not be used.
    pub(crate) fn orthonormalise<D: Device>(&mut self, device: &D, vectors: &mut [D::Vector<C>]) -> &[f64] {
        let k = vectors.len() - 1;
        let (total, again, narrow) = (&mut self.total[..=k], &mut self.again[..k], &mut self.narrow[..k]);
        device.dots(vectors, &vectors[k], total); // the last one is ‖w‖²
        let before = total[k];
        let (basis, last) = vectors.split_at_mut(k);
        let w = &mut last[0];

        negate_into(narrow, &total[..k]);
        let mut after = device.combine(narrow, basis, C::one(), w);
        if after < REPEAT_BELOW * before {
            device.dots(basis, w, again);
            negate_into(narrow, again);
            after = device.combine(narrow, basis, C::one(), w);
            for (total, again) in total.iter_mut().zip(again) {
                *total += *again;
            }
        }
        total[k] = remaining_norm::<C>(before, after);
        if total[k] > 0.0 {
            let none: &[D::Vector<C>] = &[];
            device.combine(&[], none, C::narrow(1.0 / total[k]), w);
        }
        total
    }

    /// Orthogonalises w against compressed vectors, whose elements are those of an approximately
    /// orthonormal basis times `scale`, a power of two. Returns the coefficients of w in the basis;
    /// the last one is the norm of what remains, by which w is not divided. If only rounding errors
    /// remain, it is zero.
    ///
    /// ‖w‖² is not computed before the projection: as the basis is nearly orthonormal, it is the
    /// sum of the squares of all coefficients.
    pub(crate) fn orthogonalise_compressed<D: Device, S: Store>(
        &mut self,
        device: &D,
        basis: &[D::Vector<S>],
        scale: f64,
        w: &mut D::Vector<C>,
    ) -> &[f64]
    where
        C: Reads<S>,
    {
        let k = basis.len();
        let (total, again, narrow) = (&mut self.total[..=k], &mut self.again[..k], &mut self.narrow[..k]);
        total.fill(0.0);
        let mut project = |total: &mut [f64]| {
            device.dots_compressed(basis, w, again);
            again.iter_mut().for_each(|dot| *dot /= scale * scale);
            negate_into(narrow, again);
            let after = device.combine_compressed(narrow, basis, C::one(), w);
            for (total, again) in total.iter_mut().zip(&mut *again) {
                *total += *again * scale;
            }
            after
        };
        let mut after = project(total);
        let before = after + total.iter().map(|h| h * h).sum::<f64>();
        if after < REPEAT_BELOW * before {
            after = project(total);
        }
        total[k] = remaining_norm::<C>(before, after);
        total
    }
}

/// The norm of what a projection left, from the squares before and after it; zero if it is
/// rounding.
fn remaining_norm<C: Real>(before: f64, after: f64) -> f64 {
    let rounding = 8.0 * C::KIND.facts().unit_roundoff;
    if after <= rounding * rounding * before { 0.0 } else { after.sqrt() }
}

fn negate_into<C: Real>(narrow: &mut [C], coefficients: &[f64]) {
    for (narrow, coefficient) in narrow.iter_mut().zip(coefficients) {
        *narrow = C::narrow(-coefficient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::Cpu;

    /// Columns of a Hilbert-like matrix: nearly parallel, the hardest case for Gram–Schmidt.
    fn nearly_parallel(n: usize, count: usize) -> Vec<Vec<f64>> {
        (0..count).map(|k| (0..n).map(|i| 1.0 / (1 + i + k) as f64).collect()).collect()
    }

    #[test]
    fn orthonormal_to_rounding_for_nearly_parallel_vectors() {
        let (device, count) = (Cpu::new(), 9);
        let original = nearly_parallel(200, count);
        let mut vectors = original.clone();
        let mut gram_schmidt = GramSchmidt::new(count);
        for k in 0..count {
            let h = gram_schmidt.orthonormalise(&device, &mut vectors[..=k]).to_vec();
            assert!(h[k] > 0.0);
            // The input is V h.
            for i in 0..200 {
                let sum: f64 = h.iter().zip(&vectors).map(|(h, v)| h * v[i]).sum();
                assert!((sum - original[k][i]).abs() < 1e-14);
            }
        }
        for i in 0..count {
            for j in 0..=i {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((device.dot(&vectors[i], &vectors[j]) - expected).abs() < 1e-14, "{i}, {j}");
            }
        }
    }

    #[test]
    fn a_dependent_vector_has_norm_zero() {
        let device = Cpu::new();
        let mut gram_schmidt = GramSchmidt::new(3);
        let mut vectors = vec![vec![0.6, 0.8, 0.0], vec![0.0, 0.0, 1.0], vec![1.2, 1.6, -3.0]];
        let h = gram_schmidt.orthonormalise(&device, &mut vectors);
        assert!((h[0] - 2.0).abs() < 1e-15 && h[1] == -3.0 && h[2] == 0.0);
    }
}
