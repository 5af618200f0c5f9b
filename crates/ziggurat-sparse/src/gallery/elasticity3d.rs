//! `elasticity3d` and `solid3d`: linear elasticity on the unit cube, trilinear (Q1) hexahedra.
//!
//! - `elasticity3d`: E = 1, ν = 0.3, N elements per side, h = 1/N. Displacements of the nodes on
//!   the face x = 0 are clamped to zero and eliminated; the other faces are free. Node (ix, iy,
//!   iz) has ix = 1…N and iy, iz = 0…N.
//! - `solid3d`: E = 1, ν = 0.25, N + 1 elements per side, h = 1/(N + 1). All faces are fixed, so
//!   the N³ inner nodes are left, and every row has the same entries.
//!
//! A node has the unknowns 3·node + {0, 1, 2}. The element matrix, for local nodes a, b and
//! directions i, j, is
//!
//! ```text
//! K_(a,i)(b,j) = ∫ λ ∂_i N_a ∂_j N_b + μ ∂_j N_a ∂_i N_b + δ_ij μ ∇N_a·∇N_b
//! λ = E ν / ((1 + ν)(1 − 2ν)),   μ = E / (2 (1 + ν))
//! ```
//!
//! (Hughes, *The Finite Element Method*, 1987, ch. 2 and 3), integrated with 2×2×2 Gauss points,
//! which is exact here. Each pair of nodes that share an element has a full 3×3 block, including
//! zeros.
//!
//! Which elements contain a node depends only on the faces of the cube that the node lies on: 2·3·3
//! cases. Their stencils (27 blocks each, 35 KB in total) are assembled once; each row is copied
//! from its stencil. The order of products and sums is fixed so that the matrix is bitwise
//! symmetric.

use super::grid::Grid;

/// Young's modulus.
const E: f64 = 1.0;
/// The 3×3 blocks that couple a node to its 27 neighbours, by row: `[component][slot][neighbour's
/// component]`.
type Stencil = [[[f64; 3]; 27]; 3];

/// The stencils of all node kinds.
#[derive(Clone, Debug)]
pub(super) struct Elasticity {
    /// Indexed by [`kind`]; a single one if all nodes have it.
    stencils: Vec<Stencil>,
}

/// Whether the elements below and above a node along one axis exist.
type Beside = [bool; 2];
const BESIDE: [Beside; 3] = [[true, true], [true, false], [false, true]];

/// The stencil index of a node, from its position along each axis. Along x there is always an
/// element below, because the nodes with ix = 0 are eliminated; node ix is at position ix − 1.
#[inline]
fn kind(grid: &Grid, position: [u64; 3]) -> usize {
    let beside = |axis: usize| match position[axis] {
        at if at + 1 == grid.extents[axis] => 1,
        0 if axis > 0 => 2,
        _ => 0,
    };
    beside(0) + 2 * (beside(1) + 3 * beside(2))
}

impl Elasticity {
    /// `solid3d` with `n` inner nodes per side.
    pub(super) fn solid(n: u64) -> Elasticity {
        let element = element_matrix(1.0 / (n + 1) as f64, 0.25);
        Elasticity { stencils: vec![stencil(&element, [BESIDE[0]; 3])] }
    }

    /// `elasticity3d` with `n` elements per side.
    pub(super) fn clamped(n: u64) -> Elasticity {
        let element = element_matrix(1.0 / n as f64, 0.3);
        let mut stencils = Vec::with_capacity(2 * 3 * 3);
        for z in BESIDE {
            for y in BESIDE {
                for x in &BESIDE[..2] {
                    stencils.push(stencil(&element, [*x, y, z]));
                }
            }
        }
        Elasticity { stencils }
    }

    /// The row of unknown `component` at the node at `position`.
    #[inline]
    pub(super) fn row(
        &self,
        grid: &Grid,
        position: [u64; 3],
        component: usize,
        emit: &mut impl FnMut(u64, f64),
    ) {
        let kind = if self.stencils.len() == 1 { 0 } else { kind(grid, position) };
        let blocks = &self.stencils[kind][component];
        grid.for_box(position, |slot, node| {
            for (direction, &value) in blocks[slot].iter().enumerate() {
                emit(3 * node + direction as u64, value);
            }
        });
    }
}

/// Sums the elements around a node. Bit `axis` of a local node number tells whether the node is on
/// the upper side of the element along that axis. So the element in which our node has local number
/// e lies below it along the axes whose bits are set in e.
fn stencil(element: &[[f64; 24]; 24], beside: [Beside; 3]) -> Stencil {
    let bit = |local: usize, axis: usize| (local >> axis) & 1;
    let mut blocks = [[[0.0; 3]; 27]; 3];
    for here in 0..8 {
        if (0..3).any(|axis| !beside[axis][1 - bit(here, axis)]) {
            continue;
        }
        for there in 0..8 {
            let offset = |axis: usize| 1 + bit(there, axis) - bit(here, axis);
            let slot = offset(0) + 3 * offset(1) + 9 * offset(2);
            for (component, blocks) in blocks.iter_mut().enumerate() {
                for (direction, value) in blocks[slot].iter_mut().enumerate() {
                    *value += element[3 * here + component][3 * there + direction];
                }
            }
        }
    }
    blocks
}

/// The stiffness matrix of a cube with side length `h` and Poisson's ratio `nu`.
fn element_matrix(h: f64, nu: f64) -> [[f64; 24]; 24] {
    let lambda = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
    let mu = E / (2.0 * (1.0 + nu));
    let sign = |number: usize, axis: usize| if (number >> axis) & 1 == 1 { 1.0 } else { -1.0 };
    let gauss = 1.0 / 3f64.sqrt();
    let weight = h * h * h / 8.0;
    let mut stiffness = [[0.0; 24]; 24];
    for point in 0..8 {
        let mut gradients = [[0.0; 3]; 8];
        for (node, gradient) in gradients.iter_mut().enumerate() {
            for (axis, slope) in gradient.iter_mut().enumerate() {
                let mut product = sign(node, axis) / 8.0;
                for other in (0..3).filter(|&other| other != axis) {
                    product *= 1.0 + sign(node, other) * (sign(point, other) * gauss);
                }
                *slope = product * 2.0 / h;
            }
        }
        for (a, da) in gradients.iter().enumerate() {
            for (b, db) in gradients.iter().enumerate() {
                let dot = da[0] * db[0] + da[1] * db[1] + da[2] * db[2];
                for i in 0..3 {
                    for j in 0..3 {
                        let shear = if i == j { mu * dot } else { 0.0 };
                        stiffness[3 * a + i][3 * b + j] +=
                            weight * (lambda * (da[i] * db[j]) + mu * (da[j] * db[i]) + shear);
                    }
                }
            }
        }
    }
    stiffness
}
