//! Setup and solve from Python, compared with PyAMG, alternating in one Python process.
//!
//! The script `competitors/pyamg_race.py` documents the settings of PyAMG. It runs in the
//! environment of `cargo xtask python` with a newly built release wheel. A quick run uses the
//! existing environment.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tasks::python::Environment;
use tasks::table::Table;

use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "python", what: "setup and solve from Python, compared with PyAMG", rounds: 2, run };

const PROBLEMS: [&str; 3] = ["poisson3d:100", "poisson3d27:80", "elasticity3d:30"];
const QUICK_PROBLEMS: [&str; 2] = ["poisson3d:10", "elasticity3d:4"];

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let root = tasks::workspace_root();
    let environment = if setting.quick {
        Environment::there().ok_or_else(|| {
            BenchError::Competitor("no Python environment: create it with cargo xtask python".to_owned())
        })?
    } else {
        Environment::fresh(root, true).map_err(|error| BenchError::Program(error.to_string()))?
    };
    let problems: &[&str] = if setting.quick { &QUICK_PROBLEMS } else { &PROBLEMS };
    let measured = measure(
        &environment,
        &root.join("bench/competitors/pyamg_race.py"),
        setting.rounds,
        pool.threads,
        problems,
    )?;
    print(&measured);
    Ok(measured)
}

fn measure(
    environment: &Environment,
    script: &Path,
    rounds: usize,
    threads: usize,
    problems: &[&str],
) -> Result<Value, BenchError> {
    let mut command = Command::new(environment.python());
    command
        .env_remove("PYTHONPATH")
        .arg(script)
        .args([rounds.to_string(), threads.to_string()])
        .args(problems);
    let output = command.output().map_err(|error| BenchError::Program(error.to_string()))?;
    if !output.status.success() {
        return Err(BenchError::Program(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Prints a line for each problem, and the total.
fn print(measured: &Value) {
    let mut table = Table::new([
        "problem",
        "PyAMG setup s",
        "solve s",
        "iterations",
        "setting",
        "ours setup s",
        "solve s",
        "iterations",
        "speed-up",
    ]);
    let mut sums = [0.0; 2];
    for problem in measured["problems"].as_array().into_iter().flatten() {
        let number = |who: &str, key: &str| problem[who][key].as_f64().unwrap_or(f64::NAN);
        let total = |who: &str| number(who, "setup_seconds") + number(who, "solve_seconds");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let seconds = |who: &str, key: &str| format!("{:.2}", number(who, key));
        sums = [sums[0] + total("pyamg"), sums[1] + total("ours")];
        table.row([
            text(&problem["problem"]),
            seconds("pyamg", "setup_seconds"),
            seconds("pyamg", "solve_seconds"),
            problem["pyamg"]["iterations"].to_string(),
            text(&problem["pyamg"]["setting"]),
            seconds("ours", "setup_seconds"),
            seconds("ours", "solve_seconds"),
            problem["ours"]["iterations"].to_string(),
            format!("{:.1}x", total("pyamg") / total("ours")),
        ]);
    }
    println!(
        "{table}\ntotal: PyAMG {:.2} s, ziggurat {:.2} s, {:.1}x faster",
        sums[0],
        sums[1],
        sums[0] / sums[1]
    );
}
