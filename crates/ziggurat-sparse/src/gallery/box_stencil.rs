//! Stencils of up to 27 points with the same weights everywhere: `poisson3d27`, `laplace27e8` and
//! `anisotropic3d19`.
//!
//! ```text
//! (A u)_c = d u_c − Σ_k w_k u_(c+k),   k ∈ {−1, 0, 1}³ without 0,   d = Σ_k w_k
//! ```
//!
//! Dirichlet boundary conditions: weights towards points outside the grid remain in d. Directions
//! with a weight of zero have no entry.
//!
//! | problem | w towards a face | an edge | a corner | diagonal |
//! |---|---|---|---|---|
//! | `poisson3d27` | 1 | 1 | 1 | 26 |
//! | `laplace27e8` | 10⁸ | 10⁸ | 10⁸ | 26·10⁸ |
//! | `anisotropic3d19` | 1 in x and y, 100 in z | ½ in the xy plane, 5 in the others | 0 | 246 |
//!
//! The first is the stencil of the HPCG benchmark (Dongarra, Heroux & Luszczek, 2016). The second
//! is it in units that 16 bits cannot hold, and the third has the features of a weather model on
//! thin cells; both follow the problems of Zong, Yu, Huang & Xue (ICPP 2024).

use super::grid::Grid;

/// The slot of the point itself among the 27 of [`Grid::for_box`].
const CENTRE: usize = 13;

/// A stencil with the same weights at every point.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxStencil {
    /// The weight of each slot of [`Grid::for_box`]; zero at the centre.
    weights: [f64; 27],
    diagonal: f64,
}

impl BoxStencil {
    /// The stencil with `weight` of each direction.
    fn new(weight: impl Fn([i64; 3]) -> f64) -> BoxStencil {
        let mut weights = [0.0; 27];
        for (slot, slot_weight) in weights.iter_mut().enumerate().filter(|&(slot, _)| slot != CENTRE) {
            let slot = slot as i64;
            *slot_weight = weight([slot % 3 - 1, slot / 3 % 3 - 1, slot / 9 - 1]);
        }
        BoxStencil { weights, diagonal: weights.iter().sum() }
    }

    /// `poisson3d27`.
    pub(super) fn poisson3d27() -> BoxStencil {
        BoxStencil::new(|_| 1.0)
    }

    /// `laplace27e8`.
    pub(super) fn laplace27e8() -> BoxStencil {
        BoxStencil::new(|_| 1e8)
    }

    /// `anisotropic3d19`.
    pub(super) fn anisotropic3d19() -> BoxStencil {
        BoxStencil::new(|direction| match direction.map(i64::abs) {
            [1, 0, 0] | [0, 1, 0] => 1.0,
            [0, 0, 1] => 100.0,
            [1, 1, 0] => 0.5,
            [1, 0, 1] | [0, 1, 1] => 5.0,
            _ => 0.0,
        })
    }

    /// The number of entries of the row of the node at `position`.
    #[inline]
    pub(super) fn row_len(&self, grid: &Grid, position: [u64; 3]) -> usize {
        let mut len = 0;
        grid.for_box(position, |slot, _| len += usize::from(self.has(slot)));
        len
    }

    /// Generates the row of the node at `position`.
    #[inline]
    pub(super) fn row(&self, grid: &Grid, position: [u64; 3], emit: &mut impl FnMut(u64, f64)) {
        grid.for_box(position, |slot, neighbour| {
            if self.has(slot) {
                emit(neighbour, if slot == CENTRE { self.diagonal } else { -self.weights[slot] });
            }
        });
    }

    #[inline]
    fn has(&self, slot: usize) -> bool {
        slot == CENTRE || self.weights[slot] != 0.0
    }
}
