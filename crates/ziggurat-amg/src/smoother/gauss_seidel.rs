//! Gauss–Seidel within fixed blocks of rows, Jacobi between blocks. The kernel is part of the
//! device ([`Device::gauss_seidel`](ziggurat_sparse::device::Device::gauss_seidel)). This module
//! computes its data, 1 / d_i, with the ℓ1 correction of Baker, Falgout, Kolev & Yang (*Multigrid
//! smoothers for ultraparallel computing*, 2011):
//!
//! ```text
//! s_i = Σ |a_ij| over j outside the block of i        d_i = a_ii if a_ii ≥ 3/2 s_i, else a_ii + s_i / 2
//! ```
//!
//! It is the strongest of these smoothers per pass over the matrix. It costs one pass more per
//! cycle than Jacobi, because a sweep from a zero guess already needs the matrix.
//!
//! Between blocks it is Jacobi, which diverges where entries between blocks outweigh the diagonal,
//! as in elasticity; hence the correction. Let M be the lower triangle of the blocks with diagonal
//! d. Then M + Mᵀ − A has the diagonal 2 d_i − a_ii, which exceeds s_i, the sum of the other
//! entries of its row. So it is positive definite, and the smoother converges for every symmetric
//! positive definite matrix. On grids, few rows need the correction.

use std::ops::Range;

use ziggurat_sparse::{CsrRef, parallel};

use super::jacobi::inverse_diagonal;
use crate::SetupError;

/// Rows per block: large compared with the boundary between blocks, and small enough that a level
/// of some hundred thousand rows keeps dozens of threads busy.
pub const DEFAULT_BLOCK: usize = 4096;

/// A diagonal entry is left unchanged if it is at least this many times the sum of the entries
/// between blocks.
const DOMINANT: f64 = 1.5;

/// 1 / d_i for blocks of `block` rows.
pub(super) fn diagonal(a: CsrRef<'_, f64>, rows: Range<usize>, block: usize) -> Result<Vec<f64>, SetupError> {
    let begin = rows.start;
    let mut inverse = inverse_diagonal(a, rows)?;
    let block = block.max(1);
    let of_block = |first: usize, inverse: &mut [f64]| {
        let own = first as u32..(first + inverse.len()) as u32;
        for (k, inverse) in inverse.iter_mut().enumerate() {
            let (columns, values) = a.row(first + k);
            let between: f64 = columns
                .iter()
                .zip(values)
                .filter(|(column, _)| !own.contains(column))
                .map(|(_, x)| x.abs())
                .sum();
            let diagonal = inverse.recip();
            if diagonal.abs() < DOMINANT * between {
                *inverse = (diagonal + 0.5 * between.copysign(diagonal)).recip();
            }
        }
    };
    let task = block.max(DEFAULT_BLOCK / block * block); // whole blocks
    parallel::over_chunks(&mut inverse, task, &|index, inverse| {
        let blocks = inverse.chunks_mut(block).enumerate();
        blocks.for_each(|(k, inverse)| of_block(begin + index * task + k * block, inverse));
    });
    Ok(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::Csr;

    #[test]
    fn only_rows_with_large_entries_between_blocks_are_corrected() {
        // Blocks of two rows. The entries between blocks are zero in row 0, small in row 1 and
        // large in row 2; row 3 has a negative diagonal.
        let columns = vec![0, 1, 0, 1, 2, 1, 2, 1, 3];
        let values = vec![2.0, -1.0, -1.0, 3.0, -2.0, -2.0, 2.0, 3.0, -1.0];
        let a = Csr::try_new(4, 4, vec![0, 2, 5, 7, 9], columns, values).unwrap();
        let diagonal = diagonal(a.view(), 0..4, 2).unwrap();
        assert_eq!(diagonal, [1.0 / 2.0, 1.0 / 3.0, 1.0 / 3.0, -1.0 / 2.5]);
        assert_eq!(super::diagonal(a.view(), 0..4, 4).unwrap(), [1.0 / 2.0, 1.0 / 3.0, 1.0 / 2.0, -1.0]);
    }
}
