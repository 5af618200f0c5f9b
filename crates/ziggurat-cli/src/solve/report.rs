//! How a solve went: as JSON, whose keys are a contract, and as text.

use std::fmt::Write as _;

use serde::Serialize;
use ziggurat::{Solution, SolverConfig};
use ziggurat_sparse::device;

use crate::failure::Failure;
use crate::figures::{aligned, bytes, counted, grouped, seconds, value};
use crate::system::size;

/// How a solve went. The field names are the keys of `--json`: programs read them, so they stay.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) converged: bool,
    pub(super) stop_reason: String,
    pub(super) iterations: usize,
    /// ‖b − A x‖ / ‖b‖, computed afresh in double precision.
    pub(super) relative_residual: f64,
    pub(super) setup_seconds: f64,
    pub(super) solve_seconds: f64,
    pub(super) rows: usize,
    pub(super) nnz: usize,
    pub(super) operator_complexity: f64,
    pub(super) grid_complexity: f64,
    pub(super) levels: Vec<Level>,
    /// Where it was iterated.
    pub(super) device: String,
    /// What went to and from it in the solve, where its memory is not the host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) traffic: Option<Traffic>,
    /// The most memory that the process held (of several ranks: that which held most); `None` where the system does not tell.
    pub(super) peak_bytes: Option<u64>,
    /// The ranks that solved it, under MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ranks: Option<Ranks>,
    /// The configuration that was really used, nothing left to be chosen.
    pub(super) config: serde_json::Value,
    pub(super) method: String,
    pub(super) krylov: String,
    pub(super) precision: String,
    /// Why levels became wider on the way, if they did.
    pub(super) promotion: Option<String>,
    pub(super) version: &'static str,
    /// What was asked for.
    #[serde(skip)]
    pub(super) rtol: f64,
    #[serde(skip)]
    pub(super) solution: Vec<f64>,
}

impl Outcome {
    /// From what a solver gives, on one process or on many; `timing` has the seconds of setup and of the solve.
    pub(super) fn new(
        solution: Solution,
        config: &SolverConfig,
        levels: Vec<Level>,
        device: String,
        timing: (f64, f64),
        peak_bytes: Option<u64>,
        ranks: Option<Ranks>,
    ) -> Result<Self, Failure> {
        let over_finest = |of: fn(&Level) -> usize| {
            let all: usize = levels.iter().map(of).sum();
            all as f64 / levels.first().map_or(1, of).max(1) as f64
        };
        let narrow = config.precision.to_string();
        Ok(Outcome {
            converged: solution.report.reason.is_converged(),
            stop_reason: solution.report.reason.name().to_owned(),
            iterations: solution.report.iterations,
            relative_residual: solution.report.relative_residual,
            setup_seconds: timing.0,
            solve_seconds: timing.1,
            rows: levels.first().map_or(0, |finest| finest.rows),
            nnz: levels.first().map_or(0, |finest| finest.nnz),
            operator_complexity: over_finest(|level| level.nnz),
            grid_complexity: over_finest(|level| level.rows),
            levels,
            device,
            traffic: solution.traffic.map(Traffic::from),
            peak_bytes,
            ranks,
            config: serde_json::to_value(config).map_err(|error| {
                Failure::new(
                    format!("cannot write the configuration as JSON: {error}"),
                    "please report this as a fault of ziggurat",
                )
            })?,
            method: config.method.name().to_owned(),
            krylov: config.krylov.name().to_owned(),
            precision: solution.promotion.as_ref().map_or(narrow, |promotion| promotion.to.to_string()),
            promotion: solution.promotion.map(|promotion| promotion.to_string()),
            version: env!("CARGO_PKG_VERSION"),
            rtol: config.stopping.rtol,
            solution: solution.x,
        })
    }
}

/// A level of the hierarchy, finest first.
#[derive(Debug, Serialize)]
pub(super) struct Level {
    pub(super) rows: usize,
    pub(super) nnz: usize,
    /// The number its matrix is stored in.
    pub(super) storage: String,
    /// The number it computes in.
    pub(super) working: String,
    pub(super) format: String,
    /// Of its matrix.
    pub(super) bytes: u64,
    /// Of restriction and prolongation.
    pub(super) transfer_bytes: u64,
    /// Which formats were considered, with their bytes.
    pub(super) reason: String,
    /// How it lies on ranks, under MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) distribution: Option<Distribution>,
}

/// What went to and from the device.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Traffic {
    pub(super) kernels: u64,
    pub(super) uploads: u64,
    pub(super) uploaded_bytes: u64,
    pub(super) downloads: u64,
    pub(super) downloaded_bytes: u64,
}

