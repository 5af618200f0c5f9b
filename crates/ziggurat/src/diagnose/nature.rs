//! The few facts of a matrix that the solver decides by: a part of the diagnosis that costs a few passes over the matrix.

use rayon::prelude::*;
use ziggurat_sparse::CsrRef;
use ziggurat_sparse::matrix::detect_block_size;

use super::rows::sums_to_zero;
use super::symmetry::is_symmetric;

/// Rows that one task handles.
const PIECE: usize = 4096;

/// What decides how a matrix is solved with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    /// a_ij = a_ji, but for rounding.
    pub(crate) symmetric: bool,
    /// Every diagonal entry is positive.
    pub(crate) positive_diagonal: bool,
    /// Every row sums to zero, but for rounding: the constant vector is in the kernel.
    pub(crate) annihilates_constants: bool,
    /// Unknowns per node: what the caller knows, or what the pattern shows.
    pub(crate) block: usize,
}

/// Finds them. A caller who knows how many unknowns a node has says so.
pub(crate) fn nature(a: CsrRef<'_, f64>, block: Option<usize>) -> Nature {
    let (positive_diagonal, annihilates_constants) = diagonal_and_sums(a);
    Nature {
        symmetric: is_symmetric(a),
        positive_diagonal,
        annihilates_constants: a.rows() > 0 && annihilates_constants,
        block: block.or_else(|| detect_block_size(a)).unwrap_or(1),
    }
}

/// Whether every diagonal entry is positive, and whether every row sums to zero.
fn diagonal_and_sums(a: CsrRef<'_, f64>) -> (bool, bool) {
    let piece = |piece: usize| {
        let (mut positive, mut zero_sums) = (true, true);
        for row in piece * PIECE..a.rows().min((piece + 1) * PIECE) {
            positive = positive && a.get(row, row).is_some_and(|value| value > 0.0);
            // The first row of another sum says it for all of them.
            if zero_sums {
                let sums = a.row(row).1.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                zero_sums = sums_to_zero(sums.0, sums.1);
            }
            if !positive && !zero_sums {
                break;
            }
        }
        (positive, zero_sums)
    };
    let pieces = (0..a.rows().div_ceil(PIECE)).into_par_iter().map(piece);
    pieces.reduce(|| (true, true), |one, other| (one.0 && other.0, one.1 && other.1))
}
