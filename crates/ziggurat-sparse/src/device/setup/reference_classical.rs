//! Classical coarsening of the reference device, row by row.

use std::collections::BTreeMap;

use super::reference_aggregation::{Row, entries, entry, from_rows, others};
use super::{ClassicalKernels, ClassicalStrength, coarse_measure, expected};
use crate::algebra::{RowTruncation, Truncation};
use crate::device::{DeviceError, Reference};
use crate::matrix::Csr;
use crate::number::Real;

/// Values by column: a row under construction.
type Sums<T> = BTreeMap<u32, T>;

/// The number of a row among the coarse rows.
fn number<T: Real>(coarse: &Csr<T>, row: usize) -> Option<u32> {
    coarse.row(row).0.first().copied()
}

/// The matrix of the coarse rows.
fn numbered<T: Real>(is_coarse: &[bool]) -> Csr<T> {
    let mut count = 0;
    let row = |&is_coarse: &bool| {
        count += u32::from(is_coarse);
        is_coarse.then(|| (count - 1, T::one())).into_iter().collect()
    };
    let rows: Vec<Row<T>> = is_coarse.iter().map(row).collect();
    from_rows(count as usize, &rows)
}

/// The entries of a row that truncation keeps.
fn truncated<T: Real>(row: impl IntoIterator<Item = (u32, T)>, truncation: &mut RowTruncation) -> Row<T> {
    let (mut columns, mut values): (Vec<u32>, Vec<T>) = row.into_iter().unzip();
    let kept = truncation.apply(&mut columns, &mut values);
    columns.into_iter().zip(values).take(kept).collect()
}

/// A row of extended+i interpolation before the division by the diagonal, ã_ii.
pub(in crate::device) struct Collapsed<T> {
    /// The coarse rows of the interpolatory set, with the numerators of their weights.
    sums: Sums<T>,
    pub(in crate::device) diagonal: T,
    /// The sum of the magnitudes of the terms of the diagonal, by which the conformance suite
    /// decides whether they cancel.
    #[cfg_attr(not(feature = "conformance"), allow(dead_code))]
    pub(in crate::device) size: T,
}

/// ã_ii under construction, and the sum of the magnitudes of its terms.
struct Diagonal<T> {
    sum: T,
    size: T,
}

impl<T: Real> Diagonal<T> {
    fn add(&mut self, value: T) {
        self.sum += value;
        self.size += value.abs();
    }
}

impl<T: Real> Collapsed<T> {
    /// The fine row `row`.
    pub(in crate::device) fn new(
        a: &Csr<T>,
        strong: &Csr<T>,
        coarse: &Csr<T>,
        symmetric: bool,
        row: usize,
    ) -> Self {
        let is_strong = |column: u32| column as usize != row && strong.get(row, column as usize).is_some();
        let fine_neighbours = || {
            let of_row = others(a, row).filter(|(column, _)| is_strong(*column));
            of_row.filter(|(column, _)| number(coarse, *column as usize).is_none())
        };
        let near = |row: usize| others(strong, row).filter_map(|(column, _)| number(coarse, column as usize));
        let mut sums: Sums<T> = near(row).map(|coarse| (coarse, T::zero())).collect();
        for (neighbour, _) in fine_neighbours() {
            sums.extend(near(neighbour as usize).map(|coarse| (coarse, T::zero())));
        }
        let mut diagonal = Diagonal { sum: T::zero(), size: T::zero() };
        // As on the host: own and weak fine entries, neighbours that have only strong coarse
        // entries, weak coarse entries, the other neighbours. Truncation must not depend on
        // rounding where weights are equal.
        let is_coarse = |column: u32| number(coarse, column as usize).is_some();
        let weak = |row: usize| {
            let weak = entries(a, row).filter(move |(column, _)| strong.get(row, *column as usize).is_none());
            weak.filter_map(|(column, value)| Some((number(coarse, column as usize)?, value)))
        };
        for (column, value) in entries(a, row) {
            match number(coarse, column as usize).filter(|_| is_strong(column)) {
                Some(coarse) => *sums.entry(coarse).or_insert(T::zero()) += value,
                None if is_strong(column) || is_coarse(column) => {}
                None => diagonal.add(value),
            }
        }
        for only_strong in [true, false] {
            let mut of_pass = Diagonal { sum: T::zero(), size: T::zero() };
            if !only_strong {
                for (coarse, value) in weak(row) {
                    match sums.get_mut(&coarse) {
                        Some(sum) => *sum += value,
                        None => of_pass.add(value),
                    }
                }
            }
            for (neighbour, value) in fine_neighbours() {
                let neighbour = neighbour as usize;
                let is_negative = entry(a, neighbour, neighbour) < T::zero();
                let opposed = |value: T| value != T::zero() && (value < T::zero()) != is_negative;
                let weak = || weak(neighbour).filter(|(_, share)| opposed(*share));
                if weak().next().is_none() != only_strong {
                    continue;
                }
                let near = others(strong, neighbour);
                let near = near.filter_map(|(column, share)| Some((number(coarse, column as usize)?, share)));
                let shares: Row<T> =
                    near.chain(weak()).filter(|(coarse, _)| sums.contains_key(coarse)).collect();
                let sum = shares.iter().fold(T::zero(), |sum, (_, share)| sum + *share);
                if sum == T::zero() {
                    of_pass.add(value);
                    continue;
                }
                let back = if symmetric { value } else { entry(a, neighbour, row) };
                let own = if opposed(back) { back } else { T::zero() };
                let factor = value / (sum + own);
                of_pass.add(factor * own);
                for (coarse, share) in shares {
                    *sums.entry(coarse).or_insert(T::zero()) += factor * share;
                }
            }
            diagonal.sum += of_pass.sum;
            diagonal.size += of_pass.size;
        }
        let Diagonal { sum: diagonal, size } = diagonal;
        Collapsed { sums, diagonal, size }
    }