impl From<device::Traffic> for Traffic {
    fn from(traffic: device::Traffic) -> Self {
        let device::Traffic { kernels, uploads, uploaded_bytes, downloads, downloaded_bytes } = traffic;
        Traffic { kernels, uploads, uploaded_bytes, downloads, downloaded_bytes }
    }
}

/// Ranks of MPI.
#[derive(Debug, Serialize)]
pub(super) struct Ranks {
    pub(super) count: usize,
    /// Of each.
    pub(super) threads: usize,
    /// The most memory that ranks held, added up.
    pub(super) peak_bytes_total: Option<u64>,
}

/// How a level lies on ranks. Halo, messages and bytes are those of one product with its matrix.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Distribution {
    /// Ranks that have rows.
    pub(super) ranks: u64,
    pub(super) rows_most: u64,
    pub(super) halo_rows: u64,
    pub(super) halo_rows_most: u64,
    pub(super) messages_most: u64,
    pub(super) bytes_most: u64,
}

/// The most memory this process has held so far, from `/proc`; `None` elsewhere than on Linux.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// The report for people.
pub(super) fn text(name: &str, outcome: &Outcome) -> String {
    let verdict = if outcome.converged { "converged" } else { "NOT converged" };
    let mut text = format!(
        "{name}: {}\n\n{verdict} in {}: relative residual {:.2e} (wanted {})\n",
        size(outcome.rows, outcome.rows, outcome.nnz),
        counted(outcome.iterations, "iteration"),
        outcome.relative_residual,
        value(outcome.rtol),
    );
    let mut facts = vec![
        ("method", format!("{}, {}, {}", outcome.method, outcome.krylov, outcome.precision)),
        ("device", outcome.device.clone()),
        ("setup", seconds(outcome.setup_seconds)),
        ("solve", seconds(outcome.solve_seconds)),
    ];
    if !outcome.converged {
        facts.insert(0, ("stopped", outcome.stop_reason.clone()));
    }
    if let Some(traffic) = &outcome.traffic {
        let times = |count: u64, what| counted(count as usize, what);
        let (up, down) = (bytes(traffic.uploaded_bytes), bytes(traffic.downloaded_bytes));
        let [kernels, uploads, downloads] = [
            times(traffic.kernels, "kernel"),
            times(traffic.uploads, "upload"),
            times(traffic.downloads, "download"),
        ];
        facts.push(("traffic", format!("{kernels}, {uploads} ({up}), {downloads} ({down})")));
    }
    if let Some(promotion) = &outcome.promotion {
        facts.push(("wider", promotion.clone()));
    }
    if let Some(peak) = outcome.peak_bytes {
        facts.push(("memory", format!("{} at most", bytes(peak))));
    }
    if let Some(ranks) = &outcome.ranks {
        facts.push(("ranks", format!("{} of {}", ranks.count, counted(ranks.threads, "thread"))));
    }
    text.push('\n');
    for (label, fact) in facts {
        let _ = writeln!(text, "  {label:<7}  {fact}"); // a string takes it all
    }
    if !outcome.levels.is_empty() {
        text.push('\n');
        text += &levels(&outcome.levels);
        if outcome.levels.iter().any(|level| level.distribution.is_some()) {
            text.push('\n');
            text += &distribution(&outcome.levels);
        }
        let _ = writeln!(
            text,
            "\n  operator complexity {:.2}, grid complexity {:.2}",
            outcome.operator_complexity, outcome.grid_complexity
        );
    }
    text
}

/// The hierarchy as a table: numbers to the right, words to the left.
fn levels(levels: &[Level]) -> String {
    let mut table = vec![
        ["level", "rows", "entries", "per row", "memory", "stored", "computed", "format"].map(str::to_owned),
    ];
    table.extend(levels.iter().enumerate().map(|(k, level)| {
        [
            k.to_string(),
            grouped(level.rows),
            grouped(level.nnz),
            format!("{:.1}", level.nnz as f64 / level.rows.max(1) as f64),
            bytes(level.bytes),
            level.storage.clone(),
            level.working.clone(),
            level.format.clone(),
        ]
    }));
    aligned(&table, 5)
}

