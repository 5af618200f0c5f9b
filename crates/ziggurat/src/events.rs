//! The `tracing` events of setup and solve, for solvers of one process and of several.
//!
//! Setup logs each level at level DEBUG and a summary at INFO, with the target `ziggurat::setup`. A
//! solve logs its report at INFO, and a change of precision at WARN, with the target
//! `ziggurat::solve`. Of several processes, one logs.

use std::fmt;

use ziggurat_amg::{Method, SetupError};
use ziggurat_krylov::KrylovReport;
use ziggurat_sparse::words::counted;

use crate::config::SolverConfig;

/// A level of the hierarchy, as setup logs it.
#[derive(Clone, Copy)]
pub struct LevelSummary<'a> {
    /// Rows on all processes.
    pub rows: u64,
    /// Entries on all processes.
    pub nnz: u64,
    /// Storage precision of its matrices.
    pub storage: &'a dyn fmt::Display,
    /// Precision of its vectors.
    pub working: &'a dyn fmt::Display,
    /// Format of its matrix.
    pub format: &'a dyn fmt::Display,
}

impl fmt::Debug for LevelSummary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for LevelSummary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LevelSummary { rows, nnz, storage, working, format } = self;
        let (rows, entries) = (counted(*rows, "row"), counted(*nnz, "entry"));
        write!(f, "{rows}, {entries}, stored in {storage}, computed in {working}, {format}")
    }
}

/// Logs a setup. `levels` begins with the finest, nothing is left to be chosen in `config`, and
/// `stages` holds the seconds of the stages of setup.
///
/// ```
/// use ziggurat::SolverConfig;
/// use ziggurat::events::{self, LevelSummary};
/// let level = LevelSummary { rows: 3, nnz: 7, storage: &"f32", working: &"f64", format: &"csr" };
/// assert_eq!(level.to_string(), "3 rows, 7 entries, stored in f32, computed in f64, csr");
/// events::set_up(&[level], &SolverConfig::default(), &[("diagnosis", 0.1)]);
/// ```
pub fn set_up(levels: &[LevelSummary<'_>], config: &SolverConfig, stages: &[(&str, f64)]) {
    for (index, level) in levels.iter().enumerate() {
        tracing::debug!(target: "ziggurat::setup", "level {index}: {level}");
    }
    let Some(finest) = levels.first() else { return };
    let all: u64 = levels.iter().map(|level| level.nnz).sum();
    let SolverConfig { method, krylov, precision, .. } = config;
    tracing::info!(
        target: "ziggurat::setup",
        "{}, {}: {method}, {krylov}, {precision}; {}, operator complexity {:.2}, {:.3} s",
        counted(finest.rows, "row"),
        counted(finest.nnz, "entry"),
        counted(levels.len(), "level"),
        all as f64 / finest.nnz.max(1) as f64,
        stages.iter().map(|stage| stage.1).sum::<f64>()
    );
}

/// Logs that the method that was chosen cannot be set up, and that another one replaces it.
pub(crate) fn set_up_failed(error: &SetupError, method: Method) {
    let replaced = match method {
        Method::Direct => "multigrid is replaced by sparse factors",
        _ => "sparse factors are replaced by multigrid",
    };
    tracing::warn!(target: "ziggurat::setup", "{replaced}: {error}");
}

/// Logs a solve. A promotion to another precision is a warning.
pub fn solved(report: &KrylovReport, promotion: Option<&impl fmt::Display>) {
    if let Some(promotion) = promotion {
        tracing::warn!(target: "ziggurat::solve", "{promotion}");
    }
    tracing::info!(target: "ziggurat::solve", "{report}");
}
