//! Structured grids: boxes of points in one to three dimensions, whose matrices have one stencil.
//!
//! [`recognise`] finds the grid of a matrix in compressed rows. [`GridMatrix`] holds the stencil
//! values of every point, and [`GridSystem`] does so for several unknowns per point.
//! [`GridSystem::coarsen`] makes the matrix of every second point along some axes, and
//! [`GridTransfer`] interpolates between the two grids. None of them stores an index. The solve
//! phase stores a grid's matrix by diagonals ([`Dia`](crate::Dia)).

mod coarsen;
mod matrix;
mod pattern;
mod periodic;
mod plane;
mod recognise;
mod row_sums;
mod rows;
mod symmetry;
mod system;
pub(crate) mod transfer;
mod transfer_rows;
mod unknowns;

pub use matrix::{GridMatrix, GridValues};
pub use pattern::{GridPattern, NotAGrid, UnknownOrder};
pub use recognise::{MatrixRows, recognise};
pub use row_sums::RowSum;
pub use rows::{StencilPlaces, axis_strengths, samples};
pub use system::GridSystem;
pub use transfer::{GridTransfer, SidedPoints, TransferDirection};

/// A box of points, numbered with x fastest. A grid of two dimensions has the axes x and z, so that
/// planes of constant z are its lines.
///
/// ```
/// use ziggurat_sparse::grid::Grid;
/// let grid = Grid::new([10, 20, 30]);
/// assert_eq!((grid.len(), grid.stride(2), grid.offset([-1, 1, 1])), (6000, 200, 209));
/// assert_eq!(grid.coarse(0).points(), [5, 20, 30]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    points: [usize; 3],
}

impl Grid {
    /// A grid with these numbers of points along x, y and z.
    pub const fn new(points: [usize; 3]) -> Self {
        Grid { points }
    }

    /// Points along x, y and z.
    pub const fn points(&self) -> [usize; 3] {
        self.points
    }

    /// Number of points.
    pub const fn len(&self) -> usize {
        self.points[0] * self.points[1] * self.points[2]
    }

    /// Whether there are no points.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The difference between the numbers of two neighbours along an axis.
    pub fn stride(&self, axis: usize) -> usize {
        self.points[..axis].iter().product()
    }

    /// The distance from the number of a point to the number of its neighbour in a direction.
    pub fn offset(&self, direction: [i8; 3]) -> isize {
        (0..3).map(|axis| isize::from(direction[axis]) * self.stride(axis) as isize).sum()
    }

    /// The position of a point.
    pub fn position(&self, point: usize) -> [usize; 3] {
        let [nx, ny, _] = self.points;
        [point % nx, point / nx % ny, point / nx / ny]
    }

    /// The grid of every second point along an axis: 1, 3, 5, ….
    #[must_use]
    pub fn coarse(&self, axis: usize) -> Grid {
        let mut points = self.points;
        points[axis] /= 2;
        Grid { points }
    }

    /// The points that [`coarse`](Self::coarse) leaves out: 0, 2, 4, ….
    #[must_use]
    pub(crate) fn left_out(&self, axis: usize) -> Grid {
        let mut points = self.points;
        points[axis] -= points[axis] / 2;
        Grid { points }
    }
}

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sizes: Vec<String> = self.points.iter().filter(|&&n| n > 1).map(ToString::to_string).collect();
        write!(f, "{}", if sizes.is_empty() { "1".to_owned() } else { sizes.join("×") })
    }
}
