//! Programs of this workspace that tasks build and start: commands and examples.

use std::path::PathBuf;
use std::process::Command;

/// The arguments with which the tests are built, so that nothing is compiled twice.
pub const AS_TESTS: &[&str] = &["--workspace", "--all-features"];

/// Cargo's target directory.
pub fn target() -> PathBuf {
    let usual = || crate::workspace_root().join("target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(usual, PathBuf::from)
}

/// The cargo that runs us, so that `cargo +toolchain xtask` uses that toolchain for everything.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `cargo build` with these arguments and targets (`--bin NAME`, `--example NAME`). Returns the
/// folder of the programs; examples are in its subfolder `examples`. On failure, returns cargo's
/// output.
pub fn build(how: &[&str], targets: &[&str]) -> Result<PathBuf, String> {
    let root = crate::workspace_root();
    let built = cargo().current_dir(root).arg("build").args(how).args(targets).output();
    let built = built.map_err(|error| error.to_string())?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    Ok(target().join(if how.contains(&"--release") { "release" } else { "debug" }))
}

/// `mpirun` with this many ranks of one thread each. The caller adds the program and its arguments.
pub fn mpirun(ranks: usize) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", &ranks.to_string()]);
    command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none").env("RAYON_NUM_THREADS", "1");
    // Ranks that wait give way to those that compute: there may be more ranks than cores.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1");
    command
}
