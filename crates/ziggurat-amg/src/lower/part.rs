//! The part of a matrix that a process holds, as input to lowering.
//!
//! ```text
//! L A M x = L A_own M x_own + L_border A_remote M_halo x_halo
//! L, M: factors of own rows and of columns
//! ```
//!
//! Own columns are stored in the format with the fewest bytes, remote ones as CSR in the same
//! precision. The factors of remote columns come from the processes that own them. In one process
//! nothing is remote, and none of this applies. Cost: a pass over the few remote entries, and an
//! exchange of factors if there are any.

use std::borrow::Cow;
use std::sync::Arc;

use ziggurat_sparse::device::{Device, DeviceExt, Matrix, Remote};
use ziggurat_sparse::grid::{GridSystem, GridTransfer};
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel, with_storage};

use crate::SetupError;

/// Values that one task examines.
pub(super) const PIECE: usize = 16 * 1024;

/// Rows that one task examines.
const ROWS: usize = 2048;

/// A matrix as lowering reads it: all of it, or the part that a process holds.
///
/// ```
/// use ziggurat_amg::Part;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:4".parse::<Problem>()?.matrix()?.into();
/// let whole = Part::from(&a);
/// assert!(whole.remote.is_none() && whole.own.rows() == 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The rows that this process owns, with the columns that it owns.
    pub own: OwnMatrix<'a>,
    /// The columns that other processes own. Either every process has this, possibly without rows,
    /// or none has.
    pub remote: Option<&'a Remote<f64>>,
}

/// The matrix of own columns.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum OwnMatrix<'a> {
    /// Compressed rows. Lowering chooses the format; the matrix is shared if it is stored
    /// unchanged.
    Rows(&'a Arc<Csr<f64>>),
    /// The stencils of a structured grid, which are stored by diagonals.
    Grid(&'a GridSystem),
    /// A transfer between structured grids, whose format lowering keeps.
    Transfer(&'a Arc<GridTransfer<f64>>),
}

impl<'a> OwnMatrix<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            OwnMatrix::Rows(a) => a.rows(),
            OwnMatrix::Grid(a) => a.rows(),
            OwnMatrix::Transfer(a) => a.rows(),
        }
    }

    /// The matrix in compressed rows. From the stencils of a grid, every call makes them.
    pub fn csr(&self) -> Cow<'a, Arc<Csr<f64>>> {
        match self {
            OwnMatrix::Rows(a) => Cow::Borrowed(a),
            OwnMatrix::Grid(a) => Cow::Owned(Arc::new(a.to_dia::<f64>().to_csr())),
            OwnMatrix::Transfer(a) => Cow::Owned(Arc::new(a.to_csr())),
        }
    }

    /// The absolute value of every diagonal entry; zero where there is none.
    pub(crate) fn diagonal_sizes(&self) -> Vec<f64> {
        let mut diagonal = match self {
            OwnMatrix::Grid(a) => a.diagonal(),
            OwnMatrix::Rows(_) | OwnMatrix::Transfer(_) => {
                let a = self.csr();
                a.view().diagonal(a.all_rows())
            }
        };
        parallel::over_pieces(&mut diagonal, &|_, entries| {
            entries.iter_mut().for_each(|entry| *entry = entry.abs());
        });
        diagonal
    }
}

impl<'a> From<&'a Arc<Csr<f64>>> for Part<'a> {
    /// The whole matrix.
    fn from(own: &'a Arc<Csr<f64>>) -> Self {
        Part { own: OwnMatrix::Rows(own), remote: None }
    }
}

impl<'a> Part<'a> {
    /// A whole matrix.
    pub(crate) fn whole(own: OwnMatrix<'a>) -> Self {
        Part { own, remote: None }
    }

    /// Number of own rows.
    pub(crate) fn rows(&self) -> usize {
        self.own.rows()
    }

    /// Checks that the remote part fits this matrix.
    pub(crate) fn check(&self) -> Result<(), MatrixError> {
        self.remote.map_or(Ok(()), |remote| remote.check(self.own.rows()))
    }

