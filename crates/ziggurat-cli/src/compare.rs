//! `ziggurat compare`: solves one system with several configurations and prints one table, the
//! fastest first, with the command for each.
//!
//! The first run is the default. The others change one thing each: the effort of setup, the
//! coarsening, the smoother, the precision, or all of it to the preset `robust`. What the default
//! has already chosen is not run again. A run may take ten times as long as the fastest one before
//! it, plus ten seconds.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use ziggurat::SolverConfig;
use ziggurat::config::{Effort, Krylov, Method, Precision, SmootherKind};
use ziggurat::krylov::StopReason;
use ziggurat::sparse::device::Cpu;
use ziggurat::sparse::parallel;
use ziggurat_report::Outcome;
use ziggurat_report::figures::{aligned, bytes, seconds, size, value};

use crate::arguments::{Arguments, Command, CompareOptions, SolveOptions};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::shell;
use crate::solve::{self, Given};
use crate::system::{System, source_words};
use crate::vectors::{VectorFile, column_words};

/// The time limit of a run: a part for every run, and a multiple of the fastest so far.
const LIMIT_SECONDS: f64 = 10.0;
const LIMIT_FACTOR: f64 = 10.0;

/// A solve with one configuration. The keys of its JSON are a stable interface.
#[derive(Debug, Serialize)]
struct Run {
    /// The command that repeats it.
    command: String,
    /// The options of the command that distinguish it from the other runs.
    options: Vec<&'static str>,
    converged: bool,
    /// Why it stopped: the name of a stop reason, or an error.
    stop_reason: String,
    iterations: usize,
    relative_residual: f64,
    operator_complexity: f64,
    /// Memory of all levels, with the transfers between them.
    level_bytes: u64,
    setup_seconds: f64,
    solve_seconds: f64,
}

/// The comparison as JSON. The keys are a stable interface.
#[derive(Serialize)]
struct Comparison<'a> {
    source: &'a str,
    rows: usize,
    nnz: usize,
    rtol: f64,
    threads: usize,
    /// The fastest first, those that did not converge last.
    runs: &'a [Run],
    version: &'static str,
}

pub(crate) fn run(
    options: &CompareOptions,
    threads: Option<NonZeroUsize>,
    progress: &Progress,
) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref();
    let inputs = [&options.source.file, &options.rhs, &options.coords];
    output::check(inputs.into_iter().filter_map(|path| path.as_deref()), json.map(|path| ("--json", path)))?;
    let system = System::load(&options.source, progress)?;
    system.check_square()?;
    if system.a.rows() == 0 {
        return Err(solve::no_rows(&system.name));
    }
    let given = Given {
        b: system.rhs(VectorFile::rhs(options.rhs.as_deref(), options.rhs_column), progress)?,
        guess: None,
        kernel: system.near_kernel(options.coords.as_deref(), progress)?,
        config: SolverConfig::default(),
        timed: false,
    };
    let words = words(options, threads);
    let (runs, interrupted) = runs(&system, &given, &words, progress)?;
    let rtol = configuration(&words, &[])?.stopping.rtol;
    if let Some(path) = json {
        let comparison = Comparison {
            source: &system.name,
            rows: system.a.rows(),
            nnz: system.a.nnz(),
            rtol,
            threads: parallel::threads(),
            runs: &runs,
            version: env!("CARGO_PKG_VERSION"),
        };
        output::write_json(path, &comparison)?;
    }
    if !json.is_some_and(output::is_standard) {
        let a = &system.a;
        let head =
            format!("{}: {}, tolerance {}", system.name, size(a.rows(), a.cols(), a.nnz()), value(rtol));
        output::print(&text(&head, &runs))?;
    }
    let solved = runs.iter().any(|run| run.converged) && !interrupted;
    Ok(ExitCode::from(if solved { 0 } else { solve::NOT_CONVERGED }))
}

/// Runs the default, then what it has not chosen. Returns the runs, the fastest first, and whether
/// Ctrl-C ended them.
fn runs(
    system: &System,
    given: &Given,
    words: &[OsString],
    progress: &Progress,
) -> Result<(Vec<Run>, bool), Failure> {
    let default = run_with(system, given, words, &[], f64::INFINITY, progress)?;
    let mut rest = others(&default.config, default.rows).into_iter();
    let mut interrupted = is_interrupted(&default);
    let mut runs = vec![Run::new(words, Vec::new(), &default)];
    while !interrupted && let Some(options) = rest.next() {
        let fastest = runs.iter().filter(|run| run.converged).map(Run::seconds).fold(f64::INFINITY, f64::min);
        let limit = LIMIT_SECONDS + LIMIT_FACTOR * fastest;
        let run = match run_with(system, given, words, &options, limit, progress) {
            Ok(outcome) => {
                interrupted = is_interrupted(&outcome);
                Run::new(words, options, &outcome)
            }
            Err(failure) => Run::failed(words, options, &failure),
        };
        runs.push(run);
    }
    runs.sort_by(|a, b| b.converged.cmp(&a.converged).then(a.seconds().total_cmp(&b.seconds())));
    Ok((runs, interrupted))
}

/// Rows up to which factorisation and `bamg` take part. For more they may take minutes.
const MAX_SLOW_ROWS: usize = 50_000;

