//! The shadow vectors of IDR: orthonormal vectors that look random.
//!
//! An entry is a hash of the global index of its row, so the vectors are the same in every run, for
//! any number of threads and, up to rounding, for any number of processes.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, DeviceExt, Vector};
use ziggurat_sparse::hash::{hash_id, uniform_signed};

use crate::gram_schmidt::GramSchmidt;

/// Fills the vectors. Removes those for which the space has too few dimensions.
pub(crate) fn fill(device: &dyn Device, vectors: &mut Vec<Vector>) -> Result<(), DeviceError> {
    let n = vectors.first().map_or(0, Vector::len);
    let first = device.elements_before(n);
    let mut gram_schmidt = GramSchmidt::new(vectors.len());
    for k in 0..vectors.len() {
        let seed = hash_id(k as u64);
        let entries = (first..).take(n).map(|index| uniform_signed(index ^ seed));
        match vectors[k].kind() {
            Kind::F64 => device.overwrite(&entries.collect::<Vec<f64>>(), &mut vectors[k])?,
            _ => device.overwrite(&entries.map(|x| x as f32).collect::<Vec<_>>(), &mut vectors[k])?,
        }
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
            let mut vectors: Vec<_> = (0..4).map(|_| Vector::from(vec![f64::NAN; n])).collect();
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
