//! The solve phase: a cycle over levels on a device, as a linear operator.
//!
//! This module contains levels, vectors and cycles. `lower` builds a [`Multigrid`] from a
//! hierarchy.

pub(crate) mod coarse;
mod cycle;
pub(crate) mod entry;
mod k_cycle;
pub(crate) mod level;
mod operation;
mod order;
mod stored;
mod workspace;

use std::fmt;
use std::sync::Arc;

use tracing::trace_span;
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, Vector};
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::trace::{self, TARGET};

use crate::OutOfRange;
use crate::smoother::Smoother;
use coarse::CoarseSolver;
use entry::Entry;
use level::CycleLevel;
use workspace::{Below, CycleWork};

pub use coarse::factor_entries;
pub use cycle::{Cycle, CycleKind};
pub use order::InLevelOrder;
pub use stored::{FormatCandidates, LevelFormat, StoredLevel};

/// How levels are visited and smoothed.
///
/// ```
/// use ziggurat_amg::Cycling;
/// assert_eq!((Cycling::default().pre_sweeps, Cycling::default().post_sweeps), (1, 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cycling {
    /// The type of cycle.
    pub cycle: Cycle,
    /// Smoothing sweeps before the coarse-grid correction.
    pub pre_sweeps: usize,
    /// Smoothing sweeps after the coarse-grid correction.
    pub post_sweeps: usize,
    /// The smoother.
    pub smoother: Smoother,
    /// Other smoothing from some level on. Where several apply, the last one in the list does.
    pub from_level: Vec<(usize, LevelSmoothing)>,
}

/// How one level is smoothed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelSmoothing {
    /// Sweeps before the coarse-grid correction.
    pub pre_sweeps: usize,
    /// Sweeps after the coarse-grid correction.
    pub post_sweeps: usize,
    /// The smoother.
    pub smoother: Smoother,
}

/// The most sweeps before or after a coarse-grid correction.
const MAX_SWEEPS: usize = 1000;

impl Cycling {
    /// Checks that the numbers of sweeps are in their range.
    ///
    /// ```
    /// use ziggurat_amg::Cycling;
    /// let error = Cycling { pre_sweeps: usize::MAX, ..Cycling::default() }.check().unwrap_err();
    /// assert_eq!((error.name.as_str(), error.must.as_str()), ("pre_sweeps", "from 0 to 1000"));
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let own = self.whole().check();
        self.from_level.iter().fold(own, |checked, (_, smoothing)| checked.and_then(|()| smoothing.check()))
    }

    /// How a level is smoothed; 0 is the finest.
    ///
    /// ```
    /// use ziggurat_amg::{Cycling, LevelSmoothing, smoother::Smoother};
    /// let coarser = LevelSmoothing { pre_sweeps: 2, post_sweeps: 2, smoother: Smoother::L1Jacobi };
    /// let cycling = Cycling { from_level: vec![(1, coarser)], ..Cycling::default() };
    /// assert_eq!((cycling.on_level(0).pre_sweeps, cycling.on_level(3)), (1, coarser));
    /// ```
    pub fn on_level(&self, level: usize) -> LevelSmoothing {
        let applies = self.from_level.iter().rev().find(|(from, _)| *from <= level);
        applies.map_or_else(|| self.whole(), |(_, smoothing)| *smoothing)
    }

    /// Whether every level is smoothed as often after as before the coarse-grid correction.
    pub fn is_balanced(&self) -> bool {
        let balanced = |smoothing: &LevelSmoothing| smoothing.pre_sweeps == smoothing.post_sweeps;
        balanced(&self.whole()) && self.from_level.iter().all(|(_, smoothing)| balanced(smoothing))
    }

    /// All smoothers.
    pub fn smoothers(&self) -> impl Iterator<Item = Smoother> + '_ {
        [self.smoother].into_iter().chain(self.from_level.iter().map(|(_, smoothing)| smoothing.smoother))
    }

    /// The same with the sweeps before and after exchanged.
    pub(crate) fn exchanged(&self) -> Self {
        let LevelSmoothing { pre_sweeps, post_sweeps, smoother } = self.whole().exchanged();
        let from_level = self.from_level.iter().map(|(from, smoothing)| (*from, smoothing.exchanged()));
        Cycling { cycle: self.cycle, pre_sweeps, post_sweeps, smoother, from_level: from_level.collect() }
    }

    fn whole(&self) -> LevelSmoothing {
        let Cycling { pre_sweeps, post_sweeps, smoother, .. } = *self;
        LevelSmoothing { pre_sweeps, post_sweeps, smoother }
    }
}

impl LevelSmoothing {
    fn check(&self) -> Result<(), OutOfRange> {
        let LevelSmoothing { pre_sweeps, post_sweeps, .. } = *self;
        OutOfRange::unless_in("pre_sweeps", pre_sweeps, 0..=MAX_SWEEPS)?;
        OutOfRange::unless_in("post_sweeps", post_sweeps, 0..=MAX_SWEEPS)?;
        let must = "at least 1 where post_sweeps is 0";
        OutOfRange::unless("pre_sweeps", pre_sweeps, pre_sweeps + post_sweeps > 0, must)
    }

    fn exchanged(self) -> Self {
        LevelSmoothing { pre_sweeps: self.post_sweeps, post_sweeps: self.pre_sweeps, ..self }
    }
}

impl Default for Cycling {
    fn default() -> Self {
        Cycling {
            cycle: Cycle::V,
            pre_sweeps: 1,
            post_sweeps: 1,
            smoother: Smoother::default(),
            from_level: Vec::new(),
        }
    }
}

