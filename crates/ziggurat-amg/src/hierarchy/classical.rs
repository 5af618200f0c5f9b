//! One step from a level to the next by classical coarsening (Ruge & Stüben, 1987; in parallel: De Sterck, Yang & Heys,
//! 2006): strength, a splitting into coarse and fine rows, interpolation.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::{Csr, CsrRef};

use super::{Clock, Coarser};
use crate::SetupError;
use crate::coarsen::{Paths, Splitting, coarsen_again, pmis};
use crate::halo::{Halo, Whole};
use crate::interpolate::{
    LongRange, Symmetry, Truncation, classical_modified, extended_i, hybrid, multipass, two_stage,
};
use crate::strength::{Strength, StrongGraph, strong_connections};

/// How fine values are interpolated from coarse ones on levels that are not coarsened aggressively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Classical, modified after Henson & Yang: strong coarse neighbours only.
    ClassicalModified,
    /// Extended+i: coarse points at distance two as well.
    #[default]
    ExtendedI,
    /// Chronos's hybrid: distance two only where distance one does not suffice.
    Hybrid,
}

/// PMIS that keeps at most one row in so many coarsens fast enough by itself: a second pass would save little of the work
/// of a cycle, and cost iterations.
const FAST: u64 = 4;

/// Classical multigrid: coarse points are some of the fine ones.
///
/// The finest level costs most, and so does the next one if it is large. So the finest is coarsened aggressively, *where it
/// pays*: where PMIS keeps more than one row in four. It keeps one in three on a 7-point grid, where the level below would
/// have more entries than the finest one; a second pass nearly halves the work of a cycle there, for half as many
/// iterations again. It keeps one in fourteen on a 27-point grid, and there is nothing to save.
///
/// ```
/// use ziggurat_amg::Classical;
/// let usual = Classical::default();
/// assert_eq!((usual.aggressive_levels, usual.truncation.max_entries), (1, Some(5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Classical {
    /// Which connections are strong.
    pub strength: Strength,
    /// Finest levels to coarsen aggressively, each if it pays.
    pub aggressive_levels: usize,
    /// Paths that join two coarse points at distance two, on aggressive levels.
    pub paths: Paths,
    /// The interpolation on aggressive levels.
    pub long_range: LongRange,
    /// The interpolation on the other levels.
    pub interpolation: Interpolation,
    /// What is cut off the interpolation.
    pub truncation: Truncation,
}

impl Default for Classical {
    fn default() -> Self {
        Classical {
            strength: Strength::classical(),
            aggressive_levels: 1,
            paths: Paths::Two,
            long_range: LongRange::default(),
            interpolation: Interpolation::default(),
            truncation: Truncation { relative: 0.2, max_entries: Some(5), keep_row_sums: true },
        }
    }
}

impl Classical {
    pub(super) fn coarser(
        &self,
        a: CsrRef<'_, f64>,
        symmetry: Symmetry,
        index: usize,
        clock: &mut Clock,
    ) -> Result<Coarser, SetupError> {
        let (rows, halo) = (a.all_rows(), Whole::new(a.rows()));
        let at = |stage| SetupError::at(index, stage);
        let strong = strong_connections(a, rows.clone(), &self.strength, &[], &halo)
            .map_err(|error| at("strength")(error.into()))?;
        clock.lap("strength");
        let (first, second) = self.split(&strong, index, &halo).map_err(at("coarsening"))?;
        clock.lap("coarsening");
        let p = self
            .interpolate(a, rows, &strong, &first, second.as_ref(), &halo, symmetry)
            .map_err(at("interpolation"))?;
        clock.lap("interpolation");
        Ok(Coarser { p, dead: Vec::new(), kernel: None, radius: None })
    }

    /// The coarse rows of level `index`; where it is coarsened aggressively, those of the first pass and those of the second.
    ///
    /// `strong` has the connections of a process's own rows and of rows around them: up to three connections away on levels that
    /// may be coarsened aggressively, else up to one.
    ///
    /// # Errors
    /// If the graph does not fit the halo.
    pub fn split<H: Halo>(
        &self,
        strong: &StrongGraph,
        index: usize,
        halo: &H,
    ) -> Result<(Splitting, Option<Splitting>), SetupError> {
        let first = pmis(strong, halo)?;
        let coarse = halo.owned().filter(|&row| first.coarse_index(row).is_some()).count();
        let mut counts = [coarse as u64, halo.owned().len() as u64];
        halo.sum(&mut counts);
        if index >= self.aggressive_levels || counts[0] <= counts[1] / FAST {
            return Ok((first, None));
        }
        let second = coarsen_again(strong, &first, halo, self.paths)?;
        Ok((first, Some(second)))
    }

    /// Interpolation to `rows` after [`split`](Self::split).
    ///
    /// # Errors
    /// If the truncation makes no sense, or the arguments do not fit together.
    pub fn interpolate<H: Halo>(
        &self,
        a: CsrRef<'_, f64>,
        rows: Range<usize>,
        strong: &StrongGraph,
        first: &Splitting,
        second: Option<&Splitting>,
        halo: &H,
        symmetry: Symmetry,
    ) -> Result<Csr<f64>, SetupError> {
        let truncation = self.truncation;
        Ok(match (second, self.long_range, self.interpolation) {
            (Some(second), LongRange::TwoStage, _) => {
                two_stage(a, rows, strong, first, second, symmetry, truncation)
            }
            (Some(second), LongRange::Multipass, _) => multipass(a, rows, strong, second, truncation),
            (_, _, Interpolation::ClassicalModified) => {
                classical_modified(a, rows, strong, first, truncation)
            }
            (_, _, Interpolation::ExtendedI) => extended_i(a, rows, strong, first, symmetry, truncation),
            (_, _, Interpolation::Hybrid) => hybrid(a, rows, strong, first, halo, symmetry, truncation),
        }?)
    }
}
