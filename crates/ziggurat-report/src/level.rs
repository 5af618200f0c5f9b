//! A level of the hierarchy, as reports have it.

use serde::Serialize;
use ziggurat::Solver;
use ziggurat::sparse::device::Device;

/// A level of the hierarchy. The field names are keys of the JSON.
///
/// ```
/// use ziggurat_report::Level;
/// let level = Level { rows: 800, nnz: 12_000, storage: "f16".to_owned(), ..Level::default() };
/// assert!(serde_json::to_string(&level)?.contains(r#""storage":"f16""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Level {
    /// Unknowns.
    pub rows: usize,
    /// Entries of its matrix.
    pub nnz: usize,
    /// The number its matrix is stored in.
    pub storage: String,
    /// The number it computes in.
    pub working: String,
    /// The format of its matrix.
    pub format: String,
    /// Of its matrix.
    pub bytes: u64,
    /// Of restriction and prolongation.
    pub transfer_bytes: u64,
    /// Which formats were considered, with their bytes.
    pub reason: String,
    /// Time that making the next one from it took; the last has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_seconds: Option<f64>,
    /// Time that it takes in one cycle, if that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle_seconds: Option<f64>,
    /// How it lies on ranks, under MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
}

/// How a level lies on ranks. Halo, messages and bytes are those of one product with its matrix.
///
/// ```
/// let two = ziggurat_report::Distribution { ranks: 2, rows_most: 500, ..Default::default() };
/// assert_eq!(two.halo_rows, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Ranks that have rows.
    pub ranks: u64,
    /// Rows of the rank that has most.
    pub rows_most: u64,
    /// Rows of others that ranks know, added up.
    pub halo_rows: u64,
    /// The same of the rank that has most.
    pub halo_rows_most: u64,
    /// Messages of the rank that sends most.
    pub messages_most: u64,
    /// Bytes of the rank that sends most.
    pub bytes_most: u64,
}

/// The levels of a solver, finest first, as lowering has stored them.
///
/// ```
/// use ziggurat::{Solver, sparse::gallery::Problem};
/// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
/// let levels = ziggurat_report::levels(&Solver::builder().build(&a)?);
/// assert_eq!(levels[0].rows, 1728);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn levels<D: Device>(solver: &Solver<D>) -> Vec<Level> {
    let levels = solver.hierarchy().levels().iter().zip(solver.preconditioner().stored());
    let level = levels.map(|(level, stored)| Level {
        rows: level.matrix().rows(),
        nnz: level.matrix().nnz(),
        storage: stored.storage.to_string(),
        working: stored.working.to_string(),
        format: stored.format.format().to_owned(),
        bytes: stored.format.bytes() as u64,
        transfer_bytes: stored.transfer_bytes as u64,
        reason: stored.format.to_string(),
        setup_seconds: (level.seconds() > 0.0).then(|| level.seconds()),
        cycle_seconds: None,
        distribution: None,
    });
    level.collect()
}
