//! Truncation: dropping the small entries of each row, preserving row sums.
//!
//! Long-range interpolation creates rows of many small weights, and the Galerkin product multiplies
//! their number. Of row i, truncation keeps the entries with |w_ij| ≥ relative · max_k |w_ik|, and
//! of those at most the `max_entries` largest. Then it multiplies them by Σ_j w_ij / Σ_kept w_ij,
//! so that constants are interpolated as before (De Sterck, Falgout, Nolting & Yang, *Distance-two
//! interpolation for parallel algebraic multigrid*, 2008; hypre's default).
//!
//! The total sum is preserved, not the sums of positive and negative entries separately: this is
//! what preserving constants requires, and the positive entries may all be dropped. Cost: one pass
//! over the rows, and a linear-time selection in rows that are too long.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::check_rows;
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::Real;
use crate::words::number;

/// Up to this many entries per row are selected without sorting.
const FEW: usize = 8;

/// Limits on the entries that each row keeps. The default keeps everything.
///
/// ```
/// use ziggurat_sparse::algebra::Truncation;
/// // hypre's default for extended interpolation.
/// let usual = Truncation { max_entries: Some(4), ..Truncation::default() };
/// assert!(usual.keep_row_sums && usual.relative == 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// Entries smaller than this times the largest entry of their row are dropped (by absolute
    /// value). From 0, which drops none, to 1, which keeps only the largest.
    pub relative: f64,
    /// The maximum number of entries per row: the largest by absolute value are kept; of equal
    /// entries, those with the lower column. At least 1.
    pub max_entries: Option<usize>,
    /// Whether the kept entries are scaled to preserve the row sum. A row whose kept entries sum to
    /// zero is not scaled.
    pub keep_row_sums: bool,
}

impl Default for Truncation {
    fn default() -> Self {
        Truncation { relative: 0.0, max_entries: None, keep_row_sums: true }
    }
}

/// Why a truncation is not possible.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TruncationError {
    /// The relative threshold is out of range.
    #[error(
        "the relative threshold is {}; it must be between 0 (drop nothing) and 1 (keep only the largest)",
        number(*found)
    )]
    Relative {
        /// The given threshold.
        found: f64,
    },
    /// The maximum number of entries is zero.
    #[error("the maximum number of entries per row is 0; allow at least 1, or `None` for any number")]
    NoEntries,
    /// The range of rows is out of bounds.
    #[error(transparent)]
    Rows(#[from] MatrixError),
}

/// The rows `rows` of `p`, truncated.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::{Truncation, truncate}};
/// let p = Csr::try_new(1, 4, vec![0, 4], vec![0, 1, 2, 3], vec![0.5_f64, 0.25, 0.2, 0.05])?;
/// let how = Truncation { relative: 0.2, max_entries: Some(2), keep_row_sums: true };
/// let t = truncate(p.view(), p.all_rows(), how)?;
/// assert_eq!(t.columns(), [0, 1]);
/// assert!((t.values()[0] - 2.0 / 3.0).abs() < 1e-15); // 0.5 of 0.75 becomes 2/3 of 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `how` is invalid (see [`TruncationError`]), or the range of rows is out of bounds.
pub fn truncate<T: Real>(
    p: CsrRef<'_, T>,
    rows: Range<usize>,
    how: Truncation,
) -> Result<Csr<T>, TruncationError> {
    let truncation = RowTruncation::new(how)?;
    check_rows(p, &rows)?;
    let scratch = || truncation.clone();
    let t = Csr::collect(
        p.row_ptr(),
        rows,
        p.cols(),
        scratch,
        |truncation: &mut RowTruncation, row, entries| {
            let (columns, values) = p.row(row);
            entries.extend_and_cut(columns, values, |columns, values| truncation.apply(columns, values));
        },
    )?;
    Ok(t)
}

/// Truncates one row at a time, for code that computes rows and does not store them untruncated.
///
/// ```
/// use ziggurat_sparse::algebra::{RowTruncation, Truncation};
/// let how = Truncation { max_entries: Some(2), ..Truncation::default() };
/// let mut largest_two = RowTruncation::new(how)?;
/// let (mut columns, mut values) = ([3, 5, 8], [0.5, 0.25, 0.25]);
/// assert_eq!(largest_two.apply(&mut columns, &mut values), 2);
/// assert_eq!(columns[..2], [3, 5]);
/// assert!((values[0] + values[1] - 1.0_f64).abs() < 1e-15);
/// # Ok::<(), ziggurat_sparse::algebra::TruncationError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowTruncation {
    how: Truncation,
    /// The absolute values of the entries.
    sizes: Vec<f64>,
    /// A copy of `sizes` for selection.
    ordered: Vec<f64>,
}

