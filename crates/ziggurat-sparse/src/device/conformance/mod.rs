//! The conformance suite that every backend must pass, and the device that is made of it.
//!
//! [`conformance_suite!`](crate::conformance_suite) generates one test per kernel and pair of
//! number types for a backend; a new one is one more line. Each test runs the kernel on generated
//! matrices and vectors ([`inputs`]) and compares the result with [`Reference`](super::Reference)
//! in double precision, entry by entry, within the rounding error of the kernel's own arithmetic
//! (`bounds`): n·u·Σ|a_ij||x_j| for a row of n entries. So a dropped entry, a wrong coefficient or
//! a sum in too low a precision fails the test; a different order of summation does not. The
//! [`Device`](super::Device) of the backend must then give the same bits ([`dispatch`]).
//!
//! The calling crate needs no other dependency than this crate.

pub mod aggregation_kernels;
mod bounds;
pub mod classical_kernels;
pub mod dispatch;
pub mod inputs;
pub mod lowering_kernels;
pub mod matrix_kernels;
pub mod setup_dispatch;
pub mod setup_kernels;
pub mod vector_kernels;

/// Generates the tests for a device: `conformance_suite!(name, device)` defines a module `name`
/// with a test for every kernel and pair of number types. `device` is an expression, evaluated in
/// each test.
///
/// ```
/// ziggurat_sparse::conformance_suite!(reference, ziggurat_sparse::device::Reference);
/// ```
#[macro_export]
macro_rules! conformance_suite {
    ($name:ident, $device:expr) => {
        mod $name {
            // The device expression uses names from the caller's scope.
            #[allow(unused_imports)]
            use super::*;
            $crate::conformance_suite!(@pair f64_reads_f64, f64, f64, $device);
            $crate::conformance_suite!(@pair f64_reads_f32, f64, f32, $device);
            $crate::conformance_suite!(@pair f64_reads_f16, f64, $crate::f16, $device);
            $crate::conformance_suite!(@pair f64_reads_bf16, f64, $crate::bf16, $device);
            $crate::conformance_suite!(@pair f32_reads_f32, f32, f32, $device);
            $crate::conformance_suite!(@pair f32_reads_f16, f32, $crate::f16, $device);
            $crate::conformance_suite!(@pair f32_reads_bf16, f32, $crate::bf16, $device);
            $crate::conformance_suite!(@vectors f64_vectors, f64, $device);
            $crate::conformance_suite!(@vectors f32_vectors, f32, $device);
            #[test]
            fn dispatch() {
                let device = $device;
                $crate::device::conformance::dispatch::properties(&device, &device);
                $crate::device::conformance::dispatch::memory::<_, f64>(&device, &device);
                $crate::device::conformance::dispatch::memory::<_, f32>(&device, &device);
                $crate::device::conformance::dispatch::memory::<_, $crate::f16>(&device, &device);
                $crate::device::conformance::dispatch::memory::<_, $crate::bf16>(&device, &device);
                $crate::device::conformance::dispatch::mistakes(&device);
            }
        }
    };
    (@pair $name:ident, $c:ty, $s:ty, $device:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[test]
            fn spmv() {
                $crate::device::conformance::matrix_kernels::spmv::<_, $c, $s>(&$device);
            }
            #[test]
            fn residual() {
                $crate::device::conformance::matrix_kernels::residual::<_, $c, $s>(&$device);
            }
            #[test]
            fn sweep() {
                $crate::device::conformance::matrix_kernels::sweep::<_, $c, $s>(&$device);
            }
            #[test]
            fn gauss_seidel() {
                $crate::device::conformance::matrix_kernels::gauss_seidel::<_, $c, $s>(&$device);
            }
            #[test]
            fn grid_transfers() {
                $crate::device::conformance::matrix_kernels::grid_transfers::<_, $c, $s>(&$device);
            }
            #[test]
            fn large_matrix() {
                $crate::device::conformance::matrix_kernels::large_matrix::<_, $c, $s>(&$device);
            }
            #[test]
            fn compressed_vectors() {
                $crate::device::conformance::vector_kernels::compressed::<_, $c, $s>(&$device);
            }
            #[test]
            fn dispatch() {
                let device = $device;
                $crate::device::conformance::dispatch::matrix::<_, $c, $s>(&device, &device);
                $crate::device::conformance::dispatch::compressed::<_, $c, $s>(&device, &device);
            }
        }
    };
    (@vectors $name:ident, $c:ty, $device:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[test]
            fn memory() {
                $crate::device::conformance::vector_kernels::memory::<_, $c>(&$device);
            }
            #[test]
            fn updates() {
                $crate::device::conformance::vector_kernels::updates::<_, $c>(&$device);
            }
            #[test]
            fn fused() {
                $crate::device::conformance::vector_kernels::fused::<_, $c>(&$device);
            }
            #[test]
            fn casts() {
                $crate::device::conformance::vector_kernels::casts::<_, $c>(&$device);
            }
            #[test]
            fn reductions() {
                $crate::device::conformance::vector_kernels::reductions::<_, $c>(&$device);
            }
            #[test]
            fn dispatch() {
                let device = $device;
                $crate::device::conformance::dispatch::vectors::<_, $c>(&device, &device);
                $crate::device::conformance::dispatch::casts::<_, $c, f64>(&device, &device);
                $crate::device::conformance::dispatch::casts::<_, $c, f32>(&device, &device);
            }
        }
    };
}

