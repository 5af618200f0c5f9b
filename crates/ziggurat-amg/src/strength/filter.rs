//! Selects the strong connections by a threshold or by an average number of connections.
//!
//! The average requires the strength of the k-th strongest connection, k = average × rows. It is
//! found as in a radix sort: positive numbers have the same order as their 64-bit patterns, so
//! eight rounds that count connections by their next eight bits find it exactly. Counts are
//! integers, so the result does not depend on the number of threads or on the distribution of rows.
//! A coarsening that keeps the number of connections constant keeps its coarsening ratio constant
//! (Isotton, thesis on Chronos, 2.2.2).
//!
//! Where the strongest connections are only a bound on the number, a sample of the rows of a large
//! matrix suffices ([`is_sampled`]).
//!
//! Cost: a threshold reads the matrix once. The average reads it twice and temporarily stores 8
//! bytes per entry; a sample stores a sixteenth of that.

use std::ops::Range;

use ziggurat_sparse::device::is_sampled;
use ziggurat_sparse::{CsrRef, parallel};

use super::{Filter, RowFacts, StrengthError, Strengths, StrongGraph};
use crate::halo::Halo;

/// Number of rows per task.
const ROWS: usize = 8 * 1024;

/// The connections of `rows` that pass `filter`.
pub(super) fn keep<H: Halo>(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    measure: &impl Strengths,
    filter: Filter,
    max_row_sum: Option<f64>,
    halo: &H,
) -> Result<StrongGraph, StrengthError> {
    let scale_of = |row: usize| scale(a, row, measure, max_row_sum);
    let (threshold, average) = match filter {
        Filter::Threshold(threshold) => (threshold, None),
        Filter::AverageConnections(average) => (0.0, Some(average)),
        Filter::Strongest { threshold, most } => (threshold, Some(most)),
    };
    if !(0.0..=1.0).contains(&threshold) {
        return Err(StrengthError::Threshold { found: threshold });
    }
    if let Some(found) = average.filter(|&average| !(average > 0.0 && average.is_finite())) {
        return Err(StrengthError::Average { found });
    }
    let threshold = match average {
        None => threshold,
        Some(average) => {
            // Only owned rows count, whichever rows are requested.
            let owned = halo.owned();
            let extent = [owned.len(), a.row_ptr()[owned.end] - a.row_ptr()[owned.start]];
            let mut extent = extent.map(|count| count as u64);
            halo.sum(&mut extent);
            let most = |rows: u64| (average * rows as f64).round() as u64;
            match extent[1] <= most(extent[0]) {
                true => threshold, // there are no more connections than that
                false => {
                    let all = !matches!(filter, Filter::Strongest { .. });
                    let chosen = |row: &usize| all || is_sampled(halo.global_id(*row), extent[0]);
                    let count = |rows: Range<usize>| rows.filter(chosen).count();
                    let counts = parallel::map_pieces(owned.clone(), ROWS, &count);
                    let mut rows = [counts.into_iter().sum::<usize>() as u64];
                    halo.sum(&mut rows);
                    let strengths = parallel::map_pieces(owned, ROWS, &|rows| {
                        strengths(a, rows.filter(chosen), measure, scale_of)
                    });
                    threshold.max(strength_of_rank(&strengths, most(rows[0]), halo))
                }
            }
        }
    };
    let graph = StrongGraph::collect(
        a.row_ptr(),
        rows,
        a.cols(),
        || (),
        |(), row, entries| {
            let Some(scale) = scale_of(row) else { return };
            let (columns, values) = a.row(row);
            entries.extend_where(columns.len(), |place| {
                let column = columns[place];
                let strength = measure.strength(row, scale, column, values[place]);
                (column, (), (strength >= threshold) & (strength > 0.0) & (column as usize != row))
            });
        },
    )?;
    Ok(graph)
}

