//! `cargo xtask bench NAME`: benchmarks, one per file.
//!
//! A benchmark is a [`Bench`]: a name, a description, and a function that prints tables and returns
//! the numbers behind them. To add one, write its file and add its `BENCH` to [`BENCHES`]. Shared
//! modules: [`timing`] (alternating contestants), [`pool`] (fixed numbers of threads),
//! [`bandwidth`] (memory bandwidth), [`machine`], [`report`], and [`tasks::table`].

mod advice;
mod auto;
mod bandwidth;
mod basis;
mod collection;
mod fenicsx;
mod gpu;
mod machine;
mod order;
mod overhead;
mod papers;
mod pool;
mod precision;
mod python;
mod quality;
mod race;
mod report;
mod scaling;
mod setup;
mod smoothers;
mod spgemm;
mod spmv;
mod structured;
mod systems;
mod timing;
mod transport;
mod tune;
mod update;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tasks::with_solver::BenchOptions;
use thiserror::Error;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::gallery::ProblemError;
use ziggurat_sparse::{MatrixError, UnknownName};

use machine::Machine;
use pool::Pool;
use report::Report;

/// All benchmarks.
const BENCHES: &[Bench] = &[
    bandwidth::BENCH,
    spmv::BENCH,
    spgemm::BENCH,
    quality::BENCH,
    smoothers::BENCH,
    structured::BENCH,
    race::BENCH,
    setup::BENCH,
    update::BENCH,
    precision::BENCH,
    papers::BENCH,
    auto::BENCH,
    basis::BENCH,
    order::BENCH,
    overhead::BENCH,
    collection::BENCH,
    tune::BENCH,
    advice::BENCH,
    scaling::BENCH,
    gpu::BENCH,
    python::BENCH,
    fenicsx::BENCH,
    transport::BENCH,
];

/// Load up to which a machine counts as idle.
const QUIET: f64 = 0.5;

/// Fraction of the processor time that the host of a virtual machine may take before it counts as
/// busy.
const QUIET_HOST: f64 = 0.02;

/// One benchmark.
struct Bench {
    /// Its name on the command line.
    name: &'static str,
    /// Its subject, in one sentence.
    what: &'static str,
    /// How often each contestant runs by default.
    rounds: usize,
    /// Prints tables and returns the numbers behind them. An entry `picture` is an SVG, which is
    /// written beside the numbers.
    run: fn(&Setting) -> Result<Value, BenchError>,
}

/// The settings of every benchmark.
struct Setting {
    /// Small sizes, to check that it works, not to measure.
    quick: bool,
    /// How often each contestant runs; the best run counts.
    rounds: usize,
    /// One thread pool per requested number of threads, in that order.
    pools: Vec<Pool>,
}

/// Why a benchmark failed.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    /// No such benchmark.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A thread pool that cannot be created.
    #[error("cannot run with {threads} threads: {reason}")]
    Threads { threads: usize, reason: String },
    /// A model problem that cannot be generated.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A matrix that cannot be constructed.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// An error of a device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A solver that fails on a system.
    #[error("{0}: {1}")]
    Solve(String, String),
    /// A competitor that is not installed or does not run.
    #[error("{0}")]
    Competitor(String),
    /// A program of this workspace that does not build or run.
    #[error("{0}")]
    Program(String),
    /// The JSON file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The numbers cannot be written as JSON.
    #[error("the results cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Runs the benchmark named in `options` and writes its report. `root` is the workspace's folder.
pub(crate) fn run(options: &BenchOptions, root: &Path) -> Result<(), BenchError> {
    if let Some(result) = race::driver::in_child_process() {
        return result;
    }
    let Some(name) = &options.name else {
        for bench in BENCHES {
            println!("{:<12} {}", bench.name, bench.what);
        }
        println!("\nrun one with: cargo xtask bench NAME");
        return Ok(());
    };
    let bench = find(name)?;
    let machine = Machine::here();
    let load = machine::load();
    println!("{machine}");
    if let Some(load) = load.filter(|&load| load > QUIET) {
        println!("note: the machine is busy (load {load:.1}); compare times only within this run");
    }
    println!();
    let usual = if options.quick { 1 } else { bench.rounds };
    let rounds = options.rounds.map_or(usual, |rounds| rounds as usize);
    let setting = Setting { quick: options.quick, rounds, pools: pool::pools(&options.threads)? };
    let before = machine::processor_time();
    let mut results = (bench.run)(&setting)?;
    let picture = results.as_object_mut().and_then(|results| results.remove("picture"));
    let stolen = before.zip(machine::processor_time()).map(|(before, after)| before.stolen_until(after));
    if let Some(stolen) = stolen.filter(|&stolen| stolen > QUIET_HOST) {
        let percent = 100.0 * stolen;
        println!(
            "\nnote: the host took {percent:.0} % of the processor time (steal); compare times only within this run"
        );
    }
    let path = options.json.clone().unwrap_or_else(|| root.join(format!("bench-results/{name}.json")));
    Report {
        bench: bench.name,
        quick: options.quick,
        rounds,
        threads: &options.threads,
        revision: report::revision(root),
        machine: &machine,
        load,
        stolen,
        results: &results,
    }
    .write(&path)?;
    println!("\nnumbers: {}", path.display());
    if let Some(picture) = picture.as_ref().and_then(Value::as_str) {
        let path = path.with_extension("svg");
        std::fs::write(&path, picture).map_err(|source| BenchError::Write { path: path.clone(), source })?;
        println!("picture: {}", path.display());
    }
    Ok(())
}

fn find(name: &str) -> Result<&'static Bench, UnknownName> {
    BENCHES
        .iter()
        .find(|bench| bench.name == name)
        .ok_or_else(|| UnknownName::new("benchmark", name, BENCHES.iter().map(|bench| bench.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(name: &str, json: PathBuf) -> BenchOptions {
        BenchOptions {
            name: Some(name.to_owned()),
            json: Some(json),
            quick: true,
            rounds: None,
            threads: vec![1, 2],
        }
    }

    #[test]
    fn an_unknown_benchmark_is_answered_with_the_nearest() {
        let error = run(&options("bandwith", "unused.json".into()), Path::new(".")).unwrap_err();
        assert!(error.to_string().contains("did you mean `bandwidth`?"), "{error}");
    }

    #[test]
    fn every_benchmark_runs_quickly_and_writes_its_report() {
        let folder = std::env::temp_dir().join(format!("ziggurat-bench-{}", std::process::id()));
        for bench in BENCHES {
            let path = folder.join("new").join(format!("{}.json", bench.name));
            match run(&options(bench.name, path.clone()), tasks::workspace_root()) {
                Err(BenchError::Competitor(reason)) => {
                    eprintln!("SKIPPED bench {}: a competitor is not installed here: {reason}", bench.name);
                    continue;
                }
                result => result.unwrap(),
            }
            let report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            assert_eq!(report["bench"], bench.name);
            assert_eq!(report["quick"], true);
            assert!(report["machine"]["threads"].as_u64() > Some(0));
            assert!(!report["results"].is_null(), "{}", bench.name);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn zero_threads_are_refused() {
        let mut options = options("bandwidth", "unused.json".into());
        options.threads = vec![0];
        let error = run(&options, Path::new(".")).unwrap_err();
        assert!(error.to_string().contains("0 threads"), "{error}");
    }
}
