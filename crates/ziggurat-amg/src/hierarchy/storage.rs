//! A matrix of the hierarchy: in compressed rows, as stencils of a structured grid, or on a device.
//!
//! Setup on a grid never forms compressed rows, and setup on a device never downloads them; neither
//! does lowering. Where something else asks for them (a saved hierarchy, a transposed solve, a user
//! who looks at a level), they are made once and kept.

use std::sync::{Arc, OnceLock};

use ziggurat_sparse::Csr;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::graph::{Permutation, permute_symmetric};
use ziggurat_sparse::grid::{GridSystem, GridTransfer};

use super::device_matrix::DeviceMatrix;

/// A matrix in double precision, with compressed rows on demand.
#[derive(Clone, Debug)]
pub(crate) enum SetupMatrix {
    /// Compressed rows.
    Rows(Arc<Csr<f64>>),
    /// A matrix in another order than its level, and its compressed rows in the level's order
    /// once they were asked for.
    Unordered(Unordered, OnceLock<Arc<Csr<f64>>>),
    /// The stencils of a structured grid, the matrix that they come from if it is in another order,
    /// and compressed rows once they were asked for.
    Grid(Arc<GridSystem>, Option<Unordered>, OnceLock<Arc<Csr<f64>>>),
    /// A transfer between grids, and compressed rows once they were asked for.
    Transfer(Arc<GridTransfer<f64>>, OnceLock<Arc<Csr<f64>>>),
    /// A matrix on the device that made it, and its copy on the host if there is one.
    OnDevice(Arc<DeviceMatrix>, OnceLock<Arc<Csr<f64>>>),
}

/// A matrix of a structured grid in which the unknowns of a point follow one another.
#[derive(Clone, Debug)]
pub(crate) struct Unordered {
    pub(crate) a: Arc<Csr<f64>>,
    /// The permutation that groups unknowns by field.
    pub(crate) order: Arc<Permutation>,
}

impl Unordered {
    /// The matrix in its order, which has as many rows, so that permuting it does not fail.
    fn ordered(&self) -> Arc<Csr<f64>> {
        permute_symmetric(self.a.view(), &self.order).map_or_else(|_| self.a.clone(), Arc::new)
    }
}

impl From<Arc<Csr<f64>>> for SetupMatrix {
    fn from(a: Arc<Csr<f64>>) -> Self {
        SetupMatrix::Rows(a)
    }
}

impl From<Csr<f64>> for SetupMatrix {
    fn from(a: Csr<f64>) -> Self {
        SetupMatrix::Rows(Arc::new(a))
    }
}

impl SetupMatrix {
    /// The matrix of a structured grid.
    pub(crate) fn of_grid(a: Arc<GridSystem>) -> Self {
        SetupMatrix::Grid(a, None, OnceLock::new())
    }

    /// The same matrix, stored as stencils of a structured grid. The given matrix is kept.
    pub(crate) fn with_grid(self, grid: Arc<GridSystem>) -> Self {
        match self {
            SetupMatrix::Unordered(unordered, rows) => SetupMatrix::Grid(grid, Some(unordered), rows),
            SetupMatrix::Rows(rows) => SetupMatrix::Grid(grid, None, OnceLock::from(rows)),
            SetupMatrix::Grid(_, unordered, rows) => SetupMatrix::Grid(grid, unordered, rows),
            SetupMatrix::Transfer(..) | SetupMatrix::OnDevice(..) => self,
        }
    }

    /// A matrix in another order than its level.
    pub(crate) fn unordered(a: Arc<Csr<f64>>, order: Arc<Permutation>) -> Self {
        SetupMatrix::Unordered(Unordered { a, order }, OnceLock::new())
    }

    /// The matrix in its other order.
    pub(crate) fn in_other_order(&self) -> Option<&Arc<Csr<f64>>> {
        match self {
            SetupMatrix::Unordered(unordered, _) | SetupMatrix::Grid(_, Some(unordered), _) => {
                Some(&unordered.a)
            }
            _ => None,
        }
    }

    /// A transfer between grids.
    pub(crate) fn of_transfer(transfer: GridTransfer<f64>) -> Self {
        SetupMatrix::Transfer(Arc::new(transfer), OnceLock::new())
    }

