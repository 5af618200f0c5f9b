//! Algebra for the setup of multigrid: products, transposes, sums, scalings, truncation.
//!
//! Everything here works on a range of rows of a matrix that may hold more rows and columns than that range, because
//! halo rows are appended when the matrix is distributed: row `rows.start + k` becomes row `k` of the result. Every row
//! is computed by itself and in a fixed order, so the result has the same bits for any number of threads.

mod accumulator;
mod pattern;
mod product;
mod transpose;

pub use product::{ProductPlan, product};
pub use transpose::transpose;

use std::ops::Range;

use crate::matrix::{CsrRef, MatrixError};

/// Refuses a range of rows that the matrix does not have.
fn check_rows<T>(a: CsrRef<'_, T>, rows: &Range<usize>) -> Result<(), MatrixError> {
    if rows.end > a.rows() {
        let what = "rows of the matrix, for the range asked for";
        return Err(MatrixError::Mismatch { what, expected: rows.end, found: a.rows() });
    }
    if rows.start > rows.end {
        let what = "end of the range of rows, which begins beyond it";
        return Err(MatrixError::Mismatch { what, expected: rows.start, found: rows.end });
    }
    Ok(())
}

#[cfg(test)]
mod testing;
