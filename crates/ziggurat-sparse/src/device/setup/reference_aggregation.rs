//! Smoothed aggregation of the reference device, row by row.

use super::{
    AggregationDevice, FilteredStep, LONE, SymmetricStrength, VOTE_UNITS, block_bits, expected, root_key,
};
use crate::device::{Device, DeviceError, Reference};
use crate::matrix::Csr;
use crate::number::Real;

/// A row under construction: columns and values.
type Row<T> = Vec<(u32, T)>;

/// A matrix from its rows.
fn from_rows<T: Real>(cols: usize, rows: &[Row<T>]) -> Csr<T> {
    let mut row_ptr = vec![0];
    row_ptr.extend(rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    }));
    let (columns, values) = rows.iter().flatten().copied().unzip();
    expected(Csr::try_new(rows.len(), cols, row_ptr, columns, values))
}

/// The entries of a row.
fn entries<T: Real>(a: &Csr<T>, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
    let (columns, values) = a.row(row);
    columns.iter().copied().zip(values.iter().copied())
}

/// The entries of a row outside the diagonal.
fn others<T: Real>(a: &Csr<T>, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
    entries(a, row).filter(move |(column, _)| *column as usize != row)
}

/// The entry of a row in a column.
fn entry<T: Real>(a: &Csr<T>, row: usize, column: usize) -> T {
    a.get(row, column).unwrap_or(T::zero())
}

/// Whether each row is a root.
fn roots<T: Real>(graph: &Csr<T>) -> Vec<bool> {
    let mut lengths = [0u64; 64];
    for row in (0..graph.rows()).step_by(8) {
        for (column, _) in entries(graph, row) {
            let length = (row as u64).abs_diff(u64::from(column));
            lengths[length.checked_ilog2().unwrap_or(0) as usize] += 1;
        }
    }
    let bits = block_bits(&lengths);
    let mut order: Vec<usize> = (0..graph.rows()).collect();
    order.sort_by_key(|&row| root_key(row as u64, bits));
    let mut is_root = vec![false; graph.rows()];
    for row in order {
        let near = |other: usize| graph.row(other).0.iter().any(|&further| is_root[further as usize]);
        let taken = near(row) || graph.row(row).0.iter().any(|&column| near(column as usize));
        is_root[row] = !taken && !graph.row(row).0.is_empty();
    }
    is_root
}

impl AggregationDevice for Reference {
    fn diagonal_scales<T: Real>(&self, a: &Csr<T>) -> Result<(Self::Vector<T>, f64), DeviceError> {
        let diagonal = |row: usize| entry(a, row, row).abs();
        let scales: Vec<T> = (0..a.rows()).map(|row| T::one() / diagonal(row).sqrt()).collect();
        let bound = |row: usize| {
            let sum = entries(a, row).fold(T::zero(), |sum, (_, value)| sum + value.abs());
            (sum / diagonal(row)).wide()
        };
        Ok((self.upload(&scales)?, (0..a.rows()).map(bound).fold(0.0, f64::max)))
    }

    fn strong_connections<T: Real>(
        &self,
        a: &Csr<T>,
        strength: &SymmetricStrength,
    ) -> Result<Csr<T>, DeviceError> {
        let scales = self.to_host(self.diagonal_scales(a)?.0)?;
        let strength_of = |row: usize, column: u32, value: T| {
            let reverse = entry(a, column as usize, row).abs();
            let size = if value.abs() < reverse { reverse } else { value.abs() };
            size * (scales[row] * scales[column as usize])
        };
        let mut threshold = T::narrow(strength.threshold);
        if let Some(rank) = strength.rank(a.rows(), a.nnz()) {
            let of_row = |row| others(a, row).map(move |(column, value)| strength_of(row, column, value));
            let counted = (0..a.rows()).filter(|&row| strength.counts(row as u64, a.rows() as u64));
            let mut all: Vec<T> = counted.flat_map(of_row).filter(|s| *s > T::zero()).collect();
            all.sort_by(|x, y| y.wide().total_cmp(&x.wide()));
            let last = all.get((rank.max(1) as usize - 1).min(all.len().saturating_sub(1)));
            threshold = last.copied().filter(|last| *last > threshold).unwrap_or(threshold);
        }
        let strong = |row: usize| {
            let kept = others(a, row).filter(|&(column, value)| {
                let strength = strength_of(row, column, value);
                strength >= threshold && strength > T::zero()
            });
            kept.map(|(column, value)| (column, value.abs())).collect()
        };
        Ok(from_rows(a.cols(), &(0..a.rows()).map(strong).collect::<Vec<_>>()))
    }

