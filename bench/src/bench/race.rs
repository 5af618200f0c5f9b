//! Setup and solve, compared with other algebraic multigrid solvers on the same systems, to the
//! same true residual.
//!
//! Every contestant, ziggurat too, is a process that reads the system from a file, solves it once
//! and writes its solution; the residual is recomputed here. Contestants alternate round by round.
//! In the first round each tries all of its settings, and later rounds use the fastest. The results
//! come from each contestant's best run by total time. Peers other than hypre take part if they
//! are installed.
//!
//! `ZIGGURAT_RACE_ONLY` restricts a run to some systems: their names, or `natural`, `shuffled` and
//! `real`, separated by commas.

mod defaults;
pub(super) mod driver;
mod peers;
mod picture;
mod print;
mod system;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::{Bench, BenchError, Setting};
pub(super) use defaults::{HypreDefaults, HypreSmoothers};
use peers::{Contestant, contestants, output};
use system::{RaceSystem, collection, read_solution};

pub(super) const BENCH: Bench =
    Bench { name: "race", what: "setup and solve, compared with other multigrid solvers", rounds: 5, run };

/// Names of the systems to run, instead of all.
const ONLY: &str = "ZIGGURAT_RACE_ONLY";

/// The largest true relative residual that counts as solved: the tolerance of every contestant is
/// 1e-8, on a residual that may be computed by a recurrence.
const LARGEST_RESIDUAL: f64 = 1.1e-8;

/// Where a system comes from, and how its rows are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Natural,
    Shuffled,
    Real,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Natural, Kind::Shuffled, Kind::Real];

    fn name(self) -> &'static str {
        match self {
            Kind::Natural => "natural",
            Kind::Shuffled => "shuffled",
            Kind::Real => "real",
        }
    }

    fn systems(self, quick: bool) -> &'static [&'static str] {
        match (self, quick) {
            (Kind::Natural, false) => &[
                "poisson3d:100",
                "poisson3d27:100",
                "anisotropic3d:100",
                "jump3d:100",
                "elasticity3d:40",
                "poisson3d:160",
            ],
            (Kind::Shuffled, false) => &[
                "poisson3d:100/1024",
                "poisson3d27:100/1024",
                "anisotropic3d:100/1024",
                "jump3d:100/1024",
                "elasticity3d:40/1024",
            ],
            (Kind::Real, false) => {
                &["crank_heat3d", "mdual_lap", "G2_circuit", "norne_pressure", "crank_elas3d"]
            }
            (Kind::Natural, true) => &["poisson3d:12", "elasticity3d:6"],
            (Kind::Shuffled, true) => &["jump3d:20/64"],
            (Kind::Real, true) => &["4elt_lap"],
        }
    }
}

/// One run of a contestant.
#[derive(Clone, Debug, Serialize)]
struct Run {
    setting: String,
    setup_seconds: f64,
    solve_seconds: f64,
    iterations: usize,
    peak_mb: f64,
    relative_residual: f64,
    /// The time of A·x on our threads; only ziggurat measures it.
    spmv_seconds: Option<f64>,
    /// The stages of our setup.
    stages: Vec<(String, f64)>,
}

impl Run {
    fn total(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

/// A contestant on one system.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    label: String,
    ours: bool,
    /// Whether it was given the rigid-body modes.
    modes: bool,
    /// Its best run, unless it failed with every setting.
    best: Option<Run>,
    /// The best total time of each setting that was tried, or why it failed.
    tried: Vec<(String, Result<f64, String>)>,
}

/// All contestants on one system.
#[derive(Debug, Serialize)]
struct Measured {
    system: String,
    kind: Kind,
    rows: usize,
    entries: usize,
    contestants: Vec<Entry>,
}

impl Measured {
    fn ours(&self) -> Option<&Run> {
        self.contestants.iter().find(|entry| entry.ours)?.best.as_ref()
    }

