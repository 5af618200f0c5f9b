//! `convection3d`: −Δu + β·∇u = f on the unit cube with β = (100, 50, 25) and u = 0 on the
//! boundary.
//!
//! Grid of N³ interior points, h = 1/(N+1). Convection is discretised by first-order upwind
//! differences (Courant, Isaacson & Rees, 1952): β > 0, so the upwind neighbour is at the smaller
//! coordinate and β ∂u/∂x ≈ β (u_i − u_{i−1}) / h. The equation is scaled by h²:
//!
//! ```text
//! towards −x, −y, −z:   −(1 + h β_axis)
//! towards +x, +y, +z:   −1
//! on the diagonal:      6 + h (β_x + β_y + β_z)
//! ```
//!
//! The matrix is a nonsymmetric M-matrix for every N. The cell Péclet number is 100 h: for N < 100
//! convection dominates.

use super::grid::{FACES, Side};
use super::seven_point::{Boundary, SevenPoint};

/// The convection velocity β.
const BETA: [f64; 3] = [100.0, 50.0, 25.0];

/// The stencil weights for `n` interior points per side.
pub(super) fn convection3d(n: u64) -> SevenPoint {
    let h = 1.0 / (n + 1) as f64;
    let weights = FACES.map(|(axis, side)| match side {
        Side::Below => 1.0 + h * BETA[axis],
        Side::Above => 1.0,
    });
    SevenPoint { weights, boundary: Boundary::Dirichlet }
}
