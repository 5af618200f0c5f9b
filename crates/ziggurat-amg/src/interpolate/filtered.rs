//! The filtered matrix: weak connections taken out, without changing what the matrix does to constants (Vaněk, Mandel &
//! Brezina, 1996).
//!
//! ```text
//! a^F_ij = a_ij  if j is strong in row i, else 0        a^F_ii = a_ii + Σ a_ij over the weak j
//! ```
//!
//! Smoothing interpolation with the filtered matrix keeps it from reaching across weak connections, where error is not
//! smooth, and keeps coarse rows short. Rows sum to what they did, so constants are annihilated where they were before.
//! With b unknowns per node, nodes are weak or strong, and an entry that goes is added to the entry of the same unknown
//! in the row's own node: then constants of every unknown count.
//!
//! The diagonal may become small, or negative, where weak connections were many; who divides by it has to look.
//!
//! Cost: one pass over the entries.

use std::ops::Range;

use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use crate::strength::StrongGraph;

/// The filtered matrix of the rows `rows` of `a`, with `block` unknowns per node. Row k of the graph, and of the result, is
/// node (row) k of `rows`.
///
/// The entries of a row's own node are there even where they are zero.
///
/// ```
/// use ziggurat_amg::{interpolate::filtered_matrix, strength::StrongGraph};
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 3, vec![0, 3, 5], vec![0, 1, 2, 0, 1], vec![5.0, -4.0, -1.0, -4.0, 4.0])?;
/// let strong = StrongGraph::try_new(3, vec![0, 1, 2], vec![1, 0])?;
/// let filtered = filtered_matrix(a.view(), 0..2, &strong, 1)?;
/// assert_eq!(filtered.row(0), (&[0, 1][..], &[4.0, -4.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If matrix, graph and block size do not fit together.
pub fn filtered_matrix(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    block: usize,
) -> Result<Csr<f64>, MatrixError> {
    check(a, &rows, strong, block)?;
    Csr::collect(
        a.row_ptr(),
        rows.clone(),
        a.cols(),
        || FilteredRow::new(block),
        |filtered: &mut FilteredRow, row, entries| {
            filtered.read(a, strong, rows.start, row, |column| column as usize / block);
            let first = row / block * block;
            let own = (first as u32..).zip(filtered.own.iter().copied());
            let (before, after) = filtered
                .strong
                .split_at(filtered.strong.partition_point(|&(column, _)| (column as usize) < first));
            for (column, value) in before.iter().copied().chain(own).chain(after.iter().copied()) {
                entries.push(column, value);
            }
        },
    )
}

/// Refuses what does not fit together.
pub(super) fn check(
    a: CsrRef<'_, f64>,
    rows: &Range<usize>,
    strong: &StrongGraph,
    block: usize,
) -> Result<(), MatrixError> {
    if rows.start > rows.end || rows.end > a.rows() || rows.end > a.cols() {
        let what = "rows of the matrix, for the range asked for";
        return Err(MatrixError::Mismatch { what, expected: rows.end, found: a.rows().min(a.cols()) });
    }
    if block == 0 || [rows.start, rows.end, a.cols()].iter().any(|extent| !extent.is_multiple_of(block)) {
        return Err(MatrixError::BlockSize { block, rows: rows.len(), columns: a.cols() });
    }
    for (what, expected, found) in [
        ("rows of the strong graph, against the nodes asked for", rows.len() / block, strong.rows()),
        ("columns of the strong graph, against the nodes of the matrix", a.cols() / block, strong.cols()),
    ] {
        if expected != found {
            return Err(MatrixError::Mismatch { what, expected, found });
        }
    }
    Ok(())
}

/// One row of the filtered matrix.
#[derive(Debug)]
pub(super) struct FilteredRow {
    /// The entries of the row's own node, what was weak added.
    pub(super) own: Vec<f64>,
    /// The other entries that are left.
    pub(super) strong: Vec<(u32, f64)>,
    /// The diagonal entry, as it was.
    pub(super) diagonal: f64,
}

