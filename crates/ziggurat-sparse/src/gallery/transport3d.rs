//! `transport3d`: β·∇u = f on the unit cube, in a flow that turns and rises.
//!
//! ```text
//! β = (½ − y, x − ½, ¼)
//! ```
//!
//! N³ cells with centres at (i + ½) / N. First-order upwind differences as in `convection3d`, but
//! without diffusion, scaled by h: the weight of a face is the flow that enters through it, and the
//! diagonal is the sum of the weights. u = 0 where the flow enters the cube, and every streamline
//! leaves it. Cells around the axis depend on each other in a circle, so no numbering makes the
//! matrix triangular.

use super::grid::{FACES, Side};

/// The weights of the six faces of a cell on a grid of `n` cells per side.
#[inline]
pub(super) fn weights(n: u64, position: [u64; 3]) -> [f64; 6] {
    let [x, y, _] = position.map(|at| (at as f64 + 0.5) / n as f64);
    let flow = [0.5 - y, x - 0.5, 0.25];
    FACES.map(|(axis, side)| match side {
        Side::Below => flow[axis].max(0.0),
        Side::Above => (-flow[axis]).max(0.0),
    })
}