impl RowTruncation {
    /// Checks `how`.
    ///
    /// # Errors
    /// See [`TruncationError`].
    pub fn new(how: Truncation) -> Result<Self, TruncationError> {
        if !(0.0..=1.0).contains(&how.relative) {
            return Err(TruncationError::Relative { found: how.relative });
        }
        if how.max_entries == Some(0) {
            return Err(TruncationError::NoEntries);
        }
        Ok(RowTruncation { how, sizes: Vec::new(), ordered: Vec::new() })
    }

    /// Whether a row with this many entries is never changed.
    #[inline]
    pub fn keeps_all_of(&self, entries: usize) -> bool {
        self.how.relative == 0.0 && self.how.max_entries.is_none_or(|most| entries <= most)
    }

    /// Moves the kept entries to the front, in their order, and returns their number. `columns`
    /// increases and has the length of `values`.
    pub fn apply<T: Real>(&mut self, columns: &mut [u32], values: &mut [T]) -> usize {
        if self.keeps_all_of(values.len()) {
            return values.len();
        }
        // NaN counts as infinite, so that it is not dropped silently.
        let size = |value: &T| {
            let size = value.wide().abs();
            if size.is_nan() { f64::INFINITY } else { size }
        };
        self.sizes.clear();
        self.sizes.extend(values.iter().map(size));
        let largest = self.sizes.iter().fold(0.0, |largest: f64, &size| largest.max(size));
        // 0 · ∞ would be NaN.
        let threshold = if self.how.relative == 0.0 { 0.0 } else { self.how.relative * largest };
        let least = self.least_kept();
        let mut room = self.how.max_entries.unwrap_or(usize::MAX)
            - self.sizes.iter().map(|&size| usize::from(size > least)).sum::<usize>();

        let (mut sum, mut kept_sum) = (T::zero(), T::zero());
        let mut kept = 0;
        for place in 0..values.len() {
            // Whether an entry is kept is unpredictable, so it selects increments and not branches.
            let (value, size) = (values[place], self.sizes[place]);
            let last = (size == least) & (room > 0);
            let keep = (size >= threshold) & (last | (size > least));
            room -= usize::from(last);
            sum += value;
            kept_sum += if keep { value } else { T::zero() };
            (columns[kept], values[kept]) = (columns[place], value);
            kept += usize::from(keep);
        }
        if self.how.keep_row_sums && kept < values.len() && kept_sum != T::zero() {
            let factor = sum / kept_sum;
            for value in &mut values[..kept] {
                *value *= factor;
            }
        }
        kept
    }

