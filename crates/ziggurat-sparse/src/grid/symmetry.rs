//! Whether the matrix of a grid is symmetric.
//!
//! ```text
//! a_ij(p, d) = a_ji(p + d, −d)    for all points p, directions d and pairs of unknowns i, j
//! ```
//!
//! Both sides are contiguous in p, so no entry is searched for.
//!
//! Cost: the stencils are read once.

use std::ops::Range;

use super::matrix::{PIECE, TASK, buffered};
use super::{GridMatrix, GridSystem};
use crate::parallel::all_pieces;

impl GridSystem {
    /// Whether every entry equals its mirror image, up to `rounding` times the smaller of the two.
    /// False says less: entries that are small compared with others of their rows may differ by the
    /// rounding errors of those.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridSystem, recognise};
    /// let on_grid = |name: &str| {
    ///     let a = name.parse::<Problem>()?.matrix()?;
    ///     Ok::<_, Box<dyn std::error::Error>>(GridSystem::from_csr(a.view(), &recognise(a.view())?)?)
    /// };
    /// assert!(on_grid("radiation3t:6")?.is_symmetric(0.0));
    /// assert!(!on_grid("convection3d:6")?.is_symmetric(1e-12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_symmetric(&self, rounding: f64) -> bool {
        let m = self.unknowns();
        // A pair of blocks once: those on and above the diagonal.
        let mut pairs = (0..m).flat_map(|i| (i..m).map(move |j| (i, j)));
        pairs.all(|(i, j)| are_mirrored(self.block(i, j), self.block(j, i), i == j, rounding))
    }
}

/// Whether one block is the transpose of the other. Of a block on the diagonal, half of the
/// directions suffice.
fn are_mirrored(one: Option<&GridMatrix>, other: Option<&GridMatrix>, same: bool, rounding: f64) -> bool {
    let (a, b) = match (one, other) {
        (None, None) => return true,
        (Some(a), Some(b)) => (a, b),
        // An absent block is zero, and a stored one that is zero as well is not worth a pass.
        _ => return false,
    };
    if a.stencil().len() != b.stencil().len() {
        return false;
    }
    let n = a.grid().len();
    let mut pairs = Vec::new();
    for (s, direction) in a.stencil().iter().enumerate() {
        let Some(mirrored) = b.stencil().iter().position(|&other| other == direction.map(|step| -step))
        else {
            return false;
        };
        if !same || s < mirrored {
            pairs.push((s, mirrored, a.grid().offset(*direction)));
        }
    }
    let is_mirrored = |points: Range<usize>| {
        let (mut values, mut images) = ([0.0; PIECE], [0.0; PIECE]);
        pairs.iter().all(|&(s, mirrored, offset)| {
            // The points whose neighbour has a number of the grid; all others have no neighbour.
            let first = points.start.max(if offset < 0 { offset.unsigned_abs() } else { 0 });
            let end = n.saturating_add_signed(-offset).min(points.end);
            if first >= end {
                return true;
            }
            let (values, images) = (&mut values[..end - first], &mut images[..end - first]);
            a.copy(s, first, values);
            b.copy(mirrored, first.wrapping_add_signed(offset), images);
            // A fold without an early exit is vectorised.
            values.iter().zip(&*images).fold(true, |all, (value, image)| {
                all & ((value - image).abs() <= rounding * value.abs().min(image.abs()))
            })
        })
    };
    all_pieces(0..n, TASK, &|task| buffered(task).all(is_mirrored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::gallery::Problem;
    use crate::grid::recognise;

    fn on_grid(a: &Csr<f64>) -> GridSystem {
        GridSystem::from_csr(a.view(), &recognise(a.view()).unwrap()).unwrap()
    }

    #[test]
    fn symmetric_matrices_are_those_that_equal_their_transpose() {
        for name in ["poisson3d:12", "poisson3d27:9", "jump3d:11", "radiation3t:9", "elasticity3d:5"] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            assert!(on_grid(&a).is_symmetric(0.0), "{name}");
            // One entry that differs by more than rounding, wherever it is.
            for place in [1, a.nnz() / 3, a.nnz() / 2 + 1, a.nnz() - 2] {
                let mut other = a.clone();
                let is_diagonal = other.row_ptr().iter().zip(0..a.rows()).any(|(&start, row)| {
                    (start..start + a.row(row).0.len()).contains(&place)
                        && other.columns()[place] as usize == row
                });
                let value = &mut other.values_mut()[place];
                if is_diagonal || *value == 0.0 {
                    continue;
                }
                *value *= 1.0 + 1e-10;
                assert!(!on_grid(&other).is_symmetric(1e-12), "{name}, entry {place}");
                assert!(on_grid(&other).is_symmetric(1e-9), "{name}, entry {place}");
                other.values_mut()[place] = f64::NAN;
                assert!(!on_grid(&other).is_symmetric(1e-9), "{name}, entry {place}");
            }
        }
    }
}
