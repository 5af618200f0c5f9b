//! MPI ranks: the messages of each level, time and memory by number of ranks, and a prediction for
//! many more ranks.
//!
//! Everything runs under `mpirun` on this machine: the command on model problems, whose rows are
//! distributed in slabs, and the example `boxes` of `ziggurat-mpi`, in which every rank has a box
//! of points. Counts of rows, halos, messages and bytes do not depend on the machine. The model in
//! `scaling/model.rs` uses such counts to predict an iteration on up to 10⁵ ranks with given
//! latency and bandwidths. Its counts are printed beside the measured ones.

mod model;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use tasks::programs::{AS_TESTS, build, mpirun};
use tasks::table::Table;

use super::{Bench, BenchError, Setting};
use model::Model;

pub(super) const BENCH: Bench = Bench {
    name: "scaling",
    what: "levels, time and memory on 1 to 64 MPI ranks, and a model for 10^5",
    rounds: 3,
    run,
};

/// A level of a distributed hierarchy. Fields with `most` are the maximum over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct LevelCounts {
    rows: u64,
    ranks: u64,
    rows_most: u64,
    halo_rows_most: u64,
    messages_most: u64,
    bytes_most: u64,
}

/// A solve by the command.
#[derive(Clone, Debug, Serialize)]
struct Solved {
    ranks: usize,
    threads: usize,
    setup_seconds: f64,
    solve_seconds: f64,
    iterations: u64,
    /// The maximum over ranks.
    peak_bytes: u64,
    levels: Vec<LevelCounts>,
}

impl Solved {
    fn total(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

/// The measured programs.
struct Programs {
    command: PathBuf,
    boxes: PathBuf,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let programs = Programs::build(setting.quick)?;
    let (slab, edge, pace, memory) = match setting.quick {
        true => ("poisson3d:12", 6, "poisson3d:12", "poisson3d:12"),
        false => ("poisson3d:64", 40, "poisson3d:100", "poisson3d:120"),
    };
    let counts: &[usize] = if setting.quick { &[1, 2] } else { &[1, 2, 4, 8] };

    // Far more ranks than cores: their times mean nothing, but they have to be right and to end.
    let crowd: &[usize] = if setting.quick { &[] } else { &[64] };
    let mut slabs = Vec::new();
    for &ranks in counts.iter().chain(crowd) {
        slabs.push(programs.solve(slab, ranks, 1)?);
    }
    let iterations: Vec<String> =
        slabs.iter().map(|solved| format!("{} on {}", solved.iterations, solved.ranks)).collect();
    println!("{slab}, rows in slabs; maximum over ranks\niterations: {} ranks\n", iterations.join(", "));
    println!("{}", level_table(slabs.iter().map(|solved| (solved.ranks, &solved.levels[..]))));

    let mut boxes = Vec::new();
    for &ranks in counts {
        boxes.push((ranks, programs.boxes(edge, ranks)?));
    }
    println!("boxes of {edge}³ points; maximum over ranks\n");
    println!("{}", level_table(boxes.iter().map(|(ranks, levels)| (*ranks, &levels[..]))));

    let (threads, ranks) = pace_of(&programs, pace, setting.rounds)?;
    println!("{pace}, best of {} alternating rounds\n", setting.rounds);
    let mut table = Table::new(["", "setup s", "solve s", "total s", "iterations"]);
    for (name, solved) in [("1 rank × 2 threads", &threads), ("2 ranks × 1 thread", &ranks)] {
        let seconds = [solved.setup_seconds, solved.solve_seconds, solved.total()].map(|s| format!("{s:.3}"));
        table.row([name.to_owned()].into_iter().chain(seconds).chain([solved.iterations.to_string()]));
    }
    println!("{table}\nranks over threads: {:.2}\n", ranks.total() / threads.total());

    let mut peaks = Vec::new();
    for ranks in [1, 2, 4] {
        peaks.push(programs.solve(memory, ranks, 1)?);
    }
    println!("{memory}: memory, maximum over ranks\n");
    let mut table = Table::new(["ranks", "MB", "vs. 1 rank", "1 / ranks"]);
    for solved in &peaks {
        let share = solved.peak_bytes as f64 / peaks[0].peak_bytes.max(1) as f64;
        table.row([
            solved.ranks.to_string(),
            format!("{:.0}", solved.peak_bytes as f64 * 1e-6),
            format!("{share:.2}"),
            format!("{:.2}", 1.0 / solved.ranks as f64),
        ]);
    }
    println!("{table}");

    let measured = boxes.last().map_or(&[][..], |(_, levels)| &levels[..]);
    let model = Model::new(edge, counts[counts.len() - 1] as u64);
    println!("measured counts and the model, {} boxes of {edge}³\n", counts[counts.len() - 1]);
    println!("{}", model.check(measured));
    println!("{}", Model::prediction());
    Ok(serde_json::json!({
        "slabs": slabs,
        "boxes": boxes,
        "pace": { "threads": threads, "ranks": ranks },
        "memory": peaks,
        "prediction": Model::predicted(),
    }))
}

/// The same system on two threads and on two ranks, alternating; the best of each.
fn pace_of(programs: &Programs, problem: &str, rounds: usize) -> Result<(Solved, Solved), BenchError> {
    let mut best: [Option<Solved>; 2] = [None, None];
    for _ in 0..rounds {
        for (best, (ranks, threads)) in best.iter_mut().zip([(1, 2), (2, 1)]) {
            let solved = programs.solve(problem, ranks, threads)?;
            if best.as_ref().is_none_or(|best| solved.total() < best.total()) {
                *best = Some(solved);
            }
        }
    }
    match best {
        [Some(threads), Some(ranks)] => Ok((threads, ranks)),
        _ => Err(BenchError::Competitor("no round was run".to_owned())),
    }
}

fn level_table<'a>(runs: impl Iterator<Item = (usize, &'a [LevelCounts])>) -> Table {
    let mut table =
        Table::new(["ranks, level", "rows", "on ranks", "rows each", "halo each", "messages", "bytes"]);
    for (ranks, levels) in runs {
        for (index, level) in levels.iter().enumerate() {
            let counts = [
                level.rows,
                level.ranks,
                level.rows_most,
                level.halo_rows_most,
                level.messages_most,
                level.bytes_most,
            ];
            table.row([format!("{ranks}, {index}")].into_iter().chain(counts.map(|count| count.to_string())));
        }
    }
    table
}

