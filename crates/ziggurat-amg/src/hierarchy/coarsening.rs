//! One step from a level to the next: strength, coarsening, interpolation. Which methods, with which parameters.

use ziggurat_sparse::{Csr, CsrRef};

use crate::SetupError;
use crate::coarsen::{Paths, aggressive, pmis};
use crate::halo::Whole;
use crate::interpolate::{
    InterpolationError, Symmetry, Truncation, classical_modified, extended_i, hybrid, multipass,
};
use crate::strength::{Strength, strong_connections};

/// How fine values are interpolated from coarse ones on levels that are not coarsened aggressively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interpolation {
    /// Classical, modified after Henson & Yang: strong coarse neighbours only.
    ClassicalModified,
    /// Extended+i: coarse points at distance two as well.
    #[default]
    ExtendedI,
    /// Chronos's hybrid: distance two only where distance one does not suffice.
    Hybrid,
}

/// Classical multigrid: coarse points are some of the fine ones.
///
/// ```
/// use ziggurat_amg::Classical;
/// let usual = Classical::default();
/// assert_eq!((usual.aggressive_levels, usual.truncation.max_entries), (0, Some(4)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Classical {
    /// Which connections are strong.
    pub strength: Strength,
    /// Finest levels to coarsen aggressively, with multipass interpolation.
    pub aggressive_levels: usize,
    /// Paths that join two coarse points at distance two, on aggressive levels.
    pub paths: Paths,
    /// The interpolation on the other levels.
    pub interpolation: Interpolation,
    /// What is cut off the interpolation.
    pub truncation: Truncation,
}

impl Default for Classical {
    fn default() -> Self {
        Classical {
            strength: Strength::classical(),
            aggressive_levels: 0,
            paths: Paths::default(),
            interpolation: Interpolation::default(),
            truncation: Truncation { relative: 0.0, max_entries: Some(4), keep_row_sums: true },
        }
    }
}

impl Classical {
    /// The prolongation from the next level to level `index`.
    pub(super) fn prolongation(&self, a: CsrRef<'_, f64>, index: usize) -> Result<Csr<f64>, SetupError> {
        let (rows, halo) = (a.all_rows(), Whole::new(a.rows()));
        let at = |stage| SetupError::at(index, stage);
        let strong = strong_connections(a, rows.clone(), &self.strength, &[], &halo)
            .map_err(|error| at("strength")(error.into()))?;
        let matrix = |stage| move |error: ziggurat_sparse::MatrixError| at(stage)(error.into());
        let interpolation = |error: InterpolationError| at("interpolation")(error.into());
        if index < self.aggressive_levels {
            let splitting =
                aggressive(&strong, &halo, self.paths).map_err(matrix("aggressive coarsening"))?;
            return multipass(a, rows, &strong, &splitting, self.truncation).map_err(interpolation);
        }
        let splitting = pmis(&strong, &halo).map_err(matrix("PMIS coarsening"))?;
        let (symmetry, truncation) = (Symmetry::General, self.truncation);
        match self.interpolation {
            Interpolation::ClassicalModified => classical_modified(a, rows, &strong, &splitting, truncation),
            Interpolation::ExtendedI => extended_i(a, rows, &strong, &splitting, symmetry, truncation),
            Interpolation::Hybrid => hybrid(a, rows, &strong, &splitting, &halo, symmetry, truncation),
        }
        .map_err(interpolation)
    }
}
