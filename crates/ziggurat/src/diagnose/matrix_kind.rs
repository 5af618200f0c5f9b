//! The properties of a matrix that determine the solver's choices: the part of the diagnosis that
//! every setup runs.
//!
//! The functions are generic over [`LevelMatrix`]: a single process examines all rows; several
//! processes examine their own and their neighbours' rows, and combine the results. Cost: a few
//! passes over the matrix.

use std::ops::Range;
use std::sync::Arc;

use ziggurat_amg::halo::{Halo, Whole};
use ziggurat_amg::{
    Cells, GridLevel, KnownGrid, LevelMatrix, SetupError, WholeMatrix, can_be_direct, cells, grid_of,
};
use ziggurat_sparse::device::Device;
use ziggurat_sparse::grid::{GridPattern, GridSystem, RowSum};
use ziggurat_sparse::{Csr, CsrRef, parallel};

use super::ROUNDING;
use super::flow::is_one_way;
use super::nodes::unknowns_per_node;
use super::rows::sums_to_zero;
use super::saddle::is_saddle_point;
use super::scatter::is_scattered;
use super::symmetry::{is_mirrored, is_symmetric};
use super::weights::{Weights, sample};
use crate::SolverConfig;
use crate::config::{ConfigError, MatrixFacts, Method};

/// Number of rows per task.
const PIECE: usize = 4096;

/// The properties of a matrix that determine how it is solved.
///
/// ```
/// use ziggurat::amg::WholeMatrix;
/// use ziggurat::diagnose::MatrixKind;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "neumann3d:6".parse::<Problem>()?.matrix()?;
/// let kind = MatrixKind::of(&WholeMatrix::new(a.into(), 1))?;
/// assert!(kind.symmetric && kind.annihilates_constants && kind.rows == 216);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MatrixKind {
    /// a_ij = a_ji, up to rounding.
    pub symmetric: bool,
    /// Every diagonal entry is positive, except in empty rows.
    pub positive_diagonal: bool,
    /// Every diagonal entry is negative, except in empty rows.
    pub negative_diagonal: bool,
    /// Whether this describes −A, which is solved in place of a [negative](Self::is_negative) A.
    pub negated: bool,
    /// Every row sums to zero, up to rounding: the constant vector is in the null space.
    pub annihilates_constants: bool,
    /// Number of rows without a nonzero entry over all processes.
    pub empty_rows: u64,
    /// max_i (k_i + 2) Σ_j |a_ij|, for rows of k_i entries: times u max |x_j|, where u is the unit
    /// roundoff, a bound on the rounding errors of a row of A x.
    pub largest_row_error: f64,
    /// Whether it is a symmetric M-matrix whose connections differ by orders of magnitude, within
    /// rows and from row to row: a network, or a heterogeneous medium.
    pub heterogeneous: bool,
    /// Whether it is symmetric, and most couplings have the sign of the diagonal, as in a mass
    /// matrix.
    pub positive_couplings: bool,
    /// Whether most couplings of most rows act in one direction, as in transport.
    pub one_way: bool,
    /// Whether it looks like a saddle point: the pattern is symmetric, and more than 1 % of the
    /// rows have entries, but none on the diagonal.
    pub saddle_point: bool,
    /// Whether it may have factors that fit into memory. Only if one process has the whole matrix,
    /// and beyond 1000 rows only with the feature `direct`.
    pub factors: bool,
    /// Number of unknowns per node.
    pub block: usize,
    /// The structured grid, if it is the matrix of one in natural order. Examined by
    /// [`with_grid`](Self::with_grid).
    pub grid: Option<GridPattern>,
    /// The cells of a reservoir system. Examined only where one process has the whole matrix.
    pub cells: Option<Cells>,
    /// Whether it is large and its rows refer to scattered columns. Examined only where one process
    /// has the whole matrix.
    pub scattered: bool,
    /// Number of rows over all processes.
    pub rows: u64,
    /// Number of entries over all processes.
    pub nnz: u64,
}

impl MatrixKind {
    /// Examines a matrix. Collective.
    ///
    /// # Errors
    /// If the rows of neighbours cannot be obtained.
    pub fn of<M: LevelMatrix>(a: &M) -> Result<Self, SetupError> {
        let wide = &*a.extended(1)?;
        let rows = Rows::of(wide.view(), wide.rows().owned());
        Ok(Self::of_rows(a, wide, rows, || is_symmetric(wide.view(), &wide.rows())))
    }

