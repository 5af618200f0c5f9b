//! The `ziggurat` command: inspects, generates and solves sparse linear systems.
//!
//! Exit codes: 0 on success (for `solve`: converged), 2 if `solve` did not converge, 1 on an error.
//! An error message has one line with the cause and one line with a hint. Results go to standard
//! output, everything else to standard error. A closed output pipe (`| head`) is not an error.
//! Ctrl-C during a solve stops it at the next iteration: it is reported and written as not
//! converged.

mod arguments;
mod compare;
mod devices;
mod estimate;
mod failure;
mod generate;
mod inspect;
mod interrupt;
mod log_lines;
mod manual;
mod output;
mod progress;
mod shell;
mod solve;
mod spy;
mod system;
mod trace;
mod tune;

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use mimalloc::MiMalloc;

use arguments::{Arguments, Command};
use failure::Failure;
use progress::Progress;

/// Uses huge pages and reuses freed memory: the first access to a new page is expensive, and setup
/// frees much of what it allocates.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(", at {place}"));
        let reason = panic.payload_as_str().unwrap_or("no reason given");
        Failure::new(
            format!("internal error: {reason}{place}"),
            "please report this bug, with the command and the matrix",
        )
        .print();
    }));
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            failure.print();
            ExitCode::FAILURE
        }
        Err(_) => ExitCode::FAILURE, // the hook has printed the error
    }
}

fn run() -> Result<ExitCode, Failure> {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            output::print(&error.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(io::stderr(), "{error}"); // nothing else can be done
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(Failure::from(&error)),
    };
    if let Some(threads) = threads(&arguments) {
        // This thread is part of the pool, because the MPI calls come from it.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
        pool.build_global().map_err(|error| {
            Failure::new(
                format!("cannot start {threads} threads: {error}"),
                "use fewer with --threads, or omit it to use all cores",
            )
        })?;
    }
    let progress = Progress::new(arguments.command.shows_progress());
    match arguments.command {
        Command::Solve(options) => solve::run(&options, &progress),
        Command::Inspect(options) => inspect::run(&options, &progress),
        Command::Compare(options) => compare::run(&options, arguments.threads, &progress),
        Command::Tune(options) => tune::run(&options, arguments.threads, &progress),
        Command::Estimate(options) => estimate::run(&options, &progress),
        Command::Generate(options) => generate::run(&options, &progress),
        Command::Devices(options) => devices::run(&options),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::pages(folder.as_deref()),
    }
}

/// Number of threads of this process; `None` means all cores. An MPI rank has one thread by
/// default, because the other ranks use the other cores.
fn threads(arguments: &Arguments) -> Option<usize> {
    let given = arguments.threads.map(std::num::NonZeroUsize::get);
    #[cfg(feature = "mpi")]
    if solve::ranks::are_launched() {
        return Some(given.unwrap_or(1));
    }
    given
}
