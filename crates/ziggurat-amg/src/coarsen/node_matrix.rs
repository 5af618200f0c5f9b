//! The node matrix: one number per pair of nodes, from which strength of connection and aggregation
//! are determined in a system with several unknowns per node.
//!
//! ```text
//! n_IJ = ‖A_IJ‖_F        A_IJ: the b × b block that couples node J into node I
//! ```
//!
//! The Frobenius norm is invariant under rotation of the unknowns of the nodes. The matrix of norms
//! is symmetric if the blocks are transposes of each other. It has no signs, so it is suitable for
//! the symmetric measure but not for the classical one.
//!
//! Cost: one pass over the entries.

use std::ops::Range;

use ziggurat_sparse::matrix::in_full_blocks;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::{Aggregates, sum_by_aggregate};

/// Computes the norms of the blocks of a matrix whose unknowns are numbered node by node, `block`
/// per node. `nodes` is the requested range of nodes: node `nodes.start + k` becomes row `k`.
///
/// ```
/// use ziggurat_amg::coarsen::node_matrix;
/// use ziggurat_sparse::Csr;
/// // Two nodes with two unknowns each; the second does not depend on the first.
/// let a = Csr::try_new(4, 4, vec![0, 2, 3, 4, 5], vec![0, 3, 1, 2, 3], vec![3.0, -2.0, 4.0, 1.0, 1.0])?;
/// let nodes = node_matrix(a.view(), 2, 0..2)?;
/// assert_eq!(nodes.row(0), (&[0, 1][..], &[5.0, 2.0][..]));
/// assert_eq!(nodes.row(1).0, [1]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// Returns an error if the block size does not divide the dimensions of the matrix, or if the
/// matrix does not have the requested nodes.
pub fn node_matrix(a: CsrRef<'_, f64>, block: usize, nodes: Range<usize>) -> Result<Csr<f64>, MatrixError> {
    if block == 0 || !a.rows().is_multiple_of(block) || !a.cols().is_multiple_of(block) {
        return Err(MatrixError::BlockSize { block, rows: a.rows(), columns: a.cols() });
    }
    if nodes.end > a.rows() / block {
        let what = "matrix nodes for the requested range";
        return Err(MatrixError::Mismatch { what, expected: nodes.end, found: a.rows() / block });
    }
    let starts: Vec<usize> = a.row_ptr().iter().copied().step_by(block).collect();
    Csr::collect(
        &starts,
        nodes,
        a.cols() / block,
        || vec![0; block],
        |next: &mut Vec<usize>, node, entries| {
            let row = |unknown: usize| a.row(node * block + unknown);
            let columns = row(0).0;
            if (1..block).all(|unknown| row(unknown).0 == columns) && in_full_blocks(columns, block) {
                for (number, columns) in columns.chunks_exact(block).enumerate() {
                    let values = |unknown: usize| &row(unknown).1[number * block..][..block];
                    let squares = (0..block).flat_map(values).map(|value| value * value);
                    entries.push(columns[0] / block as u32, squares.fold(0.0, |sum, x| sum + x).sqrt());
                }
                return;
            }
            next.fill(0);
            let column =
                |unknown: usize, at: usize| row(unknown).0.get(at).map(|&column| column as usize / block);
            // The rows of the node are sorted, so their blocks are visited in order.
            while let Some(first) = (0..block).filter_map(|unknown| column(unknown, next[unknown])).min() {
                let mut sum = 0.0;
                for (unknown, next) in next.iter_mut().enumerate() {
                    while column(unknown, *next) == Some(first) {
                        let value = row(unknown).1[*next];
                        sum += value * value;
                        *next += 1;
                    }
                }
                entries.push(first as u32, sum.sqrt());
            }
        },
    )
}

