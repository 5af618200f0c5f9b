//! Affinity (Livne & Brandt, *Lean Algebraic Multigrid*, 2012): two rows are close if test vectors that a smoother has
//! passed over, from random starts, have parallel values there,
//!
//! ```text
//! s_ij = (Σ_k v_ik v_jk)² / (Σ_k v_ik² · Σ_k v_jk²),        0 ≤ s_ij ≤ 1
//! ```
//!
//! The entry a_ij only says that i and j are neighbours; an entry that is zero does not. It sees anisotropy that the
//! entries hide, at the price of the smoothing. Values lie close to 1, so filter by a wanted number of connections.
//!
//! Cost: as many multiplications per entry as there are vectors. The values of a row's test vectors are laid side by
//! side, divided by their norm.

use rayon::prelude::*;

use super::{RowFacts, StrengthError, Strengths};

/// The measure, with the test vectors.
pub(super) struct Affinity {
    /// How many.
    vectors: usize,
    /// Those of row 0, those of row 1, …; each row's have norm 1, or are all zero.
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
        values.par_chunks_mut(vectors.len()).with_min_len(1024).enumerate().for_each(|(row, values)| {
            for (value, vector) in values.iter_mut().zip(vectors) {
                *value = vector[row];
            }
            let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
            if norm > 0.0 {
                values.iter_mut().for_each(|value| *value /= norm);
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
