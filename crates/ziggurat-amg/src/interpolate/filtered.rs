//! The filtered matrix: weak connections are removed such that row sums do not change (Vaněk,
//! Mandel & Brezina, 1996).
//!
//! ```text
//! a^F_ij = a_ij  if |a_ij| ≥ θ max_{k≠i} |a_ik|, else 0        (j ≠ i)
//! a^F_ii = a_ii + Σ a_ij over the weak j
//! ```
//!
//! Smoothing interpolation with the filtered matrix prevents it from extending across weak
//! connections, where error is not smooth, and keeps coarse rows short. Row sums do not change, so
//! rows that annihilate constants still do. With b unknowns per node, nodes are weak or strong by
//! the norms of their blocks, and a removed entry is added to the entry of the same unknown in the
//! row's own node. This preserves the product with the constants of every unknown.
//!
//! **Each row has its own scale.** A row at the boundary of a stiff region depends on that region,
//! while the region hardly depends on the row: the symmetric measure used for aggregation
//! classifies the connection as weak. Coarse basis functions would then end at every such boundary,
//! and the number of iterations would grow with the number of boundaries.
//!
//! The diagonal may become small or negative in rows with many weak connections; check it before
//! dividing by it.
//!
//! Cost: one pass over the entries.

use std::ops::Range;

use ziggurat_sparse::{Csr, CsrRef, MatrixError};

