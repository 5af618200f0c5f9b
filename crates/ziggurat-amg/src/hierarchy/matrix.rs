//! The matrix of a level as setup sees it: held by one process, or distributed over several.
//!
//! Setup is written once over [`LevelMatrix`]. One process is the special case without
//! communication ([`WholeMatrix`](super::WholeMatrix)). A coarsening states how many connections
//! beyond its own rows it reads ([`LevelMatrix::extended`]), and then runs row-local kernels.

use std::borrow::Cow;
use std::fmt::Debug;

use ziggurat_sparse::grid::GridPattern;
use ziggurat_sparse::{Csr, CsrRef, ExactSum};

use super::stages::Stages;
use super::{CoarseningStop, HierarchyConfig};
use crate::coarsen::CoarseRows;
use crate::halo::Processes;
use crate::interpolate::{LocalTentative, NearKernel, Symmetry};
use crate::{Cancel, SetupError};

/// A square matrix whose rows are distributed over processes. Local rows and columns are in the
/// order of global ids. Rows of other processes are present once they have been
/// [fetched](Self::extended).
///
/// Every method that communicates is collective.
pub trait LevelMatrix: Clone + Debug {
    /// Access to the rows of other processes.
    type Halo<'a>: Processes
    where
        Self: 'a;

    /// Restriction and prolongation to the next level.
    type Transfer: Clone + Debug;

    /// The local rows.
    fn view(&self) -> CsrRef<'_, f64>;

    /// Unknowns per node.
    fn block(&self) -> usize;

    /// Rows over all processes.
    fn global_rows(&self) -> u64;

    /// The halo by rows.
    fn rows(&self) -> Self::Halo<'_>;

    /// The halo by nodes.
    fn nodes(&self) -> Self::Halo<'_>;

    /// The same matrix with the rows of other processes within `depth` connections of own rows, in
    /// either direction.
    fn extended(&self, depth: usize) -> Result<Cow<'_, Self>, SetupError>;

    /// A scalar matrix with the given own rows, whose columns are the local nodes of this one.
    fn of_nodes(&self, rows: &Csr<f64>) -> Result<Self, SetupError>;

    /// Pᵀ A P, where P is 1 in the column of each row's root: the matrix of the aggregates. `roots`
    /// holds the global id of each own row's root, or [`NO_ROOT`](crate::coarsen::NO_ROOT) for rows
    /// outside all aggregates. Rows of the result are numbered in the order of the roots.
    fn aggregated(&self, roots: &[u64]) -> Result<Self, SetupError>;

    /// Forms restriction, prolongation, and the next level's matrix and near-kernel.
    fn descend(
        &self,
        coarser: Coarser,
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Descent<Self>, SetupError>;

    /// The transfer to the next level and the levels from that one on, the same number on every
    /// process. `below` is what a process has built that owns rows of the next level.
    fn joined(
        &self,
        transfer: Self::Transfer,
        below: Option<Result<Built<Self>, SetupError>>,
    ) -> Result<(Self::Transfer, Built<Self>), SetupError>;
}

/// The matrix of a level that may be coarsened as a structured grid.
pub trait GridLevel: LevelMatrix {
    /// Whether the points of a grid may have several unknowns.
    const SEVERAL_UNKNOWNS: bool;

    /// This process's part of the sums of
    /// [`axis_strengths`](ziggurat_sparse::grid::axis_strengths).
    fn axis_strengths(&self, pattern: &GridPattern) -> [ExactSum; 3];

