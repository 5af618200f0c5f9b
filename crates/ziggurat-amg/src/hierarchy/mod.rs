//! The hierarchy: the matrix of every level and its transfer to the next one, in double precision
//! on the host.
//!
//! It is built level by level: the coarsening gives the prolongation P, R = Pᵀ (but see `cpr.rs`),
//! and the Galerkin product is A_c = R A P. The plan of each product is kept, so that
//! [`Hierarchy::update_values`] repeats only the numeric phases. Coarsening stops for one of the
//! reasons in [`CoarseningStop`].

mod air;
mod bamg;
mod build;
mod cells;
mod classical;
mod cpr;
pub(crate) mod device_matrix;
mod file;
mod grid_of_matrix;
mod matrix;
pub(crate) mod on_device;
mod order;
mod pairwise;
mod smoothed_aggregation;
mod stages;
pub(crate) mod storage;
mod structured;
mod table;
mod update;
mod whole;

use std::sync::Arc;
use std::time::Instant;

use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::{Csr, MatrixError, choice};

use crate::interpolate::{NearKernel, Symmetry};
use crate::{Cancel, OutOfRange, SetupError};
use build::build;
use cpr::build_cpr;
use structured::build_structured;

pub use air::Air;
pub use bamg::Bamg;
pub use cells::{Cells, cells};
pub use classical::Classical;
pub use cpr::Cpr;
pub use file::HierarchyFileError;
pub use grid_of_matrix::{KnownGrid, grid_of, is_ragged};
pub use matrix::{Built, Coarser, Descent, GridLevel, Level, LevelMatrix, Restriction, Setup};
pub(crate) use order::in_given_order;
pub use order::negative;
pub use pairwise::Pairwise;
pub use smoothed_aggregation::SmoothedAggregation;
pub use stages::{Stage, Stages};
pub use whole::{WholeMatrix, WholeTransfer};

choice! {
    /// Coarsenings by name.
    ///
    /// ```
    /// use ziggurat_amg::Method;
    /// assert_eq!("sa".parse(), Ok(Method::Sa));
    /// let error = "clasical".parse::<Method>().unwrap_err();
    /// assert!(error.to_string().contains("did you mean `classical`?"));
    /// ```
    Method, "method":
    /// Chosen by the matrix.
    Auto = "auto",
    /// Smoothed aggregation.
    Sa = "sa",
    /// Classical (Ruge–Stüben): PMIS coarsening, extended+i interpolation.
    Classical = "classical",
    /// Plain aggregation of pairs.
    Pairwise = "pairwise",
    /// Structured grids in natural order, found in the matrix; smoothed aggregation below them.
    Structured = "structured",
    /// Reservoir systems: the pressures of all cells first, by classical coarsening.
    Cpr = "cpr",
    /// Transport and convection: classical coarsening with approximate ideal restriction.
    Air = "air",
    /// Structures: least-squares interpolation of test vectors that are found by the matrix.
    Bamg = "bamg",
    /// No coarsening: sparse factors of the matrix, if they fit into memory.
    Direct = "direct",
    /// No coarsening: the smoother alone is the preconditioner.
    None = "none",
}

impl Method {
    /// Whether the method needs the unknowns in their given order: it recognises grids or cells in
    /// it, or has an ordering of its own.
    ///
    /// ```
    /// use ziggurat_amg::Method;
    /// assert!(Method::Structured.keeps_order() && !Method::Sa.keeps_order());
    /// ```
    pub fn keeps_order(self) -> bool {
        matches!(self, Method::Structured | Method::Cpr | Method::Direct)
    }

    /// The coarsening of this name with its parameters; `auto` counts as smoothed aggregation, and
    /// so do `direct` and `none`, which do not coarsen.
    pub fn coarsening(
        self,
        sa: SmoothedAggregation,
        classical: Classical,
        pairwise: Pairwise,
        cpr: Cpr,
        air: Air,
        bamg: Bamg,
    ) -> Coarsening {
        match self {
            Method::Auto | Method::Sa | Method::Direct | Method::None => Coarsening::SmoothedAggregation(sa),
            Method::Classical => Coarsening::Classical(classical),
            Method::Pairwise => Coarsening::Pairwise(pairwise),
            Method::Structured => Coarsening::Structured(sa),
            Method::Cpr => Coarsening::Cpr(cpr, classical),
            Method::Air => Coarsening::Air(air, classical),
            Method::Bamg => Coarsening::Bamg(bamg),
        }
    }
}

