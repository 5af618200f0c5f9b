//! `ziggurat tune`: searches for the fastest configuration of one system within a time limit,
//! prints the trials, and writes the best configuration as TOML.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use ziggurat::amg::WholeMatrix;
use ziggurat::diagnose::MatrixKind;
use ziggurat::sparse::parallel;
use ziggurat::{SolverConfig, Trial, Tuned, Tuning};
use ziggurat_report::figures::{aligned, seconds, size, value};

use crate::arguments::TuneOptions;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::shell;
use crate::solve::{self, configuration};
use crate::system::{System, source_words};
use crate::vectors::{VectorFile, column_words};

/// The file of the configuration in the command that uses it, if none is named.
const EXAMPLE: &str = "fast.toml";

/// The search as JSON. The keys are a stable interface.
#[derive(Serialize)]
struct Search<'a> {
    source: &'a str,
    rows: usize,
    nnz: usize,
    rtol: f64,
    threads: usize,
    solves: usize,
    /// In the order in which they were made; the first one has the given configuration.
    trials: Vec<Row<'a>>,
    /// The index of the best trial.
    best: usize,
    /// Its configuration.
    config: &'a SolverConfig,
    version: &'static str,
}

/// A trial as JSON.
#[derive(Serialize)]
struct Row<'a> {
    changes: &'a [(&'static str, String)],
    converged: bool,
    stop_reason: &'a str,
    iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
}

