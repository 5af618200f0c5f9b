//! Saddle points: systems with constraints, such as incompressible flow.
//!
//! ```text
//! ( F  Bᵀ ) (u)   (f)
//! ( B  0  ) (p) = (g)
//! ```
//!
//! More than one row in a hundred has entries, but none on the diagonal, and the pattern is
//! symmetric. Multigrid suits the block F, not the whole matrix. Cost: one pass over the rows, and
//! only for matrices whose diagonal entries do not all have the same sign.

use ziggurat_amg::halo::Processes;
use ziggurat_sparse::{CsrRef, parallel};

use super::symmetry::has_symmetric_pattern;

/// Number of rows per task.
const PIECE: usize = 4096;

/// Up to this many percent of zeros are not taken for constraints.
const PERCENT: u64 = 1;

/// Whether so many rows of a matrix with that many rows are constraints.
pub(super) fn are_constraints(zeros: u64, rows: u64) -> bool {
    100 * zeros > PERCENT * rows
}

/// Whether it is the matrix of a saddle point. `a` contains the owned rows of `halo` and the rows
/// of its neighbours; `symmetric` states that it equals its transpose. Collective.
pub(super) fn is_saddle_point<H: Processes>(
    a: CsrRef<'_, f64>,
    halo: &H,
    global_rows: u64,
    symmetric: bool,
) -> bool {
    let is_constraint = |row: &usize| {
        a.get(*row, *row).unwrap_or(0.0) == 0.0 && a.row(*row).1.iter().any(|&value| value != 0.0)
    };
    let counts = parallel::map_pieces(halo.owned(), PIECE, &|rows| rows.filter(is_constraint).count());
    let mut zeros = [counts.into_iter().sum::<usize>() as u64];
    halo.sum(&mut zeros);
    are_constraints(zeros[0], global_rows) && (symmetric || has_symmetric_pattern(a, halo))
}
