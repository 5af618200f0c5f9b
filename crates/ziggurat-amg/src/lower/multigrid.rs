//! Multigrid: one cycle as a linear operator, on any device.

use std::borrow::Cow;
use std::fmt;
use std::time::Instant;

use ziggurat_sparse::device::{Device, DeviceError};
use ziggurat_sparse::operator::{LinearOperator, Workspace};
use ziggurat_sparse::{Kind, MatrixError};

use super::entry::Entry;
use super::format::{Considered, ExactMatrix, Factors, Lowering};
use super::level::{LevelOps, LevelParts, Scratch, Smoothing, StoredLevel, TransferParts, level};
use super::part::Part;
use super::precision::LevelPrecision;
use super::scaling::{Scaling, scaled_level};
use super::vectors::{Work, WorkMut, WorkRef, Working, convert};
use crate::SetupError;
use crate::coarse::{CoarseScratch, CoarseSolver};
use crate::cycle::Cycle;
use crate::smoother::{Smoother, SmootherData};

/// How levels are visited and smoothed.
///
/// ```
/// use ziggurat_amg::Cycling;
/// assert_eq!((Cycling::default().pre_sweeps, Cycling::default().post_sweeps), (1, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycling {
    /// The order of the levels.
    pub cycle: Cycle,
    /// Smoothings before the coarse level.
    pub pre_sweeps: usize,
    /// Smoothings after it.
    pub post_sweeps: usize,
    /// The smoother.
    pub smoother: Smoother,
}

impl Default for Cycling {
    fn default() -> Self {
        Cycling { cycle: Cycle::V, pre_sweeps: 1, post_sweeps: 1, smoother: Smoother::default() }
    }
}

/// One level of a hierarchy, as lowering reads it. Among several processes everyone has the same levels, be they of no rows.
#[derive(Debug)]
pub struct LevelSource<'a, D: Device> {
    /// Where this level's vectors live. All that happens on a level happens there, the way to the next one included.
    pub device: &'a D,
    /// The level's matrix.
    pub a: Part<'a, D>,
    /// The size of the blocks that it consists of.
    pub block: usize,
    /// The same matrix as an outer iteration has it, where there is one.
    pub host: Option<&'a ExactMatrix>,
    /// ρ(D⁻¹A), where it is known already.
    pub radius: Option<f64>,
    /// The smoother's data, where it has been computed already. A level with remote columns needs it, because a smoother looks at
    /// whole rows. On the coarsest level, that of [`INSTEAD_OF_DIRECT`](crate::INSTEAD_OF_DIRECT).
    pub smoother: Option<&'a SmootherData>,
    /// Restriction and prolongation to the next level; `None` on the coarsest. Columns of the prolongation belong to vectors of
    /// the next level's device, all others to this one's.
    pub transfer: Option<(Part<'a, D>, Part<'a, D>)>,
}

// Not derived: that would ask for `D: Copy`.
impl<D: Device> Clone for LevelSource<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: Device> Copy for LevelSource<'_, D> {}

impl<'a, D: Device> LevelSource<'a, D> {
    /// Checks that what is there belongs together.
    fn check(&self) -> Result<(), SetupError> {
        let transfer = self.transfer.iter().flat_map(|(r, p)| [r, p]);
        std::iter::once(&self.a).chain(transfer).try_for_each(Part::check)?;
        let (expected, found) = (self.a.rows(), self.smoother.map(|data| data.diagonal.len()));
        match found {
            Some(found) if found != expected => {
                let what = "elements of a smoother's diagonal";
                Err(MatrixError::Mismatch { what, expected, found }.into())
            }
            _ => Ok(()),
        }
    }

    /// The data of a smoother: what is there already, or computed from the matrix.
    pub(crate) fn smoother_data(&self, smoother: &Smoother) -> Result<Cow<'a, SmootherData>, SetupError> {
        match self.smoother {
            Some(data) => Ok(Cow::Borrowed(data)),
            None if self.a.remote.is_some() => {
                let what = "elements of the smoother's diagonal, which a level with remote columns needs";
                Err(MatrixError::Mismatch { what, expected: self.a.rows(), found: 0 }.into())
            }
            None => Ok(Cow::Owned(smoother.data(self.a.own.view(), self.a.own.all_rows(), self.radius)?)),
        }
    }
}

