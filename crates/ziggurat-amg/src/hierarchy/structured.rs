//! Multigrid on structured grids: every level is a grid, none of them has indices.
//!
//! A grid is coarsened along all axes with strong connections, one after another
//! ([`GridMatrix::coarsen`]): by eight in three dimensions, and by less where the matrix is
//! anisotropic (semi-coarsening). Interpolation depends on the matrix, and coarse matrices are
//! Galerkin products, as in hypre's PFMG and in StructMG (Zong, Yu, Huang & Xue, *FP16 acceleration
//! in structured multigrid preconditioner*, ICPP 2024). When a grid is small, or its coefficients
//! change from point to point so that a coarser grid would not resolve them, smoothed aggregation
//! continues with its matrix. Grids with several unknowns per point go on to the coarsest level,
//! and all unknowns have the same interpolation ([`GridSystem`]); the levels hold one unknown of
//! all points after the other, whatever the order of the caller.
//!
//! Processes hold slabs of planes, and coarsen them with the planes around them that they fetch
//! ([`GridLevel::descend_grid`]), so that their levels have the same bits as on one process.
//!
//! Cost: some ten passes over the matrix. Operator complexity 1.14 for 27 points and 1.5 for seven,
//! whose coarse levels have 27; about 2 with semi-coarsening along two axes.

use std::sync::Arc;
use std::time::Instant;

use ziggurat_sparse::grid::{GridPattern, GridSystem, UnknownOrder, recognise, samples};
use ziggurat_sparse::{Csr, ExactSum};

use super::grid_of_matrix::{KnownGrid, grid_of};
use super::matrix::{Built, Descent, GridLevel, Level, Setup};
use super::stages::Stages;
use super::storage::SetupMatrix;
use super::whole::{WholeMatrix, WholeTransfer};
use super::{Hierarchy, build::build, in_given_order};
use crate::SetupError;
use crate::halo::{Halo, sum_exactly};
use crate::interpolate::NearKernel;

/// A grid with fewer points is left to smoothed aggregation, which also follows coefficients that
/// no longer resolve. Not so with several unknowns per point: aggregation would need to know which
/// motions cost no energy, and interpolation on a grid reproduces them.
const FEWEST_POINTS: usize = 4096;

/// An axis is coarsened if its connections are at least this strong, relative to the strongest
/// axis.
const STRONG: f64 = 0.1;

/// Coarsens the grid of a matrix, and continues with smoothed aggregation. Collective.
pub(super) fn build_structured<M: GridLevel>(a: M, setup: &Setup<'_>) -> Result<Built<M>, SetupError> {
    let mut stages = Stages::new(0, a.global_rows(), setup.cancel);
    let stage = stages.begin("recognition");
    let pattern = match setup.grid {
        Some(pattern) => pattern.clone(),
        None => grid_of(&a).map_err(SetupError::from).map_err(SetupError::at(0, "recognition"))?,
    };
    stages.end(stage);
    build_on_grid(a, &pattern, setup, stages)
}

/// Builds the remaining levels, starting at `a`, which is the matrix of a grid.
fn build_on_grid<M: GridLevel>(
    mut a: M,
    pattern: &GridPattern,
    setup: &Setup<'_>,
    mut stages: Stages,
) -> Result<Built<M>, SetupError> {
    let level = stages.level();
    stages.check("Galerkin product", &a.rows())?;
    let rows = pattern.grid.len() * pattern.unknowns;
    let enough = match pattern.unknowns {
        1 => FEWEST_POINTS.max(setup.config.coarse_rows),
        _ => setup.config.coarse_rows,
    };
    if rows > enough && level + 2 < setup.config.max_levels {
        let axes = strong_axes(&a, pattern);
        if let Some(Descent { transfer, next }) = a.descend_grid(pattern, &axes, setup, &mut stages)? {
            let build = |(a, _): (M, NearKernel)| {
                let stages = Stages::new(level + 1, a.global_rows(), setup.cancel);
                build_on_grid(a, &pattern.coarse(&axes), setup, stages)
            };
            let (transfer, below) = a.joined(transfer, next.map(|next| next.and_then(build)))?;
            let level = Level { stages: stages.into_seconds(), ..Level::with_transfer(a, transfer) };
            let levels = std::iter::once(level).chain(below.levels).collect();
            return Ok(Built { levels, stop: below.stop });
        }
    }
    let kernel = match pattern.unknowns {
        1 => NearKernel::constants(a.rows().owned().len(), 1)?,
        unknowns => NearKernel::constants(rows, unknowns)?.by_fields()?,
    };
    let mut built = build(a, kernel, setup, level)?;
    built.levels[0].stages.splice(0..0, stages.into_seconds());
    Ok(built)
}

/// The axes along which a grid is coarsened. Collective.
fn strong_axes<M: GridLevel>(a: &M, pattern: &GridPattern) -> Vec<usize> {
    let mut sums: [ExactSum; 3] = a.axis_strengths(pattern);
    sum_exactly(&mut sums, &a.rows());
    let (points, count) = (pattern.grid.points(), samples(pattern.grid).max(1) as f64);
    let is_strong = |axis: &usize| points[*axis] > 2 && sums[*axis].rounded() / count >= STRONG;
    [2, 1, 0].into_iter().filter(is_strong).collect()
}

impl Hierarchy {
    /// Coarsens the grid of a matrix, with the unknowns of one kind one after another.
    pub(super) fn on_grid(
        a: Arc<Csr<f64>>,
        known: Option<KnownGrid>,
        setup: &Setup<'_>,
    ) -> Result<Self, SetupError> {
        let start = Instant::now();
        let grid = match &known {
            Some(known) => known.pattern().clone(),
            None => {
                recognise(a.view()).map_err(SetupError::from).map_err(SetupError::at(0, "recognition"))?
            }
        };
        let recognised = start.elapsed().as_secs_f64();
        let stencils = known.and_then(|known| known.into_stencils_of(&a));
        let order = grid.by_unknown().map(Arc::new);
        let a = match order.clone() {
            Some(order) => SetupMatrix::unordered(a, order),
            None => SetupMatrix::from(a),
        };
        let a = WholeMatrix { a: stencils.map_or(a.clone(), |stencils| a.with_grid(stencils)), block: 1 };
        let grid = GridPattern { order: UnknownOrder::ByUnknown, ..grid };
        let constants = NearKernel::constants(a.a.rows(), 1)?;
        let made = Self::of_matrix(a, constants, &Setup { grid: Some(&grid), ..*setup });
        let mut made = made.map_err(|error| in_given_order(error, order.as_ref()))?;
        made.order = order;
        made.levels[0].stages.insert(0, ("recognition", recognised));
        made.seconds += recognised;
        Ok(made)
    }

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
        let finest = &mut self.levels[0].a.a;
        let a = finest.in_other_order().unwrap_or_else(|| finest.csr());
        let mut matrix = Arc::new(GridSystem::from_csr(a.view(), &recognise(a.view())?)?);
        *finest = finest.clone().with_grid(matrix.clone());
        for (index, axes) in axes.iter().enumerate() {
            let Some((p, coarse)) = matrix.coarsen(axes) else { break };
            matrix = Arc::new(coarse);
            self.levels[index].transfer = Some(WholeTransfer::of_grid(p));
            self.levels[index + 1].a.a = SetupMatrix::of_grid(matrix.clone());
        }
        Ok(axes.len())
    }
}
