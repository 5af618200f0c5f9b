//! The hierarchy: every level's matrix and its transfer to the next, in double precision, on the host.
//!
//! Built level by level: prolongation P from the coarsening, R = Pᵀ, and the Galerkin product A_c = R A P, whose plan is
//! kept, so that [`Hierarchy::update_values`] repeats the numeric phases only. Coarsening stops with a
//! [reason](CoarseningStop).

mod aggregation;
mod classical;
mod file;
mod table;

use std::sync::Arc;
use std::time::Instant;

use ziggurat_sparse::algebra::{TripleProductPlan, transpose};
use ziggurat_sparse::{Csr, MatrixError};

use crate::SetupError;
use crate::interpolate::{NearKernel, Symmetry};

pub use aggregation::{Pairwise, SmoothedAggregation};
pub use classical::{Classical, Interpolation};
pub use file::HierarchyFileError;

/// How a level becomes the next one.
///
/// ```
/// use ziggurat_amg::{Coarsening, SmoothedAggregation};
/// assert_eq!(Coarsening::default(), Coarsening::SmoothedAggregation(SmoothedAggregation::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Coarsening {
    /// Coarse unknowns are sets of fine ones; interpolation is smoothed.
    SmoothedAggregation(SmoothedAggregation),
    /// Coarse unknowns are some of the fine ones.
    Classical(Classical),
    /// Coarse unknowns are pairs of pairs of fine ones; interpolation is constant on each.
    Pairwise(Pairwise),
}

impl Default for Coarsening {
    fn default() -> Self {
        Coarsening::SmoothedAggregation(SmoothedAggregation::default())
    }
}

/// How a hierarchy is built.
///
/// ```
/// use ziggurat_amg::HierarchyConfig;
/// assert_eq!(HierarchyConfig::default().coarse_rows, 300);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HierarchyConfig {
    /// How a level becomes the next one.
    pub coarsening: Coarsening,
    /// A level of so few rows is solved directly.
    pub coarse_rows: usize,
    /// Levels at most, the coarsest included.
    pub max_levels: usize,
}

impl Default for HierarchyConfig {
    fn default() -> Self {
        HierarchyConfig { coarsening: Coarsening::default(), coarse_rows: 300, max_levels: 25 }
    }
}

/// What is known of a matrix beside its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// What the matrix maps to almost zero, such as the rigid-body modes of an elastic body. Aggregation keeps it on every
    /// level; classical coarsening does not look at it.
    pub near_kernel: NearKernel,
    /// Whether it is symmetric, which makes classical setup faster.
    pub symmetry: Symmetry,
}

/// Why there is no further level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoarseningStop {
    /// The coarsest level is as small as was asked for.
    SmallEnough,
    /// As many levels as were allowed.
    MaxLevels,
    /// The next level would not be much smaller.
    Stalled,
    /// No row needs a coarse correction: the matrix is diagonally dominant, or nearly diagonal.
    NothingToCoarsen,
}

/// A next level of more than this fraction of the rows is not worth having.
const STALL: f64 = 0.85;

impl CoarseningStop {
    /// Why a level of `rows` rows, to which the next would have `coarse`, is the last one; `None` if it is not.
    ///
    /// ```
    /// use ziggurat_amg::CoarseningStop;
    /// assert_eq!(CoarseningStop::after(1000, 900), Some(CoarseningStop::Stalled));
    /// assert_eq!(CoarseningStop::after(1000, 100), None);
    /// ```
    pub fn after(rows: u64, coarse: u64) -> Option<Self> {
        match coarse {
            0 => Some(CoarseningStop::NothingToCoarsen),
            coarse if coarse as f64 > STALL * rows as f64 => Some(CoarseningStop::Stalled),
            _ => None,
        }
    }
}

