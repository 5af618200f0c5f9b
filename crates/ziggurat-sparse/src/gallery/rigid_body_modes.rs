//! Rigid-body modes: displacements with zero elastic energy.
//!
//! Three translations and three linearised rotations. For a node at (x, y, z) relative to the
//! centre, the columns are
//!
//! ```text
//! u_x:  1  0  0  −y   0   z
//! u_y:  0  1  0   x  −z   0
//! u_z:  0  0  1   0   y  −x
//! ```
//!
//! They span the null space of unconstrained elasticity, and an elasticity solver must represent
//! them on every level (Vaněk, Mandel & Brezina, 1996). Changing the centre adds translations to
//! the rotations, so it does not change the span. About the centroid, rotations and translations
//! are orthogonal.

use crate::ExactSum;
use crate::parallel::over_chunks;

/// Number of nodes summed in order before exact summation.
const BLOCK: usize = 512;

/// Nodes per task.
const TASK: usize = 4096;

/// The six rigid-body modes about the centroid of the nodes: six columns with three interleaved
/// entries per node.
///
/// ```
/// use ziggurat_sparse::gallery::rigid_body_modes;
/// let modes = rigid_body_modes(&[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]);
/// assert_eq!(modes[0], [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]); // along x
/// assert_eq!(modes[3], [0.0, -1.0, 0.0, 0.0, 1.0, 0.0]); // about the z axis through (1, 0, 0)
/// ```
pub fn rigid_body_modes(coordinates: &[[f64; 3]]) -> Vec<Vec<f64>> {
    rigid_body_modes_about(coordinates, centroid(coordinates))
}

/// The six rigid-body modes about a given centre, for a process that holds only some of the nodes.
///
/// ```
/// use ziggurat_sparse::gallery::{Problem, rigid_body_modes_about};
/// let problem: Problem = "elasticity3d:2".parse()?;
/// let modes = rigid_body_modes_about(&problem.coordinates()?, [0.5; 3]);
/// assert_eq!((modes.len(), modes[0].len() as u64), (6, problem.global_rows()));
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
pub fn rigid_body_modes_about(coordinates: &[[f64; 3]], centre: [f64; 3]) -> Vec<Vec<f64>> {
    let column = |mode: usize| {
        let mut entries = vec![0.0; 3 * coordinates.len()];
        over_chunks(&mut entries, 3 * TASK, &|task, entries| {
            for (node, point) in entries.chunks_exact_mut(3).zip(&coordinates[task * TASK..]) {
                let [x, y, z] = [0, 1, 2].map(|axis| point[axis] - centre[axis]);
                node.copy_from_slice(&match mode {
                    0 => [1.0, 0.0, 0.0],
                    1 => [0.0, 1.0, 0.0],
                    2 => [0.0, 0.0, 1.0],
                    3 => [-y, x, 0.0],
                    4 => [0.0, -z, y],
                    _ => [z, 0.0, -x],
                });
            }
        });
        entries
    };
    (0..6).map(column).collect()
}

/// The sums of the node coordinates. Results of several processes may be added digit by digit; each
/// term is the sum over a block of 512 nodes.
///
/// ```
/// use ziggurat_sparse::gallery::sums_of_coordinates;
/// let [x, ..] = sums_of_coordinates(&[[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]);
/// assert_eq!(x.rounded(), 4.0);
/// ```
pub fn sums_of_coordinates(coordinates: &[[f64; 3]]) -> [ExactSum; 3] {
    let along = |axis: usize| {
        let block = |points: &[[f64; 3]]| points.iter().map(|point| point[axis]).sum::<f64>();
        coordinates.chunks(BLOCK).map(block).collect()
    };
    [0, 1, 2].map(along)
}

/// The mean of the points; the origin if there are none.
fn centroid(coordinates: &[[f64; 3]]) -> [f64; 3] {
    sums_of_coordinates(coordinates).map(|sum| sum.rounded() / coordinates.len().max(1) as f64)
}
