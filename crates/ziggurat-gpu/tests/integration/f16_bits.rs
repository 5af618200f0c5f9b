//! Every finite `f16`, converted by the device and decoded from its bits.

use crate::gpu;
use ziggurat_sparse::device::Kernels;
use ziggurat_sparse::{Csr, Kind, f16};

/// A diagonal matrix of all finite `f16` values, times a vector of ones.
#[test]
fn every_finite_f16_is_read_exactly() {
    let gpu = gpu();
    let values: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|value| value.is_finite()).collect();
    let n = values.len();
    let a = Csr::try_new(n, n, (0..=n).collect(), (0..n as u32).collect(), values.clone()).unwrap();
    for gpu in [gpu.clone(), gpu.without(Kind::F16)] {
        let a = gpu.upload_matrix(a.clone().into()).unwrap();
        let (x, mut y) = (gpu.upload(&vec![1.0_f32; n]).unwrap(), gpu.zeros::<f32>(n).unwrap());
        gpu.spmv(1.0, &a, &x, 0.0, &mut y);
        let mut found = vec![f32::NAN; n];
        gpu.download(&y, &mut found).unwrap();
        assert!(found.iter().zip(&values).all(|(found, value)| *found == value.to_f32()));
    }
}
