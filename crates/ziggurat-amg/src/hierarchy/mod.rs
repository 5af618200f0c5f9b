//! The hierarchy: every level's matrix and its transfer to the next, in double precision, on the host.
//!
//! Built level by level: prolongation P from the coarsening, R = Pᵀ, and the Galerkin product A_c = R A P, whose plan is
//! kept, so that [`Hierarchy::update_values`] repeats the numeric phases only. Coarsening stops with a
//! [reason](CoarseningStop).

mod coarsening;
mod table;

use std::time::Instant;

use ziggurat_sparse::algebra::{TripleProductPlan, transpose};
use ziggurat_sparse::device::Device;
use ziggurat_sparse::{Csr, MatrixError};

use crate::SetupError;
use crate::lower::{Cycling, LevelPrecision, LevelSource, Multigrid};

pub use coarsening::{Classical, Interpolation};

/// How a hierarchy is built.
///
/// ```
/// use ziggurat_amg::HierarchyConfig;
/// assert_eq!(HierarchyConfig::default().coarse_rows, 300);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HierarchyConfig {
    /// The coarsening.
    pub classical: Classical,
    /// A level of so few rows is solved directly.
    pub coarse_rows: usize,
    /// Levels at most, the coarsest included.
    pub max_levels: usize,
}

impl Default for HierarchyConfig {
    fn default() -> Self {
        HierarchyConfig { classical: Classical::default(), coarse_rows: 300, max_levels: 25 }
    }
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

/// One level.
#[derive(Clone, Debug)]
pub struct Level {
    a: Csr<f64>,
    transfer: Option<Transfer>,
    seconds: f64,
}

/// The way to the next level.
#[derive(Clone, Debug)]
struct Transfer {
    p: Csr<f64>,
    r: Csr<f64>,
    galerkin: TripleProductPlan<f64>,
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
    pub fn matrix(&self) -> &Csr<f64> {
        &self.a
    }

    /// The prolongation from the next level; none on the coarsest.
    pub fn prolongation(&self) -> Option<&Csr<f64>> {
        self.transfer.as_ref().map(|transfer| &transfer.p)
    }

    /// The restriction to the next level; none on the coarsest.
    pub fn restriction(&self) -> Option<&Csr<f64>> {
        self.transfer.as_ref().map(|transfer| &transfer.r)
    }
}

impl Hierarchy {
    /// Coarsens a square matrix until it can be solved directly.
    pub fn build(a: Csr<f64>, config: &HierarchyConfig) -> Result<Self, SetupError> {
        if a.rows() != a.cols() {
            let what = "columns of a matrix to be solved with";
            return Err(MatrixError::Mismatch { what, expected: a.rows(), found: a.cols() }.into());
        }
        a.view().check_finite()?;
        let start = Instant::now();
        let (mut levels, mut a) = (Vec::new(), a);
        let stop = loop {
            let (index, level_start) = (levels.len(), Instant::now());
            match coarsen(&a, index, config)? {
                Step::Coarser(next) => {
                    let (transfer, coarse) = *next;
                    let seconds = level_start.elapsed().as_secs_f64();
                    levels.push(Level { a, transfer: Some(transfer), seconds });
                    a = coarse;
                }
                Step::Stop(reason) => {
                    levels.push(Level { a, transfer: None, seconds: level_start.elapsed().as_secs_f64() });
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
    pub fn update_values(&mut self, a: Csr<f64>) -> Result<(), SetupError> {
        let old = &self.levels[0].a;
        if old.row_ptr() != a.row_ptr() || old.columns() != a.columns() {
            let what = "entries of the matrix whose values are to be replaced, with the same pattern";
            return Err(MatrixError::Mismatch { what, expected: old.nnz(), found: a.nnz() }.into());
        }
        a.view().check_finite()?;
        self.levels[0].a = a;
        for index in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(index);
            let (fine, coarse) = (&mut finer[index - 1], &mut coarser[0]);
            if let Some(Transfer { p, r, galerkin }) = &mut fine.transfer {
                galerkin
                    .compute_into(r.view(), fine.a.view(), p.view(), &mut coarse.a)
                    .map_err(|error| SetupError::at(index, "Galerkin product")(error.into()))?;
            }
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

    /// Moves the hierarchy to a device; `precision` chooses the numbers of each level.
    pub fn lower<D: Device>(
        &self,
        device: &D,
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
    ) -> Result<Multigrid<D>, SetupError> {
        let source = |level| LevelSource {
            a: Level::matrix(level),
            transfer: level.restriction().zip(level.prolongation()),
        };
        let sources: Vec<_> = self.levels.iter().map(source).collect();
        Multigrid::new(device, &sources, cycling, precision)
    }
}

/// What follows a level.
enum Step {
    /// The way to the next level, and its matrix.
    Coarser(Box<(Transfer, Csr<f64>)>),
    /// Nothing, and why.
    Stop(CoarseningStop),
}

fn coarsen(a: &Csr<f64>, index: usize, config: &HierarchyConfig) -> Result<Step, SetupError> {
    if a.rows() <= config.coarse_rows {
        return Ok(Step::Stop(CoarseningStop::SmallEnough));
    }
    if index + 1 >= config.max_levels {
        return Ok(Step::Stop(CoarseningStop::MaxLevels));
    }
    let p = config.classical.prolongation(a.view(), index)?;
    if p.cols() == 0 {
        return Ok(Step::Stop(CoarseningStop::NothingToCoarsen));
    }
    if p.cols() as f64 > STALL * a.rows() as f64 {
        return Ok(Step::Stop(CoarseningStop::Stalled));
    }
    let r = transpose(p.view(), p.all_rows());
    let at = |error: MatrixError| SetupError::at(index + 1, "Galerkin product")(error.into());
    let mut galerkin = TripleProductPlan::new(r.view(), r.all_rows(), a.view(), p.view()).map_err(at)?;
    let coarse = galerkin.compute(r.view(), a.view(), p.view()).map_err(at)?;
    Ok(Step::Coarser(Box::new((Transfer { p, r, galerkin }, coarse))))
}

#[cfg(test)]
mod tests;
