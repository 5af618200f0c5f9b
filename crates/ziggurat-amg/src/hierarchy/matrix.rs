//! The matrix of a level as setup sees it: held by one process, or distributed over several.
//!
//! Setup is written once over [`LevelMatrix`]. One process is the special case without
//! communication ([`WholeMatrix`](super::WholeMatrix)). A coarsening states how many connections
//! beyond its own rows it reads ([`LevelMatrix::extended`]), and then runs row-local kernels.

use std::borrow::Cow;
use std::fmt::Debug;

use ziggurat_sparse::{Csr, CsrRef};

use super::level::Level;
use super::stages::Stages;
use super::{CoarseningStop, HierarchyConfig};
use crate::SetupError;
use crate::coarsen::CoarseRows;
use crate::halo::Processes;
use crate::interpolate::{LocalTentative, NearKernel, Symmetry};
use crate::smoother::Smoother;

/// A square matrix whose rows are distributed over processes. Local rows and columns are in the
/// order of global ids. Rows of other processes are present once they have been
/// [fetched](Self::extended).
///
/// Every method that communicates is collective.
pub trait LevelMatrix: Clone + Debug {
    /// What this process knows of the rows of others.
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

    /// Forms restriction, prolongation and the next level's matrix, and calls `next` with that
    /// matrix on the processes that own rows of it. Returns the transfer and the levels that
    /// follow, the same number on every process.
    fn descend(
        &self,
        coarser: Coarser,
        setup: &Setup<'_>,
        stages: &mut Stages,
        next: impl FnOnce(Self, NearKernel) -> Result<Built<Self>, SetupError>,
    ) -> Result<(Self::Transfer, Built<Self>), SetupError>;
}

/// The settings of hierarchy construction.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The configuration.
    pub config: &'a HierarchyConfig,
    /// Whether the matrix is symmetric, up to rounding.
    pub symmetry: Symmetry,
    /// The smoother. Processes own multiples of its blocks, so that results do not depend on the
    /// number of processes.
    pub smoother: Smoother,
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
        Coarser { p, coarse, block: vectors, kernel: Some(kernel), dead, radius }
    }
}