/// How a level becomes the next one.
///
/// ```
/// use ziggurat_amg::{Coarsening, SmoothedAggregation};
/// assert_eq!(Coarsening::default(), Coarsening::SmoothedAggregation(SmoothedAggregation::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Coarsening {
    /// Coarse unknowns are aggregates of fine ones; interpolation is smoothed.
    SmoothedAggregation(SmoothedAggregation),
    /// Coarse unknowns are a subset of the fine ones.
    Classical(Classical),
    /// Coarse unknowns are pairs of pairs of fine ones; interpolation is constant on each.
    Pairwise(Pairwise),
    /// Coarse unknowns are every second point of a structured grid along its axes; smoothed
    /// aggregation continues on small grids. For one process.
    Structured(SmoothedAggregation),
    /// Coarse unknowns are the pressures of cells, and below them a subset. For one process.
    Cpr(Cpr, Classical),
    /// Coarse unknowns are a subset of the fine ones; restriction is computed from the matrix.
    /// Coarsening is never aggressive, and [`Air`] chooses the interpolation.
    Air(Air, Classical),
    /// Coarse unknowns are a subset of the fine ones; interpolation reproduces test vectors. For
    /// symmetric matrices.
    Bamg(Bamg),
}

impl Default for Coarsening {
    fn default() -> Self {
        Coarsening::SmoothedAggregation(SmoothedAggregation::default())
    }
}

/// How a hierarchy is built.
///
/// ```
/// use ziggurat_amg::HierarchyConfig;
/// assert_eq!(HierarchyConfig::default().coarse_rows, 300);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HierarchyConfig {
    /// How a level becomes the next one.
    pub coarsening: Coarsening,
    /// A level with at most this many rows is solved directly.
    pub coarse_rows: usize,
    /// Maximum number of levels, including the coarsest.
    pub max_levels: usize,
    /// Whether the unknowns are renumbered first, so that neighbours are near each other. Not with
    /// structured grids and reservoir systems, which are recognised in their given order.
    pub reorder: bool,
}

impl Default for HierarchyConfig {
    fn default() -> Self {
        HierarchyConfig {
            coarsening: Coarsening::default(),
            coarse_rows: 300,
            max_levels: 25,
            reorder: false,
        }
    }
}

/// The most levels. Cycles recurse over them.
pub const MAX_LEVELS: usize = 100;

impl HierarchyConfig {
    /// Checks that every parameter is in its range. The parameters of the coarsening are checked
    /// where they are used.
    ///
    /// ```
    /// use ziggurat_amg::HierarchyConfig;
    /// let none = HierarchyConfig { max_levels: 0, ..HierarchyConfig::default() };
    /// assert_eq!(none.check().unwrap_err().to_string(), "`max_levels` is 0; it must be from 1 to 100");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless_in("max_levels", self.max_levels, 1..=MAX_LEVELS)
    }
}

/// Properties of a matrix that its entries do not state.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixProperties {
    /// Vectors that the matrix maps to nearly zero, such as the rigid-body modes of an elastic
    /// body. Aggregation reproduces them on every level; classical coarsening ignores them.
    pub near_kernel: NearKernel,
    /// Whether the matrix is symmetric, which makes classical setup faster.
    pub symmetry: Symmetry,
    /// The structured grid of the matrix, if [`grid_of`] has already found it. Only the coarsening
    /// of structured grids uses it.
    pub grid: Option<KnownGrid>,
}

impl MatrixProperties {
    /// Checks that the matrix is square and finite, and that the near-kernel fits it.
    fn check(&self, a: &Csr<f64>) -> Result<(), SetupError> {
        let mismatch = |what, found| Err(MatrixError::Mismatch { what, expected: a.rows(), found }.into());
        if a.rows() != a.cols() {
            return mismatch("columns of a square matrix", a.cols());
        }
        let rows = self.near_kernel.rows();
        if a.rows() != rows {
            return mismatch("values of each near-kernel vector, one per row of the matrix", rows);
        }
        Ok(a.view().check_finite()?)
    }
}