    /// Moves a part to a device; `own` is its own matrix in the form to be stored. Also returns the
    /// bytes of the remote part. Columns belong to vectors of the device `columns`.
    pub(crate) fn upload(
        &self,
        device: &dyn Device,
        columns: &dyn Device,
        factors: ScaleFactors<'_>,
        own: Matrix,
    ) -> Result<(Matrix, usize), SetupError> {
        let Some(remote) = self.remote else { return Ok((device.take_matrix(own)?, 0)) };
        let factors = RemoteFactors::new(columns, remote, factors);
        with_storage!(own.kind(), |S| {
            let matrix = factors.view().apply::<S>(remote.matrix.view());
            let remote = Remote { rows: remote.rows.clone(), matrix, halo: remote.halo.clone() };
            let bytes = remote.bytes();
            Ok((device.upload_part::<S>(own.into_memory(), remote)?, bytes))
        })
    }

    /// The largest absolute entry, multiplied by its factors, over all processes that share a
    /// device.
    pub(crate) fn largest(
        &self,
        device: &dyn Device,
        columns: &dyn Device,
        factors: ScaleFactors<'_>,
    ) -> f64 {
        let own = match self.own {
            OwnMatrix::Rows(a) => largest(a.view(), factors),
            OwnMatrix::Grid(a) => a.largest(factors),
            OwnMatrix::Transfer(a) => largest(a.to_csr().view(), factors),
        };
        let remote = self.remote.map_or(0.0, |remote| {
            largest(remote.matrix.view(), RemoteFactors::new(columns, remote, factors).view())
        });
        device.largest_of_all(own.max(remote))
    }

    /// The largest absolute entry of a row, including remote ones.
    pub(crate) fn largest_in_row(&self, row: usize) -> f64 {
        let remote = self.remote.map_or(&[][..], |remote| remote.row(row).1);
        let own = match self.own {
            OwnMatrix::Grid(a) => a.largest_in_row(row),
            OwnMatrix::Rows(_) | OwnMatrix::Transfer(_) => largest_in(self.own.csr().row(row).1),
        };
        remote.iter().fold(own, |most, value| most.max(value.abs()))
    }
}

/// The largest absolute value.
pub(super) fn largest_of(values: &[f64]) -> f64 {
    let pieces = parallel::map_pieces(0..values.len(), PIECE, &|piece| largest_in(&values[piece]));
    pieces.into_iter().fold(0.0, f64::max)
}

/// The largest absolute value of a few.
fn largest_in(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

fn largest(a: CsrRef<'_, f64>, factors: ScaleFactors<'_>) -> f64 {
    let most = match (factors.left, factors.right) {
        (None, None) => largest_of(a.values()),
        (left, right) => {
            let size = |row: usize| {
                let (columns, values) = a.row(row);
                let most = match right {
                    None => largest_in(values),
                    Some(right) => (columns.iter().zip(values))
                        .fold(0.0, |most: f64, (&j, value)| most.max((value * right[j as usize]).abs())),
                };
                left.map_or(most, |left| most * left[row].abs())
            };
            let pieces = parallel::map_pieces(a.all_rows(), ROWS, &|rows| rows.map(size).fold(0.0, f64::max));
            pieces.into_iter().fold(0.0, f64::max)
        }
    };
    most * factors.factor.abs()
}

/// The factors that apply to the remote part of a matrix.
struct RemoteFactors {
    left: Option<Vec<f64>>,
    right: Option<Vec<f64>>,
    factor: f64,
}

impl RemoteFactors {
    /// Every process that shares the vectors of `columns` calls it.
    fn new(columns: &dyn Device, remote: &Remote<f64>, factors: ScaleFactors<'_>) -> Self {
        let of_rows = |left: &[f64]| remote.rows.iter().map(|&row| left[row as usize]).collect();
        RemoteFactors {
            left: factors.left.map(of_rows),
            right: factors.right.map(|right| columns.halo_values(&remote.halo, right)),
            factor: factors.factor,
        }
    }

    fn view(&self) -> ScaleFactors<'_> {
        ScaleFactors { left: self.left.as_deref(), right: self.right.as_deref(), factor: self.factor }
    }
}
