//! Filtering of interpolation such that its test vectors do not change (Isotton, thesis, 2.2.4).
//!
//! ```text
//! p̃_i = the largest entries of p_i, until Σ |p̃_ij| ≥ ρ Σ |p_ij|
//! p_i ← p̃_i + δ_i,        δ_i V_c = (p_i − p̃_i) V_c
//! ```
//!
//! Magnitudes are those between rows that are scaled as the test vectors are. Smoothing doubles the
//! length of the rows of P, and with it the length of coarse rows. Most of the new entries are
//! small. The dropped part goes to as many of the kept entries as there are test vectors, those
//! that span V_c best ([maxvol](super::maxvol)), so δ is small, too. A row stays as it is if its
//! kept entries cannot represent the dropped part, or if δ is larger than that by far.
//!
//! **Difference from Chronos.** It takes the δ of least squares, whatever that leaves. Here such a
//! row stays as it is, so few rows are filtered where many test vectors meet short rows. On the six
//! structures of `hierarchy/bamg.rs`, least squares would lower operator complexities from 1.5 to
//! 5.8 to 1.3 to 2.9, and raise iterations from 25, 41, 86, 15, 34, 11 to 31, 58, 122, 18, 58, 17:
//! the product of both, which the time of a solve follows, grows by 7 % in the geometric mean.
//!
//! Cost: per row a sort of its entries, and 3 m t² operations for m kept entries and t vectors.

use std::ops::Range;

use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::maxvol::Maxvol;

/// The relative accuracy to which kept entries must represent the dropped part.
const EXACT: f64 = 1e-10;

/// The largest ratio between the norms of the correction and of what is dropped.
const LARGEST: f64 = 10.0;

/// Filters the rows `rows` of `p`: keeps the largest entries of each, whose magnitudes sum to at
/// least the fraction `keep` of all. `coarse` gives the values of the test vectors in a coarse row,
/// times the scale of the row, and that scale.
///
/// ```
/// use ziggurat_amg::interpolate::filter_interpolation;
/// use ziggurat_sparse::Csr;
/// let p = Csr::try_new(1, 3, vec![0, 3], vec![0, 1, 2], vec![0.6, 0.3, 0.1])?;
/// let filtered = filter_interpolation(p.view(), 0..1, |_| (&[1.0], 1.0), 0.9)?;
/// // The last entry is dropped, and constants are still interpolated as constants.
/// assert_eq!(filtered.row(0).0, [0, 1]);
/// assert!((filtered.row(0).1.iter().sum::<f64>() - 1.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `p` does not have the requested rows.
pub fn filter_interpolation<'v>(
    p: CsrRef<'_, f64>,
    rows: Range<usize>,
    coarse: impl Fn(u32) -> (&'v [f64], f64) + Sync,
    keep: f64,
) -> Result<Csr<f64>, MatrixError> {
    if rows.start > rows.end || rows.end > p.rows() {
        let what = "matrix rows for the requested range";
        return Err(MatrixError::Mismatch { what, expected: rows.end.max(rows.start), found: p.rows() });
    }
    let collect = |row: &mut Row, index: usize, entries: &mut Entries<f64>| {
        let (columns, values) = p.row(index);
        if row.filter(columns, values, &coarse, keep) {
            row.kept.iter().for_each(|&(column, value)| entries.push(column, value));
        } else {
            entries.extend(columns, values);
        }
    };
    Csr::collect(p.row_ptr(), rows, p.cols(), Row::default, collect)
}

/// One row under construction.
#[derive(Default)]
struct Row {
    kept: Vec<(u32, f64)>,
    /// The dropped part times V_c.
    dropped: Vec<f64>,
    maxvol: Maxvol,
}

