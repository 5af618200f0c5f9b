//! The level loop: coarsen, interpolate, form the Galerkin product, and continue with the next
//! level.
//!
//! It is written once for every [`Place`] where levels are made: on the host, for one process and
//! for several ([`LevelMatrix`]), and on a device (`on_device`).

use std::marker::PhantomData;

use super::matrix::{Built, Coarser, Descent, Level, LevelMatrix, Setup};
use super::stages::Stages;
use super::{Coarsening, CoarseningStop};
use crate::SetupError;
use crate::interpolate::NearKernel;

/// Where levels are made.
pub(super) trait Place {
    type Matrix: LevelMatrix;
    /// The near-kernel of a level.
    type Kernel;
    /// Interpolation to a level from the next one, and what belongs to it.
    type Coarser;

    /// Makes interpolation, or finds why there is no next level.
    fn coarser(
        &self,
        a: &Self::Matrix,
        kernel: &Self::Kernel,
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Result<Self::Coarser, CoarseningStop>, SetupError>;

    /// Forms the next level.
    fn descend(
        &self,
        a: &Self::Matrix,
        coarser: Self::Coarser,
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Step<Self>, SetupError>;
}

/// One step of the loop.
pub(super) struct Step<P: Place + ?Sized> {
    /// ρ(D⁻¹A) of the level, and the own rows that the next one keeps, if they are known.
    pub radius: Option<f64>,
    pub points: Option<Vec<u32>>,
    pub transfer: <P::Matrix as LevelMatrix>::Transfer,
    /// The next level, as [`Descent::next`].
    pub next: Option<Result<(P::Matrix, P::Kernel), SetupError>>,
}

/// The levels from `level` on, whose matrix is `a`. Collective.
pub(super) fn build_at<P: Place>(
    place: &P,
    a: P::Matrix,
    kernel: P::Kernel,
    setup: &Setup<'_>,
    level: usize,
) -> Result<Built<P::Matrix>, SetupError> {
    let mut stages = Stages::new(level, a.global_rows(), setup.cancel);
    let coarser = match stop_before(&a, setup, level) {
        Some(stop) => Err(stop),
        None => place.coarser(&a, &kernel, setup, &mut stages)?,
    };
    drop(kernel);
    let coarser = match coarser {
        Ok(coarser) => coarser,
        Err(stop) => {
            let last = Level { stages: stages.into_seconds(), ..Level::last(a) };
            return Ok(Built { levels: vec![last], stop });
        }
    };
    let Step { radius, points, transfer, next } = place.descend(&a, coarser, setup, &mut stages)?;
    let below = next.map(|next| next.and_then(|(a, kernel)| build_at(place, a, kernel, setup, level + 1)));
    let (transfer, below) = a.joined(transfer, below)?;
    let level = Level::with_transfer(a, transfer).with_radius(radius).with_points(points);
    let mut levels = vec![Level { stages: stages.into_seconds(), ..level }];
    levels.extend(below.levels);
    Ok(Built { levels, stop: below.stop })
}

/// Why a level is the last one, as far as its size and index decide.
fn stop_before<M: LevelMatrix>(a: &M, setup: &Setup<'_>, level: usize) -> Option<CoarseningStop> {
    if a.global_rows() <= setup.config.coarse_rows as u64 {
        return Some(CoarseningStop::SmallEnough);
    }
    (level + 1 >= setup.config.max_levels).then_some(CoarseningStop::MaxLevels)
}

/// As [`build_at`], on the host.
pub(super) fn build<M: LevelMatrix>(
    a: M,
    kernel: NearKernel,
    setup: &Setup<'_>,
    level: usize,
) -> Result<Built<M>, SetupError> {
    build_at(&Host(PhantomData), a, kernel, setup, level)
}

/// The host, for matrices of one type.
struct Host<M>(PhantomData<M>);

impl<M: LevelMatrix> Place for Host<M> {
    type Matrix = M;
    type Kernel = NearKernel;
    type Coarser = Coarser;

    fn coarser(
        &self,
        a: &M,
        kernel: &NearKernel,
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Result<Coarser, CoarseningStop>, SetupError> {
        let level = stages.level();
        let coarser = match &setup.config.coarsening {
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
        }?;
        Ok(match CoarseningStop::after(a.global_rows(), coarser.coarse.global) {
            Some(stop) => Err(stop),
            None => Ok(coarser),
        })
    }

    fn descend(
        &self,
        a: &M,
        coarser: Coarser,
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Step<Self>, SetupError> {
        let (radius, points) = (coarser.radius, coarser.points.clone());
        let Descent { transfer, next } = a.descend(coarser, setup, stages)?;
        Ok(Step { radius, points, transfer, next })
    }
}
