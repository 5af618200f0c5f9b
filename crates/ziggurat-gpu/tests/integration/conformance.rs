//! Every kernel for every number pair, against the reference, on whatever device is there: software Vulkan in CI.

use crate::gpu;
use ziggurat_sparse::device::conformance::{matrix_kernels, vector_kernels};
use ziggurat_sparse::{Kind, bf16, conformance_suite, f16};

conformance_suite!(gpu, gpu());

/// Units of a row exchange registers; software Vulkan goes through shared memory otherwise.
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

/// Every CSR matrix is cut into pieces, short rows and empty ones included.
#[test]
fn by_pieces() {
    let gpu = gpu().balancing_beyond(0, 0);
    matrix_kernels::spmv::<_, f64, f64>(&gpu);
    matrix_kernels::residual::<_, f32, f16>(&gpu);
    matrix_kernels::sweep::<_, f32, f32>(&gpu);
}

/// Values of 16 bits are put together from their bits.
#[test]
fn without_f16() {
    let gpu = gpu().without(Kind::F16);
    matrix_kernels::spmv::<_, f32, f16>(&gpu);
    matrix_kernels::sweep::<_, f64, f16>(&gpu);
}

/// What is in `f64` is on the host, and crosses where precisions meet.
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
}
