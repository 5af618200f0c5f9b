//! Compares every kernel for every pair of number types with the reference, on the available device
//! (software Vulkan in CI).

use crate::gpu;
use ziggurat_sparse::device::conformance::{dispatch, matrix_kernels, vector_kernels};
use ziggurat_sparse::{
    Kind, aggregation_conformance_suite, bf16, classical_conformance_suite, conformance_suite, f16,
    lowering_conformance_suite, setup_conformance_suite, setup_device_conformance_suite,
};

conformance_suite!(gpu, gpu());
setup_conformance_suite!(setup_of_gpu, gpu());
aggregation_conformance_suite!(aggregation_of_gpu, gpu());
classical_conformance_suite!(classical_of_gpu, gpu());
lowering_conformance_suite!(lowering_by_gpu, gpu());
setup_device_conformance_suite!(setup_device_of_gpu, gpu());

/// The units of a row exchange registers; by default software Vulkan uses shared memory.
#[test]
fn with_planes() {
    let gpu = gpu().with_planes(true);
    matrix_kernels::spmv::<_, f64, f64>(&gpu);
    matrix_kernels::spmv::<_, f32, f16>(&gpu);
    matrix_kernels::large_matrix::<_, f32, f32>(&gpu);
}

#[test]
fn without_planes() {
    let gpu = gpu().with_planes(false);
    matrix_kernels::spmv::<_, f64, f64>(&gpu);
    matrix_kernels::spmv::<_, f32, f16>(&gpu);
    matrix_kernels::large_matrix::<_, f32, f32>(&gpu);
}

/// Every CSR matrix uses the load-balanced kernel, including those with short and empty rows.
#[test]
fn by_pieces() {
    let gpu = gpu().balancing_beyond(0, 0);
    matrix_kernels::spmv::<_, f64, f64>(&gpu);
    matrix_kernels::residual::<_, f32, f16>(&gpu);
    matrix_kernels::sweep::<_, f32, f32>(&gpu);
}

/// 16-bit values are decoded from their bits.
#[test]
fn without_f16() {
    let gpu = gpu().without(Kind::F16);
    matrix_kernels::spmv::<_, f32, f16>(&gpu);
    matrix_kernels::sweep::<_, f64, f16>(&gpu);
}

/// `f64` data stays on the host and is transferred where the precision changes.
#[test]
fn without_f64() {
    let gpu = gpu().without(Kind::F64);
    matrix_kernels::spmv::<_, f64, f64>(&gpu);
    matrix_kernels::residual::<_, f64, f32>(&gpu);
    matrix_kernels::gauss_seidel::<_, f64, bf16>(&gpu);
    matrix_kernels::sweep::<_, f32, f16>(&gpu);
    vector_kernels::memory::<_, f64>(&gpu);
    vector_kernels::updates::<_, f64>(&gpu);
    vector_kernels::fused::<_, f32>(&gpu);
    vector_kernels::fused::<_, f64>(&gpu);
    vector_kernels::casts::<_, f32>(&gpu);
    vector_kernels::casts::<_, f64>(&gpu);
    vector_kernels::reductions::<_, f32>(&gpu);
    dispatch::memory::<_, f64>(&gpu, &gpu);
    dispatch::matrix::<_, f64, f32>(&gpu, &gpu);
    dispatch::vectors::<_, f64>(&gpu, &gpu);
    dispatch::casts::<_, f32, f64>(&gpu, &gpu);
    dispatch::mistakes(&gpu);
}
