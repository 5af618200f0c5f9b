//! One step from a level to the next by least-squares interpolation of test vectors (BAMG), as
//! Chronos does it for structures (Isotton, thesis, 2.2): test vectors by SRQCG, strength, PMIS,
//! interpolation, and on request its smoothing (SBAMG) and filtering (FBAMG).
//!
//! ```text
//! P₀ V_c = V,    P = filter((1 − ω D⁻¹A) P₀)
//! ```
//!
//! **Differences from Chronos.** Its strength of connection drops very few entries. Ours keeps ten
//! connections per row: levels have 1.5 times the entries, for two thirds of the iterations. On six
//! structures and keep = 0.6 (bcsstk14, 15, 18, 27, hypre_beam_tet, elasticity3d:12), with
//! `bamg.strength.filter = { threshold = 0.0 }`, which drops nothing, the operator complexity is
//! 1.2 to 3.1 instead of 1.5 to 5.8 and iterations are 27, 54, 100, 23, 71, 28 instead of 25, 41,
//! 86, 15, 34, 11. The product of both, which the time of a solve follows, is the same within a
//! tenth in the geometric mean; it is smaller for bcsstk14, 15 and 18. `kernel_filter.rs` has the
//! difference in filtering.
//!
//! It needs no nodes, no coordinates and no M-matrix: what interpolation has to reproduce is found
//! by the matrix. The test vectors of the next level are the values in its rows, improved by a few
//! steps there.
//!
//! Cost: on every level a few dozen products with all test vectors, and several thousand operations
//! per fine row. It is for systems that other coarsenings do not solve, or solve slowly.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::algebra::{add, product, scale_rows};
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::classical::coarse_rows;
use super::matrix::{Coarser, LevelMatrix};
use super::stages::Stages;
use crate::coarsen::{Splitting, pmis};
use crate::halo::{Halo, Processes};
use crate::interpolate::{LeastSquares, NearKernel, TestVectors, bamg, filter_interpolation, srqcg};
use crate::spectral_radius::spectral_radius;
use crate::strength::{Filter, Measure, Strength, strong_connections};
use crate::{OutOfRange, SetupError};

/// The most steps of SRQCG. After fewer, the vectors are eigenvectors.
pub(super) const MOST_STEPS: usize = 10_000;

/// The most test vectors.
pub(super) const MOST_VECTORS: usize = 40;

/// Least-squares interpolation of test vectors, for structures and other systems with a near-kernel
/// that nobody knows.
///
/// ```
/// use ziggurat_amg::Bamg;
/// let parameters = Bamg { test_vectors: 0, ..Bamg::default() };
/// assert_eq!(parameters.check().unwrap_err().to_string(), "`test_vectors` is 0; it must be from 1 to 40");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bamg {
    /// Which connections are strong.
    pub strength: Strength,
    /// Whether connections are measured by the affinity of the test vectors instead.
    pub affinity: bool,
    /// Number of test vectors; those of a given near-kernel are among them. More if that has more.
    pub test_vectors: usize,
    /// Steps of SRQCG on the finest level.
    pub steps: usize,
    /// Steps of SRQCG on the other levels.
    pub coarse_steps: usize,
    /// The fit of interpolation to the test vectors.
    pub fit: LeastSquares,
    /// The damping of interpolation smoothing: ω ρ(D⁻¹A), between 0 and 2; 0 does not smooth.
    pub damping: f64,
    /// The fraction of the magnitudes of each row of the smoothed interpolation that is kept, in as
    /// few entries as possible; 1 keeps all.
    pub keep: f64,
}

impl Default for Bamg {
    fn default() -> Self {
        Bamg {
            strength: Strength { filter: Filter::AverageConnections(10.0), ..Strength::symmetric() },
            affinity: false,
            test_vectors: 6,
            steps: 60,
            coarse_steps: 12,
            fit: LeastSquares::default(),
            damping: 4.0 / 3.0,
            keep: 0.6,
        }
    }
}

