//! What developers and CI run: `cargo xtask ci` and `cargo xtask bench NAME`.
//!
//! A plain Rust program instead of scripts: it needs nothing but cargo, is checked like the rest of
//! the code, and works the same on every machine.

// A command prints; the lint is for libraries.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod ci;
mod fingerprints;
mod gpu_sources;
mod programs;
mod python;
mod source_rules;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// As in the `ziggurat` command, so that benchmarks measure what its users get.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// What developers and CI run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every check that decides whether a change lands; stop at the first failure.
    Ci,
    /// Compile the CUDA and HIP sources of what solves launch; needs the compilers, not the GPUs.
    GpuSources,
    /// Build the Python wheel, install it into an environment of its own, and test it there.
    Python {
        /// Build it as it is published: takes minutes longer.
        #[arg(long)]
        release: bool,
        /// Do one part alone.
        #[arg(long)]
        only: Option<python::Part>,
    },
    /// Compare the results of the ziggurat command with saved ones, bit for bit.
    Fingerprints(fingerprints::Options),
    /// Run one benchmark, print its tables, write its numbers as JSON.
    Bench(bench::Options),
}

/// The folder that holds the workspace's `Cargo.toml`.
fn workspace_root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

fn main() -> ExitCode {
    if let Some(code) = python::cargo_for_maturin() {
        return code;
    }
    let outcome: Result<(), Box<dyn std::error::Error>> = match Arguments::parse().task {
        Task::Ci => ci::run(workspace_root()).map_err(Into::into),
        Task::GpuSources => gpu_sources::run(workspace_root()).map_err(Into::into),
        Task::Python { release, only } => python::check(workspace_root(), release, only).map_err(Into::into),
        Task::Fingerprints(options) => fingerprints::run(&options, workspace_root()).map_err(Into::into),
        Task::Bench(options) => bench::run(&options, workspace_root()).map_err(Into::into),
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
    fn the_workspace_root_is_found() {
        let manifest = std::fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
