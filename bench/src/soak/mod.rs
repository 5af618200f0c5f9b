//! `cargo xtask soak`: solves for an hour and watches the memory.
//!
//! Three programs run at the same time: Rust threads that share a solver (`threads.rs`), Python
//! with threads, forks and pickles (`python/tests/soak.py`), and four MPI ranks
//! (`ziggurat-mpi/examples/soak.rs`). Each prints a line every few seconds:
//!
//! ```text
//! soak NAME RESIDENT_KIB SOLVES CHECKED
//! ```
//!
//! It checks every thousandth solution against its own residual and stops with an error if one is
//! wrong. The slope of the resident memory is fitted to the lines after the first fifth, in which
//! allocators still grow. An allocator returns freed pages late and by chance, so the resident
//! memory of a program that allocates on many threads wanders by a tenth within minutes. The slope
//! therefore has an error, from means over longer periods, and memory grows only if the slope is
//! larger than twice its error.

mod threads;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tasks::programs;
use tasks::python::{Environment, PythonError};
use tasks::table::Table;
use tasks::with_solver::SoakOptions;
use thiserror::Error;

/// Growth per hour, relative to the resident memory, that counts as flat.
const FLAT: f64 = 0.02;

/// The number of periods whose means the slope is fitted to. They are longer than the time in which
/// an allocator's memory wanders, so their deviations from a line are independent.
const PERIODS: usize = 8;