/// A hierarchy on a device: applies one multigrid cycle from a zero guess.
///
/// ```
/// use ziggurat_amg::{Cycling, LevelPrecision, LevelSource, Lowering, Multigrid, Part};
/// use ziggurat_sparse::Kind;
/// use ziggurat_sparse::device::{Cpu, Device, DeviceExt};
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::operator::LinearOperator;
/// // One level: the cycle is a direct solve.
/// let a = "poisson2d:4".parse::<Problem>()?.matrix()?.into();
/// let (device, a) = (&Cpu::new(), Part::from(&a));
/// let level =
///     LevelSource { device, a, block: 1, host: None, radius: None, points: None, smoother: None, inverse: None, first_row: 0, transfer: None };
/// let multigrid = Multigrid::new(&[level], &Cycling::default(), |_| LevelPrecision::default(), Lowering::default())?;
/// let (b, mut x) = (device.adopt(vec![1.0; 16])?, device.zeros(Kind::F64, 16)?);
/// multigrid.apply(device, &b, &mut x, &mut multigrid.workspace(device, Kind::F64)?);
/// let x = device.to_host::<f64>(x)?;
/// assert!((4.0 * x[0] - x[1] - x[4] - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Multigrid {
    /// The device of every level, including the coarsest.
    pub(crate) devices: Vec<Arc<dyn Device>>,
    /// Every level but the coarsest, if that is solved.
    pub(crate) levels: Vec<CycleLevel>,
    pub(crate) coarse: CoarseSolver,
    pub(crate) rows: usize,
    pub(crate) coarse_rows: usize,
    pub(crate) cycling: Cycling,
    pub(crate) entry: Option<Entry>,
    /// The order of the unknowns of the levels, if it is not the given one.
    pub(crate) order: Option<Arc<Permutation>>,
    /// Whether the levels belong to −A.
    pub(crate) negated: bool,
}

impl fmt::Debug for Multigrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multigrid")
            .field("levels", &(self.levels.len() + 1))
            .field("rows", &self.rows)
            .finish()
    }
}

impl Multigrid {
    /// How each level is stored, finest first.
    ///
    /// ```
    /// use ziggurat_amg::{Cycling, Hierarchy, HierarchyConfig, LevelPrecision, Lowering};
    /// use ziggurat_sparse::{Kind, device::Cpu, gallery::Problem};
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let narrow = |_| LevelPrecision { working: Kind::F32, storage: Kind::F16 };
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// let stored = hierarchy.lower(&Cpu::new(), &Cycling::default(), narrow, Lowering::default())?.stored();
    /// assert_eq!((stored[0].storage, stored[0].working), (Kind::F16, Kind::F32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stored(&self) -> Vec<StoredLevel> {
        let coarsest = (!matches!(self.coarse, CoarseSolver::None)).then(|| StoredLevel {
            storage: Kind::F64,
            working: Kind::F64,
            format: self.coarse.stored(),
            transfer_bytes: 0,
            smoother_bytes: 0,
        });
        self.levels.iter().map(|level| level.stored.clone()).chain(coarsest).collect()
    }

    /// The seconds that one cycle spends on each level, finest first: smoothing and transfers, or
    /// the direct solve. Runs a few cycles and returns the best times. Collective.
    ///
    /// ```
    /// use ziggurat_amg::{Cycling, Hierarchy, HierarchyConfig, LevelPrecision, Lowering};
    /// use ziggurat_sparse::{device::Cpu, gallery::Problem};
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// let multigrid = hierarchy.lower(&Cpu::new(), &Cycling::default(), |_| LevelPrecision::default(), Lowering::default())?;
    /// let seconds = multigrid.level_seconds()?;
    /// assert!(seconds.len() == hierarchy.levels().len() && seconds.iter().all(|&level| level > 0.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory for the vectors, or fails.
    pub fn level_seconds(&self) -> Result<Vec<f64>, DeviceError> {
        const CYCLES: usize = 4; // the first one warms up
        let device = &*self.devices[0];
        let (mut b, mut x) = (device.zeros(Kind::F64, self.rows)?, device.zeros(Kind::F64, self.rows)?);
        device.fill(1.0, &mut b);
        let count = self.devices.len();
        let mut best = vec![f64::INFINITY; count];
        let mut work = self.make_work(Kind::F64)?;
        for _ in 0..CYCLES {
            work.clock.start(count);
            self.cycle(device, &b, &mut x, &mut work);
            best.iter_mut().zip(work.clock.stop()).for_each(|(best, seconds)| *best = best.min(seconds));
        }
        device.finish()?;
        Ok(best)
    }

    /// x ← one cycle for b. Both are in the caller's precision.
    fn cycle(&self, device: &dyn Device, b: &Vector, x: &mut Vector, work: &mut CycleWork) {
        let span = || (trace_span!(target: TARGET, "cycle", rows = self.rows), 0);
        trace::in_span(device, span, || self.cycle_in_span(device, b, x, work));
    }

    fn cycle_in_span(&self, device: &dyn Device, b: &Vector, x: &mut Vector, work: &mut CycleWork) {
        let CycleWork { levels, coarse, border, clock } = work;
        let (cycle, below) = (self.cycling.cycle, Below { levels, coarse, clock });
        match (border, &self.entry) {
            (None, _) => self.visit(0, cycle, b, x, below),
            (Some((inner, correction)), None) => {
                device.copy(b, inner);
                self.visit(0, cycle, inner, correction, below);
                device.copy(correction, x);
            }
            (Some((inner, correction)), Some(entry)) => {
                let sigma = entry.enter(device, b, inner);
                self.visit(0, cycle, inner, correction, below);
                entry.leave(device, sigma, correction, x);
            }
        }
    }
}
