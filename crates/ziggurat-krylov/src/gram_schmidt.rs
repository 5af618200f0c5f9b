//! Classical Gram–Schmidt, repeated when needed: w ← w − V (Vᵀ w).
//!
//! All coefficients come from one pass and one sum over processes ([`Device::dots`]), where the modified form needs one for
//! each vector. Where cancellation has eaten more than a factor √2 of w, once more: then V stays orthonormal to rounding.
//! J. Daniel, W. Gragg, L. Kaufman, G. Stewart, Math. Comp. 30, 1976; "twice is enough" (Kahan, in B. Parlett, The
//! symmetric eigenvalue problem, 1980).
//!
//! Cost with k vectors: reads them twice, or four times when repeated; two sums over processes, or four.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

/// Squared norms may drop by this factor before the pass is repeated.
const DROP: f64 = 0.5;

/// Room for the coefficients.
#[derive(Debug)]
pub(crate) struct GramSchmidt<C> {
    /// Of the first pass, then in total; behind them ‖w‖² and then the norm of the result.
    total: Vec<f64>,
    again: Vec<f64>,
    narrow: Vec<C>,
}

impl<C: Real> GramSchmidt<C> {
    /// For a basis of at most `most` vectors.
    pub(crate) fn new(most: usize) -> Self {
        GramSchmidt { total: vec![0.0; most + 1], again: vec![0.0; most], narrow: vec![C::zero(); most] }
    }

    /// Makes the last of `vectors` orthogonal to all others, which are orthonormal, and of length one. Returns the
    /// coefficients that it had, ending with the length it was divided by. A length of rounding errors is returned as
    /// zero, and the vector is then of no use.
    pub(crate) fn orthonormalise<D: Device>(&mut self, device: &D, vectors: &mut [D::Vector<C>]) -> &[f64] {
        let k = vectors.len() - 1;
        let (total, again, narrow) = (&mut self.total[..=k], &mut self.again[..k], &mut self.narrow[..k]);
        device.dots(vectors, &vectors[k], total); // the last one is ‖w‖²
        let before = total[k];
        let (basis, last) = vectors.split_at_mut(k);
        let w = &mut last[0];

        negate_into(narrow, &total[..k]);
        let mut after = device.combine(narrow, basis, C::one(), w);
        if after < DROP * before {
            device.dots(basis, w, again);
            negate_into(narrow, again);
            after = device.combine(narrow, basis, C::one(), w);
            for (total, again) in total.iter_mut().zip(again) {
                *total += *again;
            }
        }
        let rounding = 8.0 * C::KIND.facts().unit_roundoff;
        let length = if after <= rounding * rounding * before { 0.0 } else { after.sqrt() };
        total[k] = length;
        if length > 0.0 {
            let none: &[D::Vector<C>] = &[];
            // The norm of the result is one; nobody needs its sum over processes.
            device.combine(&[], none, C::narrow(1.0 / length), w);
        }
        total
    }
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

    /// Columns of a Hilbert-like matrix: nearly parallel, the worst case for Gram–Schmidt.
    fn nearly_parallel(n: usize, count: usize) -> Vec<Vec<f64>> {
        (0..count).map(|k| (0..n).map(|i| 1.0 / (1 + i + k) as f64).collect()).collect()
    }

    #[test]
    fn orthonormal_to_rounding_however_parallel_the_input() {
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
    fn a_dependent_vector_has_length_zero() {
        let device = Cpu::new();
        let mut gram_schmidt = GramSchmidt::new(3);
        let mut vectors = vec![vec![0.6, 0.8, 0.0], vec![0.0, 0.0, 1.0], vec![1.2, 1.6, -3.0]];
        let h = gram_schmidt.orthonormalise(&device, &mut vectors);
        assert!((h[0] - 2.0).abs() < 1e-15 && h[1] == -3.0 && h[2] == 0.0);
    }
}
