//! Random renumbering of a matrix within windows, to imitate an unstructured mesh.
//!
//! The nodes are divided into windows of B consecutive nodes, and each window is permuted randomly;
//! rows and columns are permuted accordingly: A becomes PAPᵀ. Entries stay near the diagonal, as
//! after a good reordering of a real mesh, but rows no longer have their columns at the same
//! offsets. The unknowns of a node stay together and in order, as in a typical mesh numbering.
//!
//! The order is determined by a hash of the node number and a fixed seed, so it is the same on
//! every machine and for any number of threads. The cost is a sort within each window and one pass
//! over the matrix.

use std::num::NonZeroUsize;

use crate::graph::{Permutation, permute_symmetric};
use crate::hash::hash_id;
use crate::number::Store;
use crate::parallel::{PIECE, merge_sort, over_chunks};
use crate::{Csr, CsrRef, MatrixError};

/// Makes this shuffle independent of other uses of the hash: tie breaking must not correlate with
/// the numbering.
const SEED: u64 = hash_id(u64::from_be_bytes(*b"shuffle:"));

/// Renumbers the nodes of a matrix randomly within windows of `window` consecutive nodes. Each node
/// has `unknowns_per_node` rows, which stay together.
///
/// Returns the matrix and the permutation of the nodes. Permute coordinates by
/// [`Permutation::apply`]; permute vectors of unknowns by the permutation expanded with
/// [`Permutation::expand`]. A window of 1 changes nothing; a window that contains all nodes
/// shuffles all of them.
///
/// ```
/// use ziggurat_sparse::gallery::{Problem, shuffle};
/// let problem: Problem = "elasticity3d:4".parse()?;
/// let (a, nodes) = shuffle(problem.matrix()?.view(), problem.block_size(), 64.try_into()?)?;
///
/// let old = problem.coordinates()?;
/// let mut coordinates = old.clone();
/// nodes.apply(&old, &mut coordinates)?;
/// let (old, unknowns) = (problem.rhs()?, nodes.expand(problem.block_size())?);
/// let mut rhs = old.clone();
/// unknowns.apply(&old, &mut rhs)?;
/// assert_eq!((a.rows(), coordinates.len()), (300, 100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shuffle<T: Store>(
    a: CsrRef<'_, T>,
    unknowns_per_node: usize,
    window: NonZeroUsize,
) -> Result<(Csr<T>, Permutation), MatrixError> {
    let rows = a.rows();
    if unknowns_per_node == 0 || !rows.is_multiple_of(unknowns_per_node) {
        return Err(MatrixError::BlockSize { block: unknowns_per_node, rows, columns: a.cols() });
    }
    // Valid by construction; the number of rows was checked when the matrix was built.
    let too_large = |_| MatrixError::TooLarge { what: "rows", extent: rows };
    let nodes =
        Permutation::from_new_to_old(random_order(rows / unknowns_per_node, window)).map_err(too_large)?;
    let shuffled = if unknowns_per_node == 1 {
        permute_symmetric(a, &nodes)?
    } else {
        permute_symmetric(a, &nodes.expand(unknowns_per_node).map_err(too_large)?)?
    };
    Ok((shuffled, nodes))
}

/// The nodes, with each window sorted by hash. Hashes are distinct, so the order is unique.
fn random_order(nodes: usize, window: NonZeroUsize) -> Vec<u32> {
    let by_hash = |nodes: &mut [u32]| nodes.sort_by_key(|&node| hash_id(u64::from(node) ^ SEED));
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    let window = window.get().min(nodes.max(1));
    over_chunks(&mut order, PIECE.next_multiple_of(window), &|_, windows| {
        // A single window may contain all nodes, so its sort is parallel too.
        windows.chunks_mut(window).for_each(|window| merge_sort(window, &by_hash));
    });
    order
}

#[cfg(test)]
mod tests {
    use super::super::{Problem, rigid_body_modes};
    use super::*;

