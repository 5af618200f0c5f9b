//! The `ziggurat` command: looks at, makes and solves sparse linear systems.
//!
//! Exit codes: 0 when all went well (for `solve`: when it converged), 2 when `solve` did not converge, 1 on an error. An
//! error is one line that names the cause and one that says what to do. Results go to standard output, everything else
//! to standard error. Whoever closes our output early (`| head`) has seen enough: that is no error.

mod arguments;
mod devices;
mod failure;
mod generate;
mod inspect;
mod manual;
mod output;
mod progress;
mod solve;
mod spy;
mod system;

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use mimalloc::MiMalloc;

use arguments::{Arguments, Command};
use failure::Failure;
use progress::Progress;

/// Asks for huge pages and keeps freed memory: the first touch of a fresh page is dear, and setup frees much of what it
/// allocates.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(", at {place}"));
        let reason = panic.payload_as_str().unwrap_or("no reason given");
        Failure::new(
            format!("this is a fault of ziggurat itself: {reason}{place}"),
            "please report it, with the command and the matrix that led to it",
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
        Err(_) => ExitCode::FAILURE, // the hook has spoken
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
            let _ = write!(io::stderr(), "{error}"); // nobody is left to tell
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(Failure::from(&error)),
    };
    if let Some(threads) = threads(&arguments) {
        // This thread is one of them: MPI's calls come from it.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
        pool.build_global().map_err(|error| {
            Failure::new(
                format!("cannot start {threads} threads: {error}"),
                "ask for fewer with --threads, or leave it out to use every core",
            )
        })?;
    }
    let progress = Progress::new();
    match arguments.command {
        Command::Solve(options) => solve::run(&options, &progress),
        Command::Inspect(options) => inspect::run(&options, &progress),
        Command::Generate(options) => generate::run(&options, &progress),
        Command::Devices(options) => devices::run(&options),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::pages(folder.as_deref()),
    }
}

/// Threads of this process; `None` for every core. A rank of MPI has one, unless more are asked for: its neighbours have the other cores.
fn threads(arguments: &Arguments) -> Option<usize> {
    let given = arguments.threads.map(std::num::NonZeroUsize::get);
    #[cfg(feature = "mpi")]
    if solve::ranks::are_launched() {
        return Some(given.unwrap_or(1));
    }
    given
}
