//! Multigrid cycles: the order in which levels are visited.
//!
//! ```text
//! cycle(l, b):  on the coarsest level x = A⁺ b, elsewhere
//!               x = smooth(b) from zero,  x += P cycle(l+1, R (b − A x)),  x = smooth*(b, x)
//! ```
//!
//! V visits each level once. W calls the next level's cycle twice, F once as F and once as V. K
//! accelerates two calls by flexible conjugate gradients, or by GCR if the matrix is not symmetric
//! positive definite (`k_cycle.rs`), and still converges well where plain aggregation slows V down.
//! With equal numbers of adjoint pre- and post-smoothing
//! sweeps, V and W are symmetric, as conjugate gradients requires. F is not, because its second
//! visit differs from its first, and K is not even linear: both need a flexible Krylov method.

use ziggurat_sparse::choice;
use ziggurat_sparse::device::{Device, Vector};
use ziggurat_sparse::trace;

use super::coarse::CoarseScratch;
use super::level::{CycleLevel, Scratch};
use super::operation::{Operation, Sweeps, coarsest_span};
use super::workspace::{AgainWork, Below, Clock, LevelWork};
use super::{LevelSmoothing, Multigrid};

choice! {
    /// Cycles by name.
    ///
    /// ```
    /// use ziggurat_amg::{Cycle, CycleKind};
    /// assert_eq!("w".parse::<CycleKind>().unwrap().cycle(), Some(Cycle::W));
    /// assert_eq!(CycleKind::Auto.cycle(), None);
    /// ```
    CycleKind, "cycle":
    /// Chosen by the method.
    Auto = "auto",
    /// Each level once.
    V = "v",
    /// Each level twice per visit of the level above.
    W = "w",
    /// Once as F, once as V.
    F = "f",
    /// Two iterations of flexible conjugate gradients per level; of GCR for unsymmetric matrices.
    K = "k",
    /// Two iterations of GCR per level, for any matrix.
    KGcr = "k-gcr",
}

impl CycleKind {
    /// The cycle of this name; `None` for `auto`.
    pub const fn cycle(self) -> Option<Cycle> {
        match self {
            CycleKind::Auto => None,
            CycleKind::V => Some(Cycle::V),
            CycleKind::W => Some(Cycle::W),
            CycleKind::F => Some(Cycle::F),
            CycleKind::K => Some(Cycle::K),
            CycleKind::KGcr => Some(Cycle::KGcr),
        }
    }
}

/// A cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cycle {
    /// Visits each level once.
    #[default]
    V,
    /// Visits the next level twice.
    W,
    /// Visits the next level once as F and once as V.
    F,
    /// Two iterations of flexible conjugate gradients per level, for symmetric positive definite
    /// matrices.
    K,
    /// Two iterations of GCR per level.
    KGcr,
}

impl Cycle {
    /// All cycles.
    pub const ALL: [Cycle; 5] = [Cycle::V, Cycle::W, Cycle::F, Cycle::K, Cycle::KGcr];

    /// Whether the transpose is a cycle, too. F is not symmetric, and K is not linear.
    ///
    /// ```
    /// use ziggurat_amg::Cycle;
    /// assert!(Cycle::W.has_transpose() && !Cycle::K.has_transpose());
    /// ```
    pub const fn has_transpose(self) -> bool {
        self.is_symmetric()
    }

    /// Whether the cycle is a symmetric operator for a symmetric matrix, as conjugate gradients
    /// requires.
    pub const fn is_symmetric(self) -> bool {
        matches!(self, Cycle::V | Cycle::W)
    }
}

/// A level during one visit, with its scratch vectors and the clock.
struct Visit<'a> {
    index: usize,
    level: &'a CycleLevel,
    device: &'a dyn Device,
    scratch: &'a mut Scratch,
    clock: &'a Clock,
}

impl Visit<'_> {
    fn smooth(&mut self, b: &Vector, x: &mut Vector, sweeps: Sweeps) {
        let operation = Operation::Smooth(sweeps);
        self.run(operation, |level, device, scratch| level.smooth(device, b, x, scratch, sweeps));
    }

    fn restrict(&mut self, b: &Vector, x: &Vector, coarse: &mut Vector) {
        let operation = Operation::Restrict;
        self.run(operation, |level, device, scratch| level.restrict(device, b, x, scratch, coarse));
    }

    fn prolong(&mut self, coarse: &Vector, x: &mut Vector) {
        let operation = Operation::Prolong;
        self.run(operation, |level, device, scratch| level.prolong(device, coarse, scratch, x));
    }

    /// Runs an operation, timed and traced.
    fn run(&mut self, operation: Operation, work: impl FnOnce(&CycleLevel, &dyn Device, &mut Scratch)) {
        let Visit { index, level, device, scratch, clock } = self;
        let span = || operation.span(*index, level.rows, level.bytes(operation));
        trace::in_span(*device, span, || clock.time(*index, *device, || work(level, *device, scratch)));
    }
}