    /// The weights; none if the row cannot be interpolated.
    fn weights(self) -> Row<T> {
        let factor = -T::one() / self.diagonal;
        let is_usable = factor.wide().is_finite();
        let weights = self.sums.into_iter().map(|(coarse, sum)| (coarse, factor * sum));
        weights.filter(|_| is_usable).collect()
    }
}

impl ClassicalKernels for Reference {
    fn dependences<T: Real>(&self, a: &Csr<T>, strength: &ClassicalStrength) -> Result<Csr<T>, DeviceError> {
        let threshold = T::narrow(strength.threshold);
        let row = |row: usize| {
            let diagonal = entry(a, row, row);
            let sum = entries(a, row).fold(T::zero(), |sum, (_, value)| sum + value);
            let values = || entries(a, row).map(|(_, value)| value);
            let largest = match diagonal < T::zero() {
                true => values().fold(T::zero(), |most, value| if value > most { value } else { most }),
                false => values().fold(T::zero(), |least, value| if value < least { value } else { least }),
            };
            let most = strength.max_row_sum.map(|most| T::narrow(most) * diagonal.abs());
            let has_any = largest != T::zero() && most.is_none_or(|most| sum.abs() <= most);
            let kept = entries(a, row).filter(|&(column, value)| {
                let strength = value / largest;
                column as usize == row || has_any && strength >= threshold && strength > T::zero()
            });
            kept.collect()
        };
        Ok(from_rows(a.cols(), &(0..a.rows()).map(row).collect::<Vec<Row<T>>>()))
    }

    fn coarse_rows<T: Real>(&self, strong: &Csr<T>, again: Option<&Csr<T>>) -> Result<Csr<T>, DeviceError> {
        assert!(again.is_none_or(|again| again.rows() == strong.rows()), "rows of the graph");
        let id = |row: usize| again.map_or(row as u64, |again| u64::from(again.row(row).0[0]));
        let mut dependents = vec![0u32; strong.rows()];
        for row in 0..strong.rows() {
            others(strong, row).for_each(|(column, _)| dependents[column as usize] += 1);
        }
        let mut order: Vec<usize> = (0..strong.rows()).collect();
        order.sort_by_key(|&row| (coarse_measure(dependents[row], id(row)), row));
        let mut is_coarse = vec![false; strong.rows()];
        // The coarse rows so far are those with a larger measure.
        for row in order.into_iter().rev() {
            is_coarse[row] = match dependents[row] {
                0 => again.is_some() && others(strong, row).next().is_none(),
                _ => !others(strong, row).any(|(column, _)| is_coarse[column as usize]),
            };
        }
        Ok(numbered(&is_coarse))
    }

    fn paths<T: Real>(&self, strong: &Csr<T>, coarse: &Csr<T>, least: u32) -> Result<Csr<T>, DeviceError> {
        assert_eq!(strong.rows(), coarse.rows(), "rows of the graph and of the coarse rows");
        let from = |row: usize| {
            let mut counts = BTreeMap::new();
            let far = others(strong, row).flat_map(|(middle, _)| others(strong, middle as usize));
            for (end, _) in others(strong, row).chain(far).filter(|(end, _)| *end as usize != row) {
                if let Some(end) = number(coarse, end as usize) {
                    *counts.entry(end).or_insert(0u32) += 1;
                }
            }
            let enough = counts.into_iter().filter(|(_, count)| *count >= least);
            enough.map(|(end, count)| (end, T::narrow(f64::from(count)))).collect()
        };
        let starts = (0..strong.rows()).filter(|&row| number(coarse, row).is_some());
        Ok(from_rows(coarse.cols(), &starts.map(from).collect::<Vec<Row<T>>>()))
    }

