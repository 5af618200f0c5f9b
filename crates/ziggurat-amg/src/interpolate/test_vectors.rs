//! Test vectors: vectors that interpolation reproduces, because they are what a smoother leaves.
//!
//! ```text
//! v = D^-½ x,        D: the diagonal of the matrix
//! ```
//!
//! They take the place of a near-kernel that nobody knows. [SRQCG](super::srqcg()) finds them, from
//! given and from random vectors. The stored values are x, row by row: in this scaling the units of
//! the unknowns do not matter.

use ziggurat_sparse::hash::{hash_id, uniform};
use ziggurat_sparse::{CsrRef, Dense, MatrixError, parallel};

use super::NearKernel;
use crate::halo::Processes;

/// Rows per task.
const BLOCK: usize = 512;

/// Vectors that interpolation reproduces: those with small Rayleigh quotients.
///
/// ```
/// use ziggurat_amg::halo::Whole;
/// use ziggurat_amg::interpolate::{NearKernel, TestVectors};
/// let kernel = NearKernel::constants(3, 1)?;
/// let a = ziggurat_sparse::Csr::try_new(3, 3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![4.0; 3])?;
/// let vectors = TestVectors::start(a.view(), &kernel, 2, &Whole::new(3));
/// assert_eq!((vectors.count(), vectors.scale(1), vectors.scaled_row(1)[0]), (2, 2.0, 2.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TestVectors {
    pub(super) count: usize,
    /// The values in local row 0, then those in row 1, and so on, each times the scale of the row.
    pub(super) values: Vec<f64>,
    /// The square roots of diagonal entries.
    pub(super) scale: Vec<f64>,
    pub(super) quotients: Vec<f64>,
}

impl TestVectors {
    /// The vectors of a near-kernel, which has the own rows of `halo`, and hashes of global ids up
    /// to `count` vectors. `a` has these rows, too. Collective.
    pub fn start<H: Processes>(a: CsrRef<'_, f64>, kernel: &NearKernel, count: usize, halo: &H) -> Self {
        let (own, known) = (halo.owned(), kernel.count());
        let count = count.max(known);
        let mut scale = vec![1.0; halo.local()];
        parallel::over_chunks(&mut scale[own.clone()], BLOCK, &|index, scale| {
            for (scale, row) in scale.iter_mut().zip(own.start + index * BLOCK..) {
                let root = a.get(row, row).unwrap_or(0.0).abs().sqrt();
                if root > 0.0 && root.is_finite() {
                    *scale = root;
                }
            }
        });
        halo.exchange(&mut scale);
        let mut values = vec![0.0; halo.local() * count];
        let of_own = &mut values[own.start * count..own.end * count];
        parallel::over_chunks(of_own, BLOCK * count, &|index, values| {
            for (row, values) in (index * BLOCK..).zip(values.chunks_mut(count)) {
                let id = halo.global_id(own.start + row);
                for (vector, value) in values.iter_mut().enumerate() {
                    *value = match vector.checked_sub(known) {
                        None => scale[own.start + row] * kernel.vectors().column(vector)[row],
                        Some(seed) => 2.0 * uniform(id ^ hash_id(seed as u64)) - 1.0,
                    };
                }
            }
        });
        halo.exchange_rows(&mut values, count);
        TestVectors { count, values, scale, quotients: Vec::new() }
    }

    /// Number of vectors.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The values of all vectors in a local row, times its [scale](Self::scale).
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn scaled_row(&self, row: usize) -> &[f64] {
        &self.values[row * self.count..][..self.count]
    }

    /// The square root of the diagonal entry of a local row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn scale(&self, row: usize) -> f64 {
        self.scale[row]
    }

    /// The Rayleigh quotients xᵀAx / xᵀDx in increasing order, after [`srqcg`](super::srqcg());
    /// empty before.
    pub fn quotients(&self) -> &[f64] {
        &self.quotients
    }

    /// The vectors one by one, times the scales of the rows.
    pub(crate) fn columns(&self) -> Vec<Vec<f64>> {
        let rows = self.values.len() / self.count.max(1);
        (0..self.count).map(|vector| (0..rows).map(|row| self.scaled_row(row)[vector]).collect()).collect()
    }

    fn value(&self, row: usize, vector: usize) -> f64 {
        self.scaled_row(row)[vector] / self.scale[row]
    }

    /// The values in some rows, a column for each vector.
    pub(crate) fn at(&self, rows: &[u32]) -> Result<Dense<f64>, MatrixError> {
        let column = |vector: usize| rows.iter().map(move |&row| self.value(row as usize, vector));
        let values = (0..self.count).flat_map(column).collect();
        Dense::try_new(rows.len(), self.count, values)
    }
}
