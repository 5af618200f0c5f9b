//! The level loop: coarsen, interpolate, form the Galerkin product, and continue with the next
//! level.

use super::matrix::{Built, Coarser, Level, LevelMatrix, Setup};
use super::stages::Stages;
use super::{Coarsening, CoarseningStop};
use crate::SetupError;
use crate::interpolate::NearKernel;

/// The levels from `level` on, whose matrix is `a`. Collective.
pub(super) fn build<M: LevelMatrix>(
    a: M,
    kernel: NearKernel,
    setup: &Setup<'_>,
    level: usize,
) -> Result<Built<M>, SetupError> {
    let mut stages = Stages::new(level, a.global_rows(), setup.cancel);
    if let Some(stop) = stop_before(&a, setup, level) {
        return Ok(last(a, stages, stop));
    }
    let coarser = coarsen(&a, &kernel, setup, level, &mut stages)?;
    drop(kernel);
    if let Some(stop) = CoarseningStop::after(a.global_rows(), coarser.coarse.global) {
        return Ok(last(a, stages, stop));
    }
    let (radius, points) = (coarser.radius, coarser.points.clone());
    let next = |a, kernel| build(a, kernel, setup, level + 1);
    let (transfer, below) = a.descend(coarser, setup, &mut stages, next)?;
    let level = Level::with_transfer(a, transfer).with_radius(radius).with_points(points);
    let mut levels = vec![Level { stages: stages.into_seconds(), ..level }];
    levels.extend(below.levels);
    Ok(Built { levels, stop: below.stop })
}

/// Why a level is the last one, as far as its size and index decide.
pub(super) fn stop_before<M: LevelMatrix>(a: &M, setup: &Setup<'_>, level: usize) -> Option<CoarseningStop> {
    if a.global_rows() <= setup.config.coarse_rows as u64 {
        return Some(CoarseningStop::SmallEnough);
    }
    (level + 1 >= setup.config.max_levels).then_some(CoarseningStop::MaxLevels)
}

pub(super) fn last<M: LevelMatrix>(a: M, stages: Stages, stop: CoarseningStop) -> Built<M> {
    let level = Level { stages: stages.into_seconds(), ..Level::last(a) };
    Built { levels: vec![level], stop }
}

fn coarsen<M: LevelMatrix>(
    a: &M,
    kernel: &NearKernel,
    setup: &Setup<'_>,
    level: usize,
    stages: &mut Stages,
) -> Result<Coarser, SetupError> {
    match &setup.config.coarsening {
        Coarsening::SmoothedAggregation(method) | Coarsening::Structured(method) => {
            method.coarser(a, kernel, level, stages)
        }
        Coarsening::Pairwise(method) => method.coarser(a, kernel, stages),
        Coarsening::Classical(method) | Coarsening::Cpr(_, method) => {
            method.coarser(a, setup.symmetry, None, stages)
        }
        Coarsening::Bamg(method) => method.coarser(a, kernel, level, stages),
        Coarsening::Air(air, method) => {
            method.restricted_by(air).coarser(a, setup.symmetry, Some(air), stages)
        }
    }
}