/// Why coarsening stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoarseningStop {
    /// The coarsest level has at most the requested number of rows.
    SmallEnough,
    /// The maximum number of levels was reached.
    MaxLevels,
    /// The next level would not be much smaller.
    Stalled,
    /// No row needs a coarse correction: the matrix is diagonally dominant, or nearly diagonal.
    NothingToCoarsen,
}

/// Coarsening stalls where the next level would keep more than this fraction of the rows.
const STALL: f64 = 0.85;

impl CoarseningStop {
    /// All reasons.
    pub const ALL: [CoarseningStop; 4] = [
        CoarseningStop::SmallEnough,
        CoarseningStop::MaxLevels,
        CoarseningStop::Stalled,
        CoarseningStop::NothingToCoarsen,
    ];

    /// Why a level of `rows` rows is the last one if the next would have `coarse` rows; `None` if
    /// coarsening continues.
    ///
    /// ```
    /// use ziggurat_amg::CoarseningStop;
    /// assert_eq!(CoarseningStop::after(1000, 900), Some(CoarseningStop::Stalled));
    /// assert_eq!(CoarseningStop::after(1000, 100), None);
    /// ```
    pub fn after(rows: u64, coarse: u64) -> Option<Self> {
        match coarse {
            0 => Some(CoarseningStop::NothingToCoarsen),
            coarse if coarse as f64 > STALL * rows as f64 => Some(CoarseningStop::Stalled),
            _ => None,
        }
    }
}

/// A matrix and its coarser levels. `Display` prints a table.
///
/// ```
/// use ziggurat_amg::{Hierarchy, HierarchyConfig};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
/// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
/// assert!(hierarchy.levels().len() >= 2 && hierarchy.operator_complexity() < 3.0);
/// println!("{hierarchy}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchy<M: LevelMatrix = WholeMatrix> {
    levels: Vec<Level<M>>,
    stop: CoarseningStop,
    seconds: f64,
    /// The order of the finest level's unknowns, if it is not the given one.
    order: Option<Arc<Permutation>>,
    /// Whether the matrix is the caller's times −1.
    negated: bool,
}

impl Hierarchy {
    /// Coarsens a square matrix until it can be solved directly, without further knowledge of the
    /// matrix.
    ///
    /// The matrix is shared: an owned matrix or an `Arc` is used without a copy, a borrowed one is
    /// copied.
    ///
    /// # Errors
    /// As [`Hierarchy::with_properties`].
    pub fn build(a: impl Into<Arc<Csr<f64>>>, config: &HierarchyConfig) -> Result<Self, SetupError> {
        let a = a.into();
        let near_kernel = NearKernel::constants(a.rows(), 1)?;
        Self::with_properties(
            a,
            MatrixProperties { near_kernel, symmetry: Symmetry::General, grid: None },
            config,
        )
    }

    /// As [`Hierarchy::build`], with known properties of the matrix.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::{NearKernel, Symmetry};
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig, MatrixProperties};
    /// use ziggurat_sparse::gallery::{Problem, rigid_body_modes};
    /// let problem: Problem = "elasticity3d:6".parse()?;
    /// let modes = rigid_body_modes(&problem.coordinates().unwrap());
    /// let known = MatrixProperties { near_kernel: NearKernel::from_vectors(&modes, 3)?, symmetry: Symmetry::Symmetric, grid: None };
    /// let hierarchy = Hierarchy::with_properties(problem.matrix()?, known, &HierarchyConfig::default())?;
    /// assert_eq!(hierarchy.levels()[1].block(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the matrix is not square or not finite, the near-kernel does not fit it, or a parameter
    /// is out of range.
    pub fn with_properties(
        a: impl Into<Arc<Csr<f64>>>,
        properties: MatrixProperties,
        config: &HierarchyConfig,
    ) -> Result<Self, SetupError> {
        Self::with_properties_until(a, properties, config, &Cancel::NEVER)
    }

    /// As [`Hierarchy::with_properties`], unless it is [cancelled](Cancel) before.
    ///
    /// # Errors
    /// As [`Hierarchy::with_properties`], and if it is cancelled: the error names the stage that
    /// did not begin.
    pub fn with_properties_until(
        a: impl Into<Arc<Csr<f64>>>,
        properties: MatrixProperties,
        config: &HierarchyConfig,
        cancel: &Cancel,
    ) -> Result<Self, SetupError> {
        let a = a.into();
        properties.check(&a)?;
        let MatrixProperties { near_kernel, symmetry, grid } = properties;
        let setup = Setup { config, symmetry, row_multiple: 1, grid: None, cancel };
        if let Coarsening::Structured(_) = config.coarsening {
            return Self::on_grid(a, grid, &setup);
        }
        drop(grid);
        if let Coarsening::Cpr(cpr, classical) = config.coarsening {
            let (start, a) = (Instant::now(), WholeMatrix::new(a, near_kernel.block()));
            return Ok(Hierarchy::from_built(build_cpr(a, cpr, classical, &setup)?, start));
        }
        if config.reorder {
            return Self::in_new_order(&a, &near_kernel, &setup);
        }
        Self::of_matrix(WholeMatrix::new(a, near_kernel.block()), near_kernel, &setup)
    }
}

