//! Kernels and solves on the best device of this machine: software Vulkan in CI.

#![allow(clippy::unwrap_used, clippy::expect_used)] // tests

mod conformance;
mod device_setup;
mod f16_bits;
mod matrix_units;
mod setup;
mod solves;

use ziggurat_gpu::Gpu;

fn gpu() -> Gpu {
    Gpu::best().expect("a device: apt-get install mesa-vulkan-drivers libvulkan1")
}