    /// A matrix on a device, with its copy on the host if there is one.
    pub(crate) fn on_device(a: Arc<DeviceMatrix>, host: Option<Arc<Csr<f64>>>) -> Self {
        SetupMatrix::OnDevice(a, host.map_or_else(OnceLock::new, OnceLock::from))
    }

    /// The matrix as a device holds it; `None` if none does.
    pub(crate) fn held_by_device(&self) -> Option<&DeviceMatrix> {
        match self {
            SetupMatrix::OnDevice(a, _) => Some(a),
            _ => None,
        }
    }

    /// Copies a matrix that only a device holds to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn fetch(&self) -> Result<(), DeviceError> {
        if let SetupMatrix::OnDevice(a, rows) = self
            && rows.get().is_none()
        {
            let copy = Arc::new(a.download()?);
            // Another thread may have been faster.
            rows.get_or_init(|| copy);
        }
        Ok(())
    }

    /// Frees the stencils where the matrix exists in another form, too.
    pub(crate) fn release(&mut self) {
        if let SetupMatrix::Grid(_, unordered, rows) = self {
            match (unordered.take(), rows.take()) {
                (Some(unordered), rows) => {
                    *self =
                        SetupMatrix::Unordered(unordered, rows.map_or_else(OnceLock::new, OnceLock::from));
                }
                (None, Some(rows)) => *self = SetupMatrix::Rows(rows),
                (None, None) => {}
            }
        }
    }

    /// The stencils; `None` if the matrix is not stored as stencils.
    pub(crate) fn grid(&self) -> Option<&Arc<GridSystem>> {
        match self {
            SetupMatrix::Grid(a, ..) => Some(a),
            _ => None,
        }
    }

    /// The matrix in compressed rows, made now if there are none.
    ///
    /// # Panics
    /// If they have to be [fetched](Self::fetch) from a device, and it fails.
    pub(crate) fn csr(&self) -> &Arc<Csr<f64>> {
        match self {
            SetupMatrix::Rows(a) => a,
            SetupMatrix::Unordered(a, rows) | SetupMatrix::Grid(_, Some(a), rows) => {
                rows.get_or_init(|| a.ordered())
            }
            SetupMatrix::Grid(a, None, rows) => rows.get_or_init(|| Arc::new(a.to_dia::<f64>().to_csr())),
            SetupMatrix::Transfer(a, rows) => rows.get_or_init(|| Arc::new(a.to_csr())),
            SetupMatrix::OnDevice(a, rows) => rows.get_or_init(|| {
                #[expect(clippy::expect_used, reason = "callers that can return an error fetch first")]
                Arc::new(a.download().expect("a matrix from the device that made it"))
            }),
        }
    }

    /// The shared compressed rows, to be changed; `None` if the matrix is stored as stencils, or
    /// only on a device. A device does not keep a matrix that was changed on the host.
    pub(crate) fn csr_mut(&mut self) -> Option<&mut Csr<f64>> {
        if let SetupMatrix::OnDevice(_, rows) = self
            && let Some(rows) = rows.take()
        {
            *self = SetupMatrix::Rows(rows);
        }
        match self {
            SetupMatrix::Rows(a) => Some(Arc::make_mut(a)),
            _ => None,
        }
    }

    /// The axes of a transfer between grids; `None` for any other matrix.
    pub(crate) fn axes(&self) -> Option<Vec<usize>> {
        match self {
            SetupMatrix::Transfer(transfer, _) => Some(transfer.axes()),
            _ => None,
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            SetupMatrix::Rows(a) | SetupMatrix::Unordered(Unordered { a, .. }, _) => a.rows(),
            SetupMatrix::Grid(a, ..) => a.rows(),
            SetupMatrix::Transfer(a, _) => a.rows(),
            SetupMatrix::OnDevice(a, _) => a.a.rows(),
        }
    }

    /// Number of entries; of a transfer between grids, its weights.
    pub(crate) fn nnz(&self) -> usize {
        match self {
            SetupMatrix::Rows(a) | SetupMatrix::Unordered(Unordered { a, .. }, _) => a.nnz(),
            SetupMatrix::Grid(a, ..) => a.nnz(),
            SetupMatrix::Transfer(a, _) => a.nnz(),
            SetupMatrix::OnDevice(a, _) => a.a.size().entries,
        }
    }
}
