//! `jump3d`: −∇·(κ∇u) = f with κ jumping between 1 and 10⁴.
//!
//! Cell (i, j, k) has κ = 10⁴ if ⌊i/10⌋ + ⌊j/10⌋ + ⌊k/10⌋ is odd, otherwise 1: a checkerboard of
//! cubes of 10³ cells. The weight of the face between cells a and b is the harmonic mean
//!
//! ```text
//! w_ab = 2 κ_a κ_b / (κ_a + κ_b)
//! ```
//!
//! which ensures continuity of the flux for κ constant in each cell (Patankar, 1980, §4.2-3;
//! Alcouffe et al., 1981). The weight of a boundary face is κ_a, and it remains in the diagonal.

use super::grid::{FACES, Grid, Side};

/// Cells per side of a cube with constant coefficient.
const CUBE: u64 = 10;
/// The two coefficients, indexed by parity.
const COEFFICIENTS: [f64; 2] = [1.0, 1e4];

/// The weights of the six faces of a cell.
#[inline]
pub(super) fn weights(grid: &Grid, position: [u64; 3]) -> [f64; 6] {
    let cubes = position.map(|at| at / CUBE);
    let parity = (cubes[0] + cubes[1] + cubes[2]) % 2;
    FACES.map(|face| {
        let (axis, side) = face;
        // The neighbour is in another cube exactly if this cell touches that side of its cube and
        // is not at the boundary.
        let at = position[axis] % CUBE;
        let at_side = match side {
            Side::Below => at == 0,
            Side::Above => at == CUBE - 1,
        };
        let crosses = at_side && grid.has_neighbour(position, face);
        let here = COEFFICIENTS[parity as usize];
        let there = COEFFICIENTS[((parity + u64::from(crosses)) % 2) as usize];
        2.0 * here * there / (here + there)
    })
}
