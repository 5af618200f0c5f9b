//! `lognormal3d`: −∇·(κ∇u) = f with a permeability κ over eight orders of magnitude.
//!
//! Cell c has κ = 10^(4 g / 3), where g is a smooth random field, normal and limited to ±3
//! ([`noise`]): κ is between 10⁻⁴ and 10⁴. The weight of the face between two cells is the
//! harmonic mean of their κ, as in `jump3d`, and the weight of a boundary face is the cell's own κ,
//! which remains in the diagonal. It stands for the reservoir problems of Zong, Yu, Huang & Xue
//! (ICPP 2024), which are not public.

use super::grid::{FACES, Grid};
use super::noise;

/// The permeability of a cell.
#[inline]
fn permeability(position: [u64; 3]) -> f64 {
    10f64.powf(4.0 / noise::LIMIT * noise::at(position))
}

/// The weights of the six faces of a cell.
#[inline]
pub(super) fn weights(grid: &Grid, position: [u64; 3]) -> [f64; 6] {
    between_cells(grid, position, permeability)
}

/// The weights of the six faces of a cell: harmonic means of the coefficients on both sides.
#[inline]
pub(super) fn between_cells(
    grid: &Grid,
    position: [u64; 3],
    coefficient: impl Fn([u64; 3]) -> f64,
) -> [f64; 6] {
    let here = coefficient(position);
    FACES.map(|face| match grid.neighbour(position, face) {
        Some(neighbour) => {
            let there = coefficient(neighbour);
            2.0 * here * there / (here + there)
        }
        None => here,
    })
}
