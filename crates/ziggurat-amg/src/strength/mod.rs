//! Strength of connection: which neighbours matter for the error of a row.
//!
//! The error that remains after smoothing varies slowly along strong connections, so values may
//! only be interpolated along these. A [`Measure`] assigns a strength s_ij to every off-diagonal
//! entry (larger means stronger), and a [`Filter`] decides which strengths count as strong. The
//! result is a [`StrongGraph`].
//!
//! | measure | s_ij | suits |
//! |---|---|---|
//! | classical | a_ij / a_ik, where a_ik is the largest entry in magnitude with sign opposite to a_ii | M-matrices, classical interpolation |
//! | symmetric | \|a_ij\| / √\|a_ii a_jj\| | aggregation, elasticity |
//! | affinity | (Σ_k v_ik v_jk)² / (Σ_k v_ik² Σ_k v_jk²), where v are smoothed test vectors | anisotropy that the entries do not show |
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
use ziggurat_sparse::words::{counted, number};
use ziggurat_sparse::{CsrRef, MatrixError};

use crate::OutOfRange;
use crate::halo::Halo;

/// How strong a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Relative to the largest entry of the row with sign opposite to the diagonal (Ruge & Stüben,
    /// 1987).
    Classical,
    /// Relative to the two diagonal entries (Vaněk, Mandel & Brezina, 1996). Symmetric if the
    /// matrix is.
    Symmetric,
    /// How parallel the values of the test vectors are at the two rows (Livne & Brandt, 2012).
    /// Configurations cannot name it, because only [`Bamg`](crate::Bamg) has test vectors; it has a
    /// key of its own.
    #[serde(skip)]
    Affinity,
}

/// Which strengths count as strong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// Strengths of at least this value, between 0 and 1. A connection of strength 0 is never
    /// strong.
    Threshold(f64),
    /// The strongest connections, this many per row on average over the whole matrix. Connections
    /// of equal strength are kept or dropped together, so there may be more.
    AverageConnections(f64),
    /// Strengths of at least `threshold`, and of these only the strongest, `most` per row on
    /// average. Configurations cannot name it: smoothed aggregation takes it for plain levels.
    #[serde(skip)]
    Strongest {
        /// As in [`Threshold`](Filter::Threshold).
        threshold: f64,
        /// As in [`AverageConnections`](Filter::AverageConnections).
        most: f64,
    },
}

/// Parameters that determine which connections are strong.
///
/// ```
/// use ziggurat_amg::strength::{Filter, Strength};
/// let sharper = Strength { filter: Filter::Threshold(0.5), ..Strength::classical() };
/// assert_eq!(sharper.max_row_sum, Some(0.9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strength {
    /// How the strength of a connection is measured.
    pub measure: Measure,
    /// Which strengths count as strong.
    pub filter: Filter,
    /// A row has no strong connections if the magnitude of its row sum exceeds this fraction of its
    /// diagonal: it is so diagonally dominant that the smoother alone solves it. `None` disables
    /// this exception.
    pub max_row_sum: Option<f64>,
}

impl Strength {
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::strength::{Filter, Strength};
    /// let negative = Strength { filter: Filter::Threshold(-1.0), ..Strength::classical() };
    /// assert_eq!(negative.check().unwrap_err().name, "filter.threshold");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let (threshold, average) = match self.filter {
            Filter::Threshold(threshold) => (threshold, 1.0),
            Filter::AverageConnections(average) => (0.0, average),
            Filter::Strongest { threshold, most } => (threshold, most),
        };
        OutOfRange::unless_in("filter.threshold", threshold, 0.0..=1.0)?;
        let good = average > 0.0 && average.is_finite();
        OutOfRange::unless("filter.average_connections", average, good, "finite and positive")?;
        let sum = self.max_row_sum.unwrap_or(1.0);
        OutOfRange::unless("max_row_sum", sum, sum > 0.0, "positive")
    }

    /// Classical measure, threshold 0.25, maximum row sum 0.9: the defaults of hypre.
    pub fn classical() -> Self {
        Strength { measure: Measure::Classical, filter: Filter::Threshold(0.25), max_row_sum: Some(0.9) }
    }

    /// Symmetric measure with threshold 0.08, for aggregation.
    pub fn symmetric() -> Self {
        Strength { measure: Measure::Symmetric, filter: Filter::Threshold(0.08), max_row_sum: None }
    }

    /// Affinity, the four strongest connections per row on average: its values lie so close to 1
    /// that no threshold works well.
    pub fn affinity() -> Self {
        Strength { measure: Measure::Affinity, filter: Filter::AverageConnections(4.0), max_row_sum: None }
    }
}

