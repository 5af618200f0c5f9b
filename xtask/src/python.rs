//! `cargo xtask python`: the wheel is built, installed into an environment, and tested there as a
//! user has it.
//!
//! Tests, examples in docstrings and with other packages, types and notebooks all run against the
//! installed package, never against the sources. With `--release` the wheel is built as it is
//! published. Otherwise it is built as the tests of this workspace are, and shares with them what
//! cargo compiles: maturin asks cargo for one crate, for which cargo would choose other features of
//! the crates beneath and compile all of them again. So maturin gets this program as its cargo
//! ([`cargo_for_maturin`]), which asks the real one for the libraries of the whole workspace.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::ValueEnum;
use thiserror::Error;

use crate::programs::AS_TESTS;

/// Why the Python package does not pass.
#[derive(Debug, Error)]
pub enum PythonError {
    /// A program that cannot be started.
    #[error("cannot start {program}: {reason}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        reason: String,
    },
    /// A step that failed.
    #[error("{step} failed\n  by hand: {line}")]
    Step {
        /// The task of the step.
        step: &'static str,
        /// The line that repeats it.
        line: String,
    },
    /// maturin has built nothing.
    #[error("no wheel in {}", .0.display())]
    NoWheel(PathBuf),
    /// Checks without an environment.
    #[error("there is no environment; `cargo xtask python --only wheel` makes it")]
    NoEnvironment,
}

/// The parts of `cargo xtask python`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Build the wheel and install it into the environment.
    Wheel,
    /// Run every check in the environment.
    Checks,
}

/// A virtual environment with the package in it.
#[derive(Debug)]
pub struct Environment {
    folder: PathBuf,
}

/// The list of maturin and the packages that the tests need beside ours.
const REQUIREMENTS: &str = "requirements-test.txt";

/// Programs that use the package with others, which the requirements name.
const EXAMPLES: [&str; 8] = [
    "scikit_fem_elasticity",
    "scikit_fem_helmholtz",
    "scikit_fem_maxwell",
    "scikit_fem_newton",
    "scikit_fem_stokes",
    "networkx_resistance",
    "ngsolve_poisson",
    "fipy_diffusion",
];

/// Set where maturin runs this program as its cargo.
const AS_CARGO: &str = "ZIGGURAT_XTASK_AS_CARGO";

impl Environment {
    /// The environment of the last `cargo xtask python`, if there was one.
    pub fn there() -> Option<Self> {
        let environment = Environment { folder: folder("environment") };
        environment.program("python").exists().then_some(environment)
    }

    /// The environment, with a wheel that is built for it. What else it needs is installed if it is
    /// not there already.
    pub fn fresh(root: &Path, release: bool) -> Result<Self, PythonError> {
        let environment = Environment { folder: folder("environment") };
        let (sources, wheels) = (root.join("python"), folder("wheels"));
        environment.install_requirements(&sources)?;
        let _ = fs::remove_dir_all(&wheels); // there may be none
        let profile = if release { "release" } else { "dev" };
        let out = wheels.display().to_string();
        let maturin = environment.program("maturin").display().to_string();
        let arguments = ["build", "--quiet", "--profile", profile, "--out", &out];
        let this = std::env::current_exe().ok().filter(|_| !release);
        let cargo = this.map(|program| [("CARGO".into(), program.into()), (AS_CARGO.into(), "1".into())]);
        let cargo: Vec<(OsString, OsString)> = cargo.into_iter().flatten().collect();
        run_with("building the wheel", &maturin, &arguments, &sources, cargo)?;
        let built = fs::read_dir(&wheels).ok().and_then(|mut files| files.next()?.ok());
        let wheel = built.ok_or_else(|| PythonError::NoWheel(wheels.clone()))?.path();
        environment.pip(&["--force-reinstall", "--no-deps", &wheel.display().to_string()], root)?;
        Ok(environment)
    }

    /// Makes the environment, unless it is there with the same requirements.
    fn install_requirements(&self, sources: &Path) -> Result<(), PythonError> {
        let required = sources.join(REQUIREMENTS);
        let installed = self.folder.join(REQUIREMENTS);
        let same = || Some(fs::read(&required).ok()? == fs::read(&installed).ok()?);
        if self.program("python").exists() && same() == Some(true) {
            return Ok(());
        }
        let here = self.folder.display().to_string();
        run("making an environment", "python3", &["-m", "venv", "--clear", &here], sources)?;
        self.pip(&["--requirement", &required.display().to_string()], sources)?;
        let _ = fs::copy(&required, &installed); // otherwise it is made again the next time
        Ok(())
    }