/// A lowered hierarchy: applies one multigrid cycle from a zero guess.
///
/// ```
/// use ziggurat_amg::{Cycling, LevelPrecision, LevelSource, Lowering, Multigrid, Part};
/// use ziggurat_sparse::device::Cpu;
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::operator::LinearOperator;
/// // One level: the cycle is a direct solve.
/// let a = "poisson2d:4".parse::<Problem>()?.matrix()?.into();
/// let (device, a) = (&Cpu::new(), Part::from(&a));
/// let level =
///     LevelSource { device, a, block: 1, host: None, radius: None, smoother: None, transfer: None };
/// let multigrid = Multigrid::new(&[level], &Cycling::default(), |_| LevelPrecision::default(), Lowering::default())?;
/// let (b, mut x) = (vec![1.0_f64; 16], vec![0.0_f64; 16]);
/// let mut work = LinearOperator::<Cpu, f64>::workspace(&multigrid, device)?;
/// multigrid.apply(device, &b, &mut x, &mut work);
/// assert!((4.0 * x[0] - x[1] - x[4] - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Multigrid<D: Device> {
    /// Of every level, the coarsest included.
    devices: Vec<D>,
    /// Of every level but the coarsest.
    levels: Vec<Box<dyn LevelOps<D>>>,
    coarse: CoarseSolver<D>,
    rows: usize,
    coarse_rows: usize,
    cycling: Cycling,
    entry: Option<Entry<D>>,
}

impl<D: Device> fmt::Debug for Multigrid<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multigrid")
            .field("levels", &(self.levels.len() + 1))
            .field("rows", &self.rows)
            .finish()
    }
}

/// The vectors of one application.
struct MultigridWork<D: Device> {
    /// Per level but the coarsest.
    levels: Vec<LevelWork<D>>,
    deepest: Deepest<D>,
    /// Right-hand side and solution of the finest level, where its precision is not the caller's; of the coarsest level,
    /// where it is the only one.
    border: Option<(Work<D>, Work<D>)>,
}

/// What every level hands down.
struct Deepest<D: Device> {
    coarse: CoarseScratch<D>,
    /// The seconds of every level, where they are asked for.
    seconds: Option<Vec<f64>>,
}

impl<D: Device> Deepest<D> {
    /// Does something on a level, and looks at the clock if that is asked for: a device that queues work is waited for then.
    fn timed(&mut self, index: usize, device: &D, work: impl FnOnce(&mut CoarseScratch<D>)) {
        let Some(seconds) = &mut self.seconds else { return work(&mut self.coarse) };
        let start = Instant::now();
        work(&mut self.coarse);
        let _ = device.finish(); // whoever asked looks at it in the end
        seconds[index] += start.elapsed().as_secs_f64();
    }
}

/// The vectors of one level and of the border to the next.
struct LevelWork<D: Device> {
    scratch: Scratch<D>,
    /// The next level's right-hand side and solution.
    coarse_b: Work<D>,
    coarse_x: Work<D>,
    /// For the K-cycle and repeated visits on the next level.
    krylov: Option<KrylovWork<D>>,
}

/// What a K-cycle keeps of its first iteration, and its second right-hand side.
struct KrylovWork<D: Device> {
    direction: Work<D>,
    image: Work<D>,
    second_image: Work<D>,
}