/// Options that differ from what the default has chosen.
fn others(chosen: &SolverConfig, rows: usize) -> Vec<Vec<&'static str>> {
    let mut others = Vec::new();
    if chosen.sa.plain_levels.is_some_and(|levels| levels > 0) {
        others.push(vec!["--effort", Effort::ManySolves.name()]);
    }
    for &method in Method::ALL.iter().filter(|&&method| method != Method::Auto && method != chosen.method) {
        match method {
            // The default takes it where it suits.
            Method::Structured | Method::Cpr => {}
            // For symmetric matrices.
            Method::Bamg if rows > MAX_SLOW_ROWS || chosen.krylov != Krylov::Cg => {}
            // For matrices that are not symmetric.
            Method::Air if chosen.krylov != Krylov::Fgmres => {}
            // Without coarse levels, the time grows faster than the matrix.
            Method::None => {}
            Method::Direct if rows > MAX_SLOW_ROWS => {}
            Method::Direct => others.push(vec!["--method", method.name()]),
            _ => others.push(vec!["--method", method.name(), "--no-fallback"]),
        }
    }
    if ![SmootherKind::Chebyshev, SmootherKind::L1Chebyshev].contains(&chosen.smoother.kind) {
        others.push(vec!["--smoother", SmootherKind::Chebyshev.name()]);
    }
    if chosen.precision != Precision::F64 {
        others.push(vec!["--precision", "f64"]);
    }
    others.push(vec!["--preset", "robust"]);
    others
}

/// The words of `ziggurat solve` for this system.
fn words(options: &CompareOptions, threads: Option<NonZeroUsize>) -> Vec<OsString> {
    let CompareOptions { source, rhs, coords, rtol, .. } = options;
    let mut words: Vec<OsString> = vec!["ziggurat".into(), "solve".into()];
    words.extend(source_words(source, rhs.as_deref(), coords.as_deref(), *rtol));
    words.extend(column_words(options.rhs_column));
    words.extend(threads.iter().flat_map(|threads| ["--threads".into(), threads.to_string().into()]));
    words
}

/// The configuration of a command, as the command line reads it.
fn configuration(words: &[OsString], options: &[&'static str]) -> Result<SolverConfig, Failure> {
    let words = words.iter().cloned().chain(options.iter().map(OsString::from));
    let arguments = Arguments::try_parse_from(words).map_err(|error| Failure::from(&error))?;
    match arguments.command {
        Command::Solve(options) => configure(&options),
        _ => Ok(SolverConfig::default()), // the words are a command line of `solve`
    }
}

fn configure(options: &SolveOptions) -> Result<SolverConfig, Failure> {
    solve::configuration::configure(options)
}

fn run_with(
    system: &System,
    given: &Given,
    words: &[OsString],
    options: &[&'static str],
    limit: f64,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let mut config = configuration(words, options)?;
    if limit.is_finite() {
        config.stopping.max_seconds = Some(limit);
    }
    let given = Given { config, ..given.clone() };
    Ok(solve::solve_on(&Cpu::new(), system, given, progress)?.0)
}

fn is_interrupted(outcome: &Outcome) -> bool {
    outcome.stop_reason == StopReason::Interrupted.name()
}

/// The command that solves with these options.
fn command(words: &[OsString], options: &[&'static str]) -> String {
    shell::command(words.iter().cloned().chain(options.iter().map(OsString::from)))
}

impl Run {
    fn new(words: &[OsString], options: Vec<&'static str>, outcome: &Outcome) -> Self {
        Run {
            command: command(words, &options),
            options,
            converged: outcome.converged,
            stop_reason: outcome.stop_reason.clone(),
            iterations: outcome.iterations,
            relative_residual: outcome.relative_residual,
            operator_complexity: outcome.operator_complexity,
            level_bytes: outcome.level_bytes(),
            setup_seconds: outcome.setup_seconds,
            solve_seconds: outcome.solve_seconds,
        }
    }

    /// A run that could not be set up.
    fn failed(words: &[OsString], options: Vec<&'static str>, failure: &Failure) -> Self {
        Run {
            command: command(words, &options),
            options,
            converged: false,
            stop_reason: failure.to_string(),
            iterations: 0,
            relative_residual: 1.0,
            operator_complexity: 0.0,
            level_bytes: 0,
            setup_seconds: 0.0,
            solve_seconds: 0.0,
        }
    }

    fn seconds(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

/// The table and the commands.
fn text(head: &str, runs: &[Run]) -> String {
    let heads = ["", "total", "setup", "solve", "iterations", "complexity", "memory", "result"];
    let mut table = vec![heads.map(str::to_owned)];
    table.extend(runs.iter().enumerate().map(|(k, run)| {
        [
            (k + 1).to_string(),
            seconds(run.seconds()),
            seconds(run.setup_seconds),
            seconds(run.solve_seconds),
            run.iterations.to_string(),
            format!("{:.2}", run.operator_complexity),
            bytes(run.level_bytes),
            match run.converged {
                true => run.stop_reason.clone(),
                false => format!("{} (residual {:.1e})", run.stop_reason, run.relative_residual),
            },
        ]
    }));
    let commands = runs.iter().enumerate().map(|(k, run)| format!("  {}  {}\n", k + 1, run.command));
    format!(
        "{head}\n\n{}\nThe fastest is first. Complexity: entries of all levels / entries of the matrix. Memory: \
         that of\nall levels. The commands:\n\n{}",
        aligned(&table, 7),
        commands.collect::<String>()
    )
}