impl FilteredRow {
    pub(super) fn new(block: usize) -> Self {
        FilteredRow { own: vec![0.0; block], strong: Vec::new(), diagonal: 0.0 }
    }

    /// Reads a row. `first` is the row of `a` that the graph begins with; `node_of` gives the node of a column.
    #[inline]
    pub(super) fn read(
        &mut self,
        a: CsrRef<'_, f64>,
        strong: &StrongGraph,
        first: usize,
        row: usize,
        node_of: impl Fn(u32) -> usize,
    ) {
        let block = self.own.len();
        let node = node_of(row as u32);
        let mut strong =
            strong.row(node - node_of(first as u32)).iter().map(|&node| node as usize).peekable();
        self.own.fill(0.0);
        self.strong.clear();
        self.diagonal = 0.0;
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            let other = node_of(column);
            while strong.next_if(|&node| node < other).is_some() {}
            if other != node && strong.peek() == Some(&other) {
                self.strong.push((column, value));
            } else {
                // The row's own node, or a weak one.
                if column as usize == row {
                    self.diagonal = value;
                }
                self.own[column as usize - other * block] += value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::node_matrix;
    use crate::halo::Whole;
    use crate::strength::{Filter, Strength, strong_connections};
    use crate::testing::{multiply, on_threads, problem, rigid_bodies, symmetric_graph};

    #[test]
    fn rows_sum_to_what_they_did() {
        let a = problem("jump3d:12");
        let graph = symmetric_graph(&a);
        let filtered = filtered_matrix(a.view(), a.all_rows(), &graph, 1).unwrap();
        assert_eq!(filtered.nnz(), graph.connections() + a.rows());
        assert!(filtered.nnz() < a.nnz());
        let ones = vec![1.0; a.rows()];
        for (row, (found, expected)) in multiply(&filtered, &ones).iter().zip(multiply(&a, &ones)).enumerate()
        {
            assert!((found - expected).abs() <= 1e-15 * a.get(row, row).unwrap());
        }
    }

    #[test]
    fn with_several_unknowns_constants_of_each_count() {
        let (a, kernel) = rigid_bodies(4);
        let nodes = node_matrix(a.view(), 3, 0..kernel.nodes()).unwrap();
        let strength = Strength { filter: Filter::Threshold(0.1), ..Strength::symmetric() };
        let halo = Whole::new(nodes.rows());
        let graph = strong_connections(nodes.view(), nodes.all_rows(), &strength, &[], &halo).unwrap();
        let filtered = filtered_matrix(a.view(), a.all_rows(), &graph, 3).unwrap();
        assert!(filtered.nnz() < a.nnz() && graph.connections() > 0);
        for translation in &kernel.vectors().columns().collect::<Vec<_>>()[..3] {
            for (found, expected) in multiply(&filtered, translation).iter().zip(multiply(&a, translation)) {
                assert!((found - expected).abs() <= 1e-14 * a.get(0, 0).unwrap());
            }
        }
    }

    #[test]
    fn without_weak_connections_it_is_the_matrix() {
        let a = problem("poisson3d:6");
        let graph = symmetric_graph(&a);
        assert_eq!(filtered_matrix(a.view(), a.all_rows(), &graph, 1).unwrap(), a);
        // A range of rows, whose graph begins with it.
        let strength = Strength { filter: Filter::Threshold(0.02), ..Strength::symmetric() };
        let part = strong_connections(a.view(), 50..80, &strength, &[], &Whole::new(a.rows())).unwrap();
        let filtered = filtered_matrix(a.view(), 50..80, &part, 1).unwrap();
        assert!((0..30).all(|row| filtered.row(row) == a.row(row + 50)));
        assert!(filtered_matrix(a.view(), 50..81, &part, 1).is_err());
        assert!(filtered_matrix(a.view(), 50..80, &part, 0).is_err());
        assert!(filtered_matrix(a.view(), 50..80, &part, 7).is_err());
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        let a = problem("jump3d:25");
        let graph = symmetric_graph(&a);
        let run = || filtered_matrix(a.view(), a.all_rows(), &graph, 1).unwrap();
        assert_eq!(on_threads(1, run), on_threads(2, run));
    }
}