/// The scale of a row; `None` if the row sum exceeds its maximum.
#[inline]
fn scale(a: CsrRef<'_, f64>, row: usize, measure: &impl Strengths, max_row_sum: Option<f64>) -> Option<f64> {
    if !measure.needs_facts() && max_row_sum.is_none() {
        return measure.scale(row, &RowFacts::default());
    }
    let facts = RowFacts::of(a, row);
    match max_row_sum {
        Some(most) if facts.sum.abs() > most * facts.diagonal.abs() => None,
        _ => measure.scale(row, &facts),
    }
}

impl RowFacts {
    #[inline]
    fn of(a: CsrRef<'_, f64>, row: usize) -> RowFacts {
        let (columns, values) = a.row(row);
        let mut facts = RowFacts::default();
        for (&column, &value) in columns.iter().zip(values) {
            facts.diagonal = if column as usize == row { value } else { facts.diagonal };
            facts.sum += value;
            facts.least = if value < facts.least { value } else { facts.least };
            facts.most = if value > facts.most { value } else { facts.most };
        }
        facts
    }
}

/// The strength of every entry of `rows`; 0 for entries that are not connections.
fn strengths(
    a: CsrRef<'_, f64>,
    rows: impl Iterator<Item = usize>,
    measure: &impl Strengths,
    scale_of: impl Fn(usize) -> Option<f64>,
) -> Vec<f64> {
    let of_row = |row: usize| {
        let (columns, values) = a.row(row);
        let scale = scale_of(row);
        columns.iter().zip(values).map(move |(&column, &value)| match scale {
            Some(scale) if column as usize != row => measure.strength(row, scale, column, value).max(0.0),
            _ => 0.0,
        })
    };
    rows.flat_map(of_row).collect()
}

/// The strength of the connection with this rank, counted from the strongest over all processes. If
/// there are fewer connections, the smallest strength. Strengths are in pieces.
fn strength_of_rank<H: Halo>(strengths: &[Vec<f64>], rank: u64, halo: &H) -> f64 {
    let mut left = rank.max(1);
    let mut prefix = 0u64;
    for shift in (0..64).step_by(8).rev() {
        let mut counts = counts(strengths, prefix, shift);
        halo.sum(&mut counts);
        left = left.min(counts.iter().sum());
        if left == 0 {
            return 0.0; // no connections at all
        }
        let mut digit = 255;
        while digit > 0 && counts[digit] < left {
            left -= counts[digit];
            digit -= 1;
        }
        prefix = prefix << 8 | digit as u64;
    }
    f64::from_bits(prefix)
}

/// Counts the connections whose highest bits, down to `shift` + 8, are `prefix`, by their next
/// eight bits.
fn counts(strengths: &[Vec<f64>], prefix: u64, shift: u32) -> [u64; 256] {
    let parts = parallel::map_tasks(strengths.len(), &|piece| {
        let mut counts = vec![0; 256];
        for strength in strengths[piece].iter().filter(|&&strength| strength > 0.0) {
            let bits = strength.to_bits() >> shift;
            if bits >> 8 == prefix {
                counts[(bits & 255) as usize] += 1;
            }
        }
        counts
    });
    let mut sums = [0; 256];
    for counts in parts {
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_rank_found_is_that_of_sorting(
            mut strengths in prop::collection::vec(prop_oneof![Just(0.0), Just(0.5), 0.0..1.0f64, 0.999..1.0f64], 0..50),
            rank in 0..60u64,
        ) {
            let pieces: Vec<Vec<f64>> = strengths.chunks(7).map(<[f64]>::to_vec).collect();
            let found = strength_of_rank(&pieces, rank, &Whole::new(1));
            strengths.retain(|&strength| strength > 0.0);
            strengths.sort_by(|x, y| y.total_cmp(x));
            let expected = match strengths.len() {
                0 => 0.0,
                length => strengths[(rank.max(1) as usize).min(length) - 1],
            };
            prop_assert_eq!(found, expected);
        }
    }
}
