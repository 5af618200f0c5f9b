//! Galerkin products on the device against the CPU, and the transfers over the bus.

use crate::gpu;
use ziggurat_sparse::algebra::{product, transpose, triple_product};
use ziggurat_sparse::device::{DeviceError, Kernels, SetupKernels};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{Csr, Kind};

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

/// An interpolation with the pattern of smoothed aggregation: A times one that is constant on
/// groups of rows.
fn interpolation(a: &Csr<f64>, group: usize) -> Csr<f64> {
    let (rows, columns) = (a.rows(), (0..a.rows()).map(|row| (row / group) as u32).collect());
    let constant =
        Csr::try_new(rows, rows.div_ceil(group), (0..=rows).collect(), columns, vec![1.0; rows]).unwrap();
    product(a.view(), a.all_rows(), constant.view()).unwrap()
}

/// The same pattern, and values that differ by little compared with the largest of the row.
fn assert_close(name: &str, found: &Csr<f64>, expected: &Csr<f64>) {
    assert_eq!((found.row_ptr(), found.columns()), (expected.row_ptr(), expected.columns()), "{name}");
    for row in 0..expected.rows() {
        let largest = expected.row(row).1.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        for (found, expected) in found.row(row).1.iter().zip(expected.row(row).1) {
            assert!((found - expected).abs() <= 1e-12 * largest, "{name}, row {row}: {found} {expected}");
        }
    }
}

#[test]
fn coarse_matrices_are_those_of_the_cpu() {
    let gpu = gpu();
    for (name, group) in [("poisson3d:20", 8), ("jump3d:20", 27), ("elasticity3d:7", 12)] {
        let a = matrix(name);
        let p = interpolation(&a, group);
        let r = transpose(p.view(), p.all_rows());
        let expected = triple_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap();
        let [a, p] = [&a, &p].map(|matrix| gpu.upload_sparse(matrix).unwrap());
        let before = gpu.traffic().unwrap();
        let of_p = gpu.transpose(&p).unwrap();
        let c = gpu.triple_product(&of_p, &a, &p).unwrap();
        gpu.finish().unwrap();
        let traffic = gpu.traffic().unwrap().since(before);
        // Sizes only: five downloads of at most 20 bytes for each product.
        assert_eq!((traffic.uploads, traffic.uploaded_bytes), (0, 0), "{name}");
        assert!(traffic.downloads <= 10 && traffic.downloaded_bytes <= 112, "{name}: {traffic:?}");
        assert_eq!(gpu.download_sparse(&of_p).unwrap(), r, "{name}");
        assert_close(name, &gpu.download_sparse(&c).unwrap(), &expected);
    }
}

/// New values: no symbolic phase, and nothing returns to the host.
#[test]
fn the_numeric_phase_transfers_nothing() {
    let gpu = gpu();
    let a = matrix("poisson3d:16");
    let on_device = gpu.upload_sparse(&a).unwrap();
    let plan = gpu.plan_product(&on_device, &on_device).unwrap();
    let mut c = gpu.product(&plan, &on_device, &on_device).unwrap();
    let mut twice = a.clone();
    twice.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    let twice = gpu.upload_sparse(&twice).unwrap();
    let before = gpu.traffic().unwrap();
    gpu.update_product(&plan, &twice, &on_device, &mut c).unwrap();
    gpu.transpose(&twice).unwrap();
    gpu.finish().unwrap();
    let traffic = gpu.traffic().unwrap().since(before);
    assert_eq!((traffic.uploads, traffic.downloads), (0, 0));
    let expected = product(a.view(), a.all_rows(), a.view()).unwrap();
    let found = gpu.download_sparse(&c).unwrap();
    assert!(found.values().iter().zip(expected.values()).all(|(found, value)| *found == 2.0 * value));
}

/// A device without `f64` computes with `f32` matrices only.
#[test]
fn numbers_that_a_device_lacks_are_refused() {
    let gpu = gpu().without(Kind::F64);
    let a = Csr::<f64>::identity(5).unwrap();
    let refused = gpu.upload_sparse(&a).unwrap_err();
    assert!(matches!(refused, DeviceError::Lacks { number: Kind::F64, .. }), "{refused}");
    let narrow = gpu.upload_sparse(&a.view().stored_as::<f32>()).unwrap();
    let c = gpu.product_once(&narrow, &narrow).unwrap();
    assert_eq!(gpu.download_sparse(&c).unwrap(), Csr::identity(5).unwrap());
}
