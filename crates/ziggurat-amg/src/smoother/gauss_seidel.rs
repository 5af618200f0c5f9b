//! Gauss–Seidel within fixed blocks of rows, Jacobi between blocks: the kernel is the device's
//! ([`Device::gauss_seidel`](ziggurat_sparse::device::Device::gauss_seidel)); here is its data, 1 / a_ii.
//!
//! The strongest of these smoothers per pass over the matrix. It costs one pass more per cycle than Jacobi, because a
//! sweep from a zero guess already needs the matrix. Between blocks it is undamped Jacobi; with blocks of thousands of
//! rows that touches few rows, and a symmetric positive definite matrix has always converged in our tests, but unlike
//! ℓ1-Jacobi this is not proved.

use ziggurat_sparse::CsrRef;

use super::jacobi::inverse_diagonal;
use crate::SetupError;

/// Rows per block: large against the boundary between blocks, small enough that a level of some hundred thousand rows
/// keeps dozens of threads busy.
pub const DEFAULT_BLOCK: usize = 4096;

/// 1 / a_ii
pub(super) fn diagonal(a: CsrRef<'_, f64>) -> Result<Vec<f64>, SetupError> {
    inverse_diagonal(a)
}
