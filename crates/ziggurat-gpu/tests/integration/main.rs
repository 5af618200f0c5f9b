//! Kernels and solves on the best device of this machine: software Vulkan in CI.

#![allow(clippy::unwrap_used, clippy::expect_used)] // tests

mod conformance;
mod device_setup;
mod f16_bits;
mod matrix_units;
mod setup;
mod solves;
mod structured;

use std::io::Write;
use std::path::{Path, PathBuf};

use ziggurat_gpu::Gpu;

fn gpu() -> Gpu {
    Gpu::best().expect("a device: apt-get install mesa-vulkan-drivers libvulkan1")
}

/// The folder of the shared matrices; `None`, with a message, if it is not there.
fn real_matrices() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    let named = std::env::var_os("ZIGGURAT_MATRICES").map(PathBuf::from);
    let folder = named.clone().unwrap_or(beside);
    if folder.join("INDEX.md").exists() {
        return Some(folder);
    }
    assert!(named.is_none(), "ZIGGURAT_MATRICES is set, but there is no INDEX.md in {}", folder.display());
    // Not `eprintln!`, which the test harness captures: a skipped test must be visible.
    let _ = writeln!(std::io::stderr(), "skipped: no matrices at {}", folder.display());
    None
}
