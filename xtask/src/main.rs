//! Tasks for developers and CI: `cargo xtask ci`, `cargo xtask bench NAME` and others.
//!
//! A plain Rust program instead of scripts: it needs nothing but cargo, is checked like the rest of
//! the code, and works the same on every machine.

// Commands print; the lint is meant for libraries.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod book;
mod ci;
mod deb;
mod gpu_sources;
mod install;
mod matrix_units;
mod outside;
mod sanitize;
mod source_rules;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tasks::with_solver::{self, WithSolver};
use tasks::{python, workspace_root};

/// Tasks for developers and CI.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every check that decides whether a change is merged.
    Ci,
    /// Compile the CUDA and HIP sources of the kernels that solves launch; needs no GPU.
    GpuSources,
    /// Run the kernels for matrix units (tensor cores) on a software Vulkan that has them.
    MatrixUnits,
    /// Build the Python wheel, install it into its own environment, and test it there.
    Python {
        /// Build it as it is published, which takes minutes longer.
        #[arg(long)]
        release: bool,
        /// Run only this part.
        #[arg(long)]
        only: Option<python::Part>,
    },
    /// Run tests under a sanitizer, which finds what an unchecked load or a data race does wrong.
    Sanitize {
        /// The sanitizer.
        sanitizer: sanitize::Sanitizer,
        /// Run only the tests whose names contain this.
        filter: Option<String>,
    },
    /// Build and run the Rust examples of README.md and the book as programs of another crate.
    Outside(outside::Options),
    /// Check the book: generated pages, links, and code blocks, which are run.
    Book(book::Options),
    /// Install the command and the C library.
    Install(install::Options),
    /// Build a Debian package with the command and the C library.
    Deb(deb::Options),
    #[command(flatten)]
    WithSolver(WithSolver),
}

fn main() -> ExitCode {
    if let Some(code) = python::cargo_for_maturin() {
        return code;
    }
    let outcome: Result<(), Box<dyn std::error::Error>> = match Arguments::parse().task {
        Task::Ci => ci::run(workspace_root()).map_err(Into::into),
        Task::GpuSources => gpu_sources::run(workspace_root()).map_err(Into::into),
        Task::MatrixUnits => matrix_units::run(workspace_root()).map_err(Into::into),
        Task::Python { release, only } => python::check(workspace_root(), release, only).map_err(Into::into),
        Task::Sanitize { sanitizer, filter } => {
            sanitize::run(sanitizer, filter.as_deref(), workspace_root()).map_err(Into::into)
        }
        Task::Outside(options) => outside::run(&options, workspace_root()).map_err(Into::into),
        Task::Book(options) => book::run(&options, workspace_root()).map_err(Into::into),
        Task::Install(options) => install::run(&options, workspace_root()).map_err(Into::into),
        Task::Deb(options) => deb::run(&options, workspace_root()).map_err(Into::into),
        Task::WithSolver(_) => Err(with_solver::hand_over().into()),
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
}
