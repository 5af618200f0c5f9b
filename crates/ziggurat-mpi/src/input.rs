//! Input of distributed systems: model problems and files, of which each rank reads its own part.

use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use ziggurat_amg::interpolate::{NearKernel, NearKernelError};
use ziggurat_sparse::gallery::{Problem, rigid_body_modes_about, sums_of_coordinates};
use ziggurat_sparse::io::{ReadError, read_matrix_part, read_vector_part, read_vector_rows};
use ziggurat_sparse::words::counted;
use ziggurat_sparse::{Dense, MatrixError};

use crate::comm::Comm;
use crate::error::{DistributedError, agree, agree_as, check_same, together};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::rows::{GlobalRows, send_home};
use crate::setup::{GRAIN, moved};

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
    #[error("{path}: the size line declares {}, but the file has {found}", counted(*declared, "entry"))]
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
    /// A right-hand side has more or fewer values than the matrix has rows.
    #[error(
        "{path} has {}, but the matrix has {}; give the right-hand side that belongs to this matrix",
        counted(*found, "value"),
        counted(*rows, "row")
    )]
    RightHandSide {
        /// The file.
        path: String,
        /// Its values.
        found: u64,
        /// Rows of the matrix.
        rows: u64,
    },
    /// The matrix is not square.
    #[error(
        "{path} has {} and {}; give a square matrix",
        counted(*rows, "row"),
        counted(*columns, "column")
    )]
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
        together(&**comm, || {
            check_same(&**comm, "model problem", &problem.to_string())?;
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
        })
    }

    /// Reads a square matrix from a file of any [format](ziggurat_sparse::io). Of a plain Matrix
    /// Market file, each rank reads its share of the bytes; any other file is read as a whole by
    /// every rank, which keeps its share of the entries. Entries are sent to the owners of their
    /// rows. The number of unknowns per node is [detected from the
    /// pattern](Self::with_detected_nodes). Collective.
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
        together(&**comm, || Self::read_together(comm, path.as_ref()))
    }

    fn read_together(comm: &Arc<dyn Comm>, path: &Path) -> Result<Self, InputError> {
        let name = || path.display().to_string();
        let part =
            agree_as(&**comm, read_matrix_part(path, comm.rank(), comm.size()).map_err(InputError::from))?;
        // Each rank has opened a file of this name, not necessarily the same one.
        let size = format!("{} x {}, {} entries", part.rows, part.cols, part.declared);
        check_same(&**comm, "matrix file", &size)?;
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

    /// This rank's elements of a right-hand side in a file of any
    /// [format](ziggurat_sparse::io). Collective.
    ///
    /// # Errors
    /// If a rank cannot read its part, or the file has more or fewer values than the matrix has
    /// rows.
    pub fn read_rhs(&self, path: impl AsRef<Path>) -> Result<Vec<f64>, InputError> {
        let (path, rows) = (path.as_ref(), self.global_rows());
        together(&**self.comm(), || {
            let found = read_vector_rows(path)?;
            if found != rows {
                return Err(InputError::RightHandSide { path: path.display().to_string(), found, rows });
            }
            Ok(read_vector_part(path, self.own_rows())?)
        })
    }
}

/// This rank's rows of the rigid-body modes of an elastic body in the plane or in space, from the
/// coordinates of its own nodes: three or six vectors. In the plane the third coordinate is
/// ignored. The modes do not depend on the number of ranks. All ranks call it.
///
/// ```
/// use ziggurat_mpi::{Alone, rigid_body_modes};
/// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let modes = rigid_body_modes(&Alone, &corners, 3)?;
/// assert_eq!((modes.rows(), modes.count()), (9, 6));
/// assert_eq!(rigid_body_modes(&Alone, &corners, 2)?.count(), 3);
/// assert!(rigid_body_modes(&Alone, &corners[..2], 3).is_err()); // a line
/// # Ok::<(), ziggurat_mpi::DistributedError>(())
/// ```
///
/// # Errors
/// If `dimension` is neither 2 nor 3, if all nodes lie on a line in space or coincide in the plane,
/// or if memory runs out.
pub fn rigid_body_modes(
    comm: &dyn Comm,
    coordinates: &[[f64; 3]],
    dimension: usize,
) -> Result<NearKernel, DistributedError> {
    together(comm, || modes_together(comm, coordinates, dimension))
}

