//! Energy-minimising interpolation (J. Mandel, M. Brezina & P. Vaněk, *Energy optimization of
//! algebraic multigrid bases*, 1999; L. N. Olson, J. B. Schroder & R. S. Tuminaro, *A general
//! interpolation strategy for algebraic multigrid using energy minimization*, 2011).
//!
//! ```text
//! minimise trace(Pᵀ A P)   among all P with a given pattern and P Bc = B
//! ```
//!
//! A few steps of conjugate gradients, preconditioned by the diagonal of A, start from smoothed
//! interpolation and keep its pattern, so the levels below have no more entries. Every direction is
//! projected onto the matrices with that pattern whose product with Bc is zero. Both conditions
//! concern single rows: with N the aggregates of row i, and Bc_N their rows of Bc,
//!
//! ```text
//! d_i ← d_i − d_i Bc_N (Bc_Nᵀ Bc_N)⁻¹ Bc_Nᵀ
//! ```
//!
//! One smoothing step damps all rows by the same factor, which the largest eigenvalue dictates. It
//! also changes P Bc where the matrix does not annihilate B, as near filtered entries. For scalar
//! equations this hardly matters. For elasticity on irregular meshes it does: with rigid-body
//! modes, crank_elas3d takes 36 iterations instead of 54 (`cargo xtask bench papers`).
//!
//! Cost: per step one product A P restricted to the pattern, and four vectors of the length of P.

mod pattern;

use std::ops::Range;

use ziggurat_sparse::{Csr, CsrRef, ExactSum, MatrixError, parallel};

use super::LocalTentative;
use super::near_kernel::NearKernel;
use super::smoothed::add_scaled;
use crate::SetupError;
use crate::halo::{Processes, sum_exactly};
use pattern::Pattern;

/// Rows that one task computes.
const ROWS: usize = 256;

/// A near-kernel vector counts as a combination of others on the aggregates of a row if its
/// distance from them, squared and relative to its own square, is at most this value.
const DEPENDENT: f64 = 1e-10;