    fn window(size: usize) -> NonZeroUsize {
        NonZeroUsize::new(size).unwrap()
    }

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    #[test]
    fn entries_move_within_their_window_and_none_is_lost() {
        let a = matrix("jump3d:12");
        let (b, nodes) = shuffle(a.view(), 1, window(50)).unwrap();
        let (old, new) = (nodes.new_to_old(), nodes.old_to_new());
        assert!(old.iter().enumerate().all(|(new, &old)| new / 50 == old as usize / 50));
        let moved = old.iter().enumerate().filter(|&(new, &old)| new != old as usize).count();
        assert!(moved > a.rows() * 9 / 10, "{moved} of {} rows moved", a.rows());
        assert_eq!(a.nnz(), b.nnz());
        for row in 0..a.rows() {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                assert_eq!(b.get(new[row] as usize, new[column as usize] as usize), Some(value));
            }
        }
    }

    #[test]
    fn the_order_is_fixed_for_good() {
        // Measurements on shuffled problems are compared across versions.
        assert_eq!(random_order(12, window(8)), [1, 0, 5, 3, 2, 7, 6, 4, 9, 8, 11, 10]);
        // Windows are shuffled independently of each other.
        let order = random_order(64 * 100, window(64));
        let local = |w: usize| order[64 * w..64 * (w + 1)].iter().map(move |node| node - 64 * w as u32);
        assert!((1..100).all(|w| !local(0).eq(local(w))));
    }

    #[test]
    fn every_place_in_a_window_is_as_likely_as_any_other() {
        // Position of the first node of a window of 16: 16 000 windows, 1000 expected per position,
        // standard deviation 31.
        let mut places = [0; 16];
        for (place, node) in random_order(16 * 16_000, window(16)).into_iter().enumerate() {
            if node % 16 == 0 {
                places[place % 16] += 1;
            }
        }
        assert!(places.iter().all(|count| (850..1150).contains(count)), "{places:?}");
    }

    #[test]
    fn unknowns_of_a_node_stay_together() {
        let problem: Problem = "elasticity3d:4".parse().unwrap();
        let (b, nodes) = shuffle(problem.matrix().unwrap().view(), 3, window(7)).unwrap();
        for row in 0..b.rows() {
            let columns = b.row(row).0;
            assert!(columns.chunks(3).all(|block| block[0] % 3 == 0 && block[2] == block[0] + 2));
        }
        // Away from the clamped face, rigid-body modes of the shuffled nodes produce no force.
        let old = problem.coordinates().unwrap();
        let mut coordinates = old.clone();
        nodes.apply(&old, &mut coordinates).unwrap();
        for mode in rigid_body_modes(&coordinates) {
            for row in (0..b.rows()).filter(|row| coordinates[row / 3][0] > 0.3) {
                let (columns, values) = b.row(row);
                let force: f64 =
                    columns.iter().zip(values).map(|(&j, &value)| value * mode[j as usize]).sum();
                assert!(force.abs() < 1e-14, "row {row}: {force}");
            }
        }
    }

    #[test]
    fn windows_of_one_of_everything_and_of_nothing() {
        let a = matrix("poisson2d:5");
        assert_eq!(shuffle(a.view(), 1, window(1)).unwrap().0, a);
        let all = shuffle(a.view(), 1, window(25)).unwrap();
        assert_ne!(all.0, a);
        assert_eq!(shuffle(a.view(), 1, NonZeroUsize::MAX).unwrap(), all);
        let empty = Csr::<f64>::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
        assert_eq!(shuffle(empty.view(), 3, window(64)).unwrap().0, empty);
    }

    #[test]
    fn nodes_that_do_not_tile_the_matrix_are_refused() {
        let a = matrix("poisson2d:5");
        for block in [0, 3] {
            let error = shuffle(a.view(), block, window(4)).unwrap_err();
            assert_eq!(error, MatrixError::BlockSize { block, rows: 25, columns: 25 });
        }
        let tall = Csr::try_new(2, 1, vec![0, 1, 1], vec![0], vec![1.0]).unwrap();
        assert!(shuffle(tall.view(), 1, window(2)).is_err());
    }

    #[test]
    fn the_same_bits_for_any_number_of_threads() {
        let a = matrix("poisson3d:30");
        let with_threads = |threads: usize, size: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| shuffle(a.view(), 1, window(size)).unwrap())
        };
        for size in [64, 1024, 1 << 20] {
            assert!(with_threads(1, size) == with_threads(2, size), "windows of {size}");
        }
    }
}