/// Builds the filtered matrix of the rows `rows` of `a`, with `block` unknowns per node. Row k of
/// the result is row `rows.start + k` of `a`.
///
/// `nodes` holds one number for every pair of nodes, in the numbering of `a`: the norms of blocks
/// ([`node_matrix`](crate::coarsen::node_matrix)), or `a` itself if nodes have one unknown.
/// `threshold` is θ.
///
/// The entries of a row's own node are always stored, even if they are zero.
///
/// ```
/// use ziggurat_amg::interpolate::filtered_matrix;
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 3, vec![0, 3, 5], vec![0, 1, 2, 0, 1], vec![5.0, -4.0, -1.0, -4.0, 4.0])?;
/// let filtered = filtered_matrix(a.view(), 0..2, a.view(), 1, 0.5)?;
/// assert_eq!(filtered.row(0), (&[0, 1][..], &[4.0, -4.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// Returns an error if matrix, node matrix and block size do not match.
pub fn filtered_matrix(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    nodes: CsrRef<'_, f64>,
    block: usize,
    threshold: f64,
) -> Result<Csr<f64>, MatrixError> {
    check(a, &rows, nodes, block)?;
    Csr::collect(
        a.row_ptr(),
        rows,
        a.cols(),
        || FilteredRow::new(block),
        |filtered: &mut FilteredRow, row, entries| {
            filtered.read(a, nodes, threshold, row);
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

/// Checks that the arguments match.
pub(super) fn check(
    a: CsrRef<'_, f64>,
    rows: &Range<usize>,
    nodes: CsrRef<'_, f64>,
    block: usize,
) -> Result<(), MatrixError> {
    if rows.start > rows.end || rows.end > a.rows() || rows.end > a.cols() {
        let what = "matrix rows for the requested range";
        return Err(MatrixError::Mismatch { what, expected: rows.end, found: a.rows().min(a.cols()) });
    }
    if block == 0 || [rows.start, rows.end, a.cols()].iter().any(|extent| !extent.is_multiple_of(block)) {
        return Err(MatrixError::BlockSize { block, rows: rows.len(), columns: a.cols() });
    }
    if nodes.rows() < rows.end / block {
        let what = "rows of the node matrix for the requested range";
        return Err(MatrixError::Mismatch { what, expected: rows.end / block, found: nodes.rows() });
    }
    if nodes.cols() != a.cols() / block {
        let what = "columns of the node matrix (one per node)";
        return Err(MatrixError::Mismatch { what, expected: a.cols() / block, found: nodes.cols() });
    }
    Ok(())
}

/// One row of the filtered matrix.
#[derive(Debug)]
pub(super) struct FilteredRow {
    /// The entries of the row's own node, with the weak entries added.
    pub(super) own: Vec<f64>,
    /// The strong entries of other nodes.
    pub(super) strong: Vec<(u32, f64)>,
    /// The original diagonal entry.
    pub(super) diagonal: f64,
}

impl FilteredRow {
    pub(super) fn new(block: usize) -> Self {
        FilteredRow { own: vec![0.0; block], strong: Vec::new(), diagonal: 0.0 }
    }

    /// Reads a row.
    #[inline(always)]
    pub(super) fn read(&mut self, a: CsrRef<'_, f64>, nodes: CsrRef<'_, f64>, threshold: f64, row: usize) {
        let block = self.own.len() as u32;
        let node = row as u32 / block;
        let (neighbours, norms) = nodes.row(node as usize);
        let least = self.begin(neighbours, norms, node, threshold);
        let mut place = 0;
        // The first column of the current node, the column after its last, and whether it is
        // strong.
        let (mut first, mut end, mut strong) = (0, 0, false);
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            if column >= end {
                let other = column / block;
                (first, end) = (other * block, (other + 1) * block);
                // Both lists are sorted, and the nodes of the row are a subset of the neighbours of
                // its node.
                while neighbours.get(place).is_some_and(|&neighbour| neighbour < other) {
                    place += 1;
                }
                let norm = if neighbours.get(place) == Some(&other) { norms[place].abs() } else { 0.0 };
                strong = other != node && norm >= least && norm > 0.0;
            }
            if strong {
                self.strong.push((column, value));
            } else {
                // The row's own node, or a weak one.
                if column as usize == row {
                    self.diagonal = value;
                }
                self.own[(column - first) as usize] += value;
            }
        }
    }

    /// Same as [`read`](Self::read), for nodes with one unknown.
    #[inline(always)]
    pub(super) fn read_scalars(
        &mut self,
        a: CsrRef<'_, f64>,
        nodes: CsrRef<'_, f64>,
        threshold: f64,
        row: usize,
    ) {
        let (columns, values) = a.row(row);
        let (neighbours, norms) = nodes.row(row);
        if neighbours != columns {
            return self.read(a, nodes, threshold, row);
        }
        let least = self.begin(neighbours, norms, row as u32, threshold);
        for ((&column, &value), norm) in columns.iter().zip(values).zip(norms) {
            let norm = norm.abs();
            if column as usize == row {
                self.diagonal = value;
                self.own[0] += value;
            } else if norm >= least && norm > 0.0 {
                self.strong.push((column, value));
            } else {
                self.own[0] += value;
            }
        }
    }

    /// Starts a row; returns the smallest norm of a strong neighbour.
    #[inline(always)]
    fn begin(&mut self, neighbours: &[u32], norms: &[f64], node: u32, threshold: f64) -> f64 {
        let mut largest = 0.0;
        for (&other, norm) in neighbours.iter().zip(norms) {
            let norm = if other == node { 0.0 } else { norm.abs() };
            largest = if norm > largest { norm } else { largest };
        }
        self.own.fill(0.0);
        self.strong.clear();
        self.diagonal = 0.0;
        threshold * largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::node_matrix;
    use crate::testing::{multiply, on_threads, problem, rigid_bodies};

    #[test]
    fn rows_sum_to_what_they_did() {
        let a = problem("jump3d:12");
        let filtered = filtered_matrix(a.view(), a.all_rows(), a.view(), 1, 0.1).unwrap();
        assert!(filtered.nnz() < a.nnz());
        let ones = vec![1.0; a.rows()];
        for (row, (found, expected)) in multiply(&filtered, &ones).iter().zip(multiply(&a, &ones)).enumerate()
        {
            assert!((found - expected).abs() <= 1e-15 * a.get(row, row).unwrap());
        }
    }

    #[test]
    fn a_row_hangs_on_a_stiff_neighbour_and_not_the_other_way() {
        // Rows 0 and 1 are stiff, row 2 is soft.
        let a = vec![100.0, -98.0, -98.0, 100.0, -2.0, -2.0, 3.0];
        let a = Csr::try_new(3, 3, vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], a).unwrap();
        let filtered = filtered_matrix(a.view(), 0..3, a.view(), 1, 0.1).unwrap();
        assert_eq!(filtered.row(1), (&[0, 1][..], &[-98.0, 98.0][..]));
        assert_eq!(filtered.row(2), a.row(2));
    }

    #[test]
    fn with_several_unknowns_constants_of_each_count() {
        let (a, kernel) = rigid_bodies(4);
        let nodes = node_matrix(a.view(), 3, 0..kernel.nodes()).unwrap();
        let filtered = filtered_matrix(a.view(), a.all_rows(), nodes.view(), 3, 0.5).unwrap();
        assert!(filtered.nnz() < a.nnz() && filtered.nnz() > 3 * a.rows());
        for translation in &kernel.vectors().columns().collect::<Vec<_>>()[..3] {
            for (found, expected) in multiply(&filtered, translation).iter().zip(multiply(&a, translation)) {
                assert!((found - expected).abs() <= 1e-14 * a.get(0, 0).unwrap());
            }
        }
    }

    #[test]
    fn without_weak_connections_it_is_the_matrix() {
        let a = problem("poisson3d:6");
        let of = |rows, block| filtered_matrix(a.view(), rows, a.view(), block, 0.1);
        assert_eq!(of(a.all_rows(), 1).unwrap(), a);
        let part = of(50..80, 1).unwrap();
        assert!((0..30).all(|row| part.row(row) == a.row(row + 50)));
        assert!(of(50..217, 1).is_err());
        assert!(of(50..80, 0).is_err());
        assert!(of(50..80, 7).is_err());
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        let a = problem("jump3d:25");
        let run = || filtered_matrix(a.view(), a.all_rows(), a.view(), 1, 0.1).unwrap();
        assert_eq!(on_threads(1, run), on_threads(2, run));
    }
}
