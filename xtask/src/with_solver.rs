//! The tasks that need the solver: their command lines, and how xtask hands over to the program
//! that runs them.
//!
//! That program is `ziggurat-bench`, the only one that compiles the solver. xtask reads the command
//! line first, so that help and mistakes need no solver. It then builds `ziggurat-bench` and gives
//! it the same arguments. Where xtask is optimised, which is what `cargo xtask` does, so is
//! `ziggurat-bench`. Where it is not, in CI, `ziggurat-bench` is built as the tests are and shares
//! with them what cargo has compiled.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, Subcommand, ValueEnum};
use thiserror::Error;

use crate::programs;

/// A task that needs the solver.
#[derive(Debug, Subcommand)]
pub enum WithSolver {
    /// Solve for an hour with threads, Python and MPI ranks, and watch the memory.
    Soak(SoakOptions),
    /// Compare the results of the ziggurat command with saved results, bit for bit.
    Fingerprints(FingerprintsOptions),
    /// Count the instructions of a fixed setup and solve, and compare them with saved counts.
    Instructions(InstructionsOptions),
    /// Draw the figures of the book.
    Figures,
    /// Compare the configuration reference of the book with the code; a part of `cargo xtask book`.
    #[command(hide = true)]
    ConfigurationReference {
        /// Write the page instead.
        #[arg(long)]
        write: bool,
    },
    /// Run a benchmark, print its tables, and write its numbers as JSON.
    Bench(BenchOptions),
}

/// The command line of `cargo xtask soak`.
#[derive(Args, Clone, Copy, Debug)]
pub struct SoakOptions {
    /// How long the programs run.
    #[arg(long, default_value_t = 60.0)]
    pub minutes: f64,
    /// Only the threads, in this process.
    #[arg(long, hide = true)]
    pub threads: bool,
}

/// The command line of `cargo xtask fingerprints`.
#[derive(Debug, Args)]
pub struct FingerprintsOptions {
    /// Compare with the records in this file [default: bench/fingerprints.json].
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// Write the records to this file instead; it keeps those of cases that are not run.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub save: Option<PathBuf>,
    /// A `ziggurat` command that is already built with the features `mpi` and `gpu` [default: build
    /// it].
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Run only the small cases, as CI does, with the command as the tests build it.
    #[arg(long)]
    pub small: bool,
    /// Run only the cases whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

/// The command line of `cargo xtask instructions`.
#[derive(Debug, Args)]
pub struct InstructionsOptions {
    /// Save the counts instead of comparing them.
    #[arg(long)]
    pub save: bool,
    /// Run up to the end of this phase and exit, to be counted.
    #[arg(long, hide = true)]
    pub until: Option<Phase>,
}

/// Where a run of `cargo xtask instructions` ends, in this order. The instructions of a phase
/// are the difference of the counts at its end and at the end before.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Phase {
    /// The matrix is there.
    Matrix,
    /// It is diagnosed.
    Diagnosis,
    /// Its hierarchy is there.
    Hierarchy,
    /// A solver is set up.
    Setup,
    /// The system is solved.
    Solve,
}

/// The command line of `cargo xtask bench`.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// The benchmark; without a name, all are listed.
    pub name: Option<String>,
    /// Write the numbers to this file [default: bench-results/NAME.json in the workspace].
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Use small sizes that take about a second, to check that it works, not to measure.
    #[arg(long)]
    pub quick: bool,
    /// How often each contestant runs; the best run counts. Use more on a busy machine [default:
    /// depends on the benchmark].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// The numbers of threads to measure with.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    pub threads: Vec<usize>,
}

/// Why a task was not handed over, or did not succeed.
#[derive(Debug, Error)]
pub enum HandOverError {
    /// The program does not build.
    #[error("{PROGRAM} does not build:\n{0}")]
    Build(String),
    /// The program, or cargo, cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The task has failed, and has said why.
    #[error("`{0}` failed; the reason is above")]
    Failed(String),
}

const PROGRAM: &str = "ziggurat-bench";

/// Replaces this process by `ziggurat-bench` with the same arguments. Returns only on failure.
pub fn hand_over() -> HandOverError {
    match program() {
        Ok(mut program) => {
            let source = program.args(std::env::args_os().skip(1)).exec();
            cannot_start(&program, source)
        }
        Err(error) => error,
    }
}

/// Runs a task of `ziggurat-bench` to its end.
pub fn run(task: &[&str]) -> Result<(), HandOverError> {
    let mut program = program()?;
    let status = program.args(task).status().map_err(|source| cannot_start(&program, source))?;
    if status.success() { Ok(()) } else { Err(HandOverError::Failed(task.join(" "))) }
}

/// `ziggurat-bench`, up to date. The caller adds its arguments.
fn program() -> Result<Command, HandOverError> {
    if cfg!(debug_assertions) {
        let built = programs::build(programs::AS_TESTS, &["--bin", PROGRAM]).map_err(HandOverError::Build)?;
        return Ok(Command::new(built.join(PROGRAM)));
    }
    let mut cargo = programs::cargo();
    cargo.args(["run", "--quiet", "--release", "--package", PROGRAM, "--manifest-path"]);
    cargo.arg(crate::workspace_root().join("Cargo.toml")).arg("--");
    Ok(cargo)
}

fn cannot_start(program: &Command, source: io::Error) -> HandOverError {
    HandOverError::Start { program: program.get_program().to_string_lossy().into_owned(), source }
}