/// One level.
#[derive(Clone, Debug)]
pub struct Level {
    a: Arc<Csr<f64>>,
    /// Unknowns per node: the size of the blocks that the matrix consists of.
    block: usize,
    /// ρ(D⁻¹A), where the coarsening has estimated it; the smoother needs it too.
    radius: Option<f64>,
    transfer: Option<Transfer>,
    stages: Vec<(&'static str, f64)>,
}

/// The way to the next level.
#[derive(Clone, Debug)]
struct Transfer {
    p: Arc<Csr<f64>>,
    r: Arc<Csr<f64>>,
    /// None where the hierarchy was loaded from a file, until its values change.
    galerkin: Option<TripleProductPlan<f64>>,
    /// Coarse unknowns that stand for nothing: their columns of P are zero.
    dead: Vec<u32>,
}

/// What a coarsening gives.
struct Coarser {
    p: Csr<f64>,
    /// Coarse unknowns that stand for nothing.
    dead: Vec<u32>,
    /// The near-kernel of the next level, where the method has one.
    kernel: Option<NearKernel>,
    /// ρ(D⁻¹A) of this level, where the method has estimated it.
    radius: Option<f64>,
}

/// Measures the stages of a level's setup.
struct Clock {
    last: Instant,
    stages: Vec<(&'static str, f64)>,
}

impl Clock {
    fn start() -> Self {
        Clock { last: Instant::now(), stages: Vec::new() }
    }

    /// The stage that ends here.
    fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.stages.push((stage, (now - self.last).as_secs_f64()));
        self.last = now;
    }
}

/// A matrix and its coarsenings. Prints as a table.
///
/// ```
/// use ziggurat_amg::{Hierarchy, HierarchyConfig};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
/// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
/// assert!(hierarchy.levels().len() >= 2 && hierarchy.operator_complexity() < 3.0);
/// println!("{hierarchy}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchy {
    levels: Vec<Level>,
    stop: CoarseningStop,
    seconds: f64,
}

impl Level {
    /// The level's matrix.
    pub fn matrix(&self) -> &Arc<Csr<f64>> {
        &self.a
    }

    /// The prolongation from the next level; none on the coarsest.
    pub fn prolongation(&self) -> Option<&Arc<Csr<f64>>> {
        self.transfer.as_ref().map(|transfer| &transfer.p)
    }

    /// The restriction to the next level; none on the coarsest.
    pub fn restriction(&self) -> Option<&Arc<Csr<f64>>> {
        self.transfer.as_ref().map(|transfer| &transfer.r)
    }

    /// Unknowns per node: the matrix consists of blocks of this size.
    pub fn block(&self) -> usize {
        self.block
    }

    /// ρ(D⁻¹A), where coarsening has estimated it.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// assert!(hierarchy.levels()[0].radius().is_some_and(|radius| (1.9..2.1).contains(&radius)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn radius(&self) -> Option<f64> {
        self.radius
    }

    /// The stages that led to the next level, with the seconds each took.
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    /// The seconds of all stages.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|(_, seconds)| seconds).sum()
    }
}

impl Hierarchy {
    /// Coarsens a square matrix until it can be solved directly, nothing being known of it beside its entries.
    ///
    /// The matrix is shared: a borrowed one is copied, an owned one or an `Arc` is taken as it is.
    ///
    /// # Errors
    /// As [`Hierarchy::with_known`].
    pub fn build(a: impl Into<Arc<Csr<f64>>>, config: &HierarchyConfig) -> Result<Self, SetupError> {
        let a = a.into();
        let near_kernel = NearKernel::constants(a.rows(), 1)?;
        Self::with_known(a, Known { near_kernel, symmetry: Symmetry::General }, config)
    }