impl Bamg {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.strength.check().map_err(|error| error.within("strength"))?;
        OutOfRange::unless_in("test_vectors", self.test_vectors, 1..=MOST_VECTORS)?;
        OutOfRange::unless_in("steps", self.steps, 0..=MOST_STEPS)?;
        OutOfRange::unless_in("coarse_steps", self.coarse_steps, 0..=MOST_STEPS)?;
        self.fit.check().map_err(|error| error.within("fit"))?;
        OutOfRange::unless_in("damping", self.damping, 0.0..=2.0)?;
        OutOfRange::unless_in("keep", self.keep, 0.0..=1.0)
    }

    /// One step from level `level` to the next.
    pub(super) fn coarser<M: LevelMatrix>(
        &self,
        a: &M,
        kernel: &NearKernel,
        level: usize,
        stages: &mut Stages,
    ) -> Result<Coarser, SetupError> {
        // Smoothing reads the interpolation of neighbours.
        let wide = &*a.extended(self.fit.max_distance + 1)?;
        let (matrix, halo) = (wide.view(), wide.rows());
        let steps = if level == 0 { self.steps } else { self.coarse_steps };
        let vectors = stages.run("test vectors", &halo, || {
            srqcg(matrix, &halo, TestVectors::start(matrix, kernel, self.test_vectors, &halo), steps)
        })?;
        let strong = stages.run("strength", &halo, || {
            let (measure, columns) = match self.affinity {
                true => (Measure::Affinity, vectors.columns()),
                false => (self.strength.measure, Vec::new()),
            };
            let strength = Strength { measure, ..self.strength };
            strong_connections(matrix, matrix.all_rows(), &strength, &columns, &halo)
        })?;
        let splitting = stages.run("coarsening", &halo, || pmis(&strong, &halo))?;
        let fit = |how: &LeastSquares, stages: &mut Stages| {
            stages.run("interpolation", &halo, || bamg(matrix, &strong, &splitting, &vectors, how, &halo))
        };
        let (mut kept, mut p) = fit(&self.fit, stages)?;
        let [coarse, all] = kept.totals(&halo);
        if 2 * coarse > all {
            // A loose fit is better than no coarser level.
            (kept, p) = fit(&LeastSquares { tolerance: 1.0, ..self.fit }, stages)?;
        }
        let coarse = stages.run("coarsening", &halo, || coarse_rows(&kept, &halo))?;
        let radius = match self.damping {
            0.0 => None,
            _ => {
                let radius = || spectral_radius(a.view(), &a.rows());
                Some(stages.run("spectral radius", &a.rows(), radius)?)
            }
        };
        let p = stages
            .run("interpolation", &halo, || self.improved(matrix, &halo, &p, radius, &kept, &vectors))?;
        let own = halo.owned();
        let points: Vec<u32> = kept.coarse_among(own.clone()).map(|row| row as u32).collect();
        let kernel = Some(NearKernel::part(vectors.at(&points)?, 1, false)?);
        let points = Some(points.into_iter().map(|row| row - own.start as u32).collect());
        // Unknowns are coarsened one by one, so the next level has one per node.
        Ok(Coarser { p, coarse, block: 1, kernel, dead: Vec::new(), radius, restriction: None, points })
    }

    /// Own rows of the interpolation, smoothed and filtered if that is wanted.
    fn improved<H: Processes>(
        &self,
        a: CsrRef<'_, f64>,
        halo: &H,
        p: &Csr<f64>,
        radius: Option<f64>,
        kept: &Splitting,
        vectors: &TestVectors,
    ) -> Result<Csr<f64>, SetupError> {
        let own = halo.owned();
        let Some(radius) = radius.filter(|radius| *radius > 0.0) else {
            return Ok(rows_of(p, own)?);
        };
        let mut step = product(a, own.clone(), p.view())?;
        let damping = |row: usize| self.damping / (radius * a.get(row, row).unwrap_or(f64::INFINITY));
        let factors: Vec<f64> =
            own.clone().map(damping).map(|x| if x.is_finite() { x } else { 0.0 }).collect();
        scale_rows(&mut step, &factors)?;
        let smoothed = add(1.0, rows_of(p, own)?.view(), -1.0, step.view(), step.all_rows())?;
        if self.keep >= 1.0 {
            return Ok(smoothed);
        }
        let points = kept.coarse_points();
        let coarse = |column: u32| {
            let row = points[column as usize] as usize;
            (vectors.scaled_row(row), vectors.scale(row))
        };
        Ok(filter_interpolation(smoothed.view(), smoothed.all_rows(), coarse, self.keep)?)
    }
}

/// Some rows of a matrix.
fn rows_of(p: &Csr<f64>, rows: Range<usize>) -> Result<Csr<f64>, MatrixError> {
    let copy = |(): &mut (), row: usize, entries: &mut Entries<f64>| {
        let (columns, values) = p.row(row);
        entries.extend(columns, values);
    };
    Csr::collect(p.row_ptr(), rows, p.cols(), || (), copy)
}
