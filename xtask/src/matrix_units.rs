//! `cargo xtask matrix-units`: the kernels that use matrix units (tensor cores), executed.
//!
//! The software Vulkan of Mesa 26 has matrix units, Debian 12's has none. `.ci/mesa` unpacks the
//! newer one into a folder, which `ZIGGURAT_MESA` names. Its libraries need a newer C library than
//! the system's, so the tests run with the loader of that folder. All kernels run there, because
//! a device with matrix units chooses other ones for the same matrices.

use std::path::{Path, PathBuf};

use tasks::programs::{AS_TESTS, cargo};
use thiserror::Error;

/// The tests that run: every kernel, products and solves by matrix units, sparse products.
const TESTS: &str =
    "package(ziggurat-gpu) & binary(integration) & (test(conformance) | test(matrix_units) | test(setup))";

/// Why the tests did not pass.
#[derive(Debug, Error)]
pub(crate) enum MatrixUnitsError {
    #[error("there is no Mesa in {0}: run `.ci/mesa FOLDER` and set ZIGGURAT_MESA to the folder")]
    NoMesa(String),
    #[error("cargo nextest: {0}")]
    Io(#[from] std::io::Error),
    #[error("a test failed with matrix units")]
    Failed,
}

/// Runs the tests on a software Vulkan with matrix units.
pub(crate) fn run(root: &Path) -> Result<(), MatrixUnitsError> {
    let mesa = std::env::var_os("ZIGGURAT_MESA").map(PathBuf::from).unwrap_or_default();
    let driver = mesa.join("lvp.json");
    if !driver.exists() {
        let folder =
            if mesa.as_os_str().is_empty() { "the environment".into() } else { mesa.display().to_string() };
        return Err(MatrixUnitsError::NoMesa(folder));
    }
    let libraries = mesa.join("usr/lib/x86_64-linux-gnu");
    let loader = libraries.join("ld-linux-x86-64.so.2");
    let mut cargo = cargo();
    cargo.current_dir(root).args(["nextest", "run"]).args(AS_TESTS);
    cargo.args(["--lib", "--bins", "--tests", "--no-tests=fail", "-E", TESTS]);
    let runner = format!("{} --library-path {}", loader.display(), libraries.display());
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner);
    cargo.env("VK_DRIVER_FILES", driver);
    // Of the widths that this driver can compile for, the one that works with matrix units.
    cargo.env("LP_NATIVE_VECTOR_WIDTH", "256");
    // Without matrix units, a test fails instead of being skipped.
    cargo.env("ZIGGURAT_MATRIX_UNITS", "required");
    if cargo.status()?.success() { Ok(()) } else { Err(MatrixUnitsError::Failed) }
}
