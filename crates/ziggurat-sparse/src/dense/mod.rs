//! Factorisations of small dense matrices: inverses, eigenvalues and singular values.
//!
//! | file | method | operations |
//! |---|---|---|
//! | `cholesky.rs` | A = L Lᵀ and A⁻¹, for symmetric positive definite A | n³ |
//! | `lu.rs` | A Π = L U and A⁻¹ | 2n³ |
//! | `symmetric_eigen.rs` | A = V Λ Vᵀ, for symmetric A | about 9n³ |
//! | `svd.rs` | A = U Σ Vᵀ | about 40n³ |
//! | `weighted_product.rs` | X diag(w) Yᵀ | 2n³ |
//!
//! They serve the coarsest level, which has a few hundred rows, and blocks of a few rows. All of
//! them are written over the columns of a [`Dense`], which are contiguous: a step adds multiples of
//! columns to other columns, and `update.rs` does so for many at a time, which is where most of the
//! time goes. Each is compiled for all instruction sets ([`Simd`](crate::device::Simd)). Neither
//! these nor the number of threads change a bit of the result: every element is a sum whose order
//! depends on the size of the matrix alone.
//!
//! The crates that have these methods, faer and nalgebra, take longer to compile than all of setup.

mod cholesky;
mod lu;
mod reflector;
mod svd;
mod symmetric_eigen;
#[cfg(test)]
mod testing;
mod update;
mod weighted_product;

use thiserror::Error;

pub use cholesky::Cholesky;
pub use lu::Lu;
pub use svd::Svd;
pub use symmetric_eigen::{SymmetricEigen, Tridiagonal};
pub use weighted_product::weighted_product;

use crate::matrix::{Dense, MatrixError};

/// Why a dense matrix has no factors. Rows and columns are numbered from zero.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DenseError {
    /// The matrix has more rows than columns, or fewer.
    #[error("a matrix of {rows} x {columns} is not square")]
    NotSquare {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// A pivot of Cholesky's factorisation is not a positive number.
    #[error("column {column}: the pivot {pivot} is not positive; the matrix is not positive definite")]
    NotPositiveDefinite {
        /// The column.
        column: usize,
        /// Its pivot.
        pivot: f64,
    },
    /// A pivot of the LU factorisation is zero or NaN, so there is no inverse.
    #[error("pivot {step} is zero or not a number; the matrix has no inverse")]
    Singular {
        /// The step of the elimination.
        step: usize,
    },
    /// An element is infinite or NaN.
    #[error("row {row}, column {column}: the value is not finite")]
    NotFinite {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// The iteration for eigenvalues or singular values did not converge.
    #[error("the iteration for {what} of a matrix with {rows} rows did not converge")]
    NoConvergence {
        /// "eigenvalues" or "singular values".
        what: &'static str,
        /// Rows of the matrix.
        rows: usize,
    },
    /// The factors do not fit in memory.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// The rows of a square matrix.
fn order(a: &Dense<f64>) -> Result<usize, DenseError> {
    match (a.rows(), a.cols()) {
        (rows, columns) if rows == columns => Ok(rows),
        (rows, columns) => Err(DenseError::NotSquare { rows, columns }),
    }
}

/// Scales a matrix by a power of two, so that its largest element is between one and two, and
/// returns what the eigenvalues and singular values of the result are to be multiplied by. Squares
/// of what matters then neither overflow nor underflow.
fn normalise(a: &mut Dense<f64>) -> Result<f64, DenseError> {
    let rows = a.rows();
    if let Some(place) = a.values().iter().position(|value| !value.is_finite()) {
        return Err(DenseError::NotFinite { row: place % rows, column: place / rows });
    }
    let largest = a.values().iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest == 0.0 {
        return Ok(1.0);
    }
    // Two factors, because the reciprocal of a denormal number overflows.
    let exponent = largest.log2().floor() as i32;
    let (one, other) = (exponent / 2, exponent - exponent / 2);
    let (down, again) = (2f64.powi(-one), 2f64.powi(-other));
    a.values_mut().iter_mut().for_each(|value| *value = *value * down * again);
    Ok(2f64.powi(one) * 2f64.powi(other))
}

/// The identity.
fn identity(rows: usize) -> Result<Dense<f64>, DenseError> {
    let mut one = Dense::zeros(rows, rows)?;
    one.values_mut().iter_mut().step_by(rows + 1).for_each(|value| *value = 1.0);
    Ok(one)
}

/// Copies the elements on one side of the diagonal to the other.
fn mirror(a: &mut Dense<f64>, from: update::Part) {
    /// Rows and columns of a tile: two of them stay in the first cache level.
    const TILE: usize = 32;
    let n = a.rows();
    let values = a.values_mut();
    for left in (0..n).step_by(TILE) {
        for column in left..n {
            for row in left..(left + TILE).min(column) {
                let (upper, lower) = (column * n + row, row * n + column);
                match from {
                    update::Part::Upper => values[lower] = values[upper],
                    _ => values[upper] = values[lower],
                }
            }
        }
    }
}