impl Row {
    /// Filters a row. Returns false if nothing can be dropped.
    fn filter<'v>(
        &mut self,
        columns: &[u32],
        values: &[f64],
        coarse: &impl Fn(u32) -> (&'v [f64], f64),
        keep: f64,
    ) -> bool {
        let Row { kept, dropped, maxvol } = self;
        kept.clear();
        kept.extend(columns.iter().zip(values).map(|(&column, &value)| (column, value / coarse(column).1)));
        // Stable, so the first of equal entries is kept.
        kept.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
        let wanted = keep * kept.iter().map(|(_, value)| value.abs()).sum::<f64>();
        let mut sum = 0.0;
        let enough = kept.iter().position(|(_, value)| {
            sum += value.abs();
            sum >= wanted
        });
        let Some(rest) = enough.map(|last| last + 1).filter(|&rest| rest < kept.len()) else { return false };
        dropped.clear();
        dropped.resize(coarse(kept[0].0).0.len(), 0.0);
        let mut size = 0.0;
        for &(column, value) in &kept[rest..] {
            size += value.abs();
            dropped.iter_mut().zip(coarse(column).0).for_each(|(sum, v)| *sum += value * v);
        }
        kept.truncate(rest);
        maxvol.clear();
        kept.iter().for_each(|&(column, _)| maxvol.push(coarse(column).0));
        maxvol.fit(dropped);
        let change: f64 = maxvol.weights.iter().map(|weight| weight.abs()).sum();
        // Also false if one of them is not a number.
        if !(maxvol.residual <= EXACT && change <= LARGEST * size) {
            return false;
        }
        for (&place, weight) in maxvol.chosen.iter().zip(&maxvol.weights) {
            kept[place].1 += weight;
        }
        kept.iter_mut().for_each(|(column, value)| *value *= coarse(*column).1);
        kept.sort_unstable_by_key(|(column, _)| *column);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ziggurat_sparse::hash::uniform;

    /// Two vectors on the coarse rows.
    fn vectors(rows: usize) -> Vec<[f64; 2]> {
        (0..rows as u64).map(|row| [1.0, uniform(row)]).collect()
    }

    fn times(p: &Csr<f64>, vectors: &[[f64; 2]]) -> [f64; 2] {
        let (columns, values) = p.row(0);
        let term = |k: usize| columns.iter().zip(values).map(|(&c, v)| v * vectors[c as usize][k]).sum();
        [term(0), term(1)]
    }

    proptest! {
        #[test]
        fn the_product_with_test_vectors_stays(values in prop::collection::vec(0.01..1.0f64, 3..12), keep in 0.0..1.0f64) {
            let count = values.len();
            let p = Csr::try_new(1, count, vec![0, count], (0..count as u32).collect(), values).unwrap();
            let vectors = vectors(count);
            let filtered = filter_interpolation(p.view(), 0..1, |c| (&vectors[c as usize], 1.0), keep).unwrap();
            let (before, after) = (times(&p, &vectors), times(&filtered, &vectors));
            for (before, after) in before.iter().zip(after) {
                prop_assert!((before - after).abs() < 1e-8, "{before} {after}");
            }
            let all: f64 = p.values().iter().sum();
            let largest = p.values().iter().fold(0.0, |most: f64, v| most.max(*v));
            // More than the largest entry is kept, or nothing had to be dropped.
            prop_assert!(filtered.nnz() == count || largest < keep * all || filtered.nnz() >= 1);
        }
    }

    #[test]
    fn what_two_entries_cannot_represent_is_not_dropped() {
        let p = Csr::try_new(1, 3, vec![0, 3], vec![0, 1, 2], vec![1.0, 1.0, 0.1]).unwrap();
        let same = [[1.0, 0.5], [1.0, 0.5], [1.0, 0.6]];
        let filtered = filter_interpolation(p.view(), 0..1, |c| (&same[c as usize], 1.0), 0.9).unwrap();
        assert_eq!(filtered, p);
        let different = [[1.0, 0.5], [1.0, 1.0], [1.0, 0.6]];
        let filtered = filter_interpolation(p.view(), 0..1, |c| (&different[c as usize], 0.5), 0.9).unwrap();
        assert_eq!(filtered.row(0).0, [0, 1]);
        // Nothing at all may be dropped.
        assert_eq!(filter_interpolation(p.view(), 0..1, |c| (&different[c as usize], 0.5), 1.0).unwrap(), p);
    }
}
