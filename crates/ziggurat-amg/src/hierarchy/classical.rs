//! One step from a level to the next by classical coarsening (Ruge & Stüben, 1987; in parallel: De
//! Sterck, Yang & Heys, 2006): strength, a splitting into coarse and fine rows, interpolation.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::{Csr, CsrRef};

use super::air::Air;
use super::matrix::{Coarser, LevelMatrix};
use super::stages::Stages;
use crate::coarsen::{CoarseRows, Paths, Splitting, coarsen_again, pmis};
use crate::halo::{Halo, Processes};
use crate::interpolate::{
    Interpolation, LongRange, Symmetry, Truncation, classical_modified, extended_i, hybrid, multipass,
    one_point, two_stage,
};
use crate::strength::{Strength, StrongGraph, strong_connections};
use crate::{OutOfRange, SetupError};

/// Halo depth of two-stage interpolation and of the second pass of aggressive coarsening.
const TWO_STAGE: usize = 3;

/// Halo depth of multipass interpolation: one connection per pass. After aggressive coarsening four
/// passes are usual.
const MULTIPASS: usize = 6;

/// PMIS that keeps at most one row in this many coarsens fast enough by itself: a second pass would
/// save little work per cycle, and cost iterations.
const FAST: u64 = 4;

/// Classical AMG: coarse unknowns are a subset of the fine ones.
///
/// The finest level dominates the cost, and so does the next one if it is large. So the finest
/// level is coarsened aggressively *where it pays*: where PMIS keeps more than one row in four. On
/// a 7-point grid it keeps one in three, and the next level would have more entries than the finest
/// one. A second pass nearly halves the work of a cycle there, at the cost of about 1.5 times the
/// iterations. On a 27-point grid PMIS keeps one in fourteen, and a second pass saves nothing.
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
    /// Number of finest levels to coarsen aggressively, each only where it pays.
    pub aggressive_levels: usize,
    /// The number of paths that must join two coarse points at distance two, on aggressive levels.
    pub paths: Paths,
    /// The interpolation on aggressive levels.
    pub long_range: LongRange,
    /// The interpolation on the other levels.
    pub interpolation: Interpolation,
    /// The truncation of the interpolation.
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
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::Classical;
    /// let mut parameters = Classical::default();
    /// parameters.truncation.relative = 2.0;
    /// assert_eq!(parameters.check().unwrap_err().name, "truncation.relative");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.strength.check().map_err(|error| error.within("strength"))?;
        let Truncation { relative, max_entries, .. } = self.truncation;
        OutOfRange::unless_in("truncation.relative", relative, 0.0..=1.0)?;
        let most = max_entries.unwrap_or(1);
        OutOfRange::unless("truncation.max_entries", most, most > 0, "at least 1")
    }

    /// Classical coarsening as it is used with this restriction.
    pub(super) fn restricted_by(self, air: &Air) -> Classical {
        Classical { aggressive_levels: 0, interpolation: air.interpolation, ..self }
    }

    /// Whether level `level` has a second pass, after one that kept `coarse` of `all` rows.
    pub(super) fn coarsens_again(&self, level: usize, coarse: u64, all: u64) -> bool {
        level < self.aggressive_levels && coarse > all / FAST
    }

    /// How many connections beyond own rows a step on level `level` reads.
    fn halo_depth(&self, level: usize) -> usize {
        match self.long_range {
            _ if level >= self.aggressive_levels => 1,
            LongRange::Multipass => MULTIPASS,
            LongRange::TwoStage => TWO_STAGE,
        }
    }

    /// One step from a level to the next; `air` if its restriction is not the transpose of the
    /// prolongation.
    pub(super) fn coarser<M: LevelMatrix>(
        &self,
        a: &M,
        symmetry: Symmetry,
        air: Option<&Air>,
        stages: &mut Stages,
    ) -> Result<Coarser, SetupError> {
        let level = stages.level();
        let depth = air.map_or(0, |air| air.distance);
        let wide = &*a.extended(self.halo_depth(level).max(depth))?;
        let (matrix, halo) = (wide.view(), wide.rows());
        let strong = stages.run("strength", &wide.rows(), || {
            strong_connections(matrix, matrix.all_rows(), &self.strength, &[], &halo)
        })?;
        let (first, second) = stages.run("coarsening", &wide.rows(), || self.split(&strong, level, &halo))?;
        let coarse = stages
            .run("coarsening", &wide.rows(), || coarse_rows(second.as_ref().unwrap_or(&first), &halo))?;
        let p = stages.run("interpolation", &wide.rows(), || {
            self.interpolate(matrix, halo.owned(), &strong, &first, second.as_ref(), &halo, symmetry)
        })?;
        let kept = second.as_ref().unwrap_or(&first);
        let restriction = match air {
            None => None,
            Some(air) => Some(stages.run("restriction", &wide.rows(), || air.restrict(matrix, kept, &halo))?),
        };
        let (dead, own) = (Vec::new(), halo.owned());
        let points = kept.coarse_among(own.clone());
        let points = Some(points.map(|row| (row - own.start) as u32).collect());
        // Classical coarsening does not keep nodes together, so the next level is scalar.
        Ok(Coarser { p, coarse, block: 1, kernel: None, dead, radius: None, restriction, points })
    }

    /// The splitting of level `index`; where it is coarsened aggressively, the splittings of the
    /// first and of the second pass.
    ///
    /// `strong` holds the connections of own rows and of the rows around them: up to three
    /// connections away on levels that may be coarsened aggressively, otherwise up to one.
    ///
    /// # Errors
    /// If the graph does not fit the halo.
    fn split<H: Halo>(
        &self,
        strong: &StrongGraph,
        index: usize,
        halo: &H,
    ) -> Result<(Splitting, Option<Splitting>), SetupError> {
        let first = pmis(strong, halo)?;
        let [coarse, all] = first.totals(halo);
        if !self.coarsens_again(index, coarse, all) {
            return Ok((first, None));
        }
        let second = coarsen_again(strong, &first, halo, self.paths)?;
        Ok((first, Some(second)))
    }

    /// Interpolation to `rows` after [`split`](Self::split).
    ///
    /// # Errors
    /// If the truncation is out of range, or the arguments do not fit together.
    fn interpolate<H: Halo>(
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
            (_, _, Interpolation::OnePoint) => Ok(one_point(a, rows, strong, first)?),
        }?)
    }
}

/// The rows of the next level, numbered over all processes.
pub(super) fn coarse_rows<H: Processes>(kept: &Splitting, halo: &H) -> Result<CoarseRows, SetupError> {
    if halo.is_whole() {
        return CoarseRows::number(kept.coarse_rows(), halo);
    }
    let mut coarse = CoarseRows::number(kept.coarse_among(halo.owned()).count(), halo)?;
    let mut ids = vec![u64::MAX; halo.local()];
    kept.coarse_among(halo.owned()).zip(coarse.first..).for_each(|(row, id)| ids[row] = id);
    halo.exchange(&mut ids);
    coarse.ids = kept.coarse_points().into_iter().map(|row| ids[row as usize]).collect();
    Ok(coarse)
}