/// How levels lie on ranks, as a table.
fn distribution(levels: &[Level]) -> String {
    let mut table =
        vec![["level", "ranks", "rows each", "halo each", "messages", "bytes"].map(str::to_owned)];
    for (k, level) in levels.iter().enumerate() {
        if let Some(found) = &level.distribution {
            let counts = [found.ranks, found.rows_most, found.halo_rows_most, found.messages_most];
            let [ranks, rows, halo, messages] = counts.map(|count| grouped(count as usize));
            table.push([k.to_string(), ranks, rows, halo, messages, bytes(found.bytes_most)]);
        }
    }
    aligned(&table, 6)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn level(rows: usize, nnz: usize) -> Level {
        let (storage, working, format) = ("f64".into(), "f64".into(), "csr".into());
        let (reason, transfer_bytes) = ("csr 0.084 MB".to_owned(), 0);
        Level {
            rows,
            nnz,
            storage,
            working,
            format,
            bytes: 12 * nnz as u64,
            transfer_bytes,
            reason,
            distribution: None,
        }
    }

    pub(in crate::solve) fn outcome(converged: bool) -> Outcome {
        Outcome {
            converged,
            stop_reason: if converged { "converged" } else { "iteration limit" }.into(),
            iterations: 14,
            relative_residual: 6.25e-9,
            setup_seconds: 0.031,
            solve_seconds: 1.25,
            rows: 8000,
            nnz: 53600,
            operator_complexity: 1.25,
            grid_complexity: 1.1,
            levels: vec![level(8000, 53600), level(800, 12000)],
            device: "cpu (Portable, 1 threads)".into(),
            traffic: None,
            peak_bytes: Some(3 << 20),
            ranks: None,
            config: serde_json::json!({}),
            method: "sa".into(),
            krylov: "cg".into(),
            precision: "f64".into(),
            promotion: None,
            version: env!("CARGO_PKG_VERSION"),
            rtol: 1e-8,
            solution: vec![1.0],
        }
    }

    #[test]
    fn the_json_has_the_promised_keys_and_no_others() {
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        let json = serde_json::to_value(outcome(true)).unwrap();
        let mut promised = [
            "converged",
            "stop_reason",
            "iterations",
            "relative_residual",
            "setup_seconds",
            "solve_seconds",
            "rows",
            "nnz",
            "operator_complexity",
            "grid_complexity",
            "levels",
            "device",
            "peak_bytes",
            "config",
            "method",
            "krylov",
            "precision",
            "promotion",
            "version",
        ];
        promised.sort_unstable();
        assert_eq!(keys(&json), promised);
        let of_level = ["bytes", "format", "nnz", "reason", "rows", "storage", "transfer_bytes", "working"];
        assert_eq!(keys(&json["levels"][0]), of_level);
    }

    #[test]
    fn what_went_to_a_device_and_back_is_told() {
        let traffic = device::Traffic {
            kernels: 1500,
            uploads: 1,
            uploaded_bytes: 8000,
            downloads: 31,
            downloaded_bytes: 8240,
        };
        let outcome = Outcome { traffic: Some(traffic.into()), ..outcome(true) };
        let json = serde_json::to_value(&outcome).unwrap();
        let expected = serde_json::json!({
            "kernels": 1500, "uploads": 1, "uploaded_bytes": 8000, "downloads": 31, "downloaded_bytes": 8240
        });
        assert_eq!(json["traffic"], expected);
        let text = text("A.mtx", &outcome);
        assert!(text.contains("  device   cpu (Portable, 1 threads)\n"), "{text}");
        assert!(
            text.contains("  traffic  1,500 kernels, 1 upload (7.8 KiB), 31 downloads (8.0 KiB)\n"),
            "{text}"
        );
    }

    #[test]
    fn the_text_says_whether_it_converged_and_lines_up() {
        let good = text("A.mtx", &outcome(true));
        assert!(
            good.contains("\nconverged in 14 iterations: relative residual 6.25e-9 (wanted 1e-8)\n"),
            "{good}"
        );
        assert!(!good.contains("stopped"), "{good}");
        let table: Vec<&str> = good.lines().skip_while(|line| !line.contains("level")).take(3).collect();
        assert_eq!(
            table,
            [
                "  level   rows  entries  per row   memory  stored  computed  format",
                "      0  8,000   53,600      6.7  628 KiB  f64     f64       csr",
                "      1    800   12,000     15.0  141 KiB  f64     f64       csr",
            ]
        );
        let bad = text("A.mtx", &outcome(false));
        assert!(
            bad.contains("\nNOT converged in 14") && bad.contains("  stopped  iteration limit\n"),
            "{bad}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_is_more_than_what_we_just_took() {
        let held = vec![1u8; 30 << 20];
        assert!(peak_bytes().unwrap() > std::hint::black_box(held).len() as u64);
    }
}
