//! Strength of connection: which neighbours matter for a row's error.
//!
//! Error that a smoother leaves behind varies slowly along strong connections, so only along these may a value be
//! interpolated. A [`Measure`] gives every off-diagonal entry a strength s_ij, larger for stronger; a [`Filter`] says
//! from where on it is strong. The result is a [`StrongGraph`].
//!
//! | measure | s_ij | suits |
//! |---|---|---|
//! | classical | a_ij / a_ik, the a_ik largest in size among those opposed in sign to a_ii | M-matrices, classical interpolation |
//! | symmetric | \|a_ij\| / √\|a_ii a_jj\| | aggregation, elasticity |
//! | affinity | (Σ_k v_ik v_jk)² / (Σ_k v_ik² Σ_k v_jk²), v being smoothed test vectors | anisotropy that entries hide |
//!
//! A row without off-diagonal entries (a Dirichlet row) has no connections.

mod affinity;
mod classical;
mod filter;
mod graph;
mod symmetric;

use std::ops::Range;

pub use graph::StrongGraph;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_sparse::{CsrRef, MatrixError};

use crate::halo::Halo;

/// How strong a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Relative to the row's largest entry opposed in sign to the diagonal (Ruge & Stüben, 1987).
    Classical,
    /// Relative to the two diagonal entries (Vaněk, Mandel & Brezina, 1996). Symmetric where the matrix is.
    Symmetric,
    /// How parallel the values of test vectors are at both ends (Livne & Brandt, 2012). Configurations
    /// do not name it: they cannot give the vectors.
    #[serde(skip)]
    Affinity,
}

/// From where on a connection is strong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// At least this strength, between 0 and 1. A connection of strength 0 is never strong.
    Threshold(f64),
    /// The strongest ones, so many per row on average over the whole matrix. Equal strengths are kept or dropped together,
    /// so there may be more.
    AverageConnections(f64),
}

/// Which connections are strong: the whole choice.
///
/// ```
/// use ziggurat_amg::strength::{Filter, Strength};
/// let sharper = Strength { filter: Filter::Threshold(0.5), ..Strength::classical() };
/// assert_eq!(sharper.max_row_sum, Some(0.9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strength {
    /// What makes a connection strong.
    pub measure: Measure,
    /// How strong it has to be.
    pub filter: Filter,
    /// A row whose entries sum to more than this fraction of its diagonal, in size, has no strong connections: it is so
    /// dominated by the diagonal that the smoother alone solves it. `None` asks for no such exception.
    pub max_row_sum: Option<f64>,
}

impl Strength {
    /// Classical with threshold 0.25 and row sums up to 0.9: hypre's defaults.
    pub fn classical() -> Self {
        Strength { measure: Measure::Classical, filter: Filter::Threshold(0.25), max_row_sum: Some(0.9) }
    }

    /// Symmetric with threshold 0.08, for aggregation.
    pub fn symmetric() -> Self {
        Strength { measure: Measure::Symmetric, filter: Filter::Threshold(0.08), max_row_sum: None }
    }

    /// Affinity, the four strongest connections per row: its values lie so close to 1 that no threshold suits.
    pub fn affinity() -> Self {
        Strength { measure: Measure::Affinity, filter: Filter::AverageConnections(4.0), max_row_sum: None }
    }
}

impl Default for Strength {
    fn default() -> Self {
        Strength::classical()
    }
}

/// Why the strong connections cannot be found.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StrengthError {
    /// The threshold is no fraction.
    #[error(
        "strength threshold {found} is not between 0 and 1; 0.25 is usual for classical, 0.08 for symmetric"
    )]
    Threshold {
        /// What was given.
        found: f64,
    },
    /// The wanted average is no number of connections.
    #[error("{found} strong connections per row cannot be had; ask for a positive number, such as 4")]
    Average {
        /// What was given.
        found: f64,
    },
    /// The largest row sum is no fraction.
    #[error("the largest row sum {found} is not a positive fraction of the diagonal; 0.9 is usual, or none")]
    MaxRowSum {
        /// What was given.
        found: f64,
    },
    /// Affinity without test vectors.
    #[error(
        "affinity compares test vectors, and none were given; give some smoothed ones, or choose another measure"
    )]
    NoVectors,
    /// A test vector that does not fit the matrix.
    #[error("test vector {vector} has {found} values, but the matrix has {expected} columns")]
    VectorLength {
        /// Which one, from zero.
        vector: usize,
        /// Columns of the matrix.
        expected: usize,
        /// Values it has.
        found: usize,
    },
    /// The matrix and what was said about it do not fit.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// What a measure may want to know of a row.
struct RowFacts {
    /// a_ii, zero if absent.
    diagonal: f64,
    /// The sum of all entries.
    sum: f64,
    /// The least entry, or zero if none is negative.
    least: f64,
    /// The greatest entry, or zero if none is positive.
    most: f64,
}

/// Strengths of the entries of a row.
trait Strengths: Sync {
    /// What the strengths in this row are relative to, or `None` if it has no connections.
    fn scale(&self, row: usize, facts: &RowFacts) -> Option<f64>;

    /// The strength of an off-diagonal entry of a row with this scale: positive, or the entry is no connection.
    fn strength(&self, row: usize, scale: f64, column: u32, value: f64) -> f64;
}

/// The strong connections of the rows `rows` of `a`. Row `k` of the graph is row `rows.start + k` of the matrix.
///
/// `vectors` are the test vectors of [`Measure::Affinity`], one value per column of `a`; other measures do not read them.
/// `halo` tells the diagonal of columns whose rows are elsewhere, and counts connections over all processes.
///
/// ```
/// use ziggurat_amg::halo::Whole;
/// use ziggurat_amg::strength::{Strength, strong_connections};
/// use ziggurat_sparse::Csr;
/// // Strong to the left, weak to the right.
/// let a = Csr::try_new(3, 3, vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], vec![2., -1., -2., 2.2, -0.2, -2., 2.])?;
/// let graph = strong_connections(a.view(), a.all_rows(), &Strength::classical(), &[], &Whole::new(3))?;
/// assert_eq!((graph.row(0), graph.row(1), graph.row(2)), (&[1][..], &[0][..], &[1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a parameter makes no sense, or the matrix has not the rows asked for.
pub fn strong_connections<H: Halo>(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strength: &Strength,
    vectors: &[Vec<f64>],
    halo: &H,
) -> Result<StrongGraph, StrengthError> {
    if rows.start > rows.end || rows.end > a.rows() {
        let what = "rows of the matrix, for the range asked for";
        return Err(
            MatrixError::Mismatch { what, expected: rows.end.max(rows.start), found: a.rows() }.into()
        );
    }
    if let Some(found) = strength.max_row_sum.filter(|&sum| sum.is_nan() || sum <= 0.0) {
        return Err(StrengthError::MaxRowSum { found });
    }
    let max_row_sum = strength.max_row_sum;
    match strength.measure {
        Measure::Classical => {
            filter::keep(a, rows, &classical::Classical, strength.filter, max_row_sum, halo)
        }
        Measure::Symmetric => {
            let measure = symmetric::Symmetric::new(a, halo)?;
            filter::keep(a, rows, &measure, strength.filter, max_row_sum, halo)
        }
        Measure::Affinity => {
            let measure = affinity::Affinity::new(a.cols(), vectors)?;
            filter::keep(a, rows, &measure, strength.filter, max_row_sum, halo)
        }
    }
}

#[cfg(test)]
mod tests;
