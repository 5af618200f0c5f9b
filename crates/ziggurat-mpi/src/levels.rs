//! The levels of a distributed hierarchy as input to lowering: own and remote columns apart, with
//! the data of the smoothers. They are kept after lowering, for levels in a higher precision and
//! for new values.

use std::borrow::Cow;

use ziggurat::diagnose::MatrixKind;
use ziggurat::{SolveError, SolverConfig};
use ziggurat_amg::smoother::{Smoother, SmootherData};
use ziggurat_amg::{
    COARSE_FALLBACK_SMOOTHER, Coarsest, Hierarchy, InverseSource, Level, LevelSource, Multigrid, OwnMatrix,
    Part,
};

use crate::comm::Comm;
use crate::device::Distributed;
use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::setup::Transfer;
use crate::split::Split;

/// A level as input to lowering.
pub(crate) struct Lowerable {
    device: Distributed,
    /// Whether several ranks own rows of it.
    pub(crate) shared: bool,
    pub(crate) a: Split,
    block: usize,
    pub(crate) radius: Option<f64>,
    /// The own rows that the next level keeps, if it keeps rows.
    pub(crate) points: Option<Vec<u32>>,
    smoother: Option<LevelSmoother>,
    pub(crate) transfer: Option<SplitTransfer>,
    /// The number of the first own row.
    first_row: u64,
}

/// Restriction and prolongation, and the own coarse rows whose columns of P are zero.
pub(crate) struct SplitTransfer {
    pub(crate) r: Split,
    pub(crate) p: Split,
    pub(crate) dead: Vec<u32>,
}

/// The smoother's data of a level.
enum LevelSmoother {
    /// Data of own rows alone: a diagonal, or factors within blocks of rows.
    Own(SmootherData),
    /// An approximate inverse.
    Inverse(Box<DistributedInverse>),
}

/// The factors of an approximate inverse, and the damping, if that is given.
struct DistributedInverse {
    first: Split,
    second: Option<Split>,
    omega: Option<f64>,
}

/// Whether several ranks own rows of the matrix. Collective.
pub(crate) fn is_shared(a: &DistributedCsr) -> bool {
    a.comm().total(u64::from(!a.rows.is_empty())) > 1
}

/// The number of levels whose V-cycle is positive, if MINRES needs that and it is fewer than there
/// are. The answer for a level is the same on all ranks, also on ranks that have no rows of it.
/// Collective.
pub(crate) fn positive_levels(
    comm: &dyn Comm,
    hierarchy: &Hierarchy<DistributedCsr>,
    config: &SolverConfig,
    kind: &MatrixKind,
) -> Option<usize> {
    let levels = hierarchy.levels();
    config.positive_levels(kind, levels.len(), |level| {
        let a = levels[level].distributed_matrix();
        comm.any(a.view().diagonal(a.own.clone()).iter().any(|&entry| entry < 0.0))
    })
}

impl Lowerable {
    /// Computes the smoother's data, which reads whole rows, and splits own from remote columns.
    /// The last level is solved directly if it is on one rank, and smoothed otherwise.
    pub(crate) fn new(
        device: &Distributed,
        level: Level<DistributedCsr>,
        smoother: Smoother,
        coarsest: Coarsest,
    ) -> Result<Self, DistributedError> {
        let points = level.points().map(<[u32]>::to_vec);
        let (a, radius, transfer) = level.into_parts();
        let comm = a.comm().clone();
        let smoother = match transfer {
            Some(_) => Some(smoother),
            None if coarsest == Coarsest::Smoothed => Some(smoother),
            None if is_shared(&a) => Some(COARSE_FALLBACK_SMOOTHER),
            None => None,
        };
        let smoother = smoother.map(|smoother| LevelSmoother::new(&a, smoother, radius)).transpose()?;
        let transfer = match transfer {
            Some(Transfer { r, p, dead }) => Some(SplitTransfer { r: Split::of(r)?, p: Split::of(p)?, dead }),
            None => None,
        };
        Ok(Lowerable {
            device: device.among(comm.clone()),
            shared: comm.size() > 1 && smoother.is_some(),
            block: a.block(),
            first_row: a.own_rows().start,
            a: Split::of(a)?,
            radius,
            points,
            smoother,
            transfer,
        })
    }

    /// Unknowns per node.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    pub(crate) fn part<'a>(&self, split: &'a Split) -> Part<'a> {
        Part { own: OwnMatrix::Rows(&split.own), remote: self.shared.then_some(&split.remote) }
    }

    fn source(&self) -> LevelSource<'_> {
        LevelSource {
            device: &self.device,
            a: self.part(&self.a),
            block: self.block,
            host: None,
            radius: self.radius,
            points: self.points.as_deref(),
            smoother: match &self.smoother {
                Some(LevelSmoother::Own(data)) => Some(data),
                _ => None,
            },
            inverse: match &self.smoother {
                Some(LevelSmoother::Inverse(inverse)) => Some(InverseSource {
                    first: self.part(&inverse.first),
                    second: inverse.second.as_ref().map(|second| self.part(second)),
                    omega: inverse.omega,
                }),
                _ => None,
            },
            first_row: self.first_row,
            transfer: self.transfer.as_ref().map(|SplitTransfer { r, p, .. }| (self.part(r), self.part(p))),
        }
    }
}

impl LevelSmoother {
    /// Computes the data from own rows and the rows of other ranks that the smoother reads.
    fn new(a: &DistributedCsr, smoother: Smoother, radius: Option<f64>) -> Result<Self, DistributedError> {
        let known = match smoother.depth() {
            0 => Cow::Borrowed(a),
            depth => a.with_halo(depth)?,
        };
        let made = smoother.data(known.view(), &known.around.rows(), radius);
        match agree(&**a.comm(), made.map_err(|error| known.with_global_ids(error)))? {
            SmootherData::Inverse(inverse) => {
                let first = known.of_own_rows(&inverse.factor)?;
                let second = match inverse.is_product {
                    true => Some(Split::of(first.transposed(a.block())?)?),
                    false => None,
                };
                let (first, omega) = (Split::of(first)?, inverse.omega);
                Ok(LevelSmoother::Inverse(Box::new(DistributedInverse { first, second, omega })))
            }
            own => Ok(LevelSmoother::Own(own)),
        }
    }
}

/// Moves the levels to this rank's device.
pub(crate) fn lower(levels: &[Lowerable], config: &SolverConfig) -> Result<Multigrid, SolveError> {
    let sources: Vec<_> = levels.iter().map(Lowerable::source).collect();
    Ok(Multigrid::new(&sources, &config.cycling(), |index| config.precision.level(index), config.lowering())?)
}
