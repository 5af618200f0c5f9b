//! A square matrix as a graph: rows are vertices, off-diagonal entries are edges.
//!
//! - [`Permutation`]: a validated renumbering; [`permute_symmetric`] and [`permute_rows`] apply it
//!   to a matrix.
//! - [`reverse_cuthill_mckee`]: an ordering that reduces the bandwidth; [`bandwidth`] and
//!   [`profile`] measure it. [`breadth_first`]: a cheaper one.
//! - [`connected_components`]: the sets of rows that are coupled.
//!
//! Orderings and components need the whole graph, so they take a whole local matrix instead of a
//! range of rows.

mod bandwidth;
mod breadth_first;
mod components;
mod cuthill_mckee;
mod permutation;
mod permute;
#[cfg(test)]
pub(crate) mod sample;
mod symmetrised;

pub use bandwidth::{bandwidth, profile};
pub use breadth_first::breadth_first;
pub use components::{Components, connected_components};
pub use cuthill_mckee::reverse_cuthill_mckee;
pub use permutation::{Permutation, PermutationError};
pub use permute::{permute_rows, permute_symmetric};

use crate::{CsrRef, MatrixError};

/// Rejects a matrix that is not square: its rows and columns are not the same vertices.
pub(crate) fn check_square<T>(a: CsrRef<'_, T>) -> Result<(), MatrixError> {
    if a.rows() == a.cols() {
        return Ok(());
    }
    let what = "columns of a square matrix";
    Err(MatrixError::Mismatch { what, expected: a.rows(), found: a.cols() })
}