/// Same as [`node_matrix`], for nodes with different numbers of unknowns: `nodes` has the node of
/// every row.
///
/// ```
/// use ziggurat_amg::coarsen::{Aggregates, node_matrix_of};
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(3, 3, vec![0, 2, 3, 4], vec![0, 1, 1, 2], vec![3.0, -4.0, 12.0, 1.0])?;
/// let nodes = node_matrix_of(a.view(), &Aggregates::try_new(2, vec![0, 0, 1])?)?;
/// assert_eq!((nodes.row(0).1, nodes.row(1).1), (&[13.0][..], &[1.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if `nodes` does not have one row for each row of the matrix.
pub fn node_matrix_of(a: CsrRef<'_, f64>, nodes: &Aggregates) -> Result<Csr<f64>, MatrixError> {
    if nodes.rows() != a.rows() {
        let what = "rows of the nodes (one per matrix row)";
        return Err(MatrixError::Mismatch { what, expected: a.rows(), found: nodes.rows() });
    }
    let (row_ptr, columns) = (a.row_ptr().to_vec(), a.columns().to_vec());
    let squares = a.values().iter().map(|value| value * value).collect();
    let squares = Csr::try_new(a.rows(), a.cols(), row_ptr, columns, squares)?;
    let mut norms = sum_by_aggregate(squares.view(), nodes)?;
    norms.values_mut().iter_mut().for_each(|sum| *sum = sum.sqrt());
    Ok(norms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_threads, problem};

    #[test]
    fn equal_nodes_are_the_special_case_of_different_ones() {
        let a = problem("elasticity3d:3");
        let count = a.rows() / 3;
        let of = (0..a.rows() as u32).map(|row| row / 3).collect();
        let found = node_matrix_of(a.view(), &Aggregates::try_new(count, of).unwrap()).unwrap();
        let expected = node_matrix(a.view(), 3, 0..count).unwrap();
        assert_eq!((found.row_ptr(), found.columns()), (expected.row_ptr(), expected.columns()));
        for (found, expected) in found.values().iter().zip(expected.values()) {
            assert!((found - expected).abs() <= 1e-14 * expected);
        }
    }

    #[test]
    fn the_norm_of_each_block() {
        let a = problem("elasticity3d:3");
        let nodes = node_matrix(a.view(), 3, 0..a.rows() / 3).unwrap();
        let blocks = a.view().to_bsr(3).unwrap();
        assert_eq!((nodes.rows(), nodes.nnz()), (a.rows() / 3, blocks.nnz() / 9));
        for row in 0..nodes.rows() {
            let (columns, values) = nodes.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let entry = |k: usize| a.get(3 * row + k / 3, 3 * column as usize + k % 3).unwrap_or(0.0);
                let expected = (0..9).map(|k| entry(k).powi(2)).sum::<f64>().sqrt();
                assert!((value - expected).abs() <= 1e-15 * expected, "{row} {column}");
            }
        }
    }

    #[test]
    fn one_unknown_per_node_gives_sizes_of_entries() {
        let a = problem("convection3d:4");
        let nodes = node_matrix(a.view(), 1, 10..20).unwrap();
        for row in 0..10 {
            let sizes: Vec<f64> = a.row(row + 10).1.iter().map(|value| value.abs()).collect();
            assert_eq!(nodes.row(row), (a.row(row + 10).0, &sizes[..]));
        }
    }

    #[test]
    fn edges_and_threads() {
        let a = problem("elasticity3d:8");
        assert!(matches!(node_matrix(a.view(), 5, 0..1), Err(MatrixError::BlockSize { .. })));
        assert!(matches!(node_matrix(a.view(), 0, 0..1), Err(MatrixError::BlockSize { .. })));
        assert!(matches!(node_matrix(a.view(), 3, 0..a.rows()), Err(MatrixError::Mismatch { .. })));
        let run = || node_matrix(a.view(), 3, 0..a.rows() / 3).unwrap();
        assert_eq!(on_threads(1, run), on_threads(2, run));
        let empty = Csr::<f64>::identity(0).unwrap();
        assert_eq!(node_matrix(empty.view(), 3, 0..0).unwrap().rows(), 0);
    }
}