impl Default for Strength {
    fn default() -> Self {
        Strength::classical()
    }
}

/// Why the strong connections cannot be determined.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StrengthError {
    /// The threshold is not a fraction.
    #[error(
        "strength threshold {} is not between 0 and 1; 0.25 is usual for classical, 0.08 for symmetric",
        number(*found)
    )]
    Threshold {
        /// The given value.
        found: f64,
    },
    /// The requested average is not a positive number.
    #[error(
        "average of {} strong connections per row is not positive and finite; 4 is usual",
        number(*found)
    )]
    Average {
        /// The given value.
        found: f64,
    },
    /// The maximum row sum is not a positive fraction.
    #[error(
        "maximum row sum {} is not a positive fraction of the diagonal; 0.9 is usual, or none",
        number(*found)
    )]
    MaxRowSum {
        /// The given value.
        found: f64,
    },
    /// Affinity without test vectors.
    #[error(
        "affinity needs test vectors, but none were given; provide smoothed vectors or choose another measure"
    )]
    NoVectors,
    /// A test vector whose length does not match the matrix.
    #[error(
        "test vector {vector} has {}, but the matrix has {}",
        counted(*found, "value"),
        counted(*expected, "column")
    )]
    VectorLength {
        /// Index of the vector, from zero.
        vector: usize,
        /// Number of columns of the matrix.
        expected: usize,
        /// Number of values of the vector.
        found: usize,
    },
    /// The matrix does not match the other arguments.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// Properties of a row that measures use.
#[derive(Default)]
struct RowFacts {
    /// a_ii, zero if absent.
    diagonal: f64,
    /// The sum of all entries.
    sum: f64,
    /// The smallest entry, or zero if none is negative.
    least: f64,
    /// The largest entry, or zero if none is positive.
    most: f64,
}

/// Strengths of the entries of a row.
trait Strengths: Sync {
    /// Whether scales depend on the facts of a row, which take a pass over it.
    fn needs_facts(&self) -> bool {
        false
    }

    /// The value that strengths in this row are relative to, or `None` if the row has no
    /// connections.
    fn scale(&self, row: usize, facts: &RowFacts) -> Option<f64>;

    /// The strength of an off-diagonal entry of a row with this scale. If it is not positive, the
    /// entry is not a connection.
    fn strength(&self, row: usize, scale: f64, column: u32, value: f64) -> f64;
}

/// Finds the strong connections of the rows `rows` of `a`. Row `k` of the graph is row
/// `rows.start + k` of the matrix.
///
/// `vectors` are the test vectors of [`Measure::Affinity`], with one value per column of `a`; the
/// other measures ignore them. `halo` provides the diagonal entries of columns whose rows other
/// processes own, and sums counts over all processes.
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
/// Returns an error if a parameter is out of range, or if the matrix does not have the requested
/// rows.
pub fn strong_connections<H: Halo>(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strength: &Strength,
    vectors: &[Vec<f64>],
    halo: &H,
) -> Result<StrongGraph, StrengthError> {
    if rows.start > rows.end || rows.end > a.rows() {
        let what = "matrix rows for the requested range";
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
