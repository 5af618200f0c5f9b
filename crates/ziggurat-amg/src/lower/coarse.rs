//! How the coarsest level is solved: inverted, factorised or smoothed.
//!
//! Unless it is [chosen](Coarsest), a small matrix is inverted and a larger one factorised, which
//! takes the feature `direct`. The factors of matrices from three-dimensional grids grow like
//! n^(4/3). So a level that is still large (coarsening stalled early, or hardly any rows are
//! strongly connected) is smoothed instead. So is a level that several processes share, and one
//! that is singular and too large for a dense inverse.

use std::borrow::Cow;

use ziggurat_sparse::algebra::scale_symmetric;
use ziggurat_sparse::device::{DeviceExt, HostMatrix};
use ziggurat_sparse::{CsrRef, Kind, MatrixError};

use super::format::{Coarsest, Formats, Lowering};
use super::level::{LevelParts, SmootherParts, level};
use super::scaling::{LevelScaling, scaled_matrix, scaled_smoother};
use super::source::LevelSource;
use crate::empty_rows::Filled;
use crate::halo::Whole;
use crate::multigrid::coarse::{CoarseSolver, Factors, inverse};
use crate::smoother::{ChebyshevBase, Smoother, SmootherData};
use crate::{Cancel, SetupError};

/// Maximum number of rows for which the inverse is formed: 8 MB of values.
pub const MAX_DENSE_ROWS: usize = 1000;

/// Maximum number of rows for which the inverse is formed where a dense one is asked for: 800 MB.
const MAX_CHOSEN_DENSE_ROWS: usize = 10_000;

/// Maximum number of rows for which a sparse matrix is factorised: some seconds, and some hundred
/// megabytes.
pub const MAX_SPARSE_ROWS: usize = 10_000;

/// Whether a matrix with so many rows may be solved directly: by an inverse, or by sparse factors,
/// which need the feature `direct`. They may still be too large.
///
/// ```
/// use ziggurat_amg::{MAX_DENSE_ROWS, can_be_direct};
/// assert!(can_be_direct(MAX_DENSE_ROWS));
/// assert_eq!(can_be_direct(MAX_DENSE_ROWS + 1), cfg!(feature = "direct"));
/// ```
pub fn can_be_direct(rows: usize) -> bool {
    cfg!(feature = "direct") || rows <= MAX_DENSE_ROWS
}

/// The smoother of a coarsest level that is not solved directly: symmetric and positive wherever
/// the matrix is.
///
/// ```
/// use ziggurat_amg::{COARSE_FALLBACK_SMOOTHER, halo::Whole};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
/// // It needs no estimate of the spectrum.
/// let data = COARSE_FALLBACK_SMOOTHER.data(a.view(), &Whole::new(a.rows()), None)?;
/// assert_eq!(data.diagonal().len(), 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const COARSE_FALLBACK_SMOOTHER: Smoother =
    Smoother::Chebyshev { degree: 6, base: ChebyshevBase::L1Jacobi, ratio: 20.0 };

/// Builds the solver of the coarsest level.
///
/// If the level is scaled, so are its vectors. Whether a matrix counts as singular does not depend
/// on the scaling: the unscaled matrix is inverted, and the inverse is scaled. Empty rows do not
/// make it singular.
pub(super) fn coarse_solver(
    source: &LevelSource<'_>,
    scaling: Option<&LevelScaling>,
    lowering: Lowering<'_>,
) -> Result<CoarseSolver, SetupError> {
    let coarsest = lowering.coarsest;
    let (device, shared) = (source.device, source.a.remote.is_some());
    let a = &*source.a.own.csr();
    let refused = |reason: String| SetupError::CoarseSolve { rows: a.rows(), reason };
    if coarsest.is_direct() && shared {
        return Err(refused(
            "several processes share it; run one process, or choose a multigrid method and the coarsest \
             solver `auto`"
                .to_owned(),
        ));
    }
    if coarsest == Coarsest::Dense && a.rows() > MAX_CHOSEN_DENSE_ROWS {
        return Err(refused(format!(
            "a dense inverse may have {MAX_CHOSEN_DENSE_ROWS} rows; choose the coarsest solver `sparse`, or \
             more levels"
        )));
    }
    let is_small = a.rows() <= MAX_DENSE_ROWS && coarsest != Coarsest::Sparse;
    if (is_small || coarsest == Coarsest::Dense) && !shared {
        let mut inverse = inverse(filled(a.view())?.view())?;
        if let Some(scaling) = scaling {
            scale_symmetric(&mut inverse, &scaling.factors())?;
        }
        let inverse = HostMatrix::from(inverse);
        let bytes = inverse.bytes();
        return Ok(CoarseSolver::Inverse(device.upload_matrix(inverse)?, bytes));
    }
    let in_own_variables = || match scaling {
        Some(scaling) => scaled_matrix(a, scaling).map(Cow::Owned),
        None => Ok(Cow::Borrowed(&**a)),
    };
    if coarsest.is_direct() {
        let a = in_own_variables()?;
        let cancel = lowering.cancel.unwrap_or(&Cancel::NEVER);
        let factors = Factors::equilibrated(filled(a.view())?.view(), cancel)?;
        return Ok(CoarseSolver::Sparse(factors, a.bytes()));
    }
    let may_factorise = can_be_direct(a.rows());
    let mut why = match shared {
        true => "shared by processes: smoothed",
        false if may_factorise => "too large to be factorised: smoothed",
        false => "too large to be inverted, and the feature `direct` is off: smoothed",
    };
    if a.rows() <= MAX_SPARSE_ROWS && may_factorise && !shared {
        let a = in_own_variables()?;
        match Factors::new(filled(a.view())?.view()) {
            Ok(factors) if factors.is_regular(a.rows()) => {
                return Ok(CoarseSolver::Sparse(factors, a.bytes()));
            }
            Ok(_) => why = "singular: smoothed",
            Err(_) => why = "singular, or too large to be factorised: smoothed",
        }
    }
    let smoother = if shared || source.smoother.is_some() {
        scaled_smoother(source.smoother_data(&COARSE_FALLBACK_SMOOTHER)?, scaling)
    } else {
        let a = in_own_variables()?;
        Cow::Owned(COARSE_FALLBACK_SMOOTHER.data(a.view(), &Whole::new(a.rows()), None)?)
    };
    let SmootherData::Diagonal { diagonal, relaxation } = &*smoother else {
        let reason = "the smoother that was given for it has no diagonal".to_owned();
        return Err(SetupError::CoarseSolve { rows: a.rows(), reason });
    };
    let parts = LevelParts {
        a: source.a,
        factors: LevelScaling::of_matrix(scaling),
        block: source.block,
        host: None,
        formats: Formats::default(),
        transfer: None,
        smoother: SmootherParts::Diagonal { diagonal, relaxation },
        points: None,
        first_row: source.first_row,
    };
    Ok(CoarseSolver::Smoothed(Box::new(level(device, &parts, Kind::F64, Kind::F64)?), why))
}

/// The matrix with a diagonal entry in every empty row.
fn filled(a: CsrRef<'_, f64>) -> Result<Filled<'_>, MatrixError> {
    Filled::of(a, &Whole::new(a.rows()))
}
