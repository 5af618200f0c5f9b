//! `radiation3t`: diffusion of three temperatures that exchange heat.
//!
//! Electrons, ions and radiation have a temperature each, T_e, T_i and T_r, in every cell:
//!
//! ```text
//! T_e − ∇·(κ_e ∇T_e) + ω_ei (T_e − T_i) + ω_er (T_e − T_r) = f_e
//! T_i − ∇·(κ_i ∇T_i) + ω_ei (T_i − T_e)                    = f_i
//! T_r − ∇·(κ_r ∇T_r)                    + ω_er (T_r − T_e) = f_r
//!
//! κ_e = 10^(2g/3),   κ_i = 10^(2g/3 − 6),   κ_r = 10^(5 − 2g/3),   ω_ei = 1000,   ω_er = 10
//! ```
//!
//! with the smooth random field g of [`noise`], limited to ±3, so the coefficients are between
//! 10⁻⁸ and 10⁷. Seven points, N³ cells with h = 1/(N + 1), scaled by h²; faces as in
//! `lognormal3d`. Cell c has the unknowns 3c + {0, 1, 2} for e, i and r. Symmetric and diagonally
//! dominant. It stands for the radiation hydrodynamics of Zong, Yu, Huang & Xue (ICPP 2024), which
//! are not public.

use super::grid::{FACES, Grid};
use super::lognormal3d::between_cells;
use super::noise;

/// The exchange coefficients between electrons and ions, and between electrons and radiation.
const EXCHANGE: [f64; 2] = [1000.0, 10.0];

/// The diffusion coefficient of a temperature in a cell.
#[inline]
fn coefficient(component: usize, position: [u64; 3]) -> f64 {
    let z = 2.0 / noise::LIMIT * noise::at(position);
    10f64.powf(match component {
        0 => z,
        1 => z - 6.0,
        _ => 5.0 - z,
    })
}

/// The number of entries of the row of `component`.
#[inline]
pub(super) fn row_len(grid: &Grid, position: [u64; 3], component: usize) -> usize {
    grid.star_len(position) + if component == 0 { 2 } else { 1 }
}

/// Generates the row of `component` of the cell at `position`, which has number `cell`.
#[inline]
pub(super) fn row(
    grid: &Grid,
    cell: u64,
    position: [u64; 3],
    component: usize,
    emit: &mut impl FnMut(u64, f64),
) {
    let weights = between_cells(grid, position, |at| coefficient(component, at));
    let h = 1.0 / (grid.extents[0] + 1) as f64;
    let exchange = EXCHANGE.map(|omega| h * h * omega);
    // Exchange with the temperatures e, i and r.
    let with = match component {
        0 => [0.0, exchange[0], exchange[1]],
        1 => [exchange[0], 0.0, 0.0],
        _ => [exchange[1], 0.0, 0.0],
    };
    let diagonal = h * h + with.iter().sum::<f64>() + weights.iter().sum::<f64>();
    let inside = FACES.map(|face| grid.has_neighbour(position, face));
    for face in 0..3 {
        if inside[face] {
            emit(3 * (cell - grid.stride(FACES[face].0)) + component as u64, -weights[face]);
        }
    }
    for (other, exchange) in with.into_iter().enumerate() {
        if other == component {
            emit(3 * cell + other as u64, diagonal);
        } else if exchange > 0.0 {
            emit(3 * cell + other as u64, -exchange);
        }
    }
    for face in 3..6 {
        if inside[face] {
            emit(3 * (cell + grid.stride(FACES[face].0)) + component as u64, -weights[face]);
        }
    }
}