    /// Combines the properties of the own rows, the rows of neighbours and the symmetry.
    fn of_rows<M: LevelMatrix>(a: &M, wide: &M, rows: Rows, is_symmetric: impl FnOnce() -> bool) -> Self {
        let (matrix, halo) = (wide.view(), wide.rows());
        let Rows { positive_diagonal, negative_diagonal, zero_sums, empty, largest_error } = rows;
        let own = halo.owned();
        let entries = matrix.row_ptr()[own.end] - matrix.row_ptr()[own.start];
        let [not_positive, not_negative, not_zero] =
            [!positive_diagonal, !negative_diagonal, !zero_sums].map(u64::from);
        let mut totals = [not_positive, not_negative, not_zero, entries as u64, empty];
        halo.sum(&mut totals);
        // A matrix without entries has no sign.
        let has_entries = totals[4] < a.global_rows() || a.global_rows() == 0;
        let symmetric = is_symmetric();
        let weights = match symmetric {
            true => Weights::of(matrix, &halo, a.global_rows()),
            false => Weights::default(),
        };
        MatrixKind {
            symmetric,
            positive_diagonal: totals[0] == 0 && has_entries,
            negative_diagonal: totals[1] == 0 && has_entries,
            negated: false,
            annihilates_constants: totals[2] == 0 && has_entries && a.global_rows() > 0,
            empty_rows: totals[4],
            largest_row_error: halo.largest(largest_error),
            heterogeneous: weights.heterogeneous,
            positive_couplings: weights.positive,
            one_way: !symmetric && is_one_way(matrix, &halo, a.global_rows()),
            // Where all diagonal entries have one sign, none is zero.
            saddle_point: totals[0] > 0
                && totals[1] > 0
                && is_saddle_point(matrix, &halo, a.global_rows(), symmetric),
            factors: false,
            block: a.block(),
            grid: None,
            cells: None,
            scattered: false,
            rows: a.global_rows(),
            nnz: totals[3],
        }
    }

    /// Examines a matrix that one process holds, also for what ranks do not look for: unknowns per
    /// node, grids, cells and the order of the unknowns.
    ///
    /// ```
    /// use ziggurat::diagnose::MatrixKind;
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:6".parse::<Problem>()?.matrix()?;
    /// assert!(MatrixKind::of_whole(&a.into())?.grid.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MatrixKind::of`].
    pub fn of_whole(a: &Arc<Csr<f64>>) -> Result<Self, SetupError> {
        let block = unknowns_per_node(a.view(), &Whole::new(a.rows()));
        Ok(Self::of_blocks(a, block, true)?.0)
    }

    /// As [`MatrixKind::of_whole`], with a known number of unknowns per node. `constants` states
    /// that nothing but constants is known of the near-kernel.
    ///
    /// The grid is looked for first: stencils take a quarter of the time to examine, and setup
    /// needs them next.
    pub(crate) fn of_blocks(
        a: &Arc<Csr<f64>>,
        block: usize,
        constants: bool,
    ) -> Result<(Self, Option<KnownGrid>), SetupError> {
        let (whole, halo) = (WholeMatrix::new(a.clone(), block), Whole::new(a.rows()));
        // Stencils of a matrix that is not symmetric are of no use.
        let square = a.rows() == a.cols();
        let likely =
            constants && square && sample(&halo, a.rows() as u64).all(|row| is_mirrored(a.view(), row));
        let pattern = if likely { grid_of(&whole).ok() } else { None };
        let pattern = pattern.filter(|grid| block == 1 || block == grid.unknowns);
        let grid = pattern.and_then(|pattern| KnownGrid::with_stencils(a, pattern).ok());
        let mut kind = match grid.as_ref().and_then(KnownGrid::stencils) {
            Some(stencils) => {
                let symmetric = || stencils.is_symmetric(ROUNDING) || is_symmetric(a.view(), &halo);
                Self::of_rows(&whole, &whole, Rows::on_grid(stencils), symmetric)
            }
            None => MatrixKind::of(&whole)?,
        };
        let grid = grid.filter(|_| kind.symmetric && kind.empty_rows == 0);
        kind.grid = grid.as_ref().map(|grid| grid.pattern().clone());
        kind.cells = if kind.symmetric { None } else { cells(a.view()) };
        kind.scattered = is_scattered(a.view());
        kind.factors = can_be_direct(a.rows());
        Ok((kind, grid))
    }

