//! The `ziggurat` command: inspects, generates and solves sparse linear systems.
//!
//! Exit codes: 0 on success (for `solve`: converged), 2 if `solve` did not converge, 1 on an error.
//! An error message has one line with the cause and one line with a hint. Results go to standard
//! output, everything else to standard error. A closed output pipe (`| head`) is not an error.
//! Ctrl-C during a solve stops it at the next iteration: it is reported and written as not
//! converged.

#![deny(unsafe_code)]

mod arguments;
mod compare;
mod devices;
mod estimate;
mod failure;
mod generate;
mod input;
mod inspect;
mod interrupt;
mod job;
mod log_lines;
mod manual;
mod memory;
mod output;
mod progress;
mod shell;
mod solve;
mod spy;
mod system;
mod terminal;
mod trace;
mod tune;
mod vectors;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use arguments::{Arguments, Command};
use failure::Failure;
use job::Job;
use progress::Progress;

fn main() -> ExitCode {
    memory::explain_shortage();
    panic::set_hook(Box::new(|panic| {
        let reason = panic.payload_as_str().unwrap_or("no reason given");
        if memory::is_cause_of(reason) {
            return;
        }
        let place = panic.location().map_or_else(String::new, |place| format!(", at {place}"));
        Failure::new(
            format!("internal error: {reason}{place}"),
            "please report this bug, with the command and the matrix",
        )
        .print();
    }));
    // Before MPI and threads are started. Wrong arguments are reported when they are read again.
    if Arguments::try_parse().is_ok_and(|arguments| arguments.command.looks_for_gpus()) {
        devices::restart_quietly();
    }
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| Job::run(run)));
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            failure.print();
            ExitCode::FAILURE
        }
        Err(_) => ExitCode::FAILURE, // the hook has printed the error
    }
}

fn run(job: &mut Job) -> Result<ExitCode, Failure> {
    let first = job.is_first();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            if first {
                output::print(&error.to_string())?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            if first {
                let _ = write!(io::stderr(), "{error}"); // nothing else can be done
            }
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(Failure::from(&error)),
    };
    if !matches!(arguments.command, Command::Solve(_)) {
        job.refuse_ranks(arguments.command.name())?;
    }
    job.start_threads(arguments.threads.map(NonZeroUsize::get))?;
    let progress = Progress::new(first && arguments.command.shows_progress());
    match arguments.command {
        Command::Solve(options) => solve::run(&options, job, &progress),
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