    /// As [`Hierarchy::build`], with what is known of the matrix.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::{NearKernel, Symmetry};
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig, Known};
    /// use ziggurat_sparse::gallery::{Problem, rigid_body_modes};
    /// let problem: Problem = "elasticity3d:6".parse()?;
    /// let modes = rigid_body_modes(&problem.coordinates().unwrap());
    /// let known = Known { near_kernel: NearKernel::from_vectors(&modes, 3)?, symmetry: Symmetry::Symmetric };
    /// let hierarchy = Hierarchy::with_known(problem.matrix()?, known, &HierarchyConfig::default())?;
    /// assert_eq!(hierarchy.levels()[1].block(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the matrix is not square or not finite, the near-kernel does not fit it, or a parameter makes no sense.
    pub fn with_known(
        a: impl Into<Arc<Csr<f64>>>,
        known: Known,
        config: &HierarchyConfig,
    ) -> Result<Self, SetupError> {
        let Known { near_kernel: kernel, symmetry } = known;
        let a = a.into();
        let mismatch =
            |what, found| SetupError::from(MatrixError::Mismatch { what, expected: a.rows(), found });
        if a.rows() != a.cols() {
            return Err(mismatch("columns of a matrix to be solved with", a.cols()));
        }
        if a.rows() != kernel.rows() {
            return Err(mismatch(
                "values of each near-kernel vector, against the rows of the matrix",
                kernel.rows(),
            ));
        }
        a.view().check_finite()?;
        let start = Instant::now();
        let (mut levels, mut a, mut kernel) = (Vec::new(), a, kernel);
        let stop = loop {
            let (index, block, mut clock) = (levels.len(), kernel.block(), Clock::start());
            match coarsen(&a, &kernel, symmetry, index, config, &mut clock)? {
                Step::Coarser(next) => {
                    let Next { transfer, coarse, kernel: next_kernel, radius } = *next;
                    kernel = next_kernel;
                    levels.push(Level { a, block, radius, transfer: Some(transfer), stages: clock.stages });
                    a = Arc::new(coarse);
                }
                Step::Stop(reason) => {
                    levels.push(Level { a, block, radius: None, transfer: None, stages: clock.stages });
                    break reason;
                }
            }
        };
        Ok(Hierarchy { levels, stop, seconds: start.elapsed().as_secs_f64() })
    }

    /// Puts new values on the same pattern: P and R stay, every level's matrix is computed anew by the stored plans.
    /// For time stepping, where a matrix changes little from step to step.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let mut a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let mut hierarchy = Hierarchy::build(a.clone(), &HierarchyConfig::default())?;
    /// let before = hierarchy.levels()[1].matrix().values()[0];
    /// a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    /// hierarchy.update_values(a)?;
    /// assert_eq!(hierarchy.levels()[1].matrix().values()[0], 2.0 * before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the pattern is another; then [`Hierarchy::build`] is what is needed.
    pub fn update_values(&mut self, a: impl Into<Arc<Csr<f64>>>) -> Result<(), SetupError> {
        let a = a.into();
        self.check_pattern(&a)?;
        a.view().check_finite()?;
        self.levels[0].a = a;
        self.levels.iter_mut().for_each(|level| level.radius = None);
        for index in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(index);
            let (fine, coarse) = (&mut finer[index - 1], &mut coarser[0]);
            if let Some(Transfer { p, r, galerkin, dead }) = &mut fine.transfer {
                let (r, a, p) = (r.view(), fine.a.view(), p.view());
                let at = |error: MatrixError| SetupError::at(index, "Galerkin product")(error.into());
                match galerkin {
                    // Copied only where a lowered hierarchy still shares the old values.
                    Some(plan) => plan.compute_into(r, a, p, Arc::make_mut(&mut coarse.a)).map_err(at)?,
                    None => {
                        let (rows, blocks) = (r.all_rows(), (fine.block, coarse.block));
                        let (plan, product) =
                            TripleProductPlan::with_blocked_product(r, rows, a, p, blocks.0, blocks.1)
                                .map_err(at)?;
                        (*galerkin, coarse.a) = (Some(plan), Arc::new(product));
                    }
                }
                revive(Arc::make_mut(&mut coarse.a), dead);
            }
        }
        Ok(())
    }

    /// Refuses a matrix that differs from the finest in more than its values.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::{Csr, gallery::Problem};
    /// let a = "poisson2d:4".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(&a, &HierarchyConfig::default())?;
    /// assert!(hierarchy.check_pattern(&a).is_ok() && hierarchy.check_pattern(&Csr::identity(16)?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If its rows or the places of its entries are others.
    pub fn check_pattern(&self, a: &Csr<f64>) -> Result<(), SetupError> {
        let old = &self.levels[0].a;
        let mismatch =
            |what, expected, found| SetupError::from(MatrixError::Mismatch { what, expected, found });
        if old.rows() != a.rows() || old.cols() != a.cols() {
            return Err(mismatch("rows of the matrix whose values are to be replaced", old.rows(), a.rows()));
        }
        if old.row_ptr() != a.row_ptr() || old.columns() != a.columns() {
            let what = "entries of the matrix whose values are to be replaced, with the same pattern";
            return Err(mismatch(what, old.nnz(), a.nnz()));
        }
        Ok(())
    }

    /// The levels, finest first. There is at least one.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Why there is no further level.
    pub fn stop(&self) -> CoarseningStop {
        self.stop
    }

    /// Seconds that [`Hierarchy::build`] took.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Seconds by stage, over all levels, in the order in which setup goes through them.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let stages = Hierarchy::build(a, &HierarchyConfig::default())?.stages();
    /// assert_eq!(stages[0].0, "strength");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stages(&self) -> Vec<(&'static str, f64)> {
        let mut sums: Vec<(&'static str, f64)> = Vec::new();
        for &(stage, seconds) in self.levels.iter().flat_map(Level::stages) {
            match sums.iter_mut().find(|(other, _)| *other == stage) {
                Some((_, sum)) => *sum += seconds,
                None => sums.push((stage, seconds)),
            }
        }
        sums
    }

    /// Entries of all levels' matrices over those of the finest: what a cycle costs.
    pub fn operator_complexity(&self) -> f64 {
        let all: usize = self.levels.iter().map(|level| level.a.nnz()).sum();
        all as f64 / self.levels[0].a.nnz().max(1) as f64
    }

    /// Rows of all levels over those of the finest.
    pub fn grid_complexity(&self) -> f64 {
        let all: usize = self.levels.iter().map(|level| level.a.rows()).sum();
        all as f64 / self.levels[0].a.rows().max(1) as f64
    }
}

