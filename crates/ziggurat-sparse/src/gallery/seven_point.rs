//! Nearest-neighbour stencils: `poisson2d`, `poisson3d`, `anisotropic3d` and `neumann3d`.
//!
//! Each face f of a cell has a weight w_f. The row of the cell is
//!
//! ```text
//! (A u)_c = d u_c − Σ_f w_f u_{neighbour behind f},      d = Σ_f w_f
//! ```
//!
//! With Dirichlet boundary conditions, the sum for d is over all faces: u = 0 outside the grid, and
//! the weight remains in the diagonal. With natural (Neumann) boundary conditions, the flux through
//! a boundary face is zero, and d omits its weight.
//!
//! | problem | w in x, y, z | boundary | diagonal |
//! |---|---|---|---|
//! | `poisson2d` | 1, 1, none | Dirichlet | 4 |
//! | `poisson3d` | 1, 1, 1 | Dirichlet | 6 |
//! | `anisotropic3d` | 1, 1, 0.01 | Dirichlet | 4.02 |
//! | `neumann3d` | 1, 1, 1 | natural | number of neighbours |
//!
//! `convection3d` and `jump3d` use the same rows with their own weights.

use super::grid::{FACES, Grid};

/// Treatment of faces without a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    /// The unknown is zero there; the weight remains in the diagonal.
    Dirichlet,
    /// The flux is zero; the weight is omitted.
    Natural,
}

/// A stencil with the same weights in every cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct SevenPoint {
    /// One weight per face, in the order of [`FACES`].
    pub(super) weights: [f64; 6],
    pub(super) boundary: Boundary,
}

impl SevenPoint {
    /// `poisson2d`, on a grid that is one cell thick, with zero weight normal to its plane.
    pub(super) fn poisson2d() -> SevenPoint {
        SevenPoint { weights: [0.0, 1.0, 1.0, 1.0, 1.0, 0.0], boundary: Boundary::Dirichlet }
    }

    /// `poisson3d`.
    pub(super) fn poisson3d() -> SevenPoint {
        SevenPoint { weights: [1.0; 6], boundary: Boundary::Dirichlet }
    }

    /// `anisotropic3d`.
    pub(super) fn anisotropic3d() -> SevenPoint {
        SevenPoint { weights: [0.01, 1.0, 1.0, 1.0, 1.0, 0.01], boundary: Boundary::Dirichlet }
    }

    /// `neumann3d`.
    pub(super) fn neumann3d() -> SevenPoint {
        SevenPoint { weights: [1.0; 6], boundary: Boundary::Natural }
    }
}

/// Generates the row of `cell`, which is at `position`, with the given face weights.
#[inline]
pub(super) fn row(
    grid: &Grid,
    cell: u64,
    position: [u64; 3],
    weights: [f64; 6],
    boundary: Boundary,
    emit: &mut impl FnMut(u64, f64),
) {
    let inside = FACES.map(|face| grid.has_neighbour(position, face));
    let mut diagonal = 0.0;
    for face in 0..6 {
        if inside[face] || boundary == Boundary::Dirichlet {
            diagonal += weights[face];
        }
    }
    for face in 0..3 {
        if inside[face] {
            emit(cell - grid.stride(FACES[face].0), -weights[face]);
        }
    }
    emit(cell, diagonal);
    for face in 3..6 {
        if inside[face] {
            emit(cell + grid.stride(FACES[face].0), -weights[face]);
        }
    }
}
