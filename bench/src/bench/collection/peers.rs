//! Solvers without options from Python, each run in a process of its own with a time limit: PyAMG's
//! black box and scipy's factorisation (`competitors/black_box.py`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::bench::BenchError;

/// The solvers by name; the last is not from Python.
pub(super) const PEERS: [&str; 3] = ["pyamg", "spsolve", "hypre"];

/// Seconds after which a solver is stopped.
const LIMIT: Duration = Duration::from_secs(60);

/// The largest residual that counts as solved: the tolerance of every solver is 1e-8, on a residual
/// that may be computed by a recurrence.
pub(super) const LARGEST_RESIDUAL: f64 = 1.1e-8;

/// The right-hand side of a system.
pub(super) enum Rhs {
    File(PathBuf),
    Ones,
    /// 1 in the first half of the rows, −1 in the second.
    Balanced,
}

/// The report of a solver.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Answer {
    pub(super) seconds: f64,
    pub(super) residual: Option<f64>,
}

impl Answer {
    /// The seconds, if the system is solved.
    pub(super) fn solved(&self) -> Option<f64> {
        self.residual.is_some_and(|residual| residual <= LARGEST_RESIDUAL).then_some(self.seconds)
    }
}

/// Runs a solver. `None` if it fails or takes too long.
pub(super) fn run(
    python: &Path,
    peer: &str,
    matrix: &Path,
    rhs: &Rhs,
    threads: usize,
) -> Result<Option<Answer>, BenchError> {
    let failed = |error: std::io::Error| BenchError::Program(error.to_string());
    let mut command = Command::new(python);
    command
        .env_remove("PYTHONPATH")
        .env("OMP_NUM_THREADS", threads.to_string())
        .env("OPENBLAS_NUM_THREADS", threads.to_string())
        .arg(tasks::workspace_root().join("bench/competitors/black_box.py"))
        .args([peer.as_ref(), matrix])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    match rhs {
        Rhs::File(path) => command.arg(path),
        Rhs::Ones => command.arg("ones"),
        Rhs::Balanced => command.arg("balanced"),
    };
    let (mut child, start) = (command.spawn().map_err(failed)?, Instant::now());
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if start.elapsed() > LIMIT => {
                child.kill().and_then(|()| child.wait()).map_err(failed)?;
                return Ok(None);
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text).map_err(failed)?;
    }
    Ok(if status.success() { serde_json::from_str(&text).ok() } else { None })
}