/// Generates the tests for a [`SetupKernels`](crate::device::SetupKernels), as
/// [`conformance_suite!`](crate::conformance_suite) does for a [`Kernels`](crate::device::Kernels).
///
/// ```
/// ziggurat_sparse::setup_conformance_suite!(reference, ziggurat_sparse::device::Reference);
/// ```
#[macro_export]
macro_rules! setup_conformance_suite {
    ($name:ident, $device:expr) => {
        mod $name {
            // The device expression uses names from the caller's scope.
            #[allow(unused_imports)]
            use super::*;
            $crate::setup_conformance_suite!(@number f64_matrices, f64, $device);
            $crate::setup_conformance_suite!(@number f32_matrices, f32, $device);
        }
    };
    (@number $name:ident, $c:ty, $device:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[test]
            fn sparse_memory() {
                $crate::device::conformance::setup_kernels::sparse_memory::<_, $c>(&$device);
            }
            #[test]
            fn products() {
                $crate::device::conformance::setup_kernels::products::<_, $c>(&$device);
            }
            #[test]
            fn long_rows() {
                $crate::device::conformance::setup_kernels::long_rows::<_, $c>(&$device);
            }
            #[test]
            fn large_product() {
                $crate::device::conformance::setup_kernels::large_product::<_, $c>(&$device);
            }
            #[test]
            fn transposes() {
                $crate::device::conformance::setup_kernels::transposes::<_, $c>(&$device);
            }
            #[test]
            fn triple_products() {
                $crate::device::conformance::setup_kernels::triple_products::<_, $c>(&$device);
            }
        }
    };
}

/// Generates the tests of the steps of smoothed aggregation for an
/// [`AggregationKernels`](super::AggregationKernels), as
/// [`setup_conformance_suite!`](crate::setup_conformance_suite) does for products.
///
/// ```
/// ziggurat_sparse::aggregation_conformance_suite!(reference, ziggurat_sparse::device::Reference);
/// ```
#[macro_export]
macro_rules! aggregation_conformance_suite {
    ($name:ident, $device:expr) => {
        mod $name {
            // The device expression uses names from the caller's scope.
            #[allow(unused_imports)]
            use super::*;
            $crate::aggregation_conformance_suite!(@number f64_matrices, f64, $device);
            $crate::aggregation_conformance_suite!(@number f32_matrices, f32, $device);
        }
    };
    (@number $name:ident, $c:ty, $device:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[test]
            fn diagonal_scales() {
                $crate::device::conformance::aggregation_kernels::diagonal_scales::<_, $c>(&$device);
            }
            #[test]
            fn strong_connections() {
                $crate::device::conformance::aggregation_kernels::strong_connections::<_, $c>(&$device);
            }
            #[test]
            fn aggregates() {
                $crate::device::conformance::aggregation_kernels::aggregates::<_, $c>(&$device);
            }
            #[test]
            fn pairs() {
                $crate::device::conformance::aggregation_kernels::pairs::<_, $c>(&$device);
            }
            #[test]
            fn node_matrix() {
                $crate::device::conformance::aggregation_kernels::node_matrix::<_, $c>(&$device);
            }
            #[test]
            fn tentative() {
                $crate::device::conformance::aggregation_kernels::tentative::<_, $c>(&$device);
            }
            #[test]
            fn set_dead_diagonal() {
                $crate::device::conformance::aggregation_kernels::set_dead_diagonal::<_, $c>(&$device);
            }
            #[test]
            fn smoothing_matrix() {
                $crate::device::conformance::aggregation_kernels::smoothing_matrix::<_, $c>(&$device);
            }
        }
    };
}

/// Generates the tests of the steps of classical coarsening for a
/// [`ClassicalKernels`](super::ClassicalKernels), as
/// [`setup_conformance_suite!`](crate::setup_conformance_suite) does for products.
///
/// ```
/// ziggurat_sparse::classical_conformance_suite!(reference, ziggurat_sparse::device::Reference);
/// ```
#[macro_export]
macro_rules! classical_conformance_suite {
    ($name:ident, $device:expr) => {
        mod $name {
            // The device expression uses names from the caller's scope.
            #[allow(unused_imports)]
            use super::*;
            $crate::classical_conformance_suite!(@number f64_matrices, f64, $device);
            $crate::classical_conformance_suite!(@number f32_matrices, f32, $device);
        }
    };
    (@number $name:ident, $c:ty, $device:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[test]
            fn dependences() {
                $crate::device::conformance::classical_kernels::dependences::<_, $c>(&$device);
            }
            #[test]
            fn coarse_rows() {
                $crate::device::conformance::classical_kernels::coarse_rows::<_, $c>(&$device);
            }
            #[test]
            fn paths() {
                $crate::device::conformance::classical_kernels::paths::<_, $c>(&$device);
            }
            #[test]
            fn extended_i() {
                $crate::device::conformance::classical_kernels::extended_i::<_, $c>(&$device);
            }
            #[test]
            fn two_stage() {
                $crate::device::conformance::classical_kernels::two_stage::<_, $c>(&$device);
            }
        }
    };
}