    fn extended_i<T: Real>(
        &self,
        a: &Csr<T>,
        strong: &Csr<T>,
        coarse: &Csr<T>,
        to: Option<&Csr<T>>,
        symmetric: bool,
        truncation: Truncation,
    ) -> Result<Csr<T>, DeviceError> {
        assert_eq!([strong.rows(), coarse.rows()], [a.rows(); 2], "rows of the graph and the coarse rows");
        let mut truncation = expected(RowTruncation::new(truncation));
        let row = |row: usize| match number(coarse, row) {
            _ if to.is_some_and(|to| to.row(row).0.is_empty()) => Row::new(),
            Some(coarse) => vec![(coarse, T::one())],
            None => {
                let row = Collapsed::new(a, strong, coarse, symmetric, row);
                truncated(row.weights(), &mut truncation)
            }
        };
        Ok(from_rows(coarse.cols(), &(0..a.rows()).map(row).collect::<Vec<_>>()))
    }

    fn two_stage<T: Real>(
        &self,
        p1: &Csr<T>,
        p2: &Csr<T>,
        first: &Csr<T>,
        truncation: Truncation,
    ) -> Result<Csr<T>, DeviceError> {
        assert_eq!([p1.cols(), p1.rows()], [p2.rows(), first.rows()], "sizes of P₁, P₂ and the coarse rows");
        let mut truncation = expected(RowTruncation::new(truncation));
        let row = |row: usize| {
            let (mut sums, mut all, mut reached) = (Sums::new(), T::zero(), T::zero());
            for (middle, share) in entries(p1, row) {
                all += share;
                if !p2.row(middle as usize).0.is_empty() {
                    reached += share;
                }
                for (column, value) in entries(p2, middle as usize) {
                    *sums.entry(column).or_insert(T::zero()) += share * value;
                }
            }
            let factor = if reached == all || reached == T::zero() { T::one() } else { all / reached };
            let product = sums.into_iter().map(|(column, sum)| (column, factor * sum));
            match number(first, row) {
                Some(_) => product.collect(),
                None => truncated(product, &mut truncation),
            }
        };
        Ok(from_rows(p2.cols(), &(0..p1.rows()).map(row).collect::<Vec<Row<T>>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SetupKernels;

    /// The Laplacian of a line whose rows sum to zero.
    fn line(rows: usize) -> Csr<f64> {
        let row = |row: usize| {
            let near = [row.wrapping_sub(1), row + 1].into_iter().filter(|&near| near < rows);
            let mut entries: Row<f64> = near.map(|near| (near as u32, -1.0)).collect();
            entries.push((row as u32, entries.len() as f64));
            entries.sort_by_key(|(column, _)| *column);
            entries
        };
        from_rows(rows, &(0..rows).map(row).collect::<Vec<_>>())
    }

    /// Every `step`-th row.
    fn every(rows: usize, step: usize) -> Csr<f64> {
        numbered(&(0..rows).map(|row| row % step == 0).collect::<Vec<_>>())
    }

    #[test]
    fn interpolation_on_a_line_is_linear() {
        let (a, all) = (line(9), Truncation::default());
        let [first, third, second] = [2, 3, 4].map(|step| every(9, step));
        let weights = |coarse, to| Reference.extended_i(&a, &a, coarse, to, true, all).unwrap();
        let p1 = weights(&third, None);
        assert_eq!(p1.row(2).0, [0, 1]);
        assert!((p1.row(2).1[1] - 2.0 / 3.0).abs() < 1e-15);
        // To every other row, then to all rows.
        let to_first = weights(&second, Some(&first));
        assert!((0..9).all(|row| to_first.row(row).0.is_empty() == (row % 2 == 1)));
        let select = Reference.transpose(&first).unwrap();
        let p2 = Reference.product_once(&select, &to_first).unwrap();
        let p = Reference.two_stage(&weights(&first, None), &p2, &first, all).unwrap();
        for row in 0..9 {
            let position: f64 = entries(&p, row).map(|(column, weight)| f64::from(4 * column) * weight).sum();
            assert!((position - row as f64).abs() < 1e-14, "row {row}: {position}");
        }
    }

    #[test]
    fn removed_entries_leave_row_sums() {
        let p1 = from_rows(3, &[vec![(0, 0.25), (1, 0.5), (2, 0.25)], vec![(0, 1.0)]]);
        let p2 = from_rows(2, &[vec![], vec![(0, 1.0)], vec![(0, 0.5), (1, 0.5)]]);
        let none = from_rows(0, &[vec![], vec![]]);
        let p = Reference.two_stage(&p1, &p2, &none, Truncation::default()).unwrap();
        assert_eq!((p.row_ptr(), p.columns()), ([0, 2, 2].as_slice(), [0, 1].as_slice()));
        assert!((p.row(0).1.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((p.row(0).1[1] - 1.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn a_row_counts_by_its_dependents_only() {
        // Row 1 depends on the others, which do not depend on it; row 3 has no connections.
        let strong = from_rows(4, &[vec![(0, 2.0)], vec![(0, -1.0), (2, -1.0)], vec![], vec![(3, 1.0)]]);
        let rows = |again| Reference.coarse_rows(&strong, again).unwrap().row_ptr().to_vec();
        assert_eq!(rows(None), [0, 1, 1, 2, 2]);
        assert_eq!(rows(Some(&Csr::identity(4).unwrap())), [0, 1, 1, 2, 3]);
    }
}
