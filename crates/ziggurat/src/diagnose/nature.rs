//! The few facts of a matrix that the solver decides by: a part of the diagnosis that costs a few passes over the matrix.

use ziggurat_sparse::CsrRef;
use ziggurat_sparse::matrix::detect_block_size;

use super::{rows, symmetry};

/// What decides how a matrix is solved with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    /// a_ij = a_ji, but for rounding.
    pub(crate) symmetric: bool,
    /// Every diagonal entry is positive.
    pub(crate) positive_diagonal: bool,
    /// Every row sums to zero, but for rounding: the constant vector is in the kernel.
    pub(crate) annihilates_constants: bool,
    /// Unknowns per node, as the pattern shows it.
    pub(crate) block: usize,
}

/// Finds them.
pub(crate) fn nature(a: CsrRef<'_, f64>) -> Nature {
    let (tally, facts) = rows::tally(a);
    let symmetry = symmetry::symmetry(a, &facts, tally.largest);
    Nature {
        symmetric: symmetry.is_some_and(|symmetry| symmetry.to_rounding),
        positive_diagonal: tally.diagonal_positive == a.rows(),
        annihilates_constants: a.rows() > 0 && tally.zero_sum == a.rows(),
        block: detect_block_size(a).unwrap_or(1),
    }
}