impl Programs {
    /// Builds the command with MPI, and the example. If `quick`, they are built as the tests are,
    /// so that little has to be compiled.
    fn build(quick: bool) -> Result<Self, BenchError> {
        let how: &[&str] = match quick {
            true => AS_TESTS,
            false => {
                &["--release", "-p", "ziggurat-cli", "-p", "ziggurat-mpi", "--features", "ziggurat-cli/mpi"]
            }
        };
        let failed = |reason: String| BenchError::Competitor(format!("cannot build for MPI: {reason}"));
        if Command::new("mpirun").arg("--version").output().is_err() {
            return Err(failed("mpirun is not installed".to_owned()));
        }
        let folder = build(how, &["--bin", "ziggurat", "--example", "boxes"]).map_err(failed)?;
        Ok(Programs { command: folder.join("ziggurat"), boxes: folder.join("examples/boxes") })
    }

    /// Runs a program on `ranks` ranks and returns its standard output.
    fn run(program: &Path, arguments: &[&str], ranks: usize) -> Result<String, BenchError> {
        let failed = |reason: String| {
            BenchError::Competitor(format!("{} on {ranks} ranks: {reason}", program.display()))
        };
        let output =
            mpirun(ranks).arg(program).args(arguments).output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Solves a model problem with the command, by smoothed aggregation, which the model is about.
    fn solve(&self, problem: &str, ranks: usize, threads: usize) -> Result<Solved, BenchError> {
        let threads_given = threads.to_string();
        let arguments =
            ["solve", "--problem", problem, "--method", "sa", "--threads", &threads_given, "--json", "-"];
        let json: Value = serde_json::from_str(&Self::run(&self.command, &arguments, ranks)?)?;
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        // One rank is one process: nothing is distributed.
        let level = |level: &Value| LevelCounts {
            rows: count(&level["rows"]),
            ranks: level["distribution"]["ranks"].as_u64().unwrap_or(1),
            rows_most: level["distribution"]["rows_most"].as_u64().unwrap_or(count(&level["rows"])),
            halo_rows_most: count(&level["distribution"]["halo_rows_most"]),
            messages_most: count(&level["distribution"]["messages_most"]),
            bytes_most: count(&level["distribution"]["bytes_most"]),
        };
        Ok(Solved {
            ranks,
            threads,
            setup_seconds: json["setup_seconds"].as_f64().unwrap_or(f64::NAN),
            solve_seconds: json["solve_seconds"].as_f64().unwrap_or(f64::NAN),
            iterations: count(&json["iterations"]),
            peak_bytes: count(&json["peak_bytes"]),
            levels: json["levels"]
                .as_array()
                .map(|levels| levels.iter().map(level).collect())
                .unwrap_or_default(),
        })
    }

    /// The levels of boxes of `edge`³ points.
    fn boxes(&self, edge: u64, ranks: usize) -> Result<Vec<LevelCounts>, BenchError> {
        let text = Self::run(&self.boxes, &[&edge.to_string()], ranks)?;
        let level = |line: &str| {
            let numbers: Vec<u64> =
                line.strip_prefix("level ")?.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
            let [rows, _, ranks, rows_most, halo_rows_most, messages_most, bytes_most] = numbers[..] else {
                return None;
            };
            Some(LevelCounts { rows, ranks, rows_most, halo_rows_most, messages_most, bytes_most })
        };
        Ok(text.lines().filter_map(level).collect())
    }
}