impl<D: Device> Multigrid<D> {
    /// Moves a hierarchy, finest level first, to its levels' devices. `precision` chooses each level's numbers; the coarsest
    /// level is solved in double precision. On a device [without it](Device::computes_in) the others are in single.
    ///
    /// Among several processes everyone calls it. A coarsest level with remote columns is smoothed; where it is to be solved
    /// directly, one process has to have all of it.
    pub fn new(
        levels: &[LevelSource<'_, D>],
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
        lowering: Lowering,
    ) -> Result<Self, SetupError> {
        let Some((coarsest, finer)) = levels.split_last() else {
            return Err(
                MatrixError::Mismatch { what: "levels of the hierarchy", expected: 1, found: 0 }.into()
            );
        };
        for (index, source) in levels.iter().enumerate() {
            source.check().map_err(SetupError::at(index, "lowering"))?;
        }
        let precision = |index: usize| precision(index).on(levels[index].device);
        let Lowering { formats, scaled } = lowering;
        let scalings = match scaled {
            true => Scaling::of_levels(levels, |index| precision(index).stored()),
            false => vec![None; levels.len()],
        };
        let mut lowered = Vec::with_capacity(finer.len());
        for (index, source) in finer.iter().enumerate() {
            let at = |stage| SetupError::at(index, stage);
            let smoother = source.smoother_data(&cycling.smoother).map_err(at("smoother"))?;
            let coarse = levels[index + 1].device;
            let coarse_working =
                if index + 1 == finer.len() { Kind::F64 } else { precision(index + 1).working };
            let scalings = [scalings[index].as_ref(), scalings.get(index + 1).and_then(Option::as_ref)];
            let (working, storage) = (precision(index).working, precision(index).stored());
            let made = match scalings {
                [None, None] => {
                    let transfer = source.transfer.map(|(r, p)| TransferParts {
                        r: (Factors::ONE, r),
                        p: (Factors::ONE, p),
                        coarse,
                        coarse_working,
                    });
                    let (a, block, host) = (source.a, source.block, source.host);
                    let factors = Factors::ONE;
                    let parts =
                        LevelParts { a, factors, block, host, formats, transfer, smoother: &smoother };
                    level(source.device, &parts, working, storage)
                }
                _ => scaled_level(
                    source,
                    smoother,
                    scalings,
                    (coarse, coarse_working),
                    (working, storage),
                    formats,
                ),
            };
            lowered.push(made.map_err(at("lowering"))?);
        }
        let scaling = scalings.first().and_then(Option::as_ref);
        let narrow = scaling.is_some() || lowered.first().is_some_and(|level| level.working() != Kind::F64);
        let entry = narrow.then(|| Entry::new(levels[0].device, scaling));
        let scaling = scalings.last().and_then(Option::as_ref);
        let coarse = CoarseSolver::new(coarsest, scaling);
        Ok(Multigrid {
            devices: levels.iter().map(|source| source.device.clone()).collect(),
            levels: lowered,
            coarse: coarse.map_err(SetupError::at(finer.len(), "direct solve"))?,
            rows: levels[0].a.rows(),
            coarse_rows: coarsest.a.rows(),
            cycling: *cycling,
            entry: entry.transpose()?,
        })
    }

    /// How each level is stored, finest first; the coarsest is solved directly.
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
        let (format, bytes, why) = self.coarse.stored();
        let format = Considered::only(format, bytes, why);
        let coarsest = StoredLevel { storage: Kind::F64, working: Kind::F64, format, transfer_bytes: 0 };
        self.levels.iter().map(|level| level.stored().clone()).chain([coarsest]).collect()
    }

    /// The seconds that one cycle spends on each level, finest first: smoothing and transfers, or the direct solve. The best of
    /// a few cycles, which it runs; among several processes everyone calls it.
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
    /// If the device has no room for the vectors, or fails.
    pub fn level_seconds(&self) -> Result<Vec<f64>, DeviceError> {
        const CYCLES: usize = 4; // the first warms up
        let device = &self.devices[0];
        let (mut b, mut x) = (device.zeros(self.rows)?, device.zeros(self.rows)?);
        device.fill(1.0, &mut b);
        let count = self.devices.len();
        let mut best = vec![f64::INFINITY; count];
        let mut work = self.make_work(Kind::F64)?;
        for _ in 0..CYCLES {
            work.deepest.seconds = Some(vec![0.0; count]);
            self.cycle(device, WorkRef::F64(&b), WorkMut::F64(&mut x), &mut work);
            let seconds = work.deepest.seconds.take().unwrap_or_default();
            best.iter_mut().zip(seconds).for_each(|(best, seconds)| *best = best.min(seconds));
        }
        device.finish()?;
        Ok(best)
    }

