//! Scale factors that are applied to a matrix when it is stored.

use rayon::prelude::*;
use ziggurat_sparse::algebra::{scale_columns, scale_rows};
use ziggurat_sparse::{Csr, MatrixError};

/// The scaling of a stored matrix: factor · diag(left) A diag(right).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors<'a> {
    pub left: Option<&'a [f64]>,
    pub right: Option<&'a [f64]>,
    pub factor: f64,
}

impl Factors<'_> {
    /// No scaling.
    pub(crate) const ONE: Factors<'static> = Factors { left: None, right: None, factor: 1.0 };

    pub(super) fn is_one(&self) -> bool {
        self.left.is_none() && self.right.is_none() && self.factor == 1.0
    }

    /// The factor of one entry.
    #[inline]
    pub(crate) fn of(&self, row: usize, column: usize) -> f64 {
        self.left.map_or(1.0, |left| left[row]) * self.right.map_or(1.0, |right| right[column]) * self.factor
    }

    /// The scaled matrix.
    pub(super) fn apply(&self, a: &Csr<f64>) -> Result<Csr<f64>, MatrixError> {
        let mut scaled = a.clone();
        if let Some(left) = self.left {
            scale_rows(&mut scaled, left)?;
        }
        if let Some(right) = self.right {
            scale_columns(&mut scaled, right)?;
        }
        if self.factor != 1.0 {
            scaled.values_mut().par_iter_mut().for_each(|value| *value *= self.factor);
        }
        Ok(scaled)
    }
}