fn modes_together(
    comm: &dyn Comm,
    coordinates: &[[f64; 3]],
    dimension: usize,
) -> Result<NearKernel, DistributedError> {
    check_same(comm, "dimension", &dimension.to_string())?;
    let kept: &[usize] = match dimension {
        2 => &[0, 1, 3], // two translations and the rotation about z
        3 => &[0, 1, 2, 3, 4, 5],
        _ => {
            let what = "dimensions of the coordinates of rigid-body modes";
            return Err(MatrixError::Mismatch { what, expected: 3, found: dimension }.into());
        }
    };
    let mut points = coordinates.to_vec();
    if dimension == 2 {
        points.iter_mut().for_each(|point| point[2] = 0.0);
    }
    let modes = rigid_body_modes_about(&points, centre(comm, &points)?);
    let of_mode =
        |&mode: &usize| modes[mode].chunks(3).flat_map(move |node| node[..dimension].iter().copied());
    let values = kept.iter().flat_map(of_mode).collect();
    let modes = agree(comm, Dense::try_new(dimension * points.len(), kept.len(), values))?;
    check_independent(comm, &modes)?;
    Ok(NearKernel::part(modes, dimension, false)?)
}

/// The mean of all points. Sums are taken over the same blocks of nodes as in one process, so that
/// rounding does not depend on ranks.
fn centre(comm: &dyn Comm, own: &[[f64; 3]]) -> Result<[f64; 3], DistributedError> {
    let nodes = Partition::try_new(comm, own.len())?;
    let aligned = nodes.aligned(comm, GRAIN as u64);
    let values = moved(comm, &nodes, &aligned, 3, own.as_flattened());
    let count = nodes.global().max(1) as f64;
    Ok(sums_of_coordinates(values.as_chunks().0).map(|mut sum| {
        comm.sum(bytemuck::cast_slice_mut(sum.digits_mut()));
        sum.rounded() / count
    }))
}

/// Refuses a mode that is zero or depends linearly on the previous ones, by Gram–Schmidt
/// orthogonalisation, as `NearKernel::try_new` does for one process. Collective.
pub(crate) fn check_independent(comm: &dyn Comm, modes: &Dense<f64>) -> Result<(), NearKernelError> {
    /// A mode is dependent if orthogonalisation reduces its norm to this fraction.
    const DEPENDENT: f64 = 1e-10;
    if comm.total(modes.rows() as u64) == 0 {
        return Ok(());
    }
    let dot = |x: &[f64], y: &[f64]| {
        let mut sum = [x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>()];
        comm.sum_reals(&mut sum);
        sum[0]
    };
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for (vector, column) in modes.columns().enumerate() {
        // Scaled, so that squares neither underflow nor overflow.
        let largest = comm.most(column.iter().fold(0.0, |largest: f64, value| largest.max(value.abs())));
        if largest == 0.0 {
            return Err(NearKernelError::Zero { vector });
        }
        let mut rest: Vec<f64> = column.iter().map(|value| value / largest).collect();
        let before = dot(&rest, &rest).sqrt();
        // Twice is enough (Kahan & Parlett).
        for _ in 0..2 {
            for other in &basis {
                let along = dot(other, &rest);
                rest.iter_mut().zip(other).for_each(|(rest, value)| *rest -= along * value);
            }
        }
        let after = dot(&rest, &rest).sqrt();
        if after <= DEPENDENT * before {
            return Err(NearKernelError::Dependent { vector });
        }
        rest.iter_mut().for_each(|value| *value /= after);
        basis.push(rest);
    }
    Ok(())
}