/// What follows a level.
enum Step {
    Coarser(Box<Next>),
    /// Nothing, and why.
    Stop(CoarseningStop),
}

/// The way to the next level, and that level.
struct Next {
    transfer: Transfer,
    coarse: Csr<f64>,
    kernel: NearKernel,
    /// ρ(D⁻¹A) of this level.
    radius: Option<f64>,
}

fn coarsen(
    a: &Csr<f64>,
    kernel: &NearKernel,
    symmetry: Symmetry,
    index: usize,
    config: &HierarchyConfig,
    clock: &mut Clock,
) -> Result<Step, SetupError> {
    if a.rows() <= config.coarse_rows {
        return Ok(Step::Stop(CoarseningStop::SmallEnough));
    }
    if index + 1 >= config.max_levels {
        return Ok(Step::Stop(CoarseningStop::MaxLevels));
    }
    let Coarser { p, dead, kernel: next_kernel, radius } = match &config.coarsening {
        Coarsening::SmoothedAggregation(method) => method.coarser(a.view(), kernel, index, clock)?,
        Coarsening::Pairwise(method) => method.coarser(a.view(), kernel, index, clock)?,
        Coarsening::Classical(method) => method.coarser(a.view(), symmetry, index, clock)?,
    };
    if let Some(reason) = CoarseningStop::after(a.rows() as u64, p.cols() as u64) {
        return Ok(Step::Stop(reason));
    }
    let r = transpose(p.view(), p.all_rows());
    clock.lap("transpose");
    let at = |error: MatrixError| SetupError::at(index + 1, "Galerkin product")(error.into());
    // Classical coarsening does not keep nodes together: its next level consists of scalars.
    let coarse_block = next_kernel.as_ref().map_or(1, NearKernel::block);
    let (rows, fine_block) = (r.all_rows(), kernel.block());
    let (galerkin, mut coarse) =
        TripleProductPlan::with_blocked_product(r.view(), rows, a.view(), p.view(), fine_block, coarse_block)
            .map_err(at)?;
    revive(&mut coarse, &dead);
    clock.lap("Galerkin product");
    let kernel = match next_kernel {
        Some(kernel) => kernel,
        None => NearKernel::constants(coarse.rows(), 1)?,
    };
    let transfer = Transfer { p: Arc::new(p), r: Arc::new(r), galerkin: Some(galerkin), dead };
    Ok(Step::Coarser(Box::new(Next { transfer, coarse, kernel, radius })))
}

/// Gives dead unknowns a diagonal entry, as large as the largest: their rows are zero otherwise, and they stay zero.
fn revive(a: &mut Csr<f64>, dead: &[u32]) {
    if dead.is_empty() {
        return;
    }
    let scale = largest(a.view().diagonal(a.all_rows()));
    for &unknown in dead {
        let row = unknown as usize;
        let (begin, place) = (a.row_ptr()[row], a.row(row).0.binary_search(&unknown));
        if let Ok(place) = place {
            a.values_mut()[begin + place] = scale;
        }
    }
}

/// The largest size of a number; 1 where all are zero.
fn largest(numbers: Vec<f64>) -> f64 {
    let largest = numbers.into_iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest > 0.0 { largest } else { 1.0 }
}

#[cfg(test)]
mod tests;
