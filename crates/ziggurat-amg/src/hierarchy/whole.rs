//! The matrix of a level that is held by one process.

use std::borrow::Cow;
use std::sync::Arc;

use ziggurat_sparse::algebra::{TripleProductPlan, transpose};
use ziggurat_sparse::grid::{GridPattern, GridSystem, GridTransfer, UnknownOrder, axis_strengths};
use ziggurat_sparse::{Csr, CsrRef, ExactSum, MatrixError};

use super::CoarseningStop;
use super::grid_of_matrix::is_ragged;
use super::matrix::{Built, Coarser, Descent, GridLevel, Level, LevelMatrix, Setup};
use super::stages::Stages;
use super::storage::SetupMatrix;
use crate::SetupError;
use crate::coarsen::{Aggregates, sum_by_aggregate};
use crate::halo::Whole;
use crate::interpolate::NearKernel;

/// A matrix held by one process, and its unknowns per node.
#[derive(Clone, Debug)]
pub struct WholeMatrix {
    pub(crate) a: SetupMatrix,
    pub(crate) block: usize,
}

/// Restriction and prolongation of a level that is held by one process.
#[derive(Clone, Debug)]
pub struct WholeTransfer {
    pub(crate) p: SetupMatrix,
    pub(crate) r: SetupMatrix,
    /// `None` after loading from a file, until the values are updated, and on a structured grid.
    pub(crate) galerkin: Option<TripleProductPlan<f64>>,
    /// Coarse unknowns whose columns of P are zero.
    pub(crate) dead: Vec<u32>,
}

impl WholeMatrix {
    /// A square matrix with `block` unknowns per node.
    pub fn new(a: Arc<Csr<f64>>, block: usize) -> Self {
        WholeMatrix { a: a.into(), block }
    }

    /// The matrix in compressed rows, which are made now if there are none.
    pub fn a(&self) -> &Arc<Csr<f64>> {
        self.a.csr()
    }

    /// The compressed rows that exist, and their pattern; `pattern` is in the order of the level.
    pub(super) fn on_grid(&self, pattern: &GridPattern) -> (Arc<Csr<f64>>, GridPattern) {
        match self.a.in_other_order() {
            Some(a) => (a.clone(), GridPattern { order: UnknownOrder::ByPoint, ..pattern.clone() }),
            None => (self.a.csr().clone(), pattern.clone()),
        }
    }
}

impl WholeTransfer {
    /// A transfer that was formed elsewhere; `dead` are the coarse unknowns whose columns of P are
    /// zero.
    pub fn new(p: Arc<Csr<f64>>, r: Arc<Csr<f64>>, dead: Vec<u32>) -> Self {
        WholeTransfer { p: p.into(), r: r.into(), galerkin: None, dead }
    }

    /// The transfer between two structured grids.
    pub(super) fn of_grid(p: GridTransfer<f64>) -> Self {
        let r = p.transposed();
        let [p, r] = [p, r].map(SetupMatrix::of_transfer);
        WholeTransfer { p, r, galerkin: None, dead: Vec::new() }
    }

    /// The coarse unknowns whose columns of P are zero.
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }
}

impl LevelMatrix for WholeMatrix {
    type Halo<'a> = Whole;
    type Transfer = WholeTransfer;

    fn view(&self) -> CsrRef<'_, f64> {
        self.a.csr().view()
    }

    fn block(&self) -> usize {
        self.block
    }

    fn global_rows(&self) -> u64 {
        self.a.rows() as u64
    }

    fn rows(&self) -> Whole {
        Whole::new(self.a.rows())
    }

    fn nodes(&self) -> Whole {
        Whole::new(self.a.rows() / self.block)
    }

    fn extended(&self, _: usize) -> Result<Cow<'_, Self>, SetupError> {
        Ok(Cow::Borrowed(self))
    }

    fn of_nodes(&self, rows: &Csr<f64>) -> Result<Self, SetupError> {
        Ok(WholeMatrix { a: rows.clone().into(), block: 1 })
    }

    fn aggregated(&self, roots: &[u64]) -> Result<Self, SetupError> {
        let aggregates = Aggregates::from_roots(roots, &self.rows());
        Ok(WholeMatrix { a: sum_by_aggregate(self.view(), &aggregates)?.into(), block: 1 })
    }

    fn descend(
        &self,
        coarser: Coarser,
        _: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Descent<Self>, SetupError> {
        let Coarser { p, block, kernel, dead, restriction, .. } = coarser;
        let r = match restriction {
            Some(restriction) => restriction.rows,
            None => stages
                .run("transpose", &self.rows(), || Ok::<_, SetupError>(transpose(p.view(), p.all_rows())))?,
        };
        let (galerkin, coarse) = stages.run("Galerkin product", &self.rows(), || {
            let (a, rows) = (self.view(), r.all_rows());
            let (plan, mut coarse) =
                TripleProductPlan::with_blocked_product(r.view(), rows, a, p.view(), self.block, block)?;
            set_dead_diagonal(&mut coarse, &dead);
            Ok::<_, MatrixError>((plan, coarse))
        })?;
        let kernel = match kernel {
            Some(kernel) => kernel,
            None => NearKernel::constants(coarse.rows(), 1)?,
        };
        let transfer = WholeTransfer { p: p.into(), r: r.into(), galerkin: Some(galerkin), dead };
        Ok(Descent { transfer, next: Some(Ok((WholeMatrix { a: coarse.into(), block }, kernel))) })
    }

    fn joined(
        &self,
        transfer: WholeTransfer,
        below: Option<Result<Built<Self>, SetupError>>,
    ) -> Result<(WholeTransfer, Built<Self>), SetupError> {
        // One process owns all rows of every level.
        let below = below.unwrap_or(Ok(Built { levels: Vec::new(), stop: CoarseningStop::SmallEnough }));
        Ok((transfer, below?))
    }
}

