//! Multigrid on structured grids: every level is a grid, none of them has indices.
//!
//! A grid is coarsened along all axes with strong connections, one after another
//! ([`GridMatrix::coarsen`]): by eight in three dimensions, and by less where the matrix is
//! anisotropic (semi-coarsening). Interpolation depends on the matrix, and coarse matrices are
//! Galerkin products, as in hypre's PFMG and in StructMG (Zong, Yu, Huang & Xue, *FP16 acceleration
//! in structured multigrid preconditioner*, ICPP 2024). When a grid is small, or its coefficients
//! change from point to point so that a coarser grid would not resolve them, smoothed aggregation
//! continues with its matrix.
//!
//! Cost: some ten passes over the matrix. Operator complexity 1.14 for 27 points and 1.5 for seven,
//! whose coarse levels have 27; about 2 with semi-coarsening along two axes.

use std::sync::Arc;

use ziggurat_sparse::Csr;
use ziggurat_sparse::grid::{GridMatrix, GridTransfer, recognise};

use super::matrix::{Built, Level, Setup};
use super::stages::Stages;
use super::storage::SetupMatrix;
use super::whole::{WholeMatrix, WholeTransfer};
use super::{Hierarchy, build::build};
use crate::SetupError;
use crate::interpolate::NearKernel;

/// A grid with fewer points is left to smoothed aggregation, which also follows coefficients that
/// no longer resolve.
const FEWEST_POINTS: usize = 4096;

/// An axis is coarsened if its connections are at least this strong, relative to the strongest
/// axis.
const STRONG: f64 = 0.1;

/// The share of points that follow one coarse neighbour only, beyond which a grid is not coarsened
/// further.
const RAGGED: f64 = 0.5;

/// Coarsens the grid of a matrix, and continues with smoothed aggregation.
pub(super) fn build_structured(
    a: Arc<Csr<f64>>,
    setup: &Setup<'_>,
) -> Result<Built<WholeMatrix>, SetupError> {
    let at = |stage| SetupError::at(0, stage);
    let mut stages = Stages::new(0, a.rows() as u64);
    let stage = stages.begin("recognition");
    let pattern = recognise(a.view()).map_err(SetupError::from).map_err(at("recognition"))?;
    stages.end(stage);
    let stage = stages.begin("stencils");
    let matrix = GridMatrix::from_csr(a.view(), &pattern).map_err(SetupError::from);
    let mut matrix = Arc::new(matrix.map_err(at("recognition"))?);
    let mut stored = SetupMatrix::of_both(a, matrix.clone());
    stages.end(stage);
    let mut levels: Vec<Level<WholeMatrix>> = Vec::new();
    let enough = FEWEST_POINTS.max(setup.config.coarse_rows);
    while matrix.grid().len() > enough && levels.len() + 2 < setup.config.max_levels {
        let stage = stages.begin("Galerkin product");
        let axes = strong_axes(&matrix);
        let coarsened = matrix.coarsen(&axes).filter(|(p, _)| p.one_sided() <= RAGGED);
        let Some((p, coarse)) = coarsened else { break };
        stages.end(stage);
        matrix = Arc::new(coarse);
        let next = SetupMatrix::of_grid(matrix.clone());
        let a = WholeMatrix { a: std::mem::replace(&mut stored, next), block: 1 };
        let transfer = Some(transfer(p));
        levels.push(Level { transfer, stages: stages.into_seconds(), ..Level::last(a) });
        stages = Stages::new(levels.len(), matrix.grid().len() as u64);
    }
    let count = levels.len();
    let kernel = NearKernel::constants(stored.rows(), 1)?;
    let below = build(WholeMatrix { a: stored, block: 1 }, kernel, setup, count)?;
    levels.extend(below.levels);
    Ok(Built { levels, stop: below.stop })
}

/// The axes along which a grid is coarsened.
fn strong_axes(a: &GridMatrix) -> Vec<usize> {
    let (points, strengths) = (a.grid().points(), a.axis_strengths());
    [2, 1, 0].into_iter().filter(|&axis| points[axis] > 2 && strengths[axis] >= STRONG).collect()
}

fn transfer(p: GridTransfer<f64>) -> WholeTransfer {
    let r = p.transposed();
    let [p, r] = [p, r].map(SetupMatrix::of_transfer);
    WholeTransfer { p, r, galerkin: None, dead: Vec::new() }
}

impl Hierarchy {
    /// Frees what lowering reads and nothing else needs: the stencils of a finest matrix that is
    /// also in compressed rows. Lowering again works with the rows.
    ///
    /// ```
    /// use ziggurat_amg::{Coarsening, Hierarchy, HierarchyConfig, SmoothedAggregation};
    /// use ziggurat_sparse::gallery::Problem;
    /// let coarsening = Coarsening::Structured(SmoothedAggregation::default());
    /// let config = HierarchyConfig { coarsening, ..HierarchyConfig::default() };
    /// let a = "poisson3d:20".parse::<Problem>()?.matrix()?;
    /// let mut hierarchy = Hierarchy::build(a, &config)?;
    /// hierarchy.release();
    /// assert_eq!(hierarchy.levels()[1].rows(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(&mut self) {
        if let Some(finest) = self.levels.first_mut() {
            finest.a.a.release();
        }
    }

    /// Repeats the setup of the levels on grids for new values of the finest matrix, with the same
    /// axes, and returns the number of these levels.
    pub(super) fn update_grids(&mut self) -> Result<usize, SetupError> {
        let transfers = self.levels.iter().map_while(|level| level.transfer.as_ref()?.p.axes());
        let axes: Vec<Vec<usize>> = transfers.collect();
        if axes.is_empty() {
            return Ok(0);
        }
        let a = self.levels[0].matrix();
        let mut matrix = Arc::new(GridMatrix::from_csr(a.view(), &recognise(a.view())?)?);
        self.levels[0].a.a = SetupMatrix::of_both(a.clone(), matrix.clone());
        for (index, axes) in axes.iter().enumerate() {
            let Some((p, coarse)) = matrix.coarsen(axes) else { break };
            matrix = Arc::new(coarse);
            self.levels[index].transfer = Some(transfer(p));
            self.levels[index + 1].a.a = SetupMatrix::of_grid(matrix.clone());
        }
        Ok(axes.len())
    }
}