    fn aggregates<T: Real>(&self, strong: &Csr<T>, a: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        let is_root = roots(strong);
        let lone = |row: usize| {
            let sum: f64 = others(a, row).map(|(_, value)| value.wide().abs()).sum();
            strong.row(row).0.is_empty() && sum >= LONE * entry(a, row, row).wide().abs()
        };
        let mut count = 0;
        let mut number = |row: usize| {
            let counts = is_root[row] || lone(row);
            counts.then(|| {
                count += 1;
                count - 1
            })
        };
        let of_roots: Vec<Option<u32>> = (0..a.rows()).map(&mut number).collect();
        let joins = |row: usize| {
            let near = strong.row(row).0.iter().find(|&&column| is_root[column as usize]);
            of_roots[row].or(near.and_then(|&root| of_roots[root as usize]))
        };
        let taken: Vec<Option<u32>> = (0..a.rows()).map(joins).collect();
        let voted = |row: usize| {
            let largest = entries(strong, row).fold(T::zero(), |most, (_, size)| most.max(size));
            let mut votes = vec![T::zero(); count as usize];
            for (column, size) in entries(strong, row) {
                if let Some(aggregate) = taken[column as usize] {
                    let units = (size / largest * T::narrow(VOTE_UNITS)).floor();
                    votes[aggregate as usize] += units + T::one();
                }
            }
            let most = votes.iter().fold(T::zero(), |most, &votes| most.max(votes));
            let elected = votes.iter().position(|&votes| votes == most && most > T::zero());
            elected.map(|aggregate| aggregate as u32)
        };
        let row = |row: usize| {
            let aggregate = taken[row].or_else(|| voted(row));
            aggregate.map(|aggregate| (aggregate, T::one())).into_iter().collect()
        };
        Ok(from_rows(count as usize, &(0..a.rows()).map(row).collect::<Vec<_>>()))
    }

    fn tentative<T: Real>(
        &self,
        aggregates: Csr<T>,
        kernel: &Self::Vector<T>,
    ) -> Result<(Csr<T>, Self::Vector<T>), DeviceError> {
        let mut kernel_on_host = vec![T::zero(); aggregates.rows()];
        self.download(kernel, &mut kernel_on_host)?;
        let mut norms = vec![T::zero(); aggregates.cols()];
        for (row, &b) in kernel_on_host.iter().enumerate() {
            entries(&aggregates, row).for_each(|(column, _)| norms[column as usize] += b * b);
        }
        norms.iter_mut().for_each(|norm| *norm = norm.sqrt());
        let row = |row: usize| {
            let value = |(column, _)| (column, kernel_on_host[row] / norms[column as usize]);
            entries(&aggregates, row).map(value).collect()
        };
        let p = from_rows(aggregates.cols(), &(0..aggregates.rows()).map(row).collect::<Vec<_>>());
        Ok((p, self.upload(&norms)?))
    }

    fn smoothing_matrix<T: Real>(&self, a: &Csr<T>, step: &FilteredStep) -> Result<Csr<T>, DeviceError> {
        let row = |row: usize| {
            let largest = others(a, row).fold(T::zero(), |most, (_, value)| most.max(value.abs()));
            let least = T::narrow(step.filter) * largest;
            let is_strong = |value: T| value.abs() >= least && value != T::zero();
            let (mut own, mut sum) = (entry(a, row, row), T::zero());
            for (_, value) in others(a, row) {
                if is_strong(value) {
                    sum += value.abs();
                } else {
                    own += value;
                }
            }
            let half = T::narrow(0.5) * (sum + own.abs());
            let factor = match own * entry(a, row, row) > T::zero() {
                true => T::narrow(step.damping / step.radius) / own,
                false if half > T::zero() => T::narrow(0.5 * step.damping) / own.abs().max(half),
                false => T::zero(),
            };
            let kept = entries(a, row).filter(|&(column, value)| column as usize == row || is_strong(value));
            let value = |(column, value)| match column as usize == row {
                true => (column, T::one() - factor * own),
                false => (column, -factor * value),
            };
            kept.map(value).collect()
        };
        Ok(from_rows(a.cols(), &(0..a.rows()).map(row).collect::<Vec<_>>()))
    }
}
