//! Nonzero counts on a coarse grid, from which sparsity plots are drawn.
//!
//! The matrix is divided into a grid of squares, and the nonzeros in each square are counted. This
//! takes one pass over the entries; the counts do not depend on the number of threads.

use ziggurat::sparse::{CsrRef, parallel};

/// Number of nonzeros in each square of a grid over the matrix.
///
/// ```
/// use ziggurat::sparse::Csr;
/// use ziggurat_report::Density;
/// let identity = Csr::<f64>::identity(6)?;
/// let density = Density::of(identity.view(), 3, 3);
/// assert_eq!((density.side, density.across, density.down), (2, 3, 3));
/// assert_eq!(density.counts, [2, 0, 0, 0, 2, 0, 0, 0, 2]);
/// # Ok::<(), ziggurat::sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Density {
    /// Number of matrix rows and columns that a square covers. Squares at the right and bottom
    /// edges may cover fewer.
    pub side: usize,
    /// Number of squares in a grid row.
    pub across: usize,
    /// Number of grid rows.
    pub down: usize,
    /// Nonzeros in each square, row by row.
    pub counts: Vec<u64>,
}

impl Density {
    /// Counts nonzeros on the finest grid of at most `across` by `down` squares (zero is treated as
    /// one). A matrix without rows or columns gives an empty grid.
    pub fn of(a: CsrRef<'_, f64>, across: usize, down: usize) -> Self {
        let (rows, cols) = (a.rows(), a.cols());
        // Cells are square, so the tighter of the two limits determines their side.
        let side = cols.div_ceil(across.max(1)).max(rows.div_ceil(down.max(1))).max(1);
        let (across, down) = match rows.min(cols) {
            0 => (0, 0),
            _ => (cols.div_ceil(side), rows.div_ceil(side)),
        };
        let count = |line: usize| {
            let mut counts = vec![0; across];
            for row in line * side..rows.min((line + 1) * side) {
                let (columns, values) = a.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    counts[column as usize / side] += u64::from(value != 0.0);
                }
            }
            counts
        };
        let counts = parallel::map_tasks(down, &count).concat();
        Density { side, across, down, counts }
    }

    /// Iterates over the grid rows.
    pub fn lines(&self) -> impl Iterator<Item = &[u64]> {
        self.counts.chunks(self.across.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat::sparse::gallery::Problem;
    use ziggurat::sparse::{Coo, Csr};

    #[test]
    fn every_nonzero_entry_is_counted_once_on_any_number_of_threads() {
        let a = "poisson3d:9".parse::<Problem>().unwrap().matrix().unwrap();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Density::of(a.view(), 50, 30))
        };
        let one = on(1);
        assert_eq!((one.side, one.across, one.down), (25, 30, 30));
        assert_eq!(one.counts.iter().sum::<u64>(), a.nnz() as u64);
        assert_eq!(one, on(2));
    }

    #[test]
    fn any_matrix_shape_fits_the_grid() {
        for (rows, cols) in [(1, 5000), (5000, 1), (3, 7), (123, 456)] {
            let mut coo = Coo::new(rows, cols).unwrap();
            coo.push(rows - 1, cols - 1, 1.0).unwrap();
            coo.push(0, 0, 0.0).unwrap();
            let density = Density::of(coo.into_csr().view(), 36, 18);
            assert!((1..=36).contains(&density.across) && (1..=18).contains(&density.down));
            assert_eq!((density.counts.last(), density.counts.iter().sum()), (Some(&1), 1));
        }
        for (rows, cols) in [(0, 3), (3, 0), (0, 0)] {
            let none = Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
            let density = Density::of(none.view(), 0, 0);
            assert_eq!((density.across, density.down, density.lines().count()), (0, 0, 0));
        }
    }
}