    /// x ← one cycle for b, which enter and leave in the caller's precision.
    fn cycle(&self, device: &D, b: WorkRef<'_, D>, x: WorkMut<'_, D>, work: &mut MultigridWork<D>) {
        let MultigridWork { levels, deepest, border } = work;
        let cycle = self.cycling.cycle;
        match (border, &self.entry) {
            (None, _) => self.visit(0, cycle, b, x, levels, deepest),
            (Some((inner, correction)), None) => {
                convert(device, b, inner.view_mut());
                self.visit(0, cycle, inner.view(), correction.view_mut(), levels, deepest);
                convert(device, correction.view(), x);
            }
            (Some((inner, correction)), Some(entry)) => {
                let sigma = entry.enter(device, b, inner.view_mut());
                self.visit(0, cycle, inner.view(), correction.view_mut(), levels, deepest);
                entry.leave(device, sigma, correction.view(), x);
            }
        }
    }

    /// The working precision of a level.
    fn working(&self, index: usize) -> Kind {
        self.levels.get(index).map_or(Kind::F64, |level| level.working())
    }

    fn level_rows(&self, index: usize) -> usize {
        self.levels.get(index).map_or(self.coarse_rows, |level| level.rows())
    }

    fn make_work(&self, caller: Kind) -> Result<MultigridWork<D>, DeviceError> {
        let zeros =
            |index: usize| Work::zeros(&self.devices[index], self.working(index), self.level_rows(index));
        let mut levels = Vec::with_capacity(self.levels.len());
        for (index, level) in self.levels.iter().enumerate() {
            // The next level is visited more than once, unless it is the coarsest or the cycle is V.
            let repeated = self.cycling.cycle != Cycle::V && index + 1 < self.levels.len();
            let krylov = if repeated {
                let [direction, image, second_image] =
                    [zeros(index + 1)?, zeros(index + 1)?, zeros(index + 1)?];
                Some(KrylovWork { direction, image, second_image })
            } else {
                None
            };
            let (coarse_b, coarse_x) = (zeros(index + 1)?, zeros(index + 1)?);
            let scratch = level.scratch(&self.devices[index])?;
            levels.push(LevelWork { scratch, coarse_b, coarse_x, krylov });
        }
        let direct = self.working(0) == caller && self.entry.is_none();
        let border = if direct { None } else { Some((zeros(0)?, zeros(0)?)) };
        let coarse = self.coarse.scratch(&self.devices[self.levels.len()], self.coarse_rows)?;
        Ok(MultigridWork { levels, deepest: Deepest { coarse, seconds: None }, border })
    }

    /// x ← cycle(b) on level `index`, from a zero guess.
    fn visit(
        &self,
        index: usize,
        cycle: Cycle,
        b: WorkRef<'_, D>,
        mut x: WorkMut<'_, D>,
        work: &mut [LevelWork<D>],
        deepest: &mut Deepest<D>,
    ) {
        let device = &self.devices[index];
        let Some(level) = self.levels.get(index) else {
            deepest.timed(index, device, |coarse| {
                // Only a device that lost its memory can fail here; its next `finish` says so.
                let _ = self.coarse.solve(device, f64::get(b), f64::get_mut(x), coarse);
            });
            return;
        };
        let Some((mine, below)) = work.split_first_mut() else { return };
        let (pre, post) = (self.cycling.pre_sweeps, self.cycling.post_sweeps);
        let before = Smoothing { sweeps: pre, from_zero: true, post: false };
        deepest.timed(index, device, |_| {
            level.smooth(device, b, x.reborrow(), &mut mine.scratch, before);
            level.restrict(device, b, x.view(), &mut mine.scratch, mine.coarse_b.view_mut());
        });
        let (coarse_b, coarse_x) = (&mut mine.coarse_b, &mut mine.coarse_x);
        match (cycle, &mut mine.krylov) {
            (Cycle::K, Some(krylov)) => {
                self.krylov_visit(index + 1, coarse_b, coarse_x, krylov, below, deepest);
            }
            (Cycle::W | Cycle::F, Some(krylov)) => {
                // e = e₁ + cycle(b − A e₁): the second visit corrects what the first has left.
                let again = if cycle == Cycle::F { Cycle::V } else { cycle };
                self.visit(index + 1, cycle, coarse_b.view(), coarse_x.view_mut(), below, deepest);
                let (next, there) = (&self.levels[index + 1], &self.devices[index + 1]);
                next.apply(there, coarse_x.view(), krylov.image.view_mut());
                combine(there, -1.0, krylov.image.view(), 1.0, coarse_b.view_mut());
                self.visit(index + 1, again, coarse_b.view(), krylov.direction.view_mut(), below, deepest);
                combine(there, 1.0, krylov.direction.view(), 1.0, coarse_x.view_mut());
            }
            _ => self.visit(index + 1, cycle, coarse_b.view(), coarse_x.view_mut(), below, deepest),
        }
        let after = Smoothing { sweeps: post, from_zero: false, post: true };
        deepest.timed(index, device, |_| {
            level.prolong(device, coarse_x.view(), &mut mine.scratch, x.reborrow());
            level.smooth(device, b, x, &mut mine.scratch, after);
        });
    }

