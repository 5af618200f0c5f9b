//! Generates a model problem one row at a time. All gallery matrices are built from this
//! definition.

use super::box_stencil::BoxStencil;
use super::elasticity3d::Elasticity;
use super::grid::Grid;
use super::problem::{Model, Problem};
use super::seven_point::{self, Boundary, SevenPoint};
use super::{convection3d, jump3d, lognormal3d, radiation3t, transport3d};

/// Generates rows of a [`Problem`] with 64-bit global columns. Anything that can be precomputed
/// (such as the element matrix of elasticity) is. A row costs a few nanoseconds per entry and no
/// memory.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// // A matrix of 8·10⁹ rows, of which one process owns a few.
/// let problem: Problem = "poisson3d:2000".parse()?;
/// let rows = problem.generator();
/// let mut row = Vec::new();
/// rows.row(7_999_999_999, |column, value| row.push((column, value)));
/// assert_eq!(row, [(7_995_999_999, -1.0), (7_999_997_999, -1.0), (7_999_999_998, -1.0), (7_999_999_999, 6.0)]);
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    problem: Problem,
    grid: Grid,
    rule: Rule,
}

/// How a row is generated.
#[derive(Clone, Debug)]
enum Rule {
    SevenPoint(SevenPoint),
    Jump,
    Lognormal,
    Box(BoxStencil),
    Elasticity(Elasticity),
    Radiation,
    Transport,
}

impl Generator {
    pub(super) fn new(problem: Problem) -> Generator {
        let n = u64::from(problem.size());
        let rule = match problem.model() {
            Model::Poisson2d => Rule::SevenPoint(SevenPoint::poisson2d()),
            Model::Poisson3d => Rule::SevenPoint(SevenPoint::poisson3d()),
            Model::Poisson3d27 => Rule::Box(BoxStencil::poisson3d27()),
            Model::Anisotropic3d => Rule::SevenPoint(SevenPoint::anisotropic3d()),
            Model::Jump3d => Rule::Jump,
            Model::Elasticity3d => Rule::Elasticity(Elasticity::clamped(n)),
            Model::Convection3d => Rule::SevenPoint(convection3d::convection3d(n)),
            Model::Neumann3d => Rule::SevenPoint(SevenPoint::neumann3d()),
            Model::Laplace27e8 => Rule::Box(BoxStencil::laplace27e8()),
            Model::Anisotropic3d19 => Rule::Box(BoxStencil::anisotropic3d19()),
            Model::Lognormal3d => Rule::Lognormal,
            Model::Solid3d => Rule::Elasticity(Elasticity::solid(n)),
            Model::Radiation3t => Rule::Radiation,
            Model::Transport3d => Rule::Transport,
        };
        Generator { problem, grid: problem.grid(), rule }
    }

    /// The problem that is generated.
    pub fn problem(&self) -> Problem {
        self.problem
    }

    /// The number of entries of a row, without generating it. `row` must be less than
    /// [`Problem::global_rows`].
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let rows = "poisson3d27:3".parse::<Problem>()?.generator();
    /// assert_eq!((rows.row_len(0), rows.row_len(13)), (8, 27));
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    #[inline]
    pub fn row_len(&self, row: u64) -> usize {
        match &self.rule {
            Rule::SevenPoint(_) | Rule::Jump | Rule::Lognormal | Rule::Transport => {
                self.grid.star_len(self.grid.position(row))
            }
            Rule::Box(stencil) => stencil.row_len(&self.grid, self.grid.position(row)),
            Rule::Elasticity(_) => 3 * self.grid.box_len(self.grid.position(row / 3)),
            Rule::Radiation => {
                radiation3t::row_len(&self.grid, self.grid.position(row / 3), (row % 3) as usize)
            }
        }
    }

    /// Calls `emit` with the column and value of every entry of a row, in increasing column order.
    /// `row` must be less than [`Problem::global_rows`].
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let rows = "neumann3d:2".parse::<Problem>()?.generator();
    /// let mut row = Vec::new();
    /// rows.row(0, |column, value| row.push((column, value)));
    /// assert_eq!(row, [(0, 3.0), (1, -1.0), (2, -1.0), (4, -1.0)]);
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    #[inline]
    pub fn row(&self, row: u64, mut emit: impl FnMut(u64, f64)) {
        let grid = &self.grid;
        match &self.rule {
            Rule::SevenPoint(SevenPoint { weights, boundary }) => {
                seven_point::row(grid, row, grid.position(row), *weights, *boundary, &mut emit);
            }
            Rule::Jump => {
                let position = grid.position(row);
                let weights = jump3d::weights(grid, position);
                seven_point::row(grid, row, position, weights, Boundary::Dirichlet, &mut emit);
            }
            Rule::Lognormal => {
                let position = grid.position(row);
                let weights = lognormal3d::weights(grid, position);
                seven_point::row(grid, row, position, weights, Boundary::Dirichlet, &mut emit);
            }
            Rule::Transport => {
                let position = grid.position(row);
                let weights = transport3d::weights(u64::from(self.problem.size()), position);
                seven_point::row(grid, row, position, weights, Boundary::Dirichlet, &mut emit);
            }
            Rule::Box(stencil) => stencil.row(grid, grid.position(row), &mut emit),
            Rule::Elasticity(elasticity) => {
                elasticity.row(grid, grid.position(row / 3), (row % 3) as usize, &mut emit);
            }
            Rule::Radiation => {
                let (cell, component) = (row / 3, (row % 3) as usize);
                radiation3t::row(grid, cell, grid.position(cell), component, &mut emit);
            }
        }
    }

    /// Coordinates of a node in the unit cube. Node `node` has the unknowns `node * block_size ..`.
    ///
    /// Grid points with Dirichlet boundary conditions are at (i + 1) / (N + 1), the cell centres of
    /// `neumann3d` and `transport3d` at (i + ½) / N, and the nodes of `elasticity3d` at i / N,
    /// without the plane x = 0. In two dimensions, z = 0.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let rows = "poisson2d:3".parse::<Problem>()?.generator();
    /// assert_eq!(rows.coordinates(5), [0.75, 0.5, 0.0]);
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    #[inline]
    pub fn coordinates(&self, node: u64) -> [f64; 3] {
        let n = f64::from(self.problem.size());
        let [x, y, z] = self.grid.position(node).map(|at| at as f64);
        match self.problem.model() {
            Model::Poisson2d => [(x + 1.0) / (n + 1.0), (y + 1.0) / (n + 1.0), 0.0],
            Model::Elasticity3d => [(x + 1.0) / n, y / n, z / n],
            Model::Neumann3d | Model::Transport3d => [x, y, z].map(|at| (at + 0.5) / n),
            _ => [x, y, z].map(|at| (at + 1.0) / (n + 1.0)),
        }
    }

    /// Entry `row` of the right-hand side; see [`Problem::rhs`].
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let rows = "poisson2d:3".parse::<Problem>()?.generator();
    /// assert_eq!(rows.rhs(5), 1.0);
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    #[inline]
    pub fn rhs(&self, row: u64) -> f64 {
        if !self.problem.is_singular() {
            return 1.0;
        }
        // Antisymmetric about the middle row, so the sum is zero.
        match row.cmp(&(self.problem.global_rows() - 1 - row)) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => -1.0,
        }
    }
}
