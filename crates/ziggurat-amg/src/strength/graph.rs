//! The strong connections of a matrix: a pattern without values and without the diagonal.

use ziggurat_sparse::MatrixError;

/// For each row, the columns it depends on strongly; increasing, the row itself left out.
///
/// ```
/// use ziggurat_amg::strength::StrongGraph;
/// let graph = StrongGraph::try_new(2, vec![0, 1, 2], vec![1, 0])?;
/// assert_eq!(graph.row(0), [1]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrongGraph {
    cols: usize,
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
}

impl StrongGraph {
    /// Takes a pattern over, after checking it.
    pub fn try_new(cols: usize, row_ptr: Vec<usize>, columns: Vec<u32>) -> Result<Self, MatrixError> {
        let rows = row_ptr.len().checked_sub(1).ok_or(MatrixError::RowPointerCount { rows: 0, found: 0 })?;
        // A matrix with values that take no room has the checks already.
        let values = vec![0.0_f32; columns.len()];
        ziggurat_sparse::CsrRef::try_new(rows, cols, &row_ptr, &columns, &values)?;
        Ok(StrongGraph { cols, row_ptr, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Number of columns: rows and halo.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of strong connections.
    pub fn connections(&self) -> usize {
        self.columns.len()
    }

    /// Where each row begins, and where the last one ends.
    pub fn row_ptr(&self) -> &[usize] {
        &self.row_ptr
    }

    /// The columns that `row` depends on strongly.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.row_ptr[row]..self.row_ptr[row + 1]]
    }
}