pub(crate) fn run(
    options: &TuneOptions,
    threads: Option<NonZeroUsize>,
    progress: &Progress,
) -> Result<ExitCode, Failure> {
    let inputs = [&options.source.file, &options.rhs, &options.coords, &options.config];
    let outputs = [("--output", options.output.as_deref()), ("--json", options.json.as_deref())];
    output::check(
        inputs.into_iter().filter_map(|path| path.as_deref()),
        outputs.into_iter().filter_map(|(option, path)| Some((option, path?))),
    )?;
    let mut config = match &options.config {
        Some(path) => configuration::read(path)?,
        None => SolverConfig::default(),
    };
    if let Some(rtol) = options.rtol {
        config.stopping.rtol = rtol;
    }
    let system = System::load(&options.source, progress)?;
    system.check_square()?;
    if system.a.rows() == 0 {
        return Err(solve::no_rows(&system.name));
    }
    let b = system.rhs(VectorFile::rhs(options.rhs.as_deref(), options.rhs_column), progress)?;
    let kernel = system.near_kernel(options.coords.as_deref(), progress)?;
    let b = match b {
        Some(b) => b,
        None => {
            let kind = MatrixKind::of(&WholeMatrix::new(system.a.clone(), 1));
            let kind = kind.map_err(|error| solve::refused(error.into()))?;
            let singular = kind.symmetric && kind.annihilates_constants;
            system.default_rhs(singular)?
        }
    };
    let stage = progress.stage("tuning");
    let (interrupt, mut count) = (Interrupt::catch(), 0);
    let mut watch = |trial: Option<&Trial>| {
        if let Some(trial) = trial {
            count += 1;
            stage.tell(format!("tuning: trial {count}, {}", name(&trial.changes)));
        }
        if interrupt.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let tuning = Tuning { seconds: options.seconds, solves: options.solves };
    let tuned = tuning.run_watched(system.a.clone(), &b, kernel.as_ref(), &config, &mut watch);
    drop(stage);
    finish(options, threads, &system, &tuned.map_err(solve::refused)?)
}

/// Prints and writes the result.
fn finish(
    options: &TuneOptions,
    threads: Option<NonZeroUsize>,
    system: &System,
    tuned: &Tuned,
) -> Result<ExitCode, Failure> {
    let best = tuned.best();
    if let Some(path) = &options.output {
        let text = best.config.to_toml().map_err(|error| configuration::refused(&error, ""))?;
        output::write(path, &text)?;
    }
    let json = options.json.as_deref();
    if let Some(path) = json {
        let rows = tuned.trials.iter().map(|trial| Row {
            changes: &trial.changes,
            converged: trial.converged,
            stop_reason: &trial.outcome,
            iterations: trial.iterations,
            setup_seconds: trial.setup_seconds,
            solve_seconds: trial.solve_seconds,
        });
        let search = Search {
            source: &system.name,
            rows: system.a.rows(),
            nnz: system.a.nnz(),
            rtol: best.config.stopping.rtol,
            threads: parallel::threads(),
            solves: options.solves,
            trials: rows.collect(),
            best: tuned.trials.iter().position(|trial| std::ptr::eq(trial, best)).unwrap_or(0),
            config: &best.config,
            version: env!("CARGO_PKG_VERSION"),
        };
        output::write_json(path, &search)?;
    }
    if !json.is_some_and(output::is_standard) {
        let a = &system.a;
        let head = format!(
            "{}: {}, tolerance {}",
            system.name,
            size(a.rows(), a.cols(), a.nnz()),
            value(best.config.stopping.rtol)
        );
        output::print(&text(&head, tuned, options, threads))?;
    }
    Ok(ExitCode::from(if best.converged { 0 } else { solve::NOT_CONVERGED }))
}

/// The name of a trial: its changes to the given configuration.
fn name(changes: &[(&'static str, String)]) -> String {
    match changes {
        [] => "as given".to_owned(),
        changes => {
            changes.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The table of trials, the fastest first, and the command that uses the best.
fn text(head: &str, tuned: &Tuned, options: &TuneOptions, threads: Option<NonZeroUsize>) -> String {
    let solves = options.solves;
    let mut trials: Vec<&Trial> = tuned.trials.iter().collect();
    let order = |one: &&Trial, other: &&Trial| {
        other.converged.cmp(&one.converged).then(one.seconds(solves).total_cmp(&other.seconds(solves)))
    };
    trials.sort_by(order);
    let total = if solves == 1 { "total".to_owned() } else { format!("setup + {solves} solves") };
    let heads = [&total, "setup", "solve", "iterations", "result", "configuration"];
    let mut table = vec![heads.map(str::to_owned)];
    table.extend(trials.iter().map(|trial| {
        [
            seconds(trial.seconds(solves)),
            seconds(trial.setup_seconds),
            seconds(trial.solve_seconds),
            trial.iterations.to_string(),
            trial.outcome.clone(),
            name(&trial.changes),
        ]
    }));
    let (best, given) = (tuned.best(), &tuned.trials[0]);
    let verdict = match best.changes.is_empty() {
        true => "The given configuration is the fastest that was found.".to_owned(),
        false if !given.converged => "The given configuration does not converge.".to_owned(),
        false => format!(
            "The best takes {:.2} of the time of the given configuration.",
            best.seconds(solves) / given.seconds(solves)
        ),
    };
    format!("{head}\n\n{}\n{verdict}{}", aligned(&table, 4), use_it(best, options, threads))
}

/// The command that uses the best configuration.
fn use_it(best: &Trial, options: &TuneOptions, threads: Option<NonZeroUsize>) -> String {
    if best.changes.is_empty() {
        return "\n".to_owned();
    }
    let TuneOptions { source, rhs, coords, output, .. } = options;
    let mut words: Vec<OsString> = vec!["ziggurat".into(), "solve".into()];
    words.extend(source_words(source, rhs.as_deref(), coords.as_deref(), None));
    words.extend(column_words(options.rhs_column));
    words.extend(threads.iter().flat_map(|threads| ["--threads".into(), threads.to_string().into()]));
    let path = output.as_deref().unwrap_or(Path::new(EXAMPLE));
    words.extend(["--config".into(), path.as_os_str().to_owned()]);
    let begin = match output {
        Some(_) => "Solve with it:",
        None => "With `--output fast.toml` it is written to a file, and used by:",
    };
    format!(" {begin}\n\n  {}\n", shell::command(words))
}
