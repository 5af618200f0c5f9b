//! `jump3d`: −∇·(κ∇u) = f with κ jumping between 1 and 10⁴.
//!
//! Cell (i, j, k) has κ = 10⁴ where ⌊i/10⌋ + ⌊j/10⌋ + ⌊k/10⌋ is odd, else 1: a chessboard of cubes of 10³ cells. The
//! weight of the face between cells a and b is the harmonic mean
//!
//! ```text
//! w_ab = 2 κ_a κ_b / (κ_a + κ_b)
//! ```
//!
//! which is what continuity of the flux asks for when κ is constant in a cell (Patankar, 1980, §4.2-3; Alcouffe et
//! al., 1981). A face of the boundary has the mean of the cell with itself, κ_a, and it stays in the diagonal.

use super::grid::{FACES, Grid, Side};

/// Cells per side of a cube of constant coefficient.
const CUBE: u64 = 10;
/// The two coefficients, by parity.
const COEFFICIENTS: [f64; 2] = [1.0, 1e4];

/// The weights of the six faces of a cell.
#[inline]
pub(super) fn weights(grid: &Grid, position: [u64; 3]) -> [f64; 6] {
    let cubes = position.map(|at| at / CUBE);
    let parity = (cubes[0] + cubes[1] + cubes[2]) % 2;
    FACES.map(|face| {
        let (axis, side) = face;
        // The neighbour is in another cube just where this cell touches its cube's side and the grid goes on.
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
