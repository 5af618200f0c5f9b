//! `cargo xtask python`: the wheel is built, installed into an environment made for it, and tested there as a user has it.
//!
//! Tests, examples in docstrings, types and notebooks all run against the installed package, never against the sources.
//! Without `--release` the wheel is built as the tests of this workspace are, which is much faster and tests the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Why the Python package does not pass.
#[derive(Debug, Error)]
pub(crate) enum PythonError {
    /// A program that cannot be started.
    #[error("cannot start {program}: {reason}")]
    Start { program: String, reason: String },
    /// A step that failed.
    #[error("{step} failed\n  by hand: {line}")]
    Step { step: &'static str, line: String },
    /// maturin has built nothing.
    #[error("no wheel in {}", .0.display())]
    NoWheel(PathBuf),
}

/// A virtual environment with the package in it.
#[derive(Debug)]
pub(crate) struct Environment {
    folder: PathBuf,
}

/// What the tests need beside the package, and maturin.
const REQUIREMENTS: &str = "requirements-test.txt";

impl Environment {
    /// The environment of the last `cargo xtask python`, if there was one.
    pub(crate) fn there() -> Option<Self> {
        let environment = Environment { folder: folder("environment") };
        environment.program("python").exists().then_some(environment)
    }

    /// Makes the environment anew, with a wheel that is built for it.
    pub(crate) fn fresh(root: &Path, release: bool) -> Result<Self, PythonError> {
        let environment = Environment { folder: folder("environment") };
        let (sources, wheels) = (root.join("python"), folder("wheels"));
        let _ = fs::remove_dir_all(&wheels); // there may be none
        let here = environment.folder.display().to_string();
        run("making an environment", "python3", &["-m", "venv", "--clear", &here], root)?;
        let requirements = sources.join(REQUIREMENTS).display().to_string();
        environment.pip(&["--requirement", &requirements], root)?;
        let profile = if release { "release" } else { "dev" };
        let out = wheels.display().to_string();
        let maturin = environment.program("maturin").display().to_string();
        let arguments = ["build", "--quiet", "--profile", profile, "--out", &out];
        run("building the wheel", &maturin, &arguments, &sources)?;
        let built = fs::read_dir(&wheels).ok().and_then(|mut files| files.next()?.ok());
        let wheel = built.ok_or_else(|| PythonError::NoWheel(wheels.clone()))?.path();
        environment.pip(&[&wheel.display().to_string()], root)?;
        Ok(environment)
    }

    /// A program of the environment.
    fn program(&self, name: &str) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
    }

    /// Its interpreter.
    pub(crate) fn python(&self) -> String {
        self.program("python").display().to_string()
    }

    fn pip(&self, what: &[&str], root: &Path) -> Result<(), PythonError> {
        let arguments = [&["-m", "pip", "install", "--quiet", "--disable-pip-version-check"], what].concat();
        run("installing", &self.python(), &arguments, root)
    }

    /// Runs everything that the package must pass: tests beside what hardly uses a second core.
    fn check(&self, root: &Path) -> Result<(), PythonError> {
        std::thread::scope(|scope| {
            let types = scope.spawn(|| self.check_types_and_notebooks(root));
            let tests = self.check_tests(root);
            let types = types.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            tests.and(types)
        })
    }

    fn check_tests(&self, root: &Path) -> Result<(), PythonError> {
        let (python, sources) = (self.python(), root.join("python"));
        run("tests", &python, &["-m", "pytest", "--quiet", "tests"], &sources)?;
        let doctests = ["-m", "pytest", "--quiet", "--doctest-modules", "--pyargs", "ziggurat"];
        run("examples in docstrings", &python, &doctests, &sources)
    }

    fn check_types_and_notebooks(&self, root: &Path) -> Result<(), PythonError> {
        let (python, sources) = (self.python(), root.join("python"));
        run("types", &python, &["-m", "mypy"], &sources)?;
        let allowed = "tests/typing/stubtest-allowlist.txt";
        let stubs = ["-m", "mypy.stubtest", "ziggurat._native", "--allowlist", allowed];
        run("stubs", &python, &stubs, &sources)?;
        let out = folder("notebooks").display().to_string();
        let execute =
            ["-m", "nbconvert", "--log-level", "WARN", "--to", "notebook", "--execute", "--output-dir", &out];
        let notebooks =
            ["first_steps", "elasticity", "sixteen_bits"].map(|name| format!("notebooks/{name}.ipynb"));
        let names: Vec<&str> = notebooks.iter().map(String::as_str).collect();
        run("notebooks", &python, &[&execute[..], &names].concat(), &sources)
    }
}

/// Makes the environment and checks the package in it.
pub(crate) fn check(root: &Path, release: bool) -> Result<(), PythonError> {
    Environment::fresh(root, release)?.check(root)
}

/// A folder of ours beside what cargo builds.
fn folder(name: &str) -> PathBuf {
    crate::programs::target().join("python").join(name)
}

/// Runs a program and shows what it says.
fn run(step: &'static str, program: &str, arguments: &[&str], folder: &Path) -> Result<(), PythonError> {
    println!("{step}");
    // Whatever the caller has in its own environment is not what a user has.
    let unset = ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"];
    let mut command = Command::new(program);
    unset.iter().for_each(|variable| {
        command.env_remove(variable);
    });
    let status = command.args(arguments).current_dir(folder).env("MPLBACKEND", "agg").status();
    let status = status
        .map_err(|error| PythonError::Start { program: program.to_owned(), reason: error.to_string() })?;
    if status.success() {
        return Ok(());
    }
    let line = format!("cd {} && {program} {}", folder.display(), arguments.join(" "));
    Err(PythonError::Step { step, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_says_how_to_repeat_it() {
        let error = run("tests", "python3", &["-c", "raise SystemExit(3)"], Path::new(".")).unwrap_err();
        assert_eq!(error.to_string(), "tests failed\n  by hand: cd . && python3 -c raise SystemExit(3)");
        let error = run("tests", "no-such-program", &[], Path::new(".")).unwrap_err();
        assert!(error.to_string().starts_with("cannot start no-such-program: "), "{error}");
    }
}