    /// x ← at most two iterations of flexible conjugate gradients on level `index`, preconditioned by its cycle; one,
    /// if that reduces the residual to a quarter (Notay & Vassilevski's threshold).
    fn krylov_visit(
        &self,
        index: usize,
        b: &mut Work<D>,
        x: &mut Work<D>,
        krylov: &mut KrylovWork<D>,
        below: &mut [LevelWork<D>],
        deepest: &mut Deepest<D>,
    ) {
        let (level, device) = (&self.levels[index], &self.devices[index]);
        let KrylovWork { direction: c, image: v, second_image: w } = krylov;
        self.visit(index, Cycle::K, b.view(), c.view_mut(), below, deepest);
        level.apply(device, c.view(), v.view_mut());
        let (rho, alpha) = (dot(device, c.view(), v.view()), dot(device, c.view(), b.view()));
        let step = if rho > 0.0 { alpha / rho } else { 1.0 };
        let before = dot(device, b.view(), b.view());
        combine(device, -step, v.view(), 1.0, b.view_mut());
        let after = dot(device, b.view(), b.view());
        if rho <= 0.0 || rho.is_nan() || after <= 0.0625 * before {
            combine(device, step, c.view(), 0.0, x.view_mut());
            return;
        }
        // The second direction goes to x, which is not needed until the end.
        self.visit(index, Cycle::K, b.view(), x.view_mut(), below, deepest);
        level.apply(device, x.view(), w.view_mut());
        let gamma = dot(device, x.view(), v.view());
        let beta = dot(device, x.view(), w.view());
        let second = dot(device, x.view(), b.view());
        let rho_2 = beta - gamma * gamma / rho;
        let (first, second) =
            if rho_2 > 0.0 { (step - gamma * second / (rho * rho_2), second / rho_2) } else { (step, 0.0) };
        combine(device, first, c.view(), second, x.view_mut());
    }
}

/// y ← α x + β y for vectors of the same precision.
fn combine<D: Device>(device: &D, alpha: f64, x: WorkRef<'_, D>, beta: f64, y: WorkMut<'_, D>) {
    match y {
        WorkMut::F64(y) => device.axpby(alpha, f64::get(x), beta, y),
        WorkMut::F32(y) => device.axpby(alpha as f32, f32::get(x), beta as f32, y),
    }
}

/// x · y for vectors of the same precision.
fn dot<D: Device>(device: &D, x: WorkRef<'_, D>, y: WorkRef<'_, D>) -> f64 {
    match x {
        WorkRef::F64(x) => device.dot(x, f64::get(y)),
        WorkRef::F32(x) => device.dot(x, f32::get(y)),
    }
}

macro_rules! operator {
    ($t:ty, $variant:ident) => {
        impl<D: Device> LinearOperator<D, $t> for Multigrid<D> {
            fn shape(&self) -> (usize, usize) {
                (self.rows, self.rows)
            }

            fn workspace(&self, _: &D) -> Result<Workspace, DeviceError> {
                Ok(Workspace::new(self.make_work(Kind::$variant)?))
            }

            // The device is the finest level's.
            fn apply(&self, device: &D, x: &D::Vector<$t>, y: &mut D::Vector<$t>, work: &mut Workspace) {
                let (b, x) = (WorkRef::$variant(x), WorkMut::$variant(y));
                self.cycle(device, b, x, work.get::<MultigridWork<D>>());
            }
        }
    };
}
operator!(f64, F64);
operator!(f32, F32);
