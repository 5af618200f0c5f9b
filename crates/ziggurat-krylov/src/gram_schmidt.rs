//! Classical Gram–Schmidt with selective reorthogonalisation: w ← w − V (Vᵀ w).
//!
//! All coefficients are computed in one pass with one reduction ([`Device::dots`]); modified
//! Gram–Schmidt needs one reduction per vector. If cancellation reduces ‖w‖ by more than a factor
//! √2, the projection is repeated, which keeps V orthonormal to rounding. J. Daniel, W. Gragg, L.
//! Kaufman, G. Stewart, Math. Comp. 30, 1976; "twice is enough" (Kahan, in B. Parlett, The
//! symmetric eigenvalue problem, 1980).
//!
//! Cost with k vectors: reads them twice with two reductions, or four times with four if repeated.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, Vector, Vectors};

/// The projection is repeated if it leaves less than this fraction of ‖w‖².
const REPEAT_BELOW: f64 = 0.5;

/// Scratch memory for the coefficients.
#[derive(Debug)]
pub(crate) struct GramSchmidt {
    /// The sums of the coefficients of both projections; after them ‖w‖², then the new norm.
    total: Vec<f64>,
    /// The negated coefficients of one projection.
    negated: Vec<f64>,
}

impl GramSchmidt {
    /// For a basis of up to `capacity` vectors.
    pub(crate) fn new(capacity: usize) -> Self {
        GramSchmidt { total: vec![0.0; capacity + 1], negated: vec![0.0; capacity] }
    }

    /// Orthonormalises the last of `vectors` against all others, which are orthonormal. Returns its
    /// coefficients in the new basis; the last one is the norm it was divided by. If only rounding
    /// errors remain, that norm is returned as zero and the vector must not be used.
    pub(crate) fn orthonormalise(&mut self, device: &dyn Device, vectors: &mut [Vector]) -> &[f64] {
        let k = vectors.len() - 1;
        let (total, negated) = (&mut self.total[..=k], &mut self.negated[..k]);
        device.dots((&*vectors).into(), &vectors[k], total); // the last one is ‖w‖²
        let before = total[k];
        let (basis, last) = vectors.split_at_mut(k);
        let (basis, w) = (Vectors::Own(basis), &mut last[0]);

        negated.iter_mut().zip(&*total).for_each(|(negated, total)| *negated = -total);
        let mut after = device.combine(negated, basis, 1.0, w);
        if after < REPEAT_BELOW * before {
            device.dots(basis, w, negated);
            for (total, again) in total.iter_mut().zip(&mut *negated) {
                *total += *again;
                *again = -*again;
            }
            after = device.combine(negated, basis, 1.0, w);
        }
        total[k] = remaining_norm(w.kind(), before, after);
        if total[k] > 0.0 {
            device.combine(&[], Vectors::NONE, 1.0 / total[k], w);
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
    pub(crate) fn orthogonalise_compressed(
        &mut self,
        device: &dyn Device,
        basis: &[Vector],
        scale: f64,
        w: &mut Vector,
    ) -> &[f64] {
        let k = basis.len();
        let (total, negated) = (&mut self.total[..=k], &mut self.negated[..k]);
        total.fill(0.0);
        let mut project = |total: &mut [f64]| {
            device.dots(basis.into(), w, negated);
            for (total, dot) in total.iter_mut().zip(&mut *negated) {
                let coefficient = *dot / (scale * scale);
                *total += coefficient * scale;
                *dot = -coefficient;
            }
            device.combine(negated, basis.into(), 1.0, w)
        };
        let mut after = project(total);
        let before = after + total.iter().map(|h| h * h).sum::<f64>();
        if after < REPEAT_BELOW * before {
            after = project(total);
        }
        total[k] = remaining_norm(w.kind(), before, after);
        total
    }
}

/// The norm of what a projection left, from the squares before and after it; zero if it is
/// rounding in this number type.
fn remaining_norm(number: Kind, before: f64, after: f64) -> f64 {
    let rounding = 8.0 * number.facts().unit_roundoff;
    if after <= rounding * rounding * before { 0.0 } else { after.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::{Cpu, DeviceExt};

    /// Columns of a Hilbert-like matrix: nearly parallel, the hardest case for Gram–Schmidt.
    fn nearly_parallel(n: usize, count: usize) -> Vec<Vec<f64>> {
        (0..count).map(|k| (0..n).map(|i| 1.0 / (1 + i + k) as f64).collect()).collect()
    }

    fn element(v: &Vector, index: usize) -> f64 {
        v.elements::<f64>().unwrap()[index]
    }

    #[test]
    fn orthonormal_to_rounding_for_nearly_parallel_vectors() {
        let (device, count) = (Cpu::new(), 9);
        let original = nearly_parallel(200, count);
        let mut vectors: Vec<Vector> = original.iter().map(|v| v.clone().into()).collect();
        let mut gram_schmidt = GramSchmidt::new(count);
        for k in 0..count {
            let h = gram_schmidt.orthonormalise(&device, &mut vectors[..=k]).to_vec();
            assert!(h[k] > 0.0);
            // The input is V h.
            for (i, expected) in original[k].iter().enumerate() {
                let sum: f64 = h.iter().zip(&vectors).map(|(h, v)| h * element(v, i)).sum();
                assert!((sum - expected).abs() < 1e-14);
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
        let vectors = [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [1.2, 1.6, -3.0]];
        let mut vectors = vectors.map(|v| Vector::from(v.to_vec()));
        let h = gram_schmidt.orthonormalise(&device, &mut vectors);
        assert!((h[0] - 2.0).abs() < 1e-15 && h[1] == -3.0 && h[2] == 0.0);
    }
}