    /// The total time of the fastest peer over ours.
    fn speed_up(&self) -> Option<f64> {
        let peers = self.contestants.iter().filter(|entry| !entry.ours);
        let fastest = peers.filter_map(|entry| Some(entry.best.as_ref()?.total())).min_by(f64::total_cmp)?;
        Some(fastest / self.ours()?.total())
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let (contestants, absent) = contestants(setting.quick)?;
    for peer in &absent {
        println!("{}: {}", peer.name, peer.reason);
    }
    let files = Files::new()?;
    let measured = race(setting, &contestants, &files, pool.threads)?;
    print::summary(&measured);
    Ok(serde_json::json!({
        "threads": pool.threads,
        "not_installed": absent,
        "speed_up_over_fastest_peer": print::means(&measured),
        "systems": measured,
        "picture": picture::picture(&measured),
    }))
}

/// Files through which contestants and this program communicate, in a folder of their own.
struct Files {
    folder: PathBuf,
    system: PathBuf,
    solution: PathBuf,
}

impl Files {
    fn new() -> Result<Self, BenchError> {
        let folder = std::env::temp_dir().join(format!("ziggurat-race-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|source| BenchError::Write { path: folder.clone(), source })?;
        Ok(Files { system: folder.join("system.bin"), solution: folder.join("solution.bin"), folder })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Files that cannot be removed stay in the folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn race(
    setting: &Setting,
    contestants: &[Contestant],
    files: &Files,
    threads: usize,
) -> Result<Vec<Measured>, BenchError> {
    let only = std::env::var(ONLY).ok();
    let chosen = |kind: Kind, name: &str| {
        only.as_deref().is_none_or(|only| only.split(',').any(|word| word == name || word == kind.name()))
    };
    let folder = collection();
    let mut measured = Vec::new();
    for kind in Kind::ALL {
        for &name in kind.systems(setting.quick).iter().filter(|name| chosen(kind, name)) {
            let system = match (kind, &folder) {
                (Kind::Real, None) => {
                    println!("{name}: skipped, there is no ../shared/matrices (set ZIGGURAT_MATRICES)\n");
                    continue;
                }
                (Kind::Real, Some(folder)) => RaceSystem::read_collection(folder, name)?,
                _ => RaceSystem::generate(name)?,
            };
            let failed = |source| BenchError::Write { path: files.system.clone(), source };
            system.write(&files.system).map_err(failed)?;
            let entries = measure(&system, contestants, setting.rounds, files, threads)?;
            let (rows, nnz) = (system.a.rows(), system.a.nnz());
            let one = Measured { system: name.to_owned(), kind, rows, entries: nnz, contestants: entries };
            print::table(&one);
            measured.push(one);
        }
    }
    Ok(measured)
}

/// All rounds of all contestants on one system.
fn measure(
    system: &RaceSystem,
    contestants: &[Contestant],
    rounds: usize,
    files: &Files,
    threads: usize,
) -> Result<Vec<Entry>, BenchError> {
    let entry = |contestant: &Contestant| Entry {
        name: contestant.name,
        label: contestant.label(threads),
        ours: contestant.is_ours(),
        modes: false,
        best: None,
        tried: Vec::new(),
    };
    let mut entries: Vec<Entry> = contestants.iter().map(entry).collect();
    for round in 0..rounds {
        for (contestant, entry) in contestants.iter().zip(&mut entries) {
            let settings: Vec<String> = match &entry.best {
                _ if round == 0 => {
                    contestant.settings(system).iter().map(|&setting| setting.to_owned()).collect()
                }
                Some(best) => vec![best.setting.clone()],
                None => Vec::new(),
            };
            for setting in settings {
                let run = run_once(contestant, system, &setting, files, threads)?;
                if round == 0 {
                    entry.tried.push((setting, run.as_ref().map(Run::total).map_err(Clone::clone)));
                }
                let Ok(run) = run else { continue };
                if entry.best.as_ref().is_none_or(|best| run.total() < best.total()) {
                    entry.modes = !system.modes.is_empty() && contestant.takes_modes(&run.setting);
                    entry.best = Some(run);
                }
            }
        }
    }
    match entries.iter().find(|entry| entry.ours && entry.best.is_none()) {
        Some(Entry { tried, .. }) => Err(BenchError::Program(format!("ziggurat fails: {tried:?}"))),
        None => Ok(entries),
    }
}

/// One run, or why it does not count.
fn run_once(
    contestant: &Contestant,
    system: &RaceSystem,
    setting: &str,
    files: &Files,
    threads: usize,
) -> Result<Result<Run, String>, BenchError> {
    let _ = fs::remove_file(&files.solution); // of the run before, if any
    let mut command = contestant.command(&files.system, &files.solution, setting, threads)?;
    let printed = match output(&mut command) {
        Ok(printed) => printed,
        Err(error) => return Ok(Err(error)),
    };
    Ok(parse(&printed, setting).and_then(|run| check(run, system, &files.solution)))
}

/// Recomputes the residual of the solution that a run has written.
fn check(run: Run, system: &RaceSystem, solution: &Path) -> Result<Run, String> {
    let x = read_solution(solution, system.a.rows()).map_err(|error| format!("no solution: {error}"))?;
    let relative_residual = system.relative_residual(&x);
    if relative_residual <= LARGEST_RESIDUAL {
        return Ok(Run { relative_residual, ..run });
    }
    Err(format!("residual {relative_residual:.1e} after {} iterations", run.iterations))
}

/// Reads what a driver prints.
fn parse(printed: &str, setting: &str) -> Result<Run, String> {
    let lines = |key: &'static str| printed.lines().filter_map(move |line| line.strip_prefix(key));
    let result = lines("RESULT ").next().unwrap_or_default();
    let numbers: Vec<f64> = result.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[setup_seconds, solve_seconds, iterations, peak_mb] = &numbers[..] else {
        return Err(format!("the driver printed {printed:?}"));
    };
    let stage = |line: &str| {
        let (seconds, name) = line.split_once(' ')?;
        Some((name.to_owned(), seconds.parse().ok()?))
    };
    Ok(Run {
        setting: setting.to_owned(),
        setup_seconds,
        solve_seconds,
        iterations: iterations as usize,
        peak_mb,
        relative_residual: f64::NAN,
        spmv_seconds: lines("SPMV ").next().and_then(|word| word.parse().ok()),
        stages: lines("STAGE ").filter_map(stage).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drivers_print_is_read() {
        let run =
            parse("noise\nRESULT 1.5 0.5 14 230.0\nSPMV 0.005\nSTAGE 0.25 Galerkin product\n", "x").unwrap();
        assert_eq!((run.total(), run.iterations, run.peak_mb), (2.0, 14, 230.0));
        assert_eq!(run.spmv_seconds, Some(0.005));
        assert_eq!(run.stages, [("Galerkin product".to_owned(), 0.25)]);
        assert!(parse("RESULT 1.5 0.5", "x").unwrap_err().contains("RESULT 1.5 0.5"));
    }
}