impl GridLevel for WholeMatrix {
    const SEVERAL_UNKNOWNS: bool = true;

    fn axis_strengths(&self, pattern: &GridPattern) -> [ExactSum; 3] {
        let points = 0..pattern.grid.len();
        if let Some(a) = self.a.grid() {
            return axis_strengths(pattern, points, |point, values| a.sum().at(point, values));
        }
        let (rows, pattern) = &self.on_grid(pattern);
        let sums = pattern.sums_of(rows.view());
        axis_strengths(pattern, points, |point, values| sums.at(point, values))
    }

    fn descend_grid(
        &mut self,
        pattern: &GridPattern,
        axes: &[usize],
        _: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Option<Descent<Self>>, SetupError> {
        let matrix = match self.a.grid() {
            Some(matrix) => matrix.clone(),
            None => {
                let (rows, pattern) = self.on_grid(pattern);
                let matrix = stages.run("stencils", &self.rows(), || {
                    GridSystem::from_csr(rows.view(), &pattern).map(Arc::new)
                })?;
                self.a = self.a.clone().with_grid(matrix.clone());
                matrix
            }
        };
        let stage = stages.begin("Galerkin product");
        let coarsened = matrix.coarsen(axes);
        stages.end(stage);
        let planes = pattern.grid.points()[2];
        let Some((p, coarse)) =
            coarsened.filter(|(p, _)| !is_ragged(&p.sided_points(0..planes), &self.rows()))
        else {
            return Ok(None);
        };
        let coarse = WholeMatrix { a: SetupMatrix::of_grid(Arc::new(coarse)), block: 1 };
        let kernel = NearKernel::constants(coarse.a.rows(), 1)?;
        Ok(Some(Descent { transfer: WholeTransfer::of_grid(p), next: Some(Ok((coarse, kernel))) }))
    }
}

/// Sets the diagonal entry of dead unknowns, whose rows are zero, to the largest diagonal entry.
pub(crate) fn set_dead_diagonal(a: &mut Csr<f64>, dead: &[u32]) {
    if dead.is_empty() {
        return;
    }
    let diagonal = a.view().diagonal(a.all_rows());
    let largest = diagonal.into_iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    for &unknown in dead {
        let row = unknown as usize;
        let (begin, place) = (a.row_ptr()[row], a.row(row).0.binary_search(&unknown));
        if let Ok(place) = place {
            a.values_mut()[begin + place] = scale;
        }
    }
}

impl Level<WholeMatrix> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.a.a.rows()
    }

    /// Number of entries. On a structured grid, zeros that fill diagonals count.
    pub fn nnz(&self) -> usize {
        self.a.a.nnz()
    }

    /// The level's matrix. On a structured grid, the first call makes its compressed rows. Of a
    /// level that was made on a device, the first call downloads them, and panics if that fails.
    pub fn matrix(&self) -> &Arc<Csr<f64>> {
        self.a.a.csr()
    }

    /// The prolongation from the next level; `None` on the coarsest.
    pub fn prolongation(&self) -> Option<&Arc<Csr<f64>>> {
        self.transfer.as_ref().map(|transfer| transfer.p.csr())
    }

    /// The restriction to the next level; `None` on the coarsest.
    pub fn restriction(&self) -> Option<&Arc<Csr<f64>>> {
        self.transfer.as_ref().map(|transfer| transfer.r.csr())
    }
}
