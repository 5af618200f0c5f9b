//! Affinity (Livne & Brandt, *Lean Algebraic Multigrid*, 2012): two rows are close if random test
//! vectors, after smoothing, have parallel values there,
//!
//! ```text
//! s_ij = (Σ_k v_ik v_jk)² / (Σ_k v_ik² · Σ_k v_jk²),        0 ≤ s_ij ≤ 1
//! ```
//!
//! A nonzero entry a_ij only indicates that i and j are neighbours; its value is not used. Affinity
//! detects anisotropy that the entries do not show, at the cost of smoothing the test vectors. Its
//! values lie close to 1, so filter by an average number of connections.
//!
//! Cost: one multiplication per entry and test vector. The values of the test vectors in a row are
//! stored contiguously and normalised.

use ziggurat_sparse::parallel;

use super::{RowFacts, StrengthError, Strengths};

/// Number of rows per task.
const ROWS: usize = 1024;

/// The measure, with its test vectors.
pub(super) struct Affinity {
    /// Number of test vectors.
    vectors: usize,
    /// The values in row 0, then those in row 1, and so on. The values of each row have norm 1, or
    /// are all zero.
    values: Vec<f64>,
}

impl Affinity {
    pub(super) fn new(cols: usize, vectors: &[Vec<f64>]) -> Result<Self, StrengthError> {
        if vectors.is_empty() {
            return Err(StrengthError::NoVectors);
        }
        if let Some((vector, wrong)) = vectors.iter().enumerate().find(|(_, vector)| vector.len() != cols) {
            return Err(StrengthError::VectorLength { vector, expected: cols, found: wrong.len() });
        }
        let mut values = vec![0.0; cols * vectors.len()];
        parallel::over_chunks(&mut values, ROWS * vectors.len(), &|piece, values| {
            for (row, values) in (piece * ROWS..).zip(values.chunks_mut(vectors.len())) {
                for (value, vector) in values.iter_mut().zip(vectors) {
                    *value = vector[row];
                }
                let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
                if norm > 0.0 {
                    values.iter_mut().for_each(|value| *value /= norm);
                }
            }
        });
        Ok(Affinity { vectors: vectors.len(), values })
    }

    #[inline]
    fn at(&self, row: usize) -> &[f64] {
        &self.values[row * self.vectors..][..self.vectors]
    }
}

impl Strengths for Affinity {
    #[inline]
    fn scale(&self, _row: usize, _facts: &RowFacts) -> Option<f64> {
        Some(1.0)
    }

    #[inline]
    fn strength(&self, row: usize, _scale: f64, column: u32, value: f64) -> f64 {
        if value == 0.0 {
            return 0.0;
        }
        let cosine: f64 = self.at(row).iter().zip(self.at(column as usize)).map(|(x, y)| x * y).sum();
        cosine * cosine
    }
}