/// Lowers the energy of interpolation by `steps` steps. `p` has the owned rows of `halo`, and k
/// entries, one per near-kernel vector, for every aggregate that a row interpolates from, as
/// [`smoothed`](super::smoothed) makes it; `kernel` has the owned rows of the near-kernel.
/// Collective.
///
/// In rows of aggregates, P Bc = B afterwards, also without a step. `a` is symmetric and has the
/// owned rows. Steps do not change rows without a positive diagonal entry, and end once a direction
/// has no positive energy.
///
/// ```
/// use ziggurat_amg::coarsen::mis2;
/// use ziggurat_amg::halo::Whole;
/// use ziggurat_amg::interpolate::{LocalTentative, NearKernel, ProlongationSmoothing, minimise_energy, smoothed};
/// use ziggurat_amg::strength::{Strength, strong_connections};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson3d:10".parse::<Problem>()?.matrix()?;
/// let (halo, kernel) = (Whole::new(a.rows()), NearKernel::constants(a.rows(), 1)?);
/// let strong = strong_connections(a.view(), a.all_rows(), &Strength::symmetric(), &[], &halo)?;
/// let made = LocalTentative::new(mis2(&strong, Some(a.view()), &halo)?, &kernel, &halo)?;
/// let smoothing = ProlongationSmoothing::default();
/// let p = smoothed(a.view(), a.all_rows(), a.view(), &made.aggregates, &made.tentative, &smoothing)?;
/// let better = minimise_energy(a.view(), &halo, p.clone(), &made, &kernel, 2)?;
/// assert_eq!((better.row_ptr(), better.columns()), (p.row_ptr(), p.columns()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If matrix, interpolation and near-kernel do not match.
pub fn minimise_energy<H: Processes>(
    a: CsrRef<'_, f64>,
    halo: &H,
    mut p: Csr<f64>,
    tentative: &LocalTentative,
    kernel: &NearKernel,
    steps: usize,
) -> Result<Csr<f64>, SetupError> {
    let space = Space::new(a, halo, &p, tentative)?;
    if kernel.rows() != p.rows() || kernel.count() != space.k {
        let what = "rows of the near-kernel (one per row of the interpolation)";
        return Err(MatrixError::Mismatch { what, expected: p.rows(), found: kernel.rows() }.into());
    }
    space.reproduce(p.values_mut(), kernel, tentative);
    let mut residual = space.product(p.values());
    parallel::over_pieces(&mut residual, &|_, values| values.iter_mut().for_each(|value| *value = -*value));
    let mut direction = vec![0.0; residual.len()];
    let mut before = None;
    for _ in 0..steps {
        let square = space.sum(|row| {
            let residual = space.of(row, &residual);
            space.scales[row] * dot(residual, residual)
        });
        let beta = before.map_or(0.0, |before| square / before);
        before = Some(square);
        space.for_rows(&mut direction, |row, direction, _| {
            let (scale, residual) = (space.scales[row], space.of(row, &residual));
            direction.iter_mut().zip(residual).for_each(|(d, r)| *d = scale * r + beta * *d);
        });
        let product = space.product(&direction);
        let alpha = square / space.sum(|row| dot(space.of(row, &direction), space.of(row, &product)));
        // Neither an indefinite matrix nor an overflow may spoil what has been reached.
        if !(alpha > 0.0 && alpha.is_finite()) {
            break;
        }
        parallel::over_pieces(p.values_mut(), &|first, p| add_scaled(p, alpha, &direction[first..]));
        parallel::over_pieces(&mut residual, &|first, r| add_scaled(r, -alpha, &product[first..]));
    }
    Ok(p)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The matrices with the pattern of P whose product with Bc is zero. Their values are stored as
/// in P: owned rows, and k values per aggregate.
struct Space<'a, H> {
    a: CsrRef<'a, f64>,
    halo: &'a H,
    own: Range<usize>,
    k: usize,
    pattern: Pattern,
    /// The k rows of Bc of every aggregate.
    coarse: Vec<f64>,
    /// (Bc_Nᵀ Bc_N)⁻¹ of every set of aggregates of an owned row.
    inverses: Vec<f64>,
    /// 1/a_ii of owned rows.
    scales: Vec<f64>,
}

