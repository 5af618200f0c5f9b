//! Whether the columns of neighbouring rows are scattered over the vector.
//!
//! ```text
//! cache lines of x that 4096 rows read  /  cache lines of these rows' own elements
//! ```
//!
//! A grid in natural order has 3, a mesh in breadth-first order 2 to 3, a mesh in the order of some
//! generators 10 or more, and random order almost the number of entries per row. From 6 on, a new
//! order of the unknowns gains more than it costs (`cargo xtask bench order`), unless x fits into
//! the second-level cache. Cost: a sample of the rows.

use ziggurat_sparse::CsrRef;

/// Vectors of fewer elements fit into a second-level cache of 1 MiB.
const MIN_ROWS: usize = 1 << 17;

/// Rows of a group: their own elements take a part of the first-level cache.
const GROUP: usize = 4096;

/// Groups that are examined.
const GROUPS: usize = 8;

/// Elements of a cache line.
const LINE: usize = 8;

/// Columns are scattered if groups read at least this multiple of the lines of their own elements.
const SCATTERED: usize = 6;

/// Whether a new order of the unknowns would make passes over the matrix faster.
pub(super) fn is_scattered(a: CsrRef<'_, f64>) -> bool {
    a.rows() >= MIN_ROWS && lines(a) >= SCATTERED * GROUPS * GROUP / LINE
}

/// The cache lines of x that each group reads, summed over all groups.
fn lines(a: CsrRef<'_, f64>) -> usize {
    let mut last_group = vec![0; a.cols().div_ceil(LINE)];
    let mut lines = 0;
    for group in 1..=GROUPS {
        let first = (a.rows() - GROUP) / GROUPS * (group - 1);
        for row in first..first + GROUP {
            for &column in a.row(row).0 {
                let last = &mut last_group[column as usize / LINE];
                lines += usize::from(*last != group);
                *last = group;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::Csr;
    use ziggurat_sparse::gallery::{Problem, shuffle};
    use ziggurat_sparse::graph::{breadth_first, permute_symmetric};

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    #[test]
    fn random_order_is_scattered_and_becomes_good() {
        let a = matrix("poisson3d:52");
        assert!(!is_scattered(a.view()), "natural order");
        let (random, _) = shuffle(a.view(), 1, a.rows().try_into().unwrap()).unwrap();
        assert!(is_scattered(random.view()));
        let order = breadth_first(random.view(), 1).unwrap();
        assert!(!is_scattered(permute_symmetric(random.view(), &order).unwrap().view()));
    }

    #[test]
    fn small_vectors_stay_in_the_cache() {
        let a = matrix("poisson2d:40");
        assert!(!is_scattered(a.view()));
        assert!(!is_scattered(Csr::identity(0).unwrap().view()));
    }
}
