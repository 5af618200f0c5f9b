//! Aggregation of the reference device, row by row.

use std::collections::BTreeMap;

use super::{
    AggregationKernels, FilteredStep, LONE, SymmetricStrength, VOTE_UNITS, block_bits, dependent, expected,
    root_key,
};
use crate::device::{DeviceError, Kernels, Reference};
use crate::matrix::Csr;
use crate::number::Real;

/// A row under construction: columns and values.
pub(super) type Row<T> = Vec<(u32, T)>;

/// A matrix from its rows.
pub(super) fn from_rows<T: Real>(cols: usize, rows: &[Row<T>]) -> Csr<T> {
    let mut row_ptr = vec![0];
    row_ptr.extend(rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    }));
    let (columns, values) = rows.iter().flatten().copied().unzip();
    expected(Csr::try_new(rows.len(), cols, row_ptr, columns, values))
}

/// The entries of a row.
pub(super) fn entries<T: Real>(a: &Csr<T>, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
    let (columns, values) = a.row(row);
    columns.iter().copied().zip(values.iter().copied())
}

/// The entries of a row outside the diagonal.
pub(super) fn others<T: Real>(a: &Csr<T>, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
    entries(a, row).filter(move |(column, _)| *column as usize != row)
}

/// The entry of a row in a column.
pub(super) fn entry<T: Real>(a: &Csr<T>, row: usize, column: usize) -> T {
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

impl AggregationKernels for Reference {
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

    fn pairs<T: Real>(&self, a: &Csr<T>, rounds: usize) -> Result<Csr<T>, DeviceError> {
        let strongest = |row: usize, both_sides: bool, allowed: &dyn Fn(usize) -> bool| {
            let mut best = (T::zero(), usize::MAX, None);
            for (column, value) in others(a, row).filter(|(column, _)| allowed(*column as usize)) {
                let (other, back) = (column as usize, a.get(column as usize, row));
                if both_sides && back.is_none() {
                    continue;
                }
                let sizes = value.abs() + back.unwrap_or(T::zero()).abs();
                let weight =
                    T::narrow(0.5) * sizes / entry(a, row, row).abs().max(entry(a, other, other).abs());
                let tie = row ^ other;
                if weight > best.0 || weight == best.0 && tie < best.1 && best.2.is_some() {
                    best = (weight, tie, Some(other));
                }
            }
            best.2
        };
        let mut partners = vec![None; a.rows()];
        for _ in 0..rounds {
            let is_open = |row: &usize| partners[*row].is_none();
            let choice = |row: usize| strongest(row, true, &|other| is_open(&other));
            let choices: Vec<_> =
                (0..a.rows()).map(|row| if is_open(&row) { choice(row) } else { None }).collect();
            for row in 0..a.rows() {
                if let Some(other) = choices[row].filter(|&other| choices[other] == Some(row)) {
                    partners[row] = Some(other);
                }
            }
        }
        let taken: Vec<Option<usize>> = partners
            .iter()
            .enumerate()
            .map(|(row, partner)| partner.map(|partner| partner.min(row)))
            .collect();
        let joins = |row: usize| {
            let of_neighbour = || strongest(row, false, &|other| taken[other].is_some());
            let alone = || strongest(row, false, &|_| true).map(|_| row);
            taken[row].or_else(|| of_neighbour().and_then(|other| taken[other])).or_else(alone)
        };
        let roots: Vec<Option<usize>> = (0..a.rows()).map(joins).collect();
        let mut count = 0;
        let mut number = |(row, root): (usize, &Option<usize>)| {
            count += u32::from(*root == Some(row));
            count.wrapping_sub(1)
        };
        let numbers: Vec<u32> = roots.iter().enumerate().map(&mut number).collect();
        let rows: Vec<Row<T>> = roots
            .iter()
            .map(|root| root.map(|root| (numbers[root], T::one())).into_iter().collect())
            .collect();
        Ok(from_rows(count as usize, &rows))
    }

    fn node_matrix<T: Real>(&self, a: &Csr<T>, block: usize) -> Result<Csr<T>, DeviceError> {
        assert!(a.rows().is_multiple_of(block) && a.cols().is_multiple_of(block), "whole nodes");
        let node = |node: usize| {
            let mut squares = BTreeMap::new();
            for (column, value) in (node * block..(node + 1) * block).flat_map(|row| entries(a, row)) {
                *squares.entry(column / block as u32).or_insert(T::zero()) += value * value;
            }
            squares.into_iter().map(|(column, sum)| (column, sum.sqrt())).collect()
        };
        Ok(from_rows(a.cols() / block, &(0..a.rows() / block).map(node).collect::<Vec<_>>()))
    }

    fn tentative<T: Real>(
        &self,
        aggregates: &Csr<T>,
        kernel: &Self::Vector<T>,
        count: usize,
    ) -> Result<(Csr<T>, Self::Vector<T>), DeviceError> {
        let (nodes, coarse) = (aggregates.rows(), aggregates.cols());
        let mut q = vec![T::zero(); kernel.len()];
        self.download(kernel, &mut q)?;
        let block = q.len() / (nodes * count).max(1);
        let mut r = vec![T::zero(); coarse * count * count];
        let mut members = vec![Vec::new(); coarse];
        for node in 0..nodes {
            let rows = node * block..(node + 1) * block;
            entries(aggregates, node).for_each(|(of, _)| members[of as usize].extend(rows.clone()));
        }
        for (members, r) in members.iter().zip(r.chunks_mut((count * count).max(1))) {
            // Modified Gram–Schmidt, twice.
            for c in 0..count {
                let sum = |q: &[T], one: usize, other: usize| {
                    let product = |&row: &usize| q[row * count + one] * q[row * count + other];
                    members.iter().map(product).fold(T::zero(), |sum, x| sum + x)
                };
                let before = sum(&q, c, c).sqrt();
                for other in (0..c).chain(0..c) {
                    let along = sum(&q, other, c);
                    r[other * count + c] += along;
                    for row in members {
                        let basis = q[row * count + other];
                        q[row * count + c] -= along * basis;
                    }
                }
                let after = sum(&q, c, c).sqrt();
                let is_new = after > T::narrow(dependent::<T>()) * before;
                r[c * count + c] = if is_new { after } else { T::zero() };
                for row in members {
                    let rest = q[row * count + c] / after;
                    q[row * count + c] = if is_new { rest } else { T::zero() };
                }
            }
        }
        let row = |row: usize| {
            let of =
                entries(aggregates, row / block).flat_map(|(of, _)| (0..count as u32).map(move |c| (of, c)));
            of.map(|(of, c)| (of * count as u32 + c, q[row * count + c as usize])).collect()
        };
        let p = from_rows(coarse * count, &(0..nodes * block).map(row).collect::<Vec<_>>());
        Ok((p, self.upload(&r)?))
    }

    fn set_dead_diagonal<T: Real>(
        &self,
        a: &mut Csr<T>,
        kernel: &Self::Vector<T>,
        count: usize,
    ) -> Result<Vec<u32>, DeviceError> {
        let mut r = vec![T::zero(); kernel.len()];
        self.download(kernel, &mut r)?;
        let is_dead = |row: &u32| r[*row as usize * count + *row as usize % count] == T::zero();
        let dead: Vec<u32> = (0..a.rows() as u32).filter(is_dead).collect();
        let largest = (0..a.rows()).fold(T::zero(), |most, row| most.max(entry(a, row, row).abs()));
        let scale = if largest > T::zero() { largest } else { T::one() };
        for &row in &dead {
            let (start, place) = (a.row_ptr()[row as usize], a.row(row as usize).0.binary_search(&row));
            if let Ok(place) = place {
                a.values_mut()[start + place] = scale;
            }
        }
        Ok(dead)
    }

    fn smoothing_matrix<T: Real>(
        &self,
        a: &Csr<T>,
        nodes: &Csr<T>,
        step: &FilteredStep,
    ) -> Result<Csr<T>, DeviceError> {
        let block = a.rows() / nodes.rows().max(1);
        let row = |row: usize| {
            let (node, first) = (row / block, row / block * block);
            let largest = others(nodes, node).fold(T::zero(), |most, (_, norm)| most.max(norm.abs()));
            let least = T::narrow(step.filter) * largest;
            let is_strong = |column: u32| {
                let norm = entry(nodes, node, column as usize / block).abs();
                column as usize / block != node && norm >= least && norm > T::zero()
            };
            let mut own = vec![T::zero(); block];
            for (column, value) in entries(a, row).filter(|(column, _)| !is_strong(*column)) {
                own[column as usize % block] += value;
            }
            let strong: Row<T> = entries(a, row).filter(|(column, _)| is_strong(*column)).collect();
            let sizes = own.iter().copied().chain(strong.iter().map(|(_, value)| *value));
            let half = T::narrow(0.5) * sizes.fold(T::zero(), |sum, value| sum + value.abs());
            let diagonal = own[row - first];
            let factor = match diagonal * entry(a, row, row) > T::zero() {
                true => T::narrow(step.damping / step.radius) / diagonal,
                false if half > T::zero() => T::narrow(0.5 * step.damping) / diagonal.abs().max(half),
                false => T::zero(),
            };
            let own = (first as u32..).zip(own);
            let mut all: Row<T> = strong.into_iter().chain(own).collect();
            all.sort_by_key(|(column, _)| *column);
            let value = |(column, value): (u32, T)| match column as usize == row {
                true => (column, T::one() - factor * value),
                false => (column, -factor * value),
            };
            all.into_iter().map(value).collect()
        };
        Ok(from_rows(a.cols(), &(0..a.rows()).map(row).collect::<Vec<_>>()))
    }
}