    /// As [`descend`](LevelMatrix::descend), along the given axes. `None` if the next grid would
    /// not resolve the coefficients ([`is_ragged`](crate::is_ragged)), or if there are no axes.
    fn descend_grid(
        &mut self,
        pattern: &GridPattern,
        axes: &[usize],
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Option<Descent<Self>>, SetupError>;
}

/// The transfer to the next level, and the beginning of that level.
#[derive(Clone, Debug)]
pub struct Descent<M: LevelMatrix> {
    /// Restriction and prolongation.
    pub transfer: M::Transfer,
    /// The matrix and the near-kernel; `None` on a process that owns no rows of them. An error may
    /// be known to some of these processes only, until all have [joined](LevelMatrix::joined).
    pub next: Option<Result<(M, NearKernel), SetupError>>,
}

/// The settings of hierarchy construction.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The configuration.
    pub config: &'a HierarchyConfig,
    /// Whether the matrix is symmetric, up to rounding.
    pub symmetry: Symmetry,
    /// Processes own multiples of this many rows, so that the blocks of smoothers do not depend on
    /// the number of processes.
    pub row_multiple: u64,
    /// The structured grid of the matrix, if it is already known.
    pub grid: Option<&'a GridPattern>,
    /// When to stop before the hierarchy is complete; either on every process or on none.
    pub cancel: &'a Cancel,
}

/// The levels, finest first, and why coarsening stopped.
#[derive(Clone, Debug)]
pub struct Built<M: LevelMatrix> {
    /// At least one level.
    pub levels: Vec<Level<M>>,
    /// Why coarsening stopped.
    pub stop: CoarseningStop,
}

/// The result of coarsening a level.
#[derive(Clone, Debug)]
pub struct Coarser {
    /// Own rows of the prolongation. Columns are numbered as in `coarse`.
    pub p: Csr<f64>,
    /// The coarse rows.
    pub coarse: CoarseRows,
    /// Unknowns per node of the coarse level.
    pub block: usize,
    /// The near-kernel of own coarse rows, if the method propagates one.
    pub kernel: Option<NearKernel>,
    /// Own coarse rows whose columns of P are zero; they get a diagonal entry.
    pub dead: Vec<u32>,
    /// ρ(D⁻¹A) of this level, if the method has estimated it.
    pub radius: Option<f64>,
    /// The restriction, where it is not the transpose of the prolongation.
    pub restriction: Option<Restriction>,
    /// The own rows that the coarse level keeps, in increasing order, if it keeps rows. They count
    /// from the first own row.
    pub points: Option<Vec<u32>>,
}

/// A restriction that is not the transpose of the prolongation.
#[derive(Clone, Debug)]
pub struct Restriction {
    /// The rows of R that belong to own coarse rows.
    pub rows: Csr<f64>,
    /// The global ids of its columns, in increasing order. Empty if one process holds all rows;
    /// column k is then row k.
    pub ids: Vec<u64>,
}

impl Coarser {
    /// The result of aggregation: every coarse node has one unknown per near-kernel vector.
    pub(crate) fn by_aggregation(
        p: Csr<f64>,
        tentative: LocalTentative,
        vectors: usize,
        radius: Option<f64>,
    ) -> Self {
        let coarse = tentative.coarse.clone();
        let (kernel, dead) = tentative.into_coarse_kernel();
        let (block, kernel) = (vectors, Some(kernel));
        Coarser { p, coarse, block, kernel, dead, radius, restriction: None, points: None }
    }
}

/// One level: its matrix, and the transfer to the next one.
#[derive(Clone, Debug)]
pub struct Level<M: LevelMatrix> {
    pub(crate) a: M,
    /// ρ(D⁻¹A), if coarsening has estimated it; the smoother uses it, too.
    pub(crate) radius: Option<f64>,
    pub(crate) transfer: Option<M::Transfer>,
    /// The own rows that the next level keeps, if it keeps rows.
    pub(crate) points: Option<Vec<u32>>,
    pub(crate) stages: Vec<(&'static str, f64)>,
}

impl<M: LevelMatrix> Level<M> {
    /// A level without a next one.
    pub fn last(a: M) -> Self {
        Level { a, radius: None, transfer: None, points: None, stages: Vec::new() }
    }

    /// A level with a transfer to the next one that was formed elsewhere.
    pub fn with_transfer(a: M, transfer: M::Transfer) -> Self {
        Level { transfer: Some(transfer), ..Level::last(a) }
    }

    /// The same level with ρ(D⁻¹A), if that is known.
    #[must_use]
    pub fn with_radius(self, radius: Option<f64>) -> Self {
        Level { radius, ..self }
    }

    /// The same level with the own rows that the next level keeps, if it keeps rows.
    #[must_use]
    pub fn with_points(self, points: Option<Vec<u32>>) -> Self {
        Level { points, ..self }
    }

    /// The own rows that the next level keeps, in increasing order and counted from the first own
    /// row; `None` if it does not keep rows.
    ///
    /// ```
    /// use ziggurat_amg::{Classical, Coarsening, Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let config = HierarchyConfig { coarsening: Coarsening::Classical(Classical::default()), ..HierarchyConfig::default() };
    /// let hierarchy = Hierarchy::build("poisson2d:40".parse::<Problem>()?.matrix()?, &config)?;
    /// let points = hierarchy.levels()[0].points();
    /// assert_eq!(points.map(<[u32]>::len), Some(hierarchy.levels()[1].rows()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn points(&self) -> Option<&[u32]> {
        self.points.as_deref()
    }

    /// The matrix, ρ(D⁻¹A) if it is known, and the transfer to the next level.
    pub fn into_parts(self) -> (M, Option<f64>, Option<M::Transfer>) {
        (self.a, self.radius, self.transfer)
    }

    /// The level's matrix in its distributed form.
    pub fn distributed_matrix(&self) -> &M {
        &self.a
    }

    /// The transfer to the next level; `None` on the coarsest.
    pub fn transfer(&self) -> Option<&M::Transfer> {
        self.transfer.as_ref()
    }

    /// Replaces the transfer to the next level.
    pub fn set_transfer(&mut self, transfer: M::Transfer) {
        self.transfer = Some(transfer);
    }

    /// Unknowns per node: the size of the blocks of the matrix.
    pub fn block(&self) -> usize {
        self.a.block()
    }

    /// ρ(D⁻¹A), if coarsening has estimated it.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// assert!(hierarchy.levels()[0].radius().is_some_and(|radius| (1.9..2.1).contains(&radius)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn radius(&self) -> Option<f64> {
        self.radius
    }

    /// The stages of setting up the next level, with the seconds of each.
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    /// Seconds of all stages.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|(_, seconds)| seconds).sum()
    }
}
