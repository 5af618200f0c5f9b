//! `poisson3d27`: −Δ with all 26 neighbours, 26 on the diagonal and −1 elsewhere, Dirichlet
//! boundary conditions.
//!
//! The stencil of the HPCG benchmark (Dongarra, Heroux & Luszczek, 2016).

use super::grid::Grid;

/// Generates the row of `cell`, which is at `position`.
#[inline]
pub(super) fn row(grid: &Grid, cell: u64, position: [u64; 3], emit: &mut impl FnMut(u64, f64)) {
    grid.for_box(position, |_, neighbour| emit(neighbour, if neighbour == cell { 26.0 } else { -1.0 }));
}
