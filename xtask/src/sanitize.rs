//! `cargo xtask sanitize NAME`: tests under a sanitizer of LLVM.
//!
//! AddressSanitizer stops at a load or store outside an allocation, which is what an unchecked
//! kernel does wrong. ThreadSanitizer stops at a data race. The flags are unstable, so they need a
//! nightly toolchain or `RUSTC_BOOTSTRAP=1`, which is set here. The build takes a folder of its own
//! under the target directory, because everything is compiled with other flags.
//!
//! ThreadSanitizer must also see the synchronisation of the standard library, or it reports races
//! where there are none. So the library is compiled with the flags, too, from its sources (`rustup
//! component add rust-src`). `tsan.supp` lists what ThreadSanitizer misjudges in dependencies.

mod python;

use std::path::Path;
use std::process::Command;

use clap::ValueEnum;
use tasks::programs;
use tasks::python::PythonError;
use thiserror::Error;

/// A sanitizer, and what it watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sanitizer {
    /// Accesses outside allocations and after their end, in the tests of ziggurat-sparse.
    Address,
    /// Data races, in the tests of ziggurat-sparse and ziggurat.
    Thread,
    /// Accesses outside allocations and after their end, in the tests of the Python package.
    Python,
}

/// Why the tests did not pass.
#[derive(Debug, Error)]
pub(crate) enum SanitizeError {
    /// Cargo could not be started.
    #[error("cannot start cargo: {0}")]
    Start(#[from] std::io::Error),
    /// The sources of the standard library are missing.
    #[error("ThreadSanitizer needs the sources of the standard library: rustup component add rust-src")]
    NoSources,
    /// The Python package could not be built or tested.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The C compiler has no runtime of AddressSanitizer, or the module cannot be put in place.
    #[error("{0}")]
    Module(String),
    /// A test failed, or the sanitizer stopped one.
    #[error("the tests failed under the {0} sanitizer; its report is above")]
    Failed(&'static str),
}

/// Runs the tests of `sanitizer`. `filter` restricts them to those whose names contain it.
pub(crate) fn run(sanitizer: Sanitizer, filter: Option<&str>, root: &Path) -> Result<(), SanitizeError> {
    match sanitizer {
        Sanitizer::Address => {
            let mut cargo = cargo("test", "address", root);
            cargo.args(["--package", "ziggurat-sparse", "--lib", "--tests", "--"]).args(filter);
            succeed(cargo, "address")
        }
        Sanitizer::Thread => {
            if !has_library_sources()? {
                return Err(SanitizeError::NoSources);
            }
            let mut cargo = cargo("test", "thread", root);
            // Without the test that counts allocations: the sanitizer allocates, too.
            cargo.args(["--package", "ziggurat-sparse", "--package", "ziggurat"]);
            cargo.args(["--lib", "--test", "integration", "-Zbuild-std", "--"]).args(filter);
            succeed(cargo, "thread")
        }
        Sanitizer::Python => python::run(filter, root),
    }
}

/// Cargo, which compiles with the sanitizer into a folder of its own.
fn cargo(command: &str, sanitizer: &str, root: &Path) -> Command {
    let flags =
        format!("-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer --cfg ziggurat_sanitize");
    let options = format!("suppressions={}", root.join("xtask/tsan.supp").display());
    let mut cargo = programs::cargo();
    // With a target given, build scripts and procedural macros are compiled without the flags.
    cargo.current_dir(root).args([command, "--target", "host-tuple"]);
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags).env("TSAN_OPTIONS", options);
    // The allocations of threads that are still running at the end are not leaks.
    cargo.env("ASAN_OPTIONS", "detect_leaks=0");
    cargo.env("CARGO_TARGET_DIR", programs::target().join("sanitize").join(sanitizer));
    cargo
}

fn succeed(mut command: Command, sanitizer: &'static str) -> Result<(), SanitizeError> {
    if command.status()?.success() { Ok(()) } else { Err(SanitizeError::Failed(sanitizer)) }
}

/// Whether the sources of the standard library are installed.
fn has_library_sources() -> Result<bool, SanitizeError> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output()?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout);
    Ok(Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library").is_dir())
}