/// Generates the tests of a [`LoweringKernels`](super::LoweringKernels), as
/// [`setup_conformance_suite!`](crate::setup_conformance_suite) does for products.
///
/// ```
/// ziggurat_sparse::lowering_conformance_suite!(reference, ziggurat_sparse::device::Reference);
/// ```
#[macro_export]
macro_rules! lowering_conformance_suite {
    ($name:ident, $device:expr) => {
        mod $name {
            // The device expression uses names from the caller's scope.
            #[allow(unused_imports)]
            use super::*;
            $crate::lowering_conformance_suite!(@computed f64_rows, f64, $device);
            $crate::lowering_conformance_suite!(@computed f32_rows, f32, $device);
            $crate::lowering_conformance_suite!(@pair f64_as_f64, f64, f64, $device);
            $crate::lowering_conformance_suite!(@pair f64_as_f32, f64, f32, $device);
            $crate::lowering_conformance_suite!(@pair f64_as_f16, f64, $crate::f16, $device);
            $crate::lowering_conformance_suite!(@pair f64_as_bf16, f64, $crate::bf16, $device);
            $crate::lowering_conformance_suite!(@pair f32_as_f32, f32, f32, $device);
            $crate::lowering_conformance_suite!(@pair f32_as_f16, f32, $crate::f16, $device);
            $crate::lowering_conformance_suite!(@pair f32_as_bf16, f32, $crate::bf16, $device);
        }
    };
    (@computed $name:ident, $c:ty, $device:expr) => {
        #[test]
        fn $name() {
            $crate::device::conformance::lowering_kernels::steps::<_, $c>(&$device);
            $crate::device::conformance::lowering_kernels::row_sizes::<_, $c>(&$device);
            $crate::device::conformance::lowering_kernels::powers_of_two::<_, $c>(&$device);
        }
    };
    (@pair $name:ident, $c:ty, $s:ty, $device:expr) => {
        #[test]
        fn $name() {
            $crate::device::conformance::lowering_kernels::scaled::<_, $c, $s>(&$device);
            $crate::device::conformance::lowering_kernels::rounding::<_, $c, $s>(&$device);
            $crate::device::conformance::lowering_kernels::stencils::<_, $c, $s>(&$device);
        }
    };
}

/// Generates the tests of a [`SetupDevice`](super::SetupDevice), which must give the bits of its
/// backend ([`setup_dispatch`]).
///
/// ```
/// ziggurat_sparse::setup_device_conformance_suite!(reference, ziggurat_sparse::device::Reference);
/// ```
#[macro_export]
macro_rules! setup_device_conformance_suite {
    ($name:ident, $device:expr) => {
        mod $name {
            // The device expression uses names from the caller's scope.
            #[allow(unused_imports)]
            use super::*;
            $crate::setup_device_conformance_suite!(@number f64_matrices, f64, $device);
            $crate::setup_device_conformance_suite!(@number f32_matrices, f32, $device);
            $crate::setup_device_conformance_suite!(@pair f64_as_f64, f64, f64, $device);
            $crate::setup_device_conformance_suite!(@pair f64_as_f32, f64, f32, $device);
            $crate::setup_device_conformance_suite!(@pair f64_as_f16, f64, $crate::f16, $device);
            $crate::setup_device_conformance_suite!(@pair f64_as_bf16, f64, $crate::bf16, $device);
            $crate::setup_device_conformance_suite!(@pair f32_as_f32, f32, f32, $device);
            $crate::setup_device_conformance_suite!(@pair f32_as_f16, f32, $crate::f16, $device);
            $crate::setup_device_conformance_suite!(@pair f32_as_bf16, f32, $crate::bf16, $device);
        }
    };
    (@number $name:ident, $c:ty, $device:expr) => {
        #[test]
        fn $name() {
            let device = $device;
            $crate::device::conformance::setup_dispatch::algebra::<_, $c>(&device, &device);
            $crate::device::conformance::setup_dispatch::aggregation::<_, $c>(&device, &device);
            $crate::device::conformance::setup_dispatch::classical::<_, $c>(&device, &device);
            $crate::device::conformance::setup_dispatch::factors::<_, $c>(&device, &device);
        }
    };
    (@pair $name:ident, $c:ty, $s:ty, $device:expr) => {
        #[test]
        fn $name() {
            let device = $device;
            $crate::device::conformance::setup_dispatch::stored::<_, $c, $s>(&device, &device);
        }
    };
}