    /// The same with the structured grid of `a`, if it has one. `constants` states that nothing but
    /// constants is known of the near-kernel: interpolation on grids reproduces no other vectors.
    /// Collective.
    ///
    /// ```
    /// use ziggurat::{amg::WholeMatrix, diagnose::MatrixKind};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = WholeMatrix::new("poisson3d:6".parse::<Problem>()?.matrix()?.into(), 1);
    /// let kind = MatrixKind::of(&a)?.with_grid(&a, true);
    /// assert_eq!(kind.grid.map(|found| found.grid.points()), Some([6; 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_grid<M: GridLevel>(mut self, a: &M, constants: bool) -> Self {
        let grid = if constants && self.symmetric && self.empty_rows == 0 { grid_of(a).ok() } else { None };
        self.grid = grid.filter(|grid| self.block == 1 || self.block == grid.unknowns);
        self
    }

    /// Whether the matrix is symmetric with a negative diagonal, and so probably negative definite.
    /// Then −A is set up, and x = −(−A)⁻¹ b.
    ///
    /// ```
    /// use ziggurat::{amg::negative, diagnose::MatrixKind};
    /// use ziggurat_sparse::gallery::Problem;
    /// let laplacian = negative(&"poisson3d:6".parse::<Problem>()?.matrix()?.into());
    /// assert!(MatrixKind::of_whole(&laplacian)?.is_negative());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_negative(&self) -> bool {
        self.symmetric && self.negative_diagonal && self.rows > 0
    }

    /// The input of [`SolverConfig::resolve`](crate::SolverConfig::resolve), for a device.
    pub fn facts(&self, device: &dyn Device) -> MatrixFacts {
        MatrixFacts {
            symmetric: self.symmetric,
            positive_diagonal: self.positive_diagonal,
            negated: self.negated,
            heterogeneous: self.heterogeneous,
            positive_couplings: self.positive_couplings,
            one_way: self.one_way,
            saddle_point: self.saddle_point,
            factors: self.factors,
            block: self.block,
            grid: self.grid.is_some(),
            cells: self.cells,
            scattered: self.scattered,
            nnz: self.nnz as usize,
            f64: device.computes_in(ziggurat_sparse::Kind::F64),
            gpu: device.traffic().is_some(),
        }
    }

    /// Checks that a resolved configuration is possible for this matrix on a device.
    ///
    /// # Errors
    /// As [`SolverConfig::check_for`], and if rows are empty and the method recognises grids.
    pub fn check(&self, config: &SolverConfig, device: &dyn Device) -> Result<(), ConfigError> {
        config.check_for(self.facts(device))?;
        if config.method == Method::Structured && self.empty_rows > 0 {
            let rows = if self.empty_rows == 1 { "row has" } else { "rows have" };
            let reason = format!(
                "`structured` needs a stencil in every row, but {} {rows} no nonzero entry; choose `sa`",
                self.empty_rows
            );
            return Err(ConfigError::Value { path: "method".into(), reason });
        }
        Ok(())
    }
}

/// Properties of the owned rows.
#[derive(Clone, Copy)]
struct Rows {
    /// Every diagonal entry is positive, except in empty rows.
    positive_diagonal: bool,
    /// Every diagonal entry is negative, except in empty rows.
    negative_diagonal: bool,
    /// Every row sums to zero.
    zero_sums: bool,
    /// Number of empty rows.
    empty: u64,
    /// The largest (k_i + 2) Σ_j |a_ij|.
    largest_error: f64,
}

impl Rows {
    /// The neutral element of the reduction.
    const NONE: Rows = Rows {
        positive_diagonal: true,
        negative_diagonal: true,
        zero_sums: true,
        empty: 0,
        largest_error: 0.0,
    };

    fn of(a: CsrRef<'_, f64>, own: Range<usize>) -> Self {
        let piece = |piece: Range<usize>| {
            let (mut rows, mut place) = (Rows::NONE, 0);
            for row in piece {
                let values = a.row(row).1;
                let (sum, size) = values.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                let diagonal = a.get_near(row, row, &mut place).unwrap_or(0.0);
                rows = rows.and(RowSum { diagonal, sum, size, entries: values.len() });
            }
            rows
        };
        parallel::map_pieces(own, PIECE, &piece).into_iter().fold(Rows::NONE, Rows::join)
    }

    /// The properties of the rows of a structured grid.
    fn on_grid(a: &GridSystem) -> Self {
        a.fold_rows(Rows::NONE, Rows::and, Rows::join)
    }

    /// With a further row.
    fn and(self, row: RowSum) -> Self {
        let is_empty = row.size == 0.0;
        Rows {
            positive_diagonal: self.positive_diagonal & (is_empty | (row.diagonal > 0.0)),
            negative_diagonal: self.negative_diagonal & (is_empty | (row.diagonal < 0.0)),
            zero_sums: self.zero_sums && (is_empty || sums_to_zero(row.sum, row.size, row.entries)),
            empty: self.empty + u64::from(is_empty),
            largest_error: self.largest_error.max((row.entries + 2) as f64 * row.size),
        }
    }

    fn join(self, other: Rows) -> Self {
        Rows {
            positive_diagonal: self.positive_diagonal && other.positive_diagonal,
            negative_diagonal: self.negative_diagonal && other.negative_diagonal,
            zero_sums: self.zero_sums && other.zero_sums,
            empty: self.empty + other.empty,
            largest_error: self.largest_error.max(other.largest_error),
        }
    }
}