impl Multigrid {
    /// x ← cycle(b) on level `index`, from a zero guess.
    pub(super) fn visit(&self, index: usize, cycle: Cycle, b: &Vector, x: &mut Vector, work: Below<'_>) {
        let Below { levels, coarse, clock } = work;
        let Some((own, levels)) = levels.split_first_mut() else {
            return self.solve_coarsest(b, x, coarse, clock);
        };
        let LevelWork { scratch, coarse_b, coarse_x, again } = own;
        let (level, device) = (&self.levels[index], &*self.devices[index]);
        let below = Below { levels, coarse, clock };
        let mut here = Visit { index, level, device, scratch, clock };

        if !level.has_next() {
            return self.smooth_alone(&mut here, b, x);
        }
        here.smooth(b, x, self.pre_smoothing(index));
        here.restrict(b, x, coarse_b);
        self.correct(index + 1, cycle, coarse_b, coarse_x, again.as_mut(), below);
        here.prolong(coarse_x, x);
        here.smooth(b, x, self.post_smoothing(index));
    }

    /// x ← the sweeps of a cycle without a coarse-grid correction. Without one, post-smoothing
    /// serves only to make the operator symmetric, so smoothers that repeat pre-smoothing omit it.
    fn smooth_alone(&self, here: &mut Visit<'_>, b: &Vector, x: &mut Vector) {
        let LevelSmoothing { pre_sweeps, post_sweeps, smoother } = self.cycling.on_level(here.index);
        if !smoother.reverses() {
            let count = if pre_sweeps > 0 { pre_sweeps } else { post_sweeps };
            return here.smooth(b, x, Sweeps { count, from_zero: true, post: false });
        }
        here.smooth(b, x, self.pre_smoothing(here.index));
        here.smooth(b, x, self.post_smoothing(here.index));
    }

    /// x ← coarse-grid correction for b by one or more visits to level `index`. Overwrites b.
    fn correct(
        &self,
        index: usize,
        cycle: Cycle,
        b: &mut Vector,
        x: &mut Vector,
        again: Option<&mut AgainWork>,
        mut below: Below<'_>,
    ) {
        match (cycle, again) {
            (Cycle::K | Cycle::KGcr, Some(work)) => self.krylov_visit(index, cycle, b, x, work, below),
            (Cycle::W | Cycle::F, Some(work)) => {
                // x = x₁ + cycle(b − A x₁): the second visit corrects the remaining error.
                let second = if cycle == Cycle::F { Cycle::V } else { cycle };
                let device = &self.devices[index];
                self.visit(index, cycle, b, x, below.reborrow());
                self.multiply(index, x, &mut work.image);
                device.axpby(-1.0, &work.image, 1.0, b);
                self.visit(index, second, b, &mut work.direction, below);
                device.axpby(1.0, &work.direction, 1.0, x);
            }
            _ => self.visit(index, cycle, b, x, below),
        }
    }

    /// x ← A⁺ b on the coarsest level.
    fn solve_coarsest(&self, b: &Vector, x: &mut Vector, scratch: &mut CoarseScratch, clock: &Clock) {
        let index = self.levels.len();
        let Some(device) = self.devices.get(index).map(|device| &**device) else { return };
        let span = || coarsest_span(index, self.coarse_rows, self.coarse.stored().bytes());
        let solve = || {
            // Only a device that has lost its memory can fail here; its next `finish` returns the
            // error.
            let _ = self.coarse.solve(device, b, x, scratch);
        };
        trace::in_span(device, span, || clock.time(index, device, solve));
    }

    /// y ← A x on level `index`.
    pub(super) fn multiply(&self, index: usize, x: &Vector, y: &mut Vector) {
        let (level, device) = (&self.levels[index], &*self.devices[index]);
        let operation = Operation::Multiply;
        let span = || operation.span(index, level.rows, level.bytes(operation));
        trace::in_span(device, span, || level.apply(device, x, y));
    }

    fn pre_smoothing(&self, level: usize) -> Sweeps {
        Sweeps { count: self.cycling.on_level(level).pre_sweeps, from_zero: true, post: false }
    }

    fn post_smoothing(&self, level: usize) -> Sweeps {
        Sweeps { count: self.cycling.on_level(level).post_sweeps, from_zero: false, post: true }
    }
}
