//! The tasks of `cargo xtask` that need the solver: benchmarks, fingerprints and others.
//!
//! `xtask` builds this program and starts it (`tasks::with_solver`, in `xtask/src`).

// Commands print; the lint is meant for libraries.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod configuration_reference;
mod figures;
mod fingerprints;
mod instructions;
mod soak;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use tasks::with_solver::WithSolver;
use tasks::{python, workspace_root};

/// The allocator of the `ziggurat` command, so that benchmarks measure what its users get.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Tasks that need the solver.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: WithSolver,
}

fn main() -> ExitCode {
    // The soak builds a wheel if there is none.
    if let Some(code) = python::cargo_for_maturin() {
        return code;
    }
    let root = workspace_root();
    let outcome: Result<(), Box<dyn std::error::Error>> = match Arguments::parse().task {
        WithSolver::Soak(options) => soak::run(options, root).map_err(Into::into),
        WithSolver::Fingerprints(options) => fingerprints::run(&options, root).map_err(Into::into),
        WithSolver::Instructions(options) => instructions::run(&options, root).map_err(Into::into),
        WithSolver::Figures => figures::run(root),
        WithSolver::ConfigurationReference { write } => {
            configuration_reference::run(write, root).map_err(Into::into)
        }
        WithSolver::Bench(options) => bench::run(&options, root).map_err(Into::into),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn lines_by_which_tasks_start_this_program_are_understood() {
        for line in [
            "bench race",
            "configuration-reference",
            "configuration-reference --write",
            "instructions --until hierarchy",
            "soak --threads --minutes 0.5",
        ] {
            let words = ["ziggurat-bench"].into_iter().chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_ok(), "{line}");
        }
    }
}