impl<'a, H: Processes> Space<'a, H> {
    fn new(
        a: CsrRef<'a, f64>,
        halo: &'a H,
        p: &Csr<f64>,
        tentative: &LocalTentative,
    ) -> Result<Self, SetupError> {
        let (own, k) = (halo.owned(), tentative.tentative.columns_per_row());
        let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found }.into());
        if p.rows() != own.len() || a.rows() < own.end || a.cols() != halo.local() {
            return mismatch("rows of the interpolation (one per owned row)", own.len(), p.rows());
        }
        let of_coarse = tentative.tentative.coarse_kernel();
        if p.cols() != of_coarse.rows() || p.row_ptr().iter().any(|start| !start.is_multiple_of(k)) {
            return mismatch("columns of the interpolation", of_coarse.rows(), p.cols());
        }
        let mut coarse = vec![0.0; p.cols() * k];
        for (c, column) in of_coarse.vectors().columns().enumerate() {
            coarse.chunks_exact_mut(k).zip(column).for_each(|(row, &value)| row[c] = value);
        }
        let scale = |value: f64| if value > 0.0 { value.recip() } else { 0.0 };
        let scales = a.diagonal(own.clone()).into_iter().map(scale).collect();
        let pattern = Pattern::new(p, k, halo, tentative);
        let mut space = Space { a, halo, own, k, pattern, coarse, inverses: Vec::new(), scales };
        space.inverses = space.inverses();
        Ok(space)
    }

    /// (Bc_Nᵀ Bc_N)⁻¹ of every set of aggregates of an owned row.
    fn inverses(&self) -> Vec<f64> {
        let (k, sets) = (self.k, self.pattern.sets_of(self.own.clone()));
        let mut first = vec![0; sets];
        self.own.clone().rev().for_each(|row| first[self.set_of(row - self.own.start)] = row);
        let mut inverses = vec![0.0; sets * k * k];
        parallel::over_chunks(&mut inverses, ROWS * k * k, &|index, inverses| {
            for (inverse, &row) in inverses.chunks_exact_mut(k * k).zip(&first[index * ROWS..]) {
                for &aggregate in self.pattern.of(row) {
                    for of_unknown in self.coarse_rows(aggregate).chunks_exact(k) {
                        for (sums, &x) in inverse.chunks_exact_mut(k).zip(of_unknown) {
                            add_scaled(sums, x, of_unknown);
                        }
                    }
                }
                invert(inverse, k);
            }
        });
        inverses
    }

    /// The number of the set of aggregates of an owned row, counted from the first row's set.
    fn set_of(&self, row: usize) -> usize {
        (self.pattern.set_of[self.own.start + row] - self.pattern.set_of[self.own.start]) as usize
    }

    /// The rows of Bc of an aggregate.
    fn coarse_rows(&self, aggregate: u32) -> &[f64] {
        let size = self.k * self.k;
        &self.coarse[aggregate as usize * size..][..size]
    }

    /// The aggregates of an owned row; such rows are counted from the first.
    fn aggregates_of(&self, row: usize) -> &[u32] {
        self.pattern.of(self.own.start + row)
    }

    /// Where the values of owned rows are.
    fn range(&self, rows: Range<usize>) -> Range<usize> {
        let starts = &self.pattern.starts[self.own.start..];
        (starts[rows.start] - starts[0]) * self.k..(starts[rows.end] - starts[0]) * self.k
    }

    /// The values of an owned row.
    fn of<'v>(&self, row: usize, values: &'v [f64]) -> &'v [f64] {
        &values[self.range(row..row + 1)]
    }

    /// Calls `compute` with every owned row, its values, and 2 k values of scratch space.
    fn for_rows(&self, mut values: &mut [f64], compute: impl Fn(usize, &mut [f64], &mut [f64]) + Sync) {
        let rows = self.own.len();
        let mut tasks = Vec::with_capacity(rows.div_ceil(ROWS));
        for first in (0..rows).step_by(ROWS) {
            let rows = first..rows.min(first + ROWS);
            let of_task;
            (of_task, values) = values.split_at_mut(self.range(rows.clone()).len());
            tasks.push((rows, of_task));
        }
        parallel::consume(tasks, &|_, (rows, mut values)| {
            let mut scratch = vec![0.0; 2 * self.k];
            for row in rows {
                let of_row;
                (of_row, values) = values.split_at_mut(self.range(row..row + 1).len());
                compute(row, of_row, &mut scratch);
            }
        });
    }

    /// The sum over all rows of all processes; the bits do not depend on their distribution.
    fn sum(&self, of_row: impl Fn(usize) -> f64 + Sync) -> f64 {
        let terms = parallel::collect(self.own.len(), of_row);
        let mut sum = [terms.into_iter().collect::<ExactSum>()];
        sum_exactly(&mut sum, self.halo);
        sum[0].rounded()
    }

    /// Changes a row as little as possible, such that its product with Bc becomes `wanted`.
    fn project(&self, row: usize, values: &mut [f64], scratch: &mut [f64], wanted: impl Fn(usize) -> f64) {
        let (k, aggregates) = (self.k, self.aggregates_of(row));
        let (change, weights) = scratch.split_at_mut(k);
        change.iter_mut().enumerate().for_each(|(c, change)| *change = wanted(c));
        for (&aggregate, values) in aggregates.iter().zip(values.chunks_exact(k)) {
            for (value, coarse) in values.iter().zip(self.coarse_rows(aggregate).chunks_exact(k)) {
                add_scaled(change, -value, coarse);
            }
        }
        let inverse = &self.inverses[self.set_of(row) * k * k..][..k * k];
        weights.iter_mut().zip(inverse.chunks_exact(k)).for_each(|(weight, row)| *weight = dot(row, change));
        for (&aggregate, values) in aggregates.iter().zip(values.chunks_exact_mut(k)) {
            for (value, coarse) in values.iter_mut().zip(self.coarse_rows(aggregate).chunks_exact(k)) {
                *value += dot(coarse, weights);
            }
        }
    }

    /// Changes the rows of aggregates as little as possible, such that P Bc = B.
    fn reproduce(&self, p: &mut [f64], kernel: &NearKernel, tentative: &LocalTentative) {
        let block = tentative.tentative.block();
        self.for_rows(p, |row, values, scratch| {
            if tentative.aggregates.get((self.own.start + row) / block).is_some() {
                self.project(row, values, scratch, |vector| kernel.vectors().column(vector)[row]);
            }
        });
    }

    /// A X, projected onto this space.
    fn product(&self, x: &[f64]) -> Vec<f64> {
        let k = self.k;
        let fetched = self.pattern.fetched(x, k, self.halo);
        let x = fetched.as_deref().unwrap_or(x);
        let mut y = vec![0.0; self.range(0..self.own.len()).len()];
        let add = match k {
            1 => add_columns::<1>,
            3 => add_columns::<3>,
            6 => add_columns::<6>,
            _ => add_columns::<0>,
        };
        self.for_rows(&mut y, |row, sums, scratch| {
            let own = self.aggregates_of(row);
            let (mut columns, mut values) = self.a.row(self.own.start + row);
            while let Some(&first) = columns.first() {
                // The columns of a node have the same aggregates, which are compared once.
                let set = self.pattern.set_of[first as usize];
                let is_other = |column: &u32| self.pattern.set_of[*column as usize] != set;
                let count = columns.iter().position(is_other).unwrap_or(columns.len());
                let of_node = (&columns[..count], &values[..count]);
                (columns, values) = (&columns[count..], &values[count..]);
                let mut place = 0;
                for (position, &aggregate) in self.pattern.of(first as usize).iter().enumerate() {
                    // Both lists are sorted.
                    while own.get(place).is_some_and(|&own| own < aggregate) {
                        place += 1;
                    }
                    if own.get(place) == Some(&aggregate) {
                        let sums = &mut sums[place * k..(place + 1) * k];
                        add(sums, of_node, x, &self.pattern.starts, position);
                    }
                }
            }
            self.project(row, sums, scratch, |_| 0.0);
        });
        y
    }
}