    /// The smallest of the `max_entries` largest sizes. All larger entries are kept, and as many of
    /// this size as there is room for. Negative if all entries are kept.
    fn least_kept(&mut self) -> f64 {
        match self.how.max_entries {
            Some(most) if most >= self.sizes.len() => -1.0,
            None => -1.0,
            Some(most @ 1..=FEW) => {
                // The largest so far, sorted. Each size moves through them to its position, without
                // branches.
                let mut largest = [-1.0; FEW];
                for &size in &self.sizes {
                    let mut size = size;
                    for slot in &mut largest[..most] {
                        (*slot, size) = if size > *slot { (size, *slot) } else { (*slot, size) };
                    }
                }
                largest[most - 1]
            }
            Some(most) => {
                self.ordered.clear();
                self.ordered.extend_from_slice(&self.sizes);
                *self.ordered.select_nth_unstable_by(most - 1, |x, y| y.total_cmp(x)).1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::product;
    use crate::algebra::testing::{arbitrary, on_threads, poisson3d};
    use proptest::prelude::*;

    fn row(values: &[f64]) -> Csr<f64> {
        let n = values.len();
        Csr::try_new(1, n, vec![0, n], (0..n as u32).collect(), values.to_vec()).unwrap()
    }

    fn kept(values: &[f64], how: Truncation) -> (Vec<u32>, Vec<f64>) {
        let (_, columns, values) = truncate(row(values).view(), 0..1, how).unwrap().into_parts();
        (columns, values)
    }

    #[test]
    fn senseless_choices_are_refused() {
        let p = row(&[1.0]);
        for relative in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = truncate(p.view(), 0..1, Truncation { relative, ..Default::default() }).unwrap_err();
            assert!(matches!(error, TruncationError::Relative { .. }), "{error}");
        }
        let none = Truncation { max_entries: Some(0), ..Default::default() };
        assert_eq!(truncate(p.view(), 0..1, none), Err(TruncationError::NoEntries));
        assert!(matches!(
            truncate(p.view(), 0..2, Truncation::default()),
            Err(TruncationError::Rows(MatrixError::Mismatch { .. }))
        ));
    }

    #[test]
    fn ties_go_to_the_lower_column() {
        let how = Truncation { max_entries: Some(3), keep_row_sums: false, ..Default::default() };
        assert_eq!(kept(&[1.0, -2.0, 1.0, 2.0, -1.0], how), (vec![0, 1, 3], vec![1.0, -2.0, 2.0]));
    }

    #[test]
    fn a_kept_sum_of_zero_is_not_divided_by() {
        let how = Truncation { relative: 0.5, ..Default::default() };
        assert_eq!(kept(&[1.0, -1.0, 0.25], how), (vec![0, 1], vec![1.0, -1.0]));
        // A row of zeros keeps all entries.
        assert_eq!(kept(&[0.0, 0.0], how), (vec![0, 1], vec![0.0, 0.0]));
    }

    #[test]
    fn what_is_not_a_number_does_not_vanish() {
        let how = Truncation { relative: 1.0, max_entries: Some(1), keep_row_sums: false };
        let (columns, values) = kept(&[5.0, f64::NAN, 7.0], how);
        assert!(columns == [1] && values[0].is_nan());
        let everything = Truncation { keep_row_sums: false, ..Default::default() };
        assert_eq!(kept(&[5.0, f64::INFINITY], everything).0, [0, 1]);
        // A relative threshold of 0 drops nothing, even if the largest entry is infinite.
        let two = Truncation { max_entries: Some(2), ..everything };
        assert_eq!(kept(&[5.0, f64::INFINITY, 7.0], two).0, [1, 2]);
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        let mut a = poisson3d(30);
        for (k, value) in a.values_mut().iter_mut().enumerate() {
            *value += (k as f64).sin();
        }
        let a = product(a.view(), a.all_rows(), a.view()).unwrap();
        let how = Truncation { relative: 0.1, max_entries: Some(4), keep_row_sums: true };
        let run = || truncate(a.view(), 17..26_000, how).unwrap();
        assert_eq!(on_threads(1, run), on_threads(2, run));
    }

    proptest! {
        #[test]
        fn keeps_the_largest_and_the_sum(
            (p, rows) in arbitrary(12, 25), relative in 0.0..=1.0f64, most in prop::option::of(1..6usize)
        ) {
            let how = Truncation { relative, max_entries: most, keep_row_sums: false };
            let t = truncate(p.view(), rows.clone(), how).unwrap();
            let scaled = truncate(p.view(), rows.clone(), Truncation { keep_row_sums: true, ..how }).unwrap();
            prop_assert_eq!((t.rows(), t.cols()), (rows.len(), p.cols()));
            prop_assert_eq!((t.row_ptr(), t.columns()), (scaled.row_ptr(), scaled.columns()));
            for (k, row) in rows.enumerate() {
                let (old_columns, old) = p.row(row);
                // The definition, implemented by sorting.
                let largest = old.iter().fold(0.0f64, |most, value| most.max(value.abs()));
                let mut order: Vec<usize> =
                    (0..old.len()).filter(|&at| old[at].abs() >= relative * largest).collect();
                order.sort_by(|&x, &y| old[y].abs().total_cmp(&old[x].abs()).then(x.cmp(&y)));
                order.truncate(most.unwrap_or(usize::MAX));
                order.sort();
                let expected: Vec<_> = order.iter().map(|&at| (old_columns[at], old[at])).collect();
                let (columns, values) = t.row(k);
                let found: Vec<_> = columns.iter().copied().zip(values.iter().copied()).collect();
                prop_assert_eq!(found, expected);

                let kept_sum = values.iter().sum::<f64>();
                let sum = if kept_sum == 0.0 { 0.0 } else { old.iter().sum() };
                let error = (scaled.row(k).1.iter().sum::<f64>() - sum).abs();
                prop_assert!(error <= 1e-12 * (1.0 + largest * old.len() as f64 * 100.0));
            }
        }

        #[test]
        fn the_default_changes_nothing((p, _) in arbitrary(12, 12)) {
            prop_assert_eq!(truncate(p.view(), p.all_rows(), Truncation::default()).unwrap(), p);
        }
    }
}