    /// A program of the environment.
    fn program(&self, name: &str) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
    }

    /// Its interpreter.
    pub fn python(&self) -> String {
        self.program("python").display().to_string()
    }

    fn pip(&self, what: &[&str], root: &Path) -> Result<(), PythonError> {
        let quietly = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"];
        let arguments = [&quietly[..], what].concat();
        run("installing", &self.python(), &arguments, root)
    }

    /// Runs everything that the package must pass: tests beside what hardly uses a second core.
    fn check(&self, root: &Path) -> Result<(), PythonError> {
        std::thread::scope(|scope| {
            let types = scope.spawn(|| self.check_types_and_programs(root));
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

    fn check_types_and_programs(&self, root: &Path) -> Result<(), PythonError> {
        let (python, sources) = (self.python(), root.join("python"));
        run("types", &python, &["-m", "mypy"], &sources)?;
        let allowed = "tests/typing/stubtest-allowlist.txt";
        let stubs = ["-m", "mypy.stubtest", "ziggurat._native", "--allowlist", allowed];
        run("stubs", &python, &stubs, &sources)?;
        let out = folder("notebooks").display().to_string();
        let execute =
            ["-m", "nbconvert", "--log-level", "WARN", "--to", "notebook", "--execute", "--output-dir", &out];
        let notebooks = ["first_steps", "elasticity", "sixteen_bits", "nested_solvers"]
            .map(|name| format!("notebooks/{name}.ipynb"));
        let names: Vec<&str> = notebooks.iter().map(String::as_str).collect();
        run("notebooks", &python, &[&execute[..], &names].concat(), &sources)?;
        EXAMPLES.iter().try_for_each(|name| {
            run("examples with other packages", &python, &[&format!("examples/{name}.py")], &sources)
        })
    }
}

/// Installs the package into its environment and checks it there, or does one of the two.
pub fn check(root: &Path, release: bool, only: Option<Part>) -> Result<(), PythonError> {
    if only != Some(Part::Checks) {
        Environment::fresh(root, release)?;
    }
    if only != Some(Part::Wheel) {
        Environment::there().ok_or(PythonError::NoEnvironment)?.check(root)?;
    }
    Ok(())
}

/// If maturin runs this program as its cargo: builds the libraries of the whole workspace instead
/// of the one that maturin asks for, with the same features as its tests.
pub fn cargo_for_maturin() -> Option<ExitCode> {
    std::env::var_os(AS_CARGO)?;
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let mut cargo = Command::new("cargo");
    cargo.env_remove(AS_CARGO).args(arguments_for_workspace(&asked));
    // With these, which say what .cargo/config.toml and the interpreter say too, cargo would
    // compile PyO3 again at each change between maturin and itself.
    for variable in ["PYO3_CONFIG_FILE", "PYO3_ENVIRONMENT_SIGNATURE", "PYO3_PYTHON"] {
        cargo.env_remove(variable);
    }
    let done = cargo.status().is_ok_and(|status| status.success());
    Some(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `cargo rustc --manifest-path PATH FLAGS -- RUSTC_FLAGS` becomes `cargo build` of the workspace.
fn arguments_for_workspace(asked: &[String]) -> Vec<String> {
    if asked.first().is_none_or(|command| command != "rustc") {
        return asked.to_vec();
    }
    let mut arguments = vec!["build".to_owned()];
    arguments.extend(AS_TESTS.iter().map(|&argument| argument.to_owned()));
    arguments.extend(asked[1..].iter().take_while(|argument| *argument != "--").cloned());
    arguments
}

/// A folder of ours beside what cargo builds.
fn folder(name: &str) -> PathBuf {
    crate::programs::target().join("python").join(name)
}

/// Runs a program and shows what it says.
fn run(step: &'static str, program: &str, arguments: &[&str], folder: &Path) -> Result<(), PythonError> {
    run_with(step, program, arguments, folder, Vec::new())
}

/// The same, with environment variables.
fn run_with(
    step: &'static str,
    program: &str,
    arguments: &[&str],
    folder: &Path,
    variables: Vec<(OsString, OsString)>,
) -> Result<(), PythonError> {
    println!("{step}");
    // Variables of the caller's environment are not what a user has.
    let unset = ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"];
    let mut command = Command::new(program);
    unset.iter().for_each(|variable| {
        command.env_remove(variable);
    });
    command.args(arguments).current_dir(folder).env("MPLBACKEND", "agg").envs(variables);
    let status = command.status();
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

    #[test]
    fn maturin_gets_the_libraries_of_the_workspace() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let asked = words("rustc --profile dev --manifest-path Cargo.toml --lib -- -C strip=symbols");
        let given = words("build --workspace --all-features --profile dev --manifest-path Cargo.toml --lib");
        assert_eq!(arguments_for_workspace(&asked), given);
        assert_eq!(arguments_for_workspace(&words("metadata --offline")), words("metadata --offline"));
    }
}
