//! The memory of a cycle: all vectors, allocated before the first cycle, and a timer.

use std::cell::Cell;
use std::time::Instant;

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, Vector};

use super::coarse::CoarseScratch;
use super::level::Scratch;
use super::{Cycle, Multigrid};

/// The memory of one application.
pub(super) struct CycleWork {
    /// The vectors of every level except the coarsest.
    pub levels: Vec<LevelWork>,
    pub coarse: CoarseScratch,
    /// Right-hand side and solution of the finest level, if its precision differs from the
    /// caller's.
    pub border: Option<(Vector, Vector)>,
    pub clock: Clock,
}

/// The vectors of one level and of its interface to the next.
pub(super) struct LevelWork {
    pub scratch: Scratch,
    /// The next level's right-hand side and solution.
    pub coarse_b: Vector,
    pub coarse_x: Vector,
    /// For levels that are visited more than once.
    pub again: Option<AgainWork>,
}

/// The vectors of repeated visits to a level: W-, F- and K-cycles.
pub(super) struct AgainWork {
    pub direction: Vector,
    pub image: Vector,
    pub second_image: Vector,
}

/// The part of a [`CycleWork`] that belongs to the levels below.
pub(super) struct Below<'a> {
    pub levels: &'a mut [LevelWork],
    pub coarse: &'a mut CoarseScratch,
    pub clock: &'a Clock,
}

impl Below<'_> {
    /// The same, borrowed again for one of several visits.
    pub(super) fn reborrow(&mut self) -> Below<'_> {
        Below { levels: self.levels, coarse: self.coarse, clock: self.clock }
    }
}

/// The seconds spent on each level, if they are measured.
#[derive(Default)]
pub(super) struct Clock(Option<Vec<Cell<f64>>>);

impl Clock {
    /// Starts measuring `levels` levels.
    pub(super) fn start(&mut self, levels: usize) {
        self.0 = Some(vec![Cell::new(0.0); levels]);
    }

    /// Stops measuring; returns the seconds of each level.
    pub(super) fn stop(&mut self) -> Vec<f64> {
        self.0.take().unwrap_or_default().into_iter().map(Cell::into_inner).collect()
    }

    /// Runs `work` and adds its time to a level, synchronising with a device that queues work.
    pub(super) fn time(&self, level: usize, device: &dyn Device, work: impl FnOnce()) {
        let Some(seconds) = self.0.as_ref().and_then(|levels| levels.get(level)) else { return work() };
        let start = Instant::now();
        work();
        let _ = device.finish(); // the caller finishes the device at the end and gets its error
        seconds.set(seconds.get() + start.elapsed().as_secs_f64());
    }
}

/// Levels below the finest that are visited twice as often as the level above: further ones are
/// visited once per visit of that level. So a cycle other than V over many levels of similar size,
/// where coarsening hardly made progress, does not take exponential time.
const MAX_DOUBLINGS: usize = 14;

impl Multigrid {
    /// Allocates the memory of a cycle for vectors that enter in the precision `caller`.
    pub(super) fn make_work(&self, caller: Kind) -> Result<CycleWork, DeviceError> {
        // The vectors of a level that does not exist are empty.
        let device = |index: usize| &*self.devices[index.min(self.devices.len() - 1)];
        let zeros = |index: usize| device(index).zeros(self.working(index), self.level_rows(index));
        let mut levels = Vec::with_capacity(self.levels.len());
        for (index, level) in self.levels.iter().enumerate() {
            // A V-cycle visits the next level once, and every cycle visits the coarsest once.
            let repeated =
                self.cycling.cycle != Cycle::V && index + 1 < self.levels.len() && index < MAX_DOUBLINGS;
            let again = if repeated {
                let [direction, image, second_image] =
                    [zeros(index + 1)?, zeros(index + 1)?, zeros(index + 1)?];
                Some(AgainWork { direction, image, second_image })
            } else {
                None
            };
            let (coarse_b, coarse_x) = (zeros(index + 1)?, zeros(index + 1)?);
            let scratch = level.scratch(device(index))?;
            levels.push(LevelWork { scratch, coarse_b, coarse_x, again });
        }
        let direct = self.working(0) == caller && self.entry.is_none();
        let border = if direct { None } else { Some((zeros(0)?, zeros(0)?)) };
        let coarse = self.coarse.scratch(device(self.levels.len()), self.coarse_rows)?;
        Ok(CycleWork { levels, coarse, border, clock: Clock::default() })
    }

    /// The working precision of a level.
    fn working(&self, index: usize) -> Kind {
        self.levels.get(index).map_or(Kind::F64, |level| level.stored.working)
    }

    fn level_rows(&self, index: usize) -> usize {
        self.levels.get(index).map_or(self.coarse_rows, |level| level.rows)
    }
}
