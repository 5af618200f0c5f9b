//! Input of distributed systems: model problems and Matrix Market files, of which each rank reads
//! its own part.

use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use ziggurat_amg::interpolate::NearKernel;
use ziggurat_sparse::Dense;
use ziggurat_sparse::gallery::{Problem, rigid_body_modes_about, sums_of_coordinates};
use ziggurat_sparse::io::{ReadError, read_matrix_part, read_vector_part};

use crate::comm::Comm;
use crate::error::{DistributedError, agree_as};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::rows::{GlobalRows, send_home};
use crate::setup::GRAIN;

/// Ranks own multiples of this many rows, so that nodes of 2, 3, 4 or 6 unknowns are never divided
/// between ranks.
const UNIT: u64 = 3 * GRAIN as u64;

/// Why a distributed system could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// This rank could not read its part.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file has fewer or more entries than its size line states.
    #[error("{path}: the size line declares {declared} entries, but the file has {found}")]
    Entries {
        /// The file.
        path: String,
        /// The number in its size line.
        declared: u64,
        /// The number found by all ranks.
        found: u64,
    },
    /// Another rank failed, or the input is not a valid matrix.
    #[error(transparent)]
    Distributed(#[from] DistributedError),
    /// The matrix is not square.
    #[error("{path} has {rows} rows and {columns} columns; give a square matrix")]
    NotSquare {
        /// The file.
        path: String,
        /// Its rows.
        rows: u64,
        /// Its columns.
        columns: u64,
    },
}

impl DistributedCsr {
    /// A model problem, of which each rank generates its own rows. Collective.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr};
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let a = DistributedCsr::generate(&comm, "poisson3d:10".parse()?)?;
    /// assert_eq!(a.global_rows(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a rank has more rows than 32 bits can number.
    pub fn generate(comm: &Arc<dyn Comm>, problem: Problem) -> Result<Self, DistributedError> {
        let block = problem.block_size();
        let rows = Partition::even(&**comm, problem.global_rows(), (GRAIN * block) as u64);
        let (generator, mut home) = (problem.generator(), GlobalRows::new());
        for id in rows.own() {
            generator.row(id, |column, value| {
                home.columns.push(column);
                home.values.push(value);
            });
            home.end_row(id);
        }
        let own = rows.own();
        Self::square(comm, Arc::new(rows), block, home.named(&own))
    }

    /// Reads a square matrix from a Matrix Market file. Each rank reads its share of the bytes, and
    /// entries are sent to the owners of their rows. The number of unknowns per node is [detected
    /// from the pattern](Self::with_detected_nodes). Collective.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr};
    /// let path = std::env::temp_dir().join(format!("ziggurat-doc-{}.mtx", std::process::id()));
    /// std::fs::write(&path, "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n")?;
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let a = DistributedCsr::read(&comm, &path)?;
    /// assert_eq!((a.global_rows(), a.global_nnz()), (2, 4));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a rank cannot read its part, or the matrix is not square.
    pub fn read(comm: &Arc<dyn Comm>, path: impl AsRef<Path>) -> Result<Self, InputError> {
        let path = path.as_ref();
        let name = || path.display().to_string();
        let part =
            agree_as(&**comm, read_matrix_part(path, comm.rank(), comm.size()).map_err(InputError::from))?;
        let found = comm.total(part.stored);
        if found != part.declared {
            return Err(InputError::Entries { path: name(), declared: part.declared, found });
        }
        if part.rows != part.cols {
            return Err(InputError::NotSquare { path: name(), rows: part.rows, columns: part.cols });
        }
        let rows = Partition::even(&**comm, part.rows, UNIT);
        let home = send_home(&**comm, &rows, part.entries);
        let own = rows.own();
        let a = Self::square(comm, Arc::new(rows), 1, home.named(&own))?;
        Ok(a.with_detected_nodes()?)
    }

    /// This rank's elements of a right-hand side in a Matrix Market file. Collective.
    ///
    /// # Errors
    /// If a rank cannot read its part.
    pub fn read_rhs(&self, path: impl AsRef<Path>) -> Result<Vec<f64>, InputError> {
        agree_as(&**self.comm(), read_vector_part(path, self.own_rows()).map_err(InputError::from))
    }
}

/// This rank's rows of the six rigid-body modes of an elastic body, from the coordinates of its own
/// nodes. Collective.
///
/// ```
/// use ziggurat_mpi::{Alone, rigid_body_modes};
/// let modes = rigid_body_modes(&Alone, &[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])?;
/// assert_eq!((modes.rows(), modes.count()), (6, 6));
/// # Ok::<(), ziggurat_mpi::DistributedError>(())
/// ```
///
/// # Errors
/// If memory runs out.
pub fn rigid_body_modes(comm: &dyn Comm, coordinates: &[[f64; 3]]) -> Result<NearKernel, DistributedError> {
    let nodes = comm.total(coordinates.len() as u64).max(1) as f64;
    let centre = sums_of_coordinates(coordinates).map(|mut sum| {
        comm.sum(bytemuck::cast_slice_mut(sum.digits_mut()));
        sum.rounded() / nodes
    });
    let modes = rigid_body_modes_about(coordinates, centre).concat();
    Ok(NearKernel::part(Dense::try_new(3 * coordinates.len(), 6, modes)?, 3, false)?)
}