impl<M: GridLevel> Hierarchy<M> {
    /// Coarsens a matrix whose rows may be distributed over processes. Collective.
    ///
    /// # Errors
    /// If a row of any process has no usable diagonal entry, or a parameter is out of range.
    pub fn of_matrix(a: M, near_kernel: NearKernel, setup: &Setup<'_>) -> Result<Self, SetupError> {
        let start = Instant::now();
        let built = match setup.config.coarsening {
            Coarsening::Structured(_) => {
                drop(near_kernel); // it holds constants only
                build_structured(a, setup)?
            }
            _ => build(a, near_kernel, setup, 0)?,
        };
        Ok(Hierarchy::from_built(built, start))
    }
}

impl<M: LevelMatrix> Hierarchy<M> {
    /// Levels in the given order, which took the time since `start`.
    fn from_built(built: Built<M>, start: Instant) -> Self {
        let Built { levels, stop } = built;
        Hierarchy { levels, stop, seconds: start.elapsed().as_secs_f64(), order: None, negated: false }
    }

    /// Consumes the hierarchy and returns its levels.
    pub fn into_levels(self) -> Vec<Level<M>> {
        self.levels
    }

    /// The levels, finest first. There is at least one.
    pub fn levels(&self) -> &[Level<M>] {
        &self.levels
    }

    /// Why coarsening stopped.
    pub fn stop(&self) -> CoarseningStop {
        self.stop
    }

    /// Seconds of [`Hierarchy::build`].
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Seconds per stage, summed over all levels, in the order of the stages.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let stages = Hierarchy::build(a, &HierarchyConfig::default())?.stages();
    /// assert_eq!(stages[0].0, "strength");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stages(&self) -> Vec<(&'static str, f64)> {
        let mut sums: Vec<(&'static str, f64)> = Vec::new();
        for &(stage, seconds) in self.levels.iter().flat_map(Level::stages) {
            match sums.iter_mut().find(|(other, _)| *other == stage) {
                Some((_, sum)) => *sum += seconds,
                None => sums.push((stage, seconds)),
            }
        }
        sums
    }
}

impl Hierarchy {
    /// Levels that were made elsewhere, finest first. At least one is needed.
    ///
    /// ```
    /// use ziggurat_amg::{CoarseningStop, Hierarchy, Level, WholeMatrix};
    /// let a = ziggurat_sparse::Csr::identity(3)?;
    /// let only = Level::last(WholeMatrix::new(a.into(), 1));
    /// let hierarchy = Hierarchy::from_levels(vec![only], CoarseningStop::SmallEnough);
    /// assert_eq!(hierarchy.levels()[0].rows(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_levels(levels: Vec<Level<WholeMatrix>>, stop: CoarseningStop) -> Self {
        Hierarchy { levels, stop, seconds: 0.0, order: None, negated: false }
    }

    /// Operator complexity: entries of all levels over entries of the finest. It measures the cost
    /// of a cycle.
    pub fn operator_complexity(&self) -> f64 {
        let all: usize = self.levels.iter().map(Level::nnz).sum();
        all as f64 / self.levels[0].nnz().max(1) as f64
    }

    /// Grid complexity: rows of all levels over rows of the finest.
    pub fn grid_complexity(&self) -> f64 {
        let all: usize = self.levels.iter().map(Level::rows).sum();
        all as f64 / self.levels[0].rows().max(1) as f64
    }
}

#[cfg(test)]
mod tests;
