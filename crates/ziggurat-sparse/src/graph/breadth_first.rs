//! An ordering that brings neighbours near each other, in one pass over the graph.
//!
//! ```text
//! order = breadth-first from node 0, and again from the first node that was not reached
//! ```
//!
//! Neighbours of a node follow each other, and nodes at the same distance from the start are
//! numbered together, so that a product reads parts of the vector that are in a cache. It is
//! [`reverse_cuthill_mckee`](super::reverse_cuthill_mckee) without the search for a start, the
//! sorting and the reversal: the bandwidth may be larger, but only the passes that follow have to
//! pay for the ordering. Cost: one pass over the pattern on one thread, in random order.

use super::{Permutation, check_square};
use crate::{CsrRef, MatrixError};

/// Orders the unknowns of a square local matrix, whose nodes have `block` interleaved unknowns
/// each. The unknowns of a node stay together.
///
/// The first row of a node determines its neighbours. All stored entries count, including explicit
/// zeros. Where the pattern is not symmetric, the search follows the entries of rows only.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::breadth_first};
/// // A path 0 - 3 - 1 - 2.
/// let (row_ptr, columns) = (vec![0, 1, 3, 4, 6], vec![3, 2, 3, 1, 0, 1]);
/// let a = Csr::try_new(4, 4, row_ptr, columns, vec![-1.0; 6])?;
/// assert_eq!(breadth_first(a.view(), 1)?.new_to_old(), [0, 3, 1, 2]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the matrix is not square, or its number of rows is not a multiple of `block`.
pub fn breadth_first<T>(a: CsrRef<'_, T>, block: usize) -> Result<Permutation, MatrixError> {
    check_square(a)?;
    if block == 0 || !a.rows().is_multiple_of(block) {
        return Err(MatrixError::BlockSize { block, rows: a.rows(), columns: a.cols() });
    }
    let nodes = a.rows() / block;
    let mut seen = vec![false; nodes];
    let mut order: Vec<u32> = Vec::with_capacity(nodes);
    let mut next = 0;
    for start in 0..nodes {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        order.push(start as u32);
        // The nodes in `order` from `next` on are those whose neighbours were not visited yet.
        while let Some(&node) = order.get(next) {
            next += 1;
            for &column in a.row(node as usize * block).0 {
                let neighbour = column as usize / block;
                if !std::mem::replace(&mut seen[neighbour], true) {
                    order.push(neighbour as u32);
                }
            }
        }
    }
    if block > 1 {
        let unknowns = |&node: &u32| (0..block as u32).map(move |unknown| node * block as u32 + unknown);
        order = order.iter().flat_map(unknowns).collect();
    }
    Ok(Permutation::from_valid_order(order))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{grid, scattered, shuffle};
    use super::super::{bandwidth, permute_symmetric};
    use super::*;
    use crate::Csr;
    use proptest::prelude::*;

    #[test]
    fn a_shuffled_grid_becomes_narrow_again() {
        for (nx, ny) in [(50, 50), (20, 100), (1, 300)] {
            let shuffled = permute_symmetric(grid(nx, ny).view(), &shuffle(nx * ny, 1)).unwrap();
            let order = breadth_first(shuffled.view(), 1).unwrap();
            let narrow = bandwidth(permute_symmetric(shuffled.view(), &order).unwrap().view());
            assert!(narrow <= 3 * nx.min(ny), "{nx} x {ny}: {narrow}");
            assert!(bandwidth(shuffled.view()) > 5 * nx.min(ny));
        }
    }

    #[test]
    fn unknowns_of_a_node_stay_together() {
        // Two nodes of two unknowns, and two more that are joined to them in the first rows only.
        let columns = vec![0, 1, 6, 0, 1, 2, 4, 2, 4, 5, 4, 5, 0, 6, 6, 7];
        let a = Csr::try_new(8, 8, vec![0, 3, 5, 7, 8, 10, 12, 14, 16], columns, vec![1.0; 16]).unwrap();
        assert_eq!(breadth_first(a.view(), 2).unwrap().new_to_old(), [0, 1, 6, 7, 2, 3, 4, 5]);
        assert!(breadth_first(a.view(), 3).is_err() && breadth_first(a.view(), 0).is_err());
        let wide = Csr::<f64>::try_new(1, 2, vec![0, 0], vec![], vec![]).unwrap();
        assert!(breadth_first(wide.view(), 1).is_err());
        assert!(breadth_first(Csr::<f64>::identity(0).unwrap().view(), 3).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn every_node_has_one_place(n in 0usize..200, degree in 0usize..4, seed in any::<u64>()) {
            let order = breadth_first(scattered(n, degree, seed).view(), 1).unwrap();
            prop_assert_eq!(&order, &Permutation::from_new_to_old(order.new_to_old().to_vec()).unwrap());
        }
    }
}
