//! The shadow vectors of IDR: orthonormal vectors that look random.
//!
//! An entry is a hash of the global index of its row, so the vectors are the same in every run, for
//! any number of threads and, up to rounding, for any number of processes.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::{Device, DeviceError};
use ziggurat_sparse::hash::{hash_id, uniform_signed};

use crate::gram_schmidt::GramSchmidt;

/// Fills the vectors. Removes those for which the space has too few dimensions.
pub(crate) fn fill<D: Device, C: Real>(
    device: &D,
    vectors: &mut Vec<D::Vector<C>>,
) -> Result<(), DeviceError> {
    let n = vectors.first().map_or(0, |vector| device.len(vector));
    let first = device.elements_before(n);
    let mut host = vec![C::zero(); n];
    let mut gram_schmidt = GramSchmidt::new(vectors.len());
    for k in 0..vectors.len() {
        let seed = hash_id(k as u64);
        for (index, value) in (first..).zip(&mut host) {
            *value = C::narrow(uniform_signed(index ^ seed));
        }
        device.write(&host, &mut vectors[k])?;
        if gram_schmidt.orthonormalise(device, &mut vectors[..=k])[k] == 0.0 {
            vectors.truncate(k);
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::Cpu;

    #[test]
    fn as_many_orthonormal_vectors_as_there_are_dimensions() {
        let device = Cpu::new();
        for (n, expected) in [(0, 0), (1, 1), (3, 3), (4, 4), (1000, 4)] {
            let mut vectors = vec![vec![f64::NAN; n]; 4];
            fill(&device, &mut vectors).unwrap();
            assert_eq!(vectors.len(), expected);
            for (i, x) in vectors.iter().enumerate() {
                for (j, y) in vectors.iter().enumerate() {
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((device.dot(x, y) - expected).abs() < 1e-14, "{n}: {i}, {j}");
                }
            }
        }
    }
}
