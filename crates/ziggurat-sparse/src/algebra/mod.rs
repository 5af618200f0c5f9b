//! Sparse algebra for multigrid setup: products, transposes, sums, scalings, truncation.
//!
//! All functions work on a range of rows of a matrix that may have more rows and columns than that
//! range, because halo rows are appended to distributed matrices. Row `rows.start + k` becomes row
//! `k` of the result. Every row is computed independently and in a fixed order, so the result has
//! the same bits for any number of threads.

mod accumulator;
mod add;
mod block_product;
mod block_shape;
mod block_sums;
mod fused_triple_product;
mod node_pattern;
mod pattern;
mod piece;
mod pieces;
mod product;
mod row_product;
mod scale;
mod sparse_accumulator;
mod transpose;
mod triple_product;
mod truncate;

pub use add::add;
pub use product::{ProductPlan, product};
pub use scale::{scale_columns, scale_rows, scale_symmetric, scaled};
pub use sparse_accumulator::SparseAccumulator;
pub use transpose::transpose;
pub use triple_product::{TripleProductPlan, triple_product};
pub use truncate::{RowTruncation, Truncation, TruncationError, truncate};

use std::ops::Range;

use crate::matrix::{CsrRef, MatrixError};

/// Checks that the matrix has a range of rows.
fn check_rows<T>(a: CsrRef<'_, T>, rows: &Range<usize>) -> Result<(), MatrixError> {
    if rows.end > a.rows() {
        let what = "rows of the matrix, for the range asked for";
        return Err(MatrixError::Mismatch { what, expected: rows.end, found: a.rows() });
    }
    if rows.start > rows.end {
        let what = "end of the range of rows (at least its start)";
        return Err(MatrixError::Mismatch { what, expected: rows.start, found: rows.end });
    }
    Ok(())
}

/// Checks that an extent matches.
fn check_extent(what: &'static str, expected: usize, found: usize) -> Result<(), MatrixError> {
    if expected == found { Ok(()) } else { Err(MatrixError::Mismatch { what, expected, found }) }
}

#[cfg(test)]
mod testing;
