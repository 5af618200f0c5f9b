//! A matrix of the hierarchy: in compressed rows, or that of a structured grid.
//!
//! Setup on a grid never forms compressed rows, and neither does lowering. Where something else
//! asks for them (a saved hierarchy, a transposed solve, a user who looks at a level), they are
//! made once and kept.

use std::sync::{Arc, OnceLock};

use ziggurat_sparse::Csr;
use ziggurat_sparse::grid::{GridMatrix, GridTransfer};

/// A matrix in double precision, with compressed rows on demand.
#[derive(Clone, Debug)]
pub(crate) enum SetupMatrix {
    /// Compressed rows.
    Rows(Arc<Csr<f64>>),
    /// The stencils of a structured grid, and compressed rows once they were asked for.
    Grid(Arc<GridMatrix>, OnceLock<Arc<Csr<f64>>>),
    /// A transfer between grids, and compressed rows once they were asked for.
    Transfer(Arc<GridTransfer<f64>>, OnceLock<Arc<Csr<f64>>>),
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
    pub(crate) fn of_grid(a: Arc<GridMatrix>) -> Self {
        SetupMatrix::Grid(a, OnceLock::new())
    }

    /// The matrix of a structured grid that is also given in compressed rows.
    pub(crate) fn of_both(rows: Arc<Csr<f64>>, grid: Arc<GridMatrix>) -> Self {
        SetupMatrix::Grid(grid, OnceLock::from(rows))
    }

    /// A transfer between grids.
    pub(crate) fn of_transfer(transfer: GridTransfer<f64>) -> Self {
        SetupMatrix::Transfer(Arc::new(transfer), OnceLock::new())
    }

    /// Frees the stencils where compressed rows exist, too.
    pub(crate) fn release(&mut self) {
        if let SetupMatrix::Grid(_, rows) = self
            && let Some(rows) = rows.take()
        {
            *self = SetupMatrix::Rows(rows);
        }
    }

    /// The stencils; `None` if the matrix is not stored as that of a grid.
    pub(crate) fn grid(&self) -> Option<&Arc<GridMatrix>> {
        match self {
            SetupMatrix::Grid(a, _) => Some(a),
            SetupMatrix::Rows(_) | SetupMatrix::Transfer(..) => None,
        }
    }

    /// The matrix in compressed rows, made now if there are none.
    pub(crate) fn csr(&self) -> &Arc<Csr<f64>> {
        match self {
            SetupMatrix::Rows(a) => a,
            SetupMatrix::Grid(a, rows) => rows.get_or_init(|| Arc::new(a.to_dia::<f64>().to_csr())),
            SetupMatrix::Transfer(a, rows) => rows.get_or_init(|| Arc::new(a.to_csr())),
        }
    }

    /// The shared compressed rows, to be changed; `None` if the matrix is that of a grid.
    pub(crate) fn csr_mut(&mut self) -> Option<&mut Csr<f64>> {
        match self {
            SetupMatrix::Rows(a) => Some(Arc::make_mut(a)),
            SetupMatrix::Grid(..) | SetupMatrix::Transfer(..) => None,
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
            SetupMatrix::Rows(a) => a.rows(),
            SetupMatrix::Grid(a, _) => a.grid().len(),
            SetupMatrix::Transfer(a, _) => a.rows(),
        }
    }

    /// Number of entries; of a transfer between grids, its weights.
    pub(crate) fn nnz(&self) -> usize {
        match self {
            SetupMatrix::Rows(a) => a.nnz(),
            SetupMatrix::Grid(a, _) => a.nnz(),
            SetupMatrix::Transfer(a, _) => a.nnz(),
        }
    }
}