/// Adds the terms of several columns to the sums of an aggregate, which is at `position` among
/// the aggregates of each column. `starts` is as in [`Pattern`]. K is the number of sums, or 0
/// if it is not known when this is compiled.
fn add_columns<const K: usize>(
    sums: &mut [f64],
    (columns, values): (&[u32], &[f64]),
    x: &[f64],
    starts: &[usize],
    position: usize,
) {
    if K == 0 {
        for (&column, &value) in columns.iter().zip(values) {
            let k = sums.len();
            add_scaled(sums, value, &x[(starts[column as usize] + position) * k..][..k]);
        }
        return;
    }
    // In registers. Terms are added one by one, because which columns are added together depends on
    // the number of processes.
    let Ok(sums) = <&mut [f64; K]>::try_from(sums) else { return };
    let mut all = *sums;
    for (&column, &value) in columns.iter().zip(values) {
        let x = &x[(starts[column as usize] + position) * K..][..K];
        all.iter_mut().zip(x).for_each(|(sum, x)| *sum += value * x);
    }
    *sums = all;
}

/// Replaces the Gram matrix of k vectors by its inverse (Gauss–Jordan). Vectors that are
/// combinations of previous ones are left out: their rows and columns become zero.
fn invert(gram: &mut [f64], k: usize) {
    let squares: Vec<f64> = (0..k).map(|j| gram[j * k + j]).collect();
    let mut left_out = Vec::new();
    for j in 0..k {
        let pivot = gram[j * k + j];
        if pivot <= DEPENDENT * squares[j] || pivot.is_nan() {
            left_out.push(j);
            continue;
        }
        let row: Vec<f64> = (0..k).map(|l| gram[j * k + l] / pivot).collect();
        for i in (0..k).filter(|&i| i != j) {
            let factor = gram[i * k + j];
            for (l, value) in row.iter().enumerate() {
                gram[i * k + l] -= factor * value;
            }
            gram[i * k + j] = -factor / pivot;
        }
        gram[j * k..(j + 1) * k].copy_from_slice(&row);
        gram[j * k + j] = pivot.recip();
    }
    for j in left_out {
        for l in 0..k {
            (gram[j * k + l], gram[l * k + j]) = (0.0, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::Aggregates;
    use crate::halo::Whole;
    use crate::interpolate::ProlongationSmoothing;
    use crate::testing::{Level, multiply, on_threads};
    use proptest::prelude::*;
    use ziggurat_sparse::algebra::product;

    /// A level whose interpolation has been smoothed.
    struct Smoothed {
        a: Csr<f64>,
        kernel: NearKernel,
        tentative: LocalTentative,
        p: Csr<f64>,
    }

    impl Smoothed {
        fn new(level: Level) -> Self {
            let p = level.smoothed(ProlongationSmoothing::default());
            let Level { a, nodes, kernel, aggregates, .. } = level;
            let tentative = LocalTentative::new(aggregates, &kernel, &Whole::new(nodes.rows())).unwrap();
            Smoothed { a, kernel, tentative, p }
        }

        fn scalar(name: &str) -> Self {
            Smoothed::new(Level::scalar(name))
        }

        fn elasticity(size: u32) -> Self {
            Smoothed::new(Level::elasticity(size))
        }

        fn after(&self, steps: usize) -> Csr<f64> {
            let whole = Whole::new(self.a.rows());
            let (a, p) = (self.a.view(), self.p.clone());
            minimise_energy(a, &whole, p, &self.tentative, &self.kernel, steps).unwrap()
        }

        /// trace(Pᵀ A P)
        fn energy(&self, p: &Csr<f64>) -> f64 {
            let ap = product(self.a.view(), self.a.all_rows(), p.view()).unwrap();
            let of = |row: usize| {
                let (columns, values) = p.row(row);
                let other = |&column: &u32| ap.get(row, column as usize).unwrap_or(0.0);
                columns.iter().map(other).zip(values).map(|(x, y)| x * y).sum::<f64>()
            };
            p.all_rows().map(of).sum()
        }
    }

    #[test]
    fn every_step_lowers_the_energy_and_keeps_pattern_and_near_kernel() {
        for level in
            [Smoothed::scalar("jump3d:12"), Smoothed::scalar("poisson2d:30"), Smoothed::elasticity(6)]
        {
            let mut before = f64::INFINITY;
            for steps in 0..5 {
                let p = level.after(steps);
                assert_eq!((p.row_ptr(), p.columns()), (level.p.row_ptr(), level.p.columns()));
                let coarse = level.tentative.tentative.coarse_kernel().vectors();
                for (fine, coarse) in level.kernel.vectors().columns().zip(coarse.columns()) {
                    let largest = fine.iter().fold(0.0f64, |most, value| most.max(value.abs()));
                    for (found, expected) in multiply(&p, coarse).iter().zip(fine) {
                        assert!((found - expected).abs() <= 1e-10 * largest, "{found}, not {expected}");
                    }
                }
                let energy = level.energy(&p);
                assert!(energy < before, "{energy} after {steps} steps, {before} before");
                before = energy;
            }
        }
    }

    #[test]
    fn many_steps_reach_the_minimum() {
        // There, the gradient has no part that is admissible.
        for level in [Smoothed::scalar("poisson2d:20"), Smoothed::elasticity(4)] {
            let whole = Whole::new(level.a.rows());
            let space = Space::new(level.a.view(), &whole, &level.p, &level.tentative).unwrap();
            let gradient = |p: &Csr<f64>| {
                let gradient = space.product(p.values());
                dot(&gradient, &gradient).sqrt()
            };
            let (first, last) = (gradient(&level.after(0)), gradient(&level.after(100)));
            assert!(last < 1e-9 * first, "{last}, {first} at first");
            // Elsewhere, energy is higher.
            let best = level.after(100);
            let mut other = best.clone();
            let change = space.product(level.p.values());
            other.values_mut().iter_mut().zip(&change).for_each(|(value, change)| *value += 1e-3 * change);
            assert!(level.energy(&other) > level.energy(&best));
        }
    }

    #[test]
    fn odd_rows_do_no_harm() {
        // Indefinite: the energy of a direction is not positive.
        let mut level = Smoothed::scalar("poisson2d:9");
        level.a.values_mut().iter_mut().for_each(|value| *value = -*value);
        assert_eq!(level.after(3), level.after(0));
        // Infinite energy.
        let mut level = Smoothed::scalar("poisson2d:9");
        level.a.values_mut().iter_mut().for_each(|value| *value *= 1e307);
        assert!(level.after(2).values().iter().all(|value| value.is_finite()));
        // Zero rows, and rows left out of the aggregates: nothing to reproduce.
        let a = Csr::try_new(3, 3, vec![0, 1, 2, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
        let kernel = NearKernel::constants(3, 1).unwrap();
        let whole = Whole::new(3);
        let aggregates = Aggregates::try_new(1, vec![0, 0, Aggregates::NONE]).unwrap();
        let tentative = LocalTentative::new(aggregates, &kernel, &whole).unwrap();
        let p = tentative.tentative.matrix(&tentative.aggregates).unwrap();
        assert_eq!(minimise_energy(a.view(), &whole, p.clone(), &tentative, &kernel, 2).unwrap(), p);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let level = Smoothed::elasticity(3);
        let whole = Whole::new(level.a.rows());
        let with = |p: Csr<f64>, kernel: &NearKernel| {
            minimise_energy(level.a.view(), &whole, p, &level.tentative, kernel, 1)
        };
        assert!(with(Csr::identity(level.a.rows()).unwrap(), &level.kernel).is_err());
        assert!(with(Csr::identity(3).unwrap(), &level.kernel).is_err());
        assert!(with(level.p.clone(), &NearKernel::constants(6, 3).unwrap()).is_err());
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        for level in [Smoothed::scalar("jump3d:20"), Smoothed::elasticity(8)] {
            let run = || level.after(3);
            assert_eq!(on_threads(1, run), on_threads(3, run));
        }
    }

    proptest! {
        #[test]
        fn gram_matrices_are_inverted(values in prop::collection::vec(-1.0..1.0f64, 20), size in 0.001..1000.0f64) {
            // Four vectors of five values; the third is a combination of the first two, and units
            // differ.
            let mut vectors: Vec<Vec<f64>> = values.chunks_exact(5).map(<[f64]>::to_vec).collect();
            vectors[2] = vectors[0].iter().zip(&vectors[1]).map(|(x, y)| 2.0 * x - y).collect();
            vectors[3].iter_mut().for_each(|value| *value *= size);
            let gram = |i: usize, j: usize| dot(&vectors[i], &vectors[j]);
            let mut inverse: Vec<f64> = (0..16).map(|at| gram(at / 4, at % 4)).collect();
            invert(&mut inverse, 4);
            prop_assert!((0..4).all(|j| inverse[2 * 4 + j] == 0.0 && inverse[j * 4 + 2] == 0.0));
            // G G⁻ G = G, also for the vector that is left out.
            for (i, j) in (0..16).map(|at| (at / 4, at % 4)) {
                let row = (0..4).map(|k| (0..4).map(|l| gram(i, k) * inverse[k * 4 + l] * gram(l, j)).sum::<f64>());
                let (found, scale) = (row.sum::<f64>(), (gram(i, i) * gram(j, j)).sqrt());
                prop_assert!((found - gram(i, j)).abs() <= 1e-4 * scale, "{found}, not {}", gram(i, j));
            }
        }
    }
}
