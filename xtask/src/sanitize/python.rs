//! `cargo xtask sanitize python`: the tests of the Python package with a module that
//! AddressSanitizer watches.
//!
//! The interpreter is not compiled for the sanitizer, so its runtime, which is the C compiler's, is
//! loaded before everything else (`LD_PRELOAD`). The module allocates with the system's allocator
//! (`cfg(ziggurat_sanitize)`), because the sanitizer does not see the bounds of what mimalloc
//! returns. The environment comes from `cargo xtask python`; the package is copied to a folder that
//! comes before its wheel in Python's search path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tasks::programs;
use tasks::python::{Environment, PythonError};

use super::{SanitizeError, cargo, succeed};

/// Builds the module and runs the tests whose names contain `filter`.
pub(super) fn run(filter: Option<&str>, root: &Path) -> Result<(), SanitizeError> {
    let environment = Environment::there().ok_or(PythonError::NoEnvironment)?;
    let mut build = cargo("build", "address", root);
    build.args(["--package", "ziggurat-python"]);
    succeed(build, "address")?;
    let packages = package_with_module(root)?;
    let mut tests = Command::new(environment.python());
    // The sanitizer writes its report to the file descriptor, which pytest would keep to itself.
    tests.current_dir(root.join("python")).args(["-m", "pytest", "--quiet", "--capture=sys", "tests"]);
    tests.args(filter.iter().flat_map(|filter| ["-k", filter]));
    tests.env("PYTHONPATH", packages).env("LD_PRELOAD", runtime()?).env("MPLBACKEND", "agg");
    // Python frees much only by ending, and its own allocator would hide the bounds of objects.
    tests.env("ASAN_OPTIONS", "detect_leaks=0").env("PYTHONMALLOC", "malloc");
    succeed(tests, "address")
}

/// A folder with the Python sources and the module that was built. Returns the folder.
fn package_with_module(root: &Path) -> Result<PathBuf, SanitizeError> {
    let built = programs::target().join("sanitize/address");
    let packages = built.join("python");
    let (sources, package) = (root.join("python/src/ziggurat"), packages.join("ziggurat"));
    let _ = fs::remove_dir_all(&package); // there may be none
    let copied = fs::create_dir_all(&package).and_then(|()| {
        for file in fs::read_dir(&sources)? {
            let file = file?;
            if file.file_type()?.is_file() {
                fs::copy(file.path(), package.join(file.file_name()))?;
            }
        }
        let module = built.join(format!("{}-unknown-linux-gnu/debug/lib_native.so", std::env::consts::ARCH));
        fs::copy(module, package.join("_native.abi3.so"))
    });
    let what = |error| SanitizeError::Module(format!("cannot make {}: {error}", package.display()));
    copied.map(|_| packages.clone()).map_err(what)
}

/// The libraries to load first: the sanitizer's runtime, and the C++ runtime, whose exceptions it
/// intercepts from the beginning or not at all.
fn runtime() -> Result<String, SanitizeError> {
    let found = ["libasan.so", "libstdc++.so"].map(|name| {
        let asked = Command::new("cc").arg(format!("-print-file-name={name}")).output()?;
        let path = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        // A compiler that does not have the file prints its name as it was asked.
        match Path::new(&path).is_absolute() {
            true => Ok(path),
            false => {
                Err(SanitizeError::Module(format!("cc has no {name}; install GCC's sanitizers and g++")))
            }
        }
    });
    let [sanitizer, cpp] = found;
    Ok(format!("{} {}", sanitizer?, cpp?))
}
