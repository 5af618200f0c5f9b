//! The pattern of the grid of a matrix, or the reason why there is none.

use std::ops::Range;

use thiserror::Error;

use super::Grid;
use crate::parallel::map_pieces;

/// Rows per task.
pub(super) const TASK: usize = 4096;

/// The most directions of a stencil.
pub(super) const MOST_DIRECTIONS: usize = 27;

/// In which order the rows hold several unknowns per point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownOrder {
    /// The unknowns of a point follow one another.
    ByPoint,
    /// The first unknown of all points comes first, then the second of all points, and so on.
    #[default]
    ByUnknown,
}

/// A grid and the directions in which its points have neighbours, in the order of their numbers;
/// the point itself is one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridPattern {
    /// The grid.
    pub grid: Grid,
    /// The directions, of all unknowns together.
    pub stencil: Vec<[i8; 3]>,
    /// Unknowns per point.
    pub unknowns: usize,
    /// The order of several unknowns.
    pub order: UnknownOrder,
}

impl GridPattern {
    /// A grid with one unknown per point.
    pub fn new(grid: Grid, stencil: Vec<[i8; 3]>) -> Self {
        GridPattern { grid, stencil, unknowns: 1, order: UnknownOrder::default() }
    }
}

/// Why a matrix does not come from a structured grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotAGrid {
    /// The matrix is not square, or empty.
    #[error("the matrix is not square")]
    NotSquare,
    /// The entries are on too many diagonals.
    #[error("its entries are not on a few diagonals")]
    Diagonals,
    /// No numbers of points along the axes explain the diagonals.
    #[error("no grid of up to three dimensions has neighbours at these distances")]
    Distances,
    /// The numbers of points fit, but an entry connects points that are not neighbours.
    #[error("row {row} is connected to row {column}, which is not its neighbour in the grid")]
    NotNeighbours {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// Neighbours are those of a grid, but too many of them are missing for storage by diagonals.
    #[error("it is a grid {grid}, but more than half of the entries of its stencil are missing")]
    MissingEntries {
        /// The grid.
        grid: Grid,
    },
    /// Points at both ends of an axis are neighbours.
    #[error("it is a grid {grid}, periodic along {}: points at both ends are neighbours", names(grid, axes))]
    Periodic {
        /// The grid.
        grid: Grid,
        /// Which axes are periodic.
        axes: [bool; 3],
    },
    /// The grid has several unknowns per point, and is shared by processes.
    #[error("its points have {unknowns} unknowns each, which only one process coarsens; run without mpirun")]
    SharedUnknowns {
        /// Unknowns per point.
        unknowns: usize,
    },
}

/// The axes that are marked, by names: those with more than one point are x, y and z.
fn names(grid: &Grid, axes: &[bool; 3]) -> String {
    let used = (0..3).filter(|&axis| grid.points()[axis] > 1);
    let marked: Vec<&str> =
        used.zip(["x", "y", "z"]).filter(|(axis, _)| axes[*axis]).map(|(_, name)| name).collect();
    marked.join(" and ")
}

/// The distances that `add` appends for pieces of the rows, increasing; `None` if it returns false,
/// or if no stencil has so many.
pub(super) fn all_distances(
    rows: Range<usize>,
    add: &(dyn Fn(Range<usize>, &mut Vec<isize>) -> bool + Sync),
) -> Option<Vec<isize>> {
    let pieces = map_pieces(rows, TASK, &|rows| {
        let mut known = Vec::new();
        add(rows, &mut known).then_some(known)
    });
    pieces.into_iter().try_fold(Vec::new(), |mut all, known| {
        all.extend(known?);
        all.sort_unstable();
        all.dedup();
        (all.len() <= MOST_DIRECTIONS).then_some(all)
    })
}
