//! `cargo xtask fingerprints`: does a change keep the results of the `ziggurat` command, bit for
//! bit?
//!
//! The command solves model problems and matrices of the shared collection, by one process with 1
//! and 2 threads and under `mpirun` on 1 and 3 ranks; some also on a software Vulkan, and solvers
//! get new values (`updates.rs`). Each run is recorded by its exit code, iterations, stop reason,
//! hashes of the bits of the solution and the residuals, and the size of each level; times are not
//! recorded. The records are compared with those in a file, or saved to one. CI runs the small
//! cases, which make every choice of the configuration: some 450 solves in about a minute.

mod cases;
mod records;
mod updates;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tasks::programs::{AS_TESTS, build, mpirun};
use tasks::table::Table;
use tasks::with_solver::FingerprintsOptions;
use thiserror::Error;

use cases::{Case, Place};
use records::{Records, describe, differences, hash, is_consistent, merge, without_bits};

/// The records of the unchanged code, from the workspace's root.
const SAVED: &str = "bench/fingerprints.json";

/// The collection of matrices, from the workspace's root.
const COLLECTION: &str = "../shared/matrices";

/// Why the results could not be compared, or differ.
#[derive(Debug, Error)]
pub(crate) enum FingerprintsError {
    #[error("cannot build the ziggurat command: {0}")]
    Build(String),
    #[error("cannot run {program}: {source}")]
    Run { program: String, source: io::Error },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("nothing is saved: `{0}` depends on the number of threads, or its levels on the number of ranks")]
    Inconsistent(String),
    #[error(transparent)]
    Update(#[from] ziggurat::SolveError),
    #[error("results differ from {} in {count} place(s)", path.display())]
    Differ { path: PathBuf, count: usize },
}

