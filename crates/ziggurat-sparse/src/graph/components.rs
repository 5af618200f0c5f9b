//! Connected components of a matrix: sets of rows coupled, directly or indirectly, by nonzero
//! entries.
//!
//! Each component is an independent linear system. A component without a Dirichlet row is singular,
//! so this distinguishes a singular system from an ill-conditioned one.
//!
//! Union-find with parallel hooking: every entry (i, j) hooks the roots of the trees of i and j,
//! the larger index under the smaller, by compare-and-swap; paths are halved on the way (R.
//! Anderson & H. Woll, *Wait-free parallel algorithms for the union-find problem*, 1991; J.
//! Jaiganesh & M. Burtscher, *ECL-CC*, 2018). Parents never exceed their children, in whichever
//! order threads run, so the root of a finished tree is the smallest row of its component, and the
//! result is deterministic. Both triangles are used, so no transpose is needed. The cost is one
//! pass over the matrix, nearly linear in its entries, and four bytes per row.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::check_square;
use crate::number::Store;
use crate::parallel::over_range;
use crate::{CsrRef, MatrixError};

/// Rows per task.
const GRAIN: usize = 1024;

/// The connected components of a matrix, numbered in the order of their first rows.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::connected_components};
/// // Rows 0 and 2 are connected, row 1 is isolated.
/// let a = Csr::try_new(3, 3, vec![0, 2, 3, 4], vec![0, 2, 1, 2], vec![2.0, -1.0, 1.0, 2.0])?;
/// let components = connected_components(a.view())?;
/// assert_eq!(components.count, 2);
/// assert_eq!(components.label, [0, 1, 0]);
/// assert_eq!(components.sizes(), [2, 1]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// The number of components.
    pub count: usize,
    /// The component of every row, from 0 to `count - 1`.
    pub label: Vec<u32>,
}

impl Components {
    /// The number of rows of every component.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.count];
        for &label in &self.label {
            sizes[label as usize] += 1;
        }
        sizes
    }
}

/// Finds the connected components of a square local matrix. Under MPI, these are the components of
/// the rows of one process.
///
/// An entry connects its row and its column, whichever triangle it is in. An explicit zero does not
/// couple unknowns and connects nothing.
///
/// ```
/// use ziggurat_sparse::{Csr, graph::connected_components};
/// let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 0.0, 1.0])?; // a stored zero at (0, 1)
/// assert_eq!(connected_components(a.view())?.count, 2);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn connected_components<T: Store>(a: CsrRef<'_, T>) -> Result<Components, MatrixError> {
    check_square(a)?;
    let parent: Vec<AtomicU32> = (0..a.rows() as u32).map(AtomicU32::new).collect();
    over_range(a.all_rows(), GRAIN, &|rows| {
        for row in rows {
            let (columns, values) = a.row(row);
            for (&column, value) in columns.iter().zip(values) {
                if value.wide() != 0.0 {
                    join(&parent, row as u32, column);
                }
            }
        }
    });
    // A parent precedes its children, so its label is already known.
    let (mut label, mut count) = (Vec::with_capacity(a.rows()), 0);
    for (row, parent) in parent.iter().enumerate() {
        let parent = parent.load(Relaxed) as usize;
        if parent == row {
            label.push(count);
            count += 1;
        } else {
            label.push(label[parent]);
        }
    }
    Ok(Components { count: count as usize, label })
}

/// The current root of `vertex`'s tree. Every vertex on the path is moved up to its grandparent.
fn root(parent: &[AtomicU32], mut vertex: u32) -> u32 {
    loop {
        let above = parent[vertex as usize].load(Relaxed);
        if above == vertex {
            return vertex;
        }
        let grandparent = parent[above as usize].load(Relaxed);
        // Another thread may have moved it further up meanwhile; a lower ancestor is still valid.
        parent[vertex as usize].store(grandparent, Relaxed);
        vertex = grandparent;
    }
}

/// Merges two trees. Only a root is ever hooked, and only while it is still a root; otherwise the
/// operation is retried.
fn join(parent: &[AtomicU32], one: u32, other: u32) {
    let (mut one, mut other) = (one, other);
    loop {
        (one, other) = (root(parent, one), root(parent, other));
        if one == other {
            return;
        }
        let (low, high) = (one.min(other), one.max(other));
        if parent[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::permute_symmetric;
    use super::super::sample::{grid, on_threads, scattered, shuffle};
    use super::*;
    use crate::Csr;
    use proptest::prelude::*;

    /// By breadth-first search on adjacency lists.
    fn naive(a: &Csr<f64>) -> Components {
        let n = a.rows();
        let mut neighbours = vec![Vec::new(); n];
        for row in 0..n {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                if value != 0.0 {
                    neighbours[row].push(column as usize);
                    neighbours[column as usize].push(row);
                }
            }
        }
        let (mut label, mut count) = (vec![u32::MAX; n], 0);
        for start in 0..n {
            if label[start] != u32::MAX {
                continue;
            }
            let mut queue = vec![start];
            label[start] = count;
            while let Some(vertex) = queue.pop() {
                for &next in &neighbours[vertex] {
                    if label[next] == u32::MAX {
                        label[next] = count;
                        queue.push(next);
                    }
                }
            }
            count += 1;
        }
        Components { count: count as usize, label }
    }

    #[test]
    fn edges() {
        let empty = Csr::<f64>::identity(0).unwrap();
        assert_eq!(connected_components(empty.view()), Ok(Components { count: 0, label: vec![] }));
        let loose = Csr::<f64>::try_new(3, 3, vec![0; 4], vec![], vec![]).unwrap();
        assert_eq!(connected_components(loose.view()).unwrap().label, [0, 1, 2]);
        // One dense row connects everything, from either triangle.
        let star = Csr::try_new(4, 4, vec![0, 0, 0, 4, 4], vec![0, 1, 2, 3], vec![1.0; 4]).unwrap();
        assert_eq!(connected_components(star.view()).unwrap().count, 1);
        let wide = Csr::<f64>::try_new(1, 2, vec![0, 0], vec![], vec![]).unwrap();
        assert!(matches!(connected_components(wide.view()), Err(MatrixError::Mismatch { .. })));
    }

    #[test]
    fn a_long_shuffled_path_is_one_component_on_any_number_of_threads() {
        // The worst case for parent trees: no vertex has a neighbour near it.
        let path = permute_symmetric(grid(200_000, 1).view(), &shuffle(200_000, 5)).unwrap();
        for threads in [1, 2, 4] {
            let components = on_threads(threads, || connected_components(path.view()).unwrap());
            assert_eq!(components.count, 1);
            assert_eq!(components.sizes(), [200_000]);
        }
    }

    #[test]
    fn same_labels_for_any_number_of_threads() {
        let a = scattered(100_000, 1, 17); // average degree near one: components of all sizes
        let expected = naive(&a);
        assert!(expected.count > 1000);
        for threads in [1, 2, 4] {
            assert_eq!(on_threads(threads, || connected_components(a.view()).unwrap()), expected);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_breadth_first_search(n in 0usize..120, degree in 0usize..4, seed in any::<u64>()) {
            let a = scattered(n, degree, seed);
            prop_assert_eq!(connected_components(a.view()).unwrap(), naive(&a));
        }
    }
}
