//! GPU kernels: the bytes that they must move, the bytes that their indexing requests, and their
//! speed on an available device.
//!
//! The example `measure` of ziggurat-gpu runs on the device named by `ZIGGURAT_DEVICE`, or on the
//! best one. The first two byte columns do not depend on the device. The last column, minimal bytes
//! over time, is the bandwidth of the device whose name is printed.

use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use tasks::programs::{AS_TESTS, build};
use tasks::table::Table;

use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "gpu",
    what: "memory traffic of GPU kernels, by count and by indexing, and their time on an available device",
    rounds: 5,
    run,
};

/// A kernel on a matrix.
#[derive(Debug, PartialEq, Serialize)]
struct Kernel {
    kernel: String,
    matrix: String,
    format: String,
    numbers: String,
    least: u64,
    requested: u64,
    seconds: f64,
}

/// A solve.
#[derive(Debug, PartialEq, Serialize)]
struct Solve {
    matrix: String,
    precision: String,
    iterations: u64,
    seconds: f64,
    kernels: u64,
    downloads: u64,
    downloaded_bytes: u64,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let device = std::env::var("ZIGGURAT_DEVICE").unwrap_or_else(|_| "gpu".to_owned());
    let edge = if setting.quick { "8" } else { "64" };
    let text = measure(setting.quick, &[&device, edge, &setting.rounds.to_string()])?;
    let name = text.lines().find_map(|line| line.strip_prefix("device ")).unwrap_or("unknown").to_owned();
    let kernels: Vec<Kernel> = text.lines().filter_map(kernel).collect();
    let solves: Vec<Solve> = text.lines().filter_map(solve).collect();
    if kernels.is_empty() || solves.is_empty() {
        return Err(BenchError::Program(format!("the example printed no figures:\n{text}")));
    }
    println!("{name}, best of {} rounds\n", setting.rounds);
    let headings = ["kernel", "matrix", "format", "numbers", "least MB", "requested", "GB/s"];
    let mut table = Table::new(headings);
    for kernel in &kernels {
        table.row([
            kernel.kernel.clone(),
            kernel.matrix.clone(),
            kernel.format.clone(),
            kernel.numbers.clone(),
            format!("{:.2}", kernel.least as f64 * 1e-6),
            format!("{:.2} ×", kernel.requested as f64 / kernel.least as f64),
            format!("{:.2}", kernel.least as f64 * 1e-9 / kernel.seconds),
        ]);
    }
    println!("{table}");
    let mut table =
        Table::new(["solve", "precision", "iterations", "seconds", "kernels", "numbers back", "bytes back"]);
    for solve in &solves {
        table.row([
            solve.matrix.clone(),
            solve.precision.clone(),
            solve.iterations.to_string(),
            format!("{:.3}", solve.seconds),
            solve.kernels.to_string(),
            solve.downloads.to_string(),
            solve.downloaded_bytes.to_string(),
        ]);
    }
    println!("{table}");
    Ok(serde_json::json!({ "device": name, "kernels": kernels, "solves": solves }))
}

/// Builds and runs the example. If `quick`, it is built as the tests are, so that little has to be
/// compiled.
fn measure(quick: bool, arguments: &[&str]) -> Result<String, BenchError> {
    let failed = |reason: String| BenchError::Program(format!("cannot measure a GPU: {reason}"));
    let how = if quick { AS_TESTS } else { &["--release", "-p", "ziggurat-gpu"] };
    let folder = build(how, &["--example", "measure"]).map_err(failed)?;
    let measure = Command::new(folder.join("examples/measure")).args(arguments).output();
    let output = measure.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn kernel(line: &str) -> Option<Kernel> {
    let cells: Vec<&str> = line.strip_prefix("kernel ")?.split(' ').collect();
    let [kernel, matrix, format, numbers, least, requested, seconds] = cells[..] else { return None };
    Some(Kernel {
        kernel: kernel.to_owned(),
        matrix: matrix.to_owned(),
        format: format.to_owned(),
        numbers: numbers.to_owned(),
        least: least.parse().ok()?,
        requested: requested.parse().ok()?,
        seconds: seconds.parse().ok()?,
    })
}

fn solve(line: &str) -> Option<Solve> {
    let cells: Vec<&str> = line.strip_prefix("solve ")?.split(' ').collect();
    let [matrix, precision, iterations, seconds, kernels, downloads, downloaded_bytes] = cells[..] else {
        return None;
    };
    Some(Solve {
        matrix: matrix.to_owned(),
        precision: precision.to_owned(),
        iterations: iterations.parse().ok()?,
        seconds: seconds.parse().ok()?,
        kernels: kernels.parse().ok()?,
        downloads: downloads.parse().ok()?,
        downloaded_bytes: downloaded_bytes.parse().ok()?,
    })
}