/// Why the soak failed.
#[derive(Debug, Error)]
pub(crate) enum SoakError {
    #[error("cannot build the programs:\n{0}")]
    Build(String),
    #[error(transparent)]
    Python(#[from] PythonError),
    #[error("{0}")]
    Failed(String),
}

/// One line of a program.
#[derive(Clone, Copy, Debug)]
struct Sample {
    minutes: f64,
    mebibytes: f64,
    solves: u64,
    checked: u64,
}

pub(crate) fn run(options: SoakOptions, root: &Path) -> Result<(), SoakError> {
    let time = Duration::from_secs_f64(60.0 * options.minutes);
    if options.threads {
        return threads::run(time).map_err(SoakError::Failed);
    }
    let environment = match Environment::there() {
        Some(environment) => environment,
        None => Environment::fresh(root, false)?,
    };
    let folder = programs::build(programs::AS_TESTS, &["--example", "soak"]).map_err(SoakError::Build)?;
    let seconds = time.as_secs().to_string();
    let this = std::env::current_exe().map_err(|error| SoakError::Failed(error.to_string()))?;
    let mut in_threads = Command::new(this);
    in_threads.args(["soak", "--threads", "--minutes", &options.minutes.to_string()]);
    let mut in_python = Command::new(environment.python());
    in_python.arg(root.join("python/tests/soak.py")).arg(&seconds);
    let mut on_ranks = programs::mpirun(4);
    on_ranks.arg(folder.join("examples/soak")).arg(&seconds);

    let samples = Mutex::new(BTreeMap::<String, Vec<Sample>>::new());
    let failures: Vec<String> = thread::scope(|scope| {
        let running = [("threads", in_threads), ("python", in_python), ("ranks", on_ranks)];
        let running = running.map(|(name, command)| scope.spawn(|| watch(name, command, &samples)));
        running.into_iter().filter_map(|thread| thread.join().ok()?.err()).collect()
    });
    let samples = samples.into_inner().unwrap_or_default();
    let (table, grows) = summary(&samples);
    println!("{table}");
    match (failures.is_empty(), grows.is_empty() && !samples.is_empty()) {
        (false, _) => Err(SoakError::Failed(failures.join("\n"))),
        (true, false) => Err(SoakError::Failed(format!("memory grows: {}", grows.join(", ")))),
        (true, true) => Ok(()),
    }
}

/// Runs a program and collects its lines.
fn watch(
    name: &str,
    mut command: Command,
    samples: &Mutex<BTreeMap<String, Vec<Sample>>>,
) -> Result<(), String> {
    let start = Instant::now();
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{name}: {error}"))?;
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line.map_err(|error| format!("{name}: {error}"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["soak", who, kibibytes, solves, checked] = words[..]
            && let (Ok(kibibytes), Ok(solves), Ok(checked)) =
                (kibibytes.parse::<f64>(), solves.parse(), checked.parse())
        {
            let minutes = start.elapsed().as_secs_f64() / 60.0;
            let sample = Sample { minutes, mebibytes: kibibytes / 1024.0, solves, checked };
            if let Ok(mut samples) = samples.lock() {
                samples.entry(who.to_owned()).or_default().push(sample);
            }
        } else {
            println!("{name}: {line}");
        }
    }
    let status = child.wait().map_err(|error| format!("{name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) }
}

/// The table, and the programs whose memory grows.
fn summary(samples: &BTreeMap<String, Vec<Sample>>) -> (String, Vec<String>) {
    let headings =
        ["program", "minutes", "solves", "checked", "MiB first", "MiB last", "MiB per hour", "error"];
    let (mut table, mut grows) = (Table::new(headings), Vec::new());
    for (name, samples) in samples {
        let settled = &samples[samples.len() / 5..];
        let (Some(first), Some(last)) = (settled.first(), settled.last()) else { continue };
        let (slope, error) = slope(settled);
        let (per_hour, error) = (60.0 * slope, 60.0 * error);
        if per_hour > FLAT * last.mebibytes && per_hour > 2.0 * error {
            grows.push(name.clone());
        }
        table.row([
            name.clone(),
            format!("{:.1}", last.minutes),
            last.solves.to_string(),
            last.checked.to_string(),
            format!("{:.1}", first.mebibytes),
            format!("{:.1}", last.mebibytes),
            format!("{per_hour:+.2}"),
            format!("{error:.2}"),
        ]);
    }
    let mut text = table.to_string();
    let _ = write!(text, "flat: at most {:.0} % per hour, or twice the standard error", 100.0 * FLAT);
    (text, grows)
}

/// Mebibytes per minute and its standard error, by least squares through the means of
/// [`PERIODS`]; 0 for a few samples.
fn slope(samples: &[Sample]) -> (f64, f64) {
    if samples.len() < 2 * PERIODS {
        return (0.0, 0.0);
    }
    let mean = |samples: &[Sample], of: fn(&Sample) -> f64| {
        samples.iter().map(of).sum::<f64>() / samples.len() as f64
    };
    let bound = |period: usize| period * samples.len() / PERIODS;
    let points: Vec<(f64, f64)> = (0..PERIODS)
        .map(|period| &samples[bound(period)..bound(period + 1)])
        .map(|period| (mean(period, |sample| sample.minutes), mean(period, |sample| sample.mebibytes)))
        .collect();
    let count = PERIODS as f64;
    let (minutes, mebibytes) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / count, y + p.1 / count));
    let spread: f64 = points.iter().map(|(x, _)| (x - minutes).powi(2)).sum();
    if spread == 0.0 {
        return (0.0, 0.0);
    }
    let slope = points.iter().map(|(x, y)| (x - minutes) * (y - mebibytes)).sum::<f64>() / spread;
    let left = |(x, y): &(f64, f64)| (y - mebibytes - slope * (x - minutes)).powi(2);
    let error = (points.iter().map(left).sum::<f64>() / (count - 2.0) / spread).sqrt();
    (slope, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line, noise, and a wave of ten minutes.
    fn samples(per_minute: f64, wave: f64) -> BTreeMap<String, Vec<Sample>> {
        let sample = |k: usize| Sample {
            minutes: k as f64,
            mebibytes: 100.0 + per_minute * k as f64 + (k % 3) as f64 + wave * (0.6 * k as f64).sin(),
            solves: 10,
            checked: 1,
        };
        [("threads".to_owned(), (0..60).map(sample).collect())].into()
    }

    #[test]
    fn growth_is_distinguished_from_noise() {
        assert!(summary(&samples(0.0, 0.0)).1.is_empty());
        assert_eq!(summary(&samples(0.1, 0.0)).1, ["threads"]);
        let (found, error) = slope(&samples(0.1, 0.0)["threads"]);
        assert!((found - 0.1).abs() < 0.01 && error < 0.01, "{found} {error}");
        // Fluctuation is not growth, but does not hide growth either.
        assert!(summary(&samples(0.05, 10.0)).1.is_empty());
        assert_eq!(summary(&samples(0.5, 10.0)).1, ["threads"]);
    }

    #[test]
    fn the_threads_solve_and_report() {
        threads::run(Duration::from_millis(300)).unwrap();
    }
}
