//! SPAI-0: x ← x + M(b − A x) with the diagonal M that minimises ‖I − M A‖_F, that is m_i = a_ii /
//! Σ_j a_ij².
//!
//! The sparsest of the sparse approximate inverses (Bröker & Grote, 2002). It has no parameters,
//! like ℓ1-Jacobi, and is closer to Jacobi where rows are dominated by their diagonal. Cost per
//! sweep: the same as Jacobi.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_sparse::{CsrRef, MatrixError};

use crate::SetupError;

/// a_ii / Σ_j a_ij²
pub(super) fn diagonal(a: CsrRef<'_, f64>, rows: Range<usize>) -> Result<Vec<f64>, SetupError> {
    let one = |row: usize| {
        let squares: f64 = a.row(row).1.iter().map(|value| value * value).sum();
        let weight = a.get(row, row).unwrap_or(0.0) / squares;
        let usable = weight.is_finite() && weight != 0.0;
        if usable { Ok(weight) } else { Err(MatrixError::ZeroDiagonal { row, value: weight }.into()) }
    };
    rows.into_par_iter().map(one).collect()
}