/// Runs the cases, then compares their records or saves them; `root` is the workspace's folder.
pub(crate) fn run(options: &FingerprintsOptions, root: &Path) -> Result<(), FingerprintsError> {
    let collection = root.join(COLLECTION);
    let there = collection.is_dir();
    if !there {
        println!("note: {} is missing: its matrices are skipped", collection.display());
    }
    let only = options.only.as_deref().unwrap_or_default();
    let selected: Vec<Case> = Case::all()
        .filter(|case| case.is_small || !options.small)
        .filter(|case| case.name().contains(only) && (there || !case.is_from_collection()))
        .collect();
    let path = options.check.clone().unwrap_or_else(|| root.join(SAVED));
    let program = match &options.program {
        Some(program) => program.clone(),
        None if options.small => built(AS_TESTS)?,
        None => built(&["--release", "-p", "ziggurat-cli", "--features", "mpi,gpu"])?,
    };
    let folder = std::env::temp_dir().join(format!("ziggurat-fingerprints-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let runs = Runs { program, collection, folder };
    let found = runs.of_all(&selected);
    fs::remove_dir_all(&runs.folder).map_err(at(&runs.folder))?;
    let mut found = found?;
    found.extend(updates::records(only)?);
    match &options.save {
        Some(path) => save(found, path),
        None => {
            let mut expected = read(&path)?;
            expected.retain(|name, _| found.contains_key(name));
            compare(&expected, &found, path)
        }
    }
}

fn built(how: &[&str]) -> Result<PathBuf, FingerprintsError> {
    let folder = build(how, &["--bin", "ziggurat"]).map_err(FingerprintsError::Build)?;
    Ok(folder.join("ziggurat"))
}

fn read(path: &Path) -> Result<Records, FingerprintsError> {
    let text = fs::read_to_string(path).map_err(at(path))?;
    serde_json::from_str(&text).map_err(json_at(path))
}

/// Writes the records, unless runs of a case disagree where they must agree.
fn save(mut found: Records, path: &Path) -> Result<(), FingerprintsError> {
    if let Some((name, _)) = found.iter().find(|(_, record)| !is_consistent(record)) {
        return Err(FingerprintsError::Inconsistent(name.clone()));
    }
    if path.exists() {
        let cases: BTreeSet<String> = Case::all().map(Case::name).chain(updates::names()).collect();
        let kept = read(path)?.into_iter().filter(|(name, _)| cases.contains(name));
        for (name, record) in kept {
            found.entry(name).or_insert(record);
        }
    }
    let text = serde_json::to_string_pretty(&found).map_err(json_at(path))?;
    fs::write(path, text + "\n").map_err(at(path))
}

/// Lists every difference; `path` names the file of what was expected.
fn compare(expected: &Records, found: &Records, path: PathBuf) -> Result<(), FingerprintsError> {
    let differences = differences(expected, found);
    let count = differences.len();
    if count == 0 {
        println!("the results of {} cases are the same, bit for bit", found.len());
        return Ok(());
    }
    let mut table = Table::new(["where", "expected", "found"]);
    differences.into_iter().for_each(|difference| table.row(difference));
    println!("{table}");
    Err(FingerprintsError::Differ { path, count })
}

/// The program, and where its files are.
struct Runs {
    program: PathBuf,
    collection: PathBuf,
    /// Holds the files that a run reads and writes.
    folder: PathBuf,
}

impl Runs {
    fn of_all(&self, cases: &[Case]) -> Result<Records, FingerprintsError> {
        let mut records = Records::new();
        for (k, &case) in cases.iter().enumerate() {
            eprintln!("{} of {}: {}", k + 1, cases.len(), case.name());
            records.insert(case.name(), self.of(case)?);
        }
        Ok(records)
    }

    /// Runs a case wherever it runs.
    fn of(&self, case: Case) -> Result<Value, FingerprintsError> {
        let threads = |count: &str| {
            let mut command = Command::new(&self.program);
            command.args(["--threads", count]);
            self.record(case, command)
        };
        let ranks = |count| {
            let mut command = mpirun(count);
            command.arg(&self.program);
            self.record(case, command)
        };
        let all = match case.place {
            Place::ThreadsAndRanks => vec![("1 rank", ranks(1)?), ("3 ranks", ranks(3)?)],
            Place::Threads => Vec::new(),
            Place::Vulkan => {
                let run = without_bits(threads("2")?);
                return Ok(merge(run.clone(), run, Vec::new()));
            }
        };
        Ok(merge(threads("1")?, threads("2")?, all))
    }

    /// Runs a case by this command, and records the results.
    fn record(&self, case: Case, mut command: Command) -> Result<Value, FingerprintsError> {
        let [report, solution, config] =
            ["report.json", "x.mtx", "config.toml"].map(|name| self.folder.join(name));
        for old in [&report, &solution] {
            let _ = fs::remove_file(old); // there may be none
        }
        command.arg("solve").arg("--json").arg(&report).arg("--output").arg(&solution);
        match case.place {
            // Ranks have no fallback, so one process must not use it either.
            Place::ThreadsAndRanks => drop(command.arg("--no-fallback")),
            Place::Threads => {}
            Place::Vulkan => drop(command.args(["--no-fallback", "--device", "vulkan:0"])),
        }
        if case.settings.starts_with("--") {
            command.args(case.settings.split(' '));
        } else {
            fs::write(&config, case.settings).map_err(at(&config))?;
            command.arg("--config").arg(&config);
        }
        if case.is_from_collection() {
            let file = |suffix: &str| self.collection.join(format!("{}{suffix}.mtx.gz", case.system));
            command.arg(file(""));
            if file("_b").exists() {
                command.arg("--rhs").arg(file("_b"));
            }
        } else {
            command.args(["--problem", case.system]);
        }
        let output = command.output().map_err(|source| {
            let program = command.get_program().to_string_lossy().into_owned();
            FingerprintsError::Run { program, source }
        })?;
        let mut record = json!({ "exit": output.status.code() });
        if let Ok(text) = fs::read_to_string(&report) {
            describe(&serde_json::from_str(&text).map_err(json_at(&report))?, &mut record);
        } else {
            eprintln!("  no report: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        if let Ok(text) = fs::read_to_string(&solution) {
            record["solution"] = hash(text.lines().skip(2).map(|line| line.parse().unwrap_or(f64::NAN)));
        }
        Ok(record)
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> FingerprintsError {
    let path = path.to_owned();
    move |source| FingerprintsError::File { path, source }
}

fn json_at(path: &Path) -> impl FnOnce(serde_json::Error) -> FingerprintsError {
    let path = path.to_owned();
    move |source| FingerprintsError::Json { path, source }
}
