//! Report data of a multigrid level.

use serde::Serialize;
use ziggurat::Solver;

/// Report data of a multigrid level. The field names are the keys of the JSON report.
///
/// ```
/// use ziggurat_report::Level;
/// let level = Level { rows: 800, nnz: 12_000, storage: "f16".to_owned(), ..Level::default() };
/// assert!(serde_json::to_string(&level)?.contains(r#""storage":"f16""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Level {
    /// Number of rows (unknowns).
    pub rows: usize,
    /// Number of stored matrix entries.
    pub nnz: usize,
    /// Number type of the stored matrix values.
    pub storage: String,
    /// Number type of the arithmetic and the vectors.
    pub working: String,
    /// Storage format of the matrix.
    pub format: String,
    /// Bytes of the matrix.
    pub bytes: u64,
    /// Bytes of restriction and prolongation.
    pub transfer_bytes: u64,
    /// Bytes of the smoother's matrices; zero for pointwise smoothers.
    pub smoother_bytes: u64,
    /// The formats that were considered, with their sizes in bytes.
    pub reason: String,
    /// Time to build the next coarser level; `None` for the coarsest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_seconds: Option<f64>,
    /// Time spent on this level in one cycle, if measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle_seconds: Option<f64>,
    /// Distribution over ranks, under MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
}

/// Distribution of a level over MPI ranks. Halo, messages and bytes refer to one matrix–vector
/// product.
///
/// ```
/// let two = ziggurat_report::Distribution { ranks: 2, rows_most: 500, ..Default::default() };
/// assert_eq!(two.halo_rows, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Number of ranks that own rows.
    pub ranks: u64,
    /// Maximum number of rows per rank.
    pub rows_most: u64,
    /// Total number of halo rows over all ranks.
    pub halo_rows: u64,
    /// Maximum number of halo rows per rank.
    pub halo_rows_most: u64,
    /// Maximum number of messages per rank.
    pub messages_most: u64,
    /// Maximum number of bytes sent per rank.
    pub bytes_most: u64,
}

/// Collects the levels of a solver, finest first, in the precisions and formats they are stored in.
///
/// ```
/// use ziggurat::{Solver, sparse::gallery::Problem};
/// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
/// let levels = ziggurat_report::levels(&Solver::builder().build(&a)?);
/// assert_eq!(levels[0].rows, 1728);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn levels(solver: &Solver) -> Vec<Level> {
    let levels = solver.hierarchy_in_use().levels().iter().zip(solver.preconditioner().stored());
    let level = levels.map(|(level, stored)| Level {
        rows: level.rows(),
        nnz: level.nnz(),
        storage: stored.storage.to_string(),
        working: stored.working.to_string(),
        format: stored.format.format().to_string(),
        bytes: stored.format.bytes() as u64,
        transfer_bytes: stored.transfer_bytes as u64,
        smoother_bytes: stored.smoother_bytes as u64,
        reason: stored.format.to_string(),
        setup_seconds: (level.seconds() > 0.0).then(|| level.seconds()),
        cycle_seconds: None,
        distribution: None,
    });
    level.collect()
}
