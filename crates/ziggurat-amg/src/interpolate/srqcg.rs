//! Test vectors by SRQCG, the simultaneous minimisation of Rayleigh quotients by conjugate
//! gradients (D. E. Longsine & S. F. McCormick, *Simultaneous Rayleigh-quotient minimization
//! methods*, 1980), as Chronos uses it (Isotton, thesis, 2.2.1).
//!
//! ```text
//! Â = D^-½ A D^-½,   R = Â X − X Θ,   P ← R + P B,   x_k ← x_k + α_k p_k,   α_k minimises xᵀÂx / xᵀx
//! Rayleigh–Ritz:   XᵀÂX U = XᵀX U Θ,   X ← X U
//! ```
//!
//! Test vectors are the columns of D^-½ X. In this scaling D, the diagonal, is the preconditioner,
//! and neither the units of the unknowns nor the size of coefficients matters: where the matrix is
//! large, so is the weight of an error. Chronos minimises xᵀAx / xᵀx, preconditioned by its
//! smoother.
//!
//! A few steps from random vectors remove what is easy to remove. What is left has small Rayleigh
//! quotients: it is what a smoother leaves, and what interpolation has to reproduce. Rigid-body
//! modes or other vectors that are known already may be among the first ones.
//!
//! The values of all k vectors in a row are contiguous, so a product reads the matrix once for all
//! of them. Sums do not depend on the number of threads or processes.
//!
//! Cost per step: one product with k vectors, and about 6 k² operations per row.

use std::ops::Range;

use ziggurat_sparse::dense::SymmetricEigen;
use ziggurat_sparse::parallel::{map_pieces, over_chunks};
use ziggurat_sparse::{CsrRef, Dense, ExactSum, MatrixError};

use super::TestVectors;
use crate::SetupError;
use crate::halo::{Processes, sum_exactly};

/// Rows per partial sum, and per task.
const BLOCK: usize = 512;

/// Vectors count as linearly dependent if an eigenvalue of their Gram matrix, of vectors of norm 1,
/// is at most this value.
const DEPENDENT: f64 = 1e-12;

/// Reduces the Rayleigh quotients xᵀAx / xᵀDx of test vectors by `steps` steps. The result is
/// orthonormal in the inner product of D, the diagonal; vectors that depend linearly on others are
/// dropped. If all are zero or sums overflow, the result is `start`. Collective.
///
/// `a` is symmetric and has the owned rows of `halo`; its columns are the local rows.
///
/// ```
/// use ziggurat_amg::halo::Whole;
/// use ziggurat_amg::interpolate::{NearKernel, TestVectors, srqcg};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:20".parse::<Problem>()?.matrix()?;
/// let whole = Whole::new(a.rows());
/// let start = TestVectors::start(a.view(), &NearKernel::constants(a.rows(), 1)?, 4, &whole);
/// let vectors = srqcg(a.view(), &whole, start, 40)?;
/// // The smallest eigenvalue of D⁻¹A is 2 sin²(π/42).
/// assert!((vectors.quotients()[0] - 0.011_17).abs() < 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the matrix or the vectors do not fit the halo.
pub fn srqcg<H: Processes>(
    a: CsrRef<'_, f64>,
    halo: &H,
    start: TestVectors,
    steps: usize,
) -> Result<TestVectors, SetupError> {
    let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found }.into());
    if a.cols() != halo.local() || a.rows() < halo.owned().end {
        return mismatch("columns of the matrix, one per local row", halo.local(), a.cols());
    }
    if start.values.len() != halo.local() * start.count {
        return mismatch("values of each test vector", halo.local(), start.values.len() / start.count.max(1));
    }
    let space = Space { a, halo, own: halo.owned(), scale: &start.scale };
    let Some(mut iterate) = Iterate::new(&space, &start) else { return Ok(start) };
    let mut before: Option<Vec<f64>> = None;
    for _ in 0..steps {
        let count = iterate.count;
        let mut direction = iterate.residual();
        let squares = space.sums(count, |row, sums| {
            let residual = &direction[row * count..][..count];
            sums.iter_mut().zip(residual).for_each(|(sum, r)| *sum += r * r);
        });
        if let Some(before) = before.filter(|before| before.len() == count) {
            // Fletcher and Reeves. A vector that has converged starts anew.
            let turn: Vec<f64> = squares.iter().zip(&before).map(|(now, before)| now / before).collect();
            let turn: Vec<f64> = turn.into_iter().map(|b| if b.is_finite() { b } else { 0.0 }).collect();
            add_multiples(&mut direction, &iterate.direction, &turn);
        }
        iterate.direction = direction;
        before = Some(squares);
        if !iterate.advance(&space) {
            return Ok(start);
        }
    }
    let Iterate { count, x, quotients, .. } = iterate;
    let values = space.with_halo(&x, count);
    Ok(TestVectors { count, values, quotients, scale: start.scale })
}

/// The matrix, its scaling and its rows over all processes.
struct Space<'a, H> {
    a: CsrRef<'a, f64>,
    scale: &'a [f64],
    halo: &'a H,
    own: Range<usize>,
}

impl<H: Processes> Space<'_, H> {
    /// Â X in own rows, for `count` vectors with values in own rows.
    fn product(&self, x: &[f64], count: usize) -> Vec<f64> {
        let local = self.with_halo(x, count);
        let mut y = vec![0.0; x.len()];
        over_chunks(&mut y, BLOCK * count, &|block, y| {
            let first = self.own.start + block * BLOCK;
            for (row, y) in (first..).zip(y.chunks_exact_mut(count.max(1))) {
                let (columns, values) = self.a.row(row);
                let own = self.scale[row].recip();
                for (&column, value) in columns.iter().zip(values) {
                    let value = own * value / self.scale[column as usize];
                    let x = &local[column as usize * count..][..count];
                    y.iter_mut().zip(x).for_each(|(y, x)| *y += value * x);
                }
            }
        });
        y
    }

    /// Values in all local rows, from those in own rows.
    fn with_halo(&self, own: &[f64], count: usize) -> Vec<f64> {
        let mut local = vec![0.0; self.halo.local() * count];
        local[self.own.start * count..self.own.end * count].copy_from_slice(own);
        self.halo.exchange_rows(&mut local, count);
        local
    }

    /// `count` sums over all rows of all processes, of what `add` adds for an own row. The bits do
    /// not depend on the number of processes if each begins at a multiple of 512 rows.
    fn sums(&self, count: usize, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let blocks = map_pieces(0..self.own.len(), BLOCK, &|rows| {
            let mut sums = vec![0.0; count];
            rows.for_each(|row| add(row, &mut sums));
            sums
        });
        let exact = |sum: usize| blocks.iter().map(|sums| sums[sum]).collect::<ExactSum>();
        let mut exact: Vec<ExactSum> = (0..count).map(exact).collect();
        sum_exactly(&mut exact, self.halo);
        exact.iter().map(ExactSum::rounded).collect()
    }
}

/// Orthonormal vectors X in own rows, Â X, the Rayleigh quotients Θ and the search directions P.
struct Iterate {
    count: usize,
    x: Vec<f64>,
    product: Vec<f64>,
    direction: Vec<f64>,
    quotients: Vec<f64>,
}

impl Iterate {
    /// `None` if all vectors are zero, or one is not finite.
    fn new<H: Processes>(space: &Space<'_, H>, start: &TestVectors) -> Option<Self> {
        let count = start.count;
        let x = start.values[space.own.start * count..space.own.end * count].to_vec();
        let (product, direction) = (space.product(&x, count), vec![0.0; x.len()]);
        let mut iterate = Iterate { count, x, product, direction, quotients: Vec::new() };
        iterate.ritz(space).then_some(iterate)
    }

    /// Â X − X Θ.
    fn residual(&self) -> Vec<f64> {
        let mut residual = self.product.clone();
        let negative: Vec<f64> = self.quotients.iter().map(|quotient| -quotient).collect();
        add_multiples(&mut residual, &self.x, &negative);
        residual
    }

    /// Moves every vector along its direction to the smallest Rayleigh quotient. Returns false if
    /// sums overflow; the vectors are then of no use.
    fn advance<H: Processes>(&mut self, space: &Space<'_, H>) -> bool {
        let count = self.count;
        let product = space.product(&self.direction, count);
        let Iterate { x, product: ax, direction, quotients, .. } = self;
        let sums = space.sums(4 * count, |row, sums| {
            for vector in 0..count {
                let at = row * count + vector;
                let (x, p, ap) = (x[at], direction[at], product[at]);
                let terms = [x * p, p * p, x * ap, p * ap];
                sums[4 * vector..].iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
        });
        let steps: Vec<f64> = quotients
            .iter()
            .zip(sums.chunks_exact(4))
            .map(|(&quotient, sums)| best_step(quotient, sums[0], sums[1], sums[2], sums[3]))
            .collect();
        for (to, by) in [(x, &*direction), (ax, &product)] {
            add_multiples(to, by, &steps);
        }
        self.ritz(space)
    }

    /// Rayleigh–Ritz: orthonormal combinations of the vectors that also make XᵀÂX diagonal. Returns
    /// false, and changes nothing, if all vectors are zero or one is not finite.
    fn ritz<H: Processes>(&mut self, space: &Space<'_, H>) -> bool {
        let count = self.count;
        let pairs: Vec<(usize, usize)> = (0..count).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
        let sums = space.sums(2 * pairs.len(), |row, sums| {
            let (x, ax) = (&self.x[row * count..][..count], &self.product[row * count..][..count]);
            let (gram, energy) = sums.split_at_mut(pairs.len());
            for ((&(i, j), gram), energy) in pairs.iter().zip(gram).zip(energy) {
                *gram += x[i] * x[j];
                *energy += x[i] * ax[j];
            }
        });
        let symmetric = |sums: &[f64]| {
            let place = |i: usize, j: usize| i.max(j) * (i.max(j) + 1) / 2 + i.min(j);
            from_formula(count, count, |i, j| sums[place(i, j)])
        };
        let (gram, energy) = sums.split_at(pairs.len());
        let both = symmetric(gram).zip(symmetric(energy));
        let Some((combination, quotients)) = both.and_then(|(gram, energy)| ritz_vectors(&gram, &energy))
        else {
            return false;
        };
        for values in [&mut self.x, &mut self.product, &mut self.direction] {
            *values = combined(values, &combination);
        }
        self.count = quotients.len();
        self.quotients = quotients;
        true
    }
}

/// Eigenvectors of K u = θ G u and their eigenvalues, in increasing order, where G is the Gram
/// matrix of vectors that may depend linearly on each other.
fn ritz_vectors(gram: &Dense<f64>, energy: &Dense<f64>) -> Option<(Dense<f64>, Vec<f64>)> {
    let count = gram.rows();
    let scale: Vec<f64> = (0..count).map(|i| gram[(i, i)].sqrt().recip()).collect();
    // A vector that is zero is dropped with those that depend on others.
    let scale: Vec<f64> = scale.into_iter().map(|s| if s.is_finite() { s } else { 0.0 }).collect();
    let scaled = |m: &Dense<f64>| from_formula(count, count, |i, j| scale[i] * m[(i, j)] * scale[j]);
    let (gram, energy) = (scaled(gram)?, scaled(energy)?);
    let is_finite = |m: &Dense<f64>| m.values().iter().all(|value| value.is_finite());
    if !is_finite(&gram) || !is_finite(&energy) {
        return None;
    }
    let SymmetricEigen { values: sizes, vectors } = SymmetricEigen::new(gram).ok()?;
    let kept: Vec<usize> = (0..count).filter(|&k| sizes[k] > DEPENDENT).collect();
    if kept.is_empty() {
        return None;
    }
    let orthonormal = |i: usize, k: usize| vectors[(i, kept[k])] / sizes[kept[k]].sqrt();
    let orthonormal = from_formula(count, kept.len(), orthonormal)?;
    let products = product(&energy, &orthonormal)?;
    let projected = from_formula(kept.len(), kept.len(), |i, j| {
        orthonormal.column(i).iter().zip(products.column(j)).map(|(x, y)| x * y).sum()
    });
    let ritz = SymmetricEigen::new(projected?).ok()?;
    let mut combination = product(&orthonormal, &ritz.vectors)?;
    for column in combination.values_mut().chunks_exact_mut(count) {
        column.iter_mut().zip(&scale).for_each(|(value, scale)| *value *= scale);
    }
    Some((combination, ritz.values))
}

/// A small matrix.
fn from_formula(rows: usize, columns: usize, of: impl Fn(usize, usize) -> f64) -> Option<Dense<f64>> {
    let mut matrix = Dense::zeros(rows, columns).ok()?;
    for column in 0..columns {
        matrix.column_mut(column).iter_mut().enumerate().for_each(|(row, value)| *value = of(row, column));
    }
    Some(matrix)
}

/// The product of small matrices.
fn product(a: &Dense<f64>, b: &Dense<f64>) -> Option<Dense<f64>> {
    from_formula(a.rows(), b.cols(), |i, j| {
        b.column(j).iter().enumerate().map(|(k, value)| a[(i, k)] * value).sum()
    })
}

/// X U, for X by rows.
fn combined(x: &[f64], u: &Dense<f64>) -> Vec<f64> {
    let (before, after) = (u.rows().max(1), u.cols().max(1));
    let mut result = vec![0.0; x.len() / before * after];
    over_chunks(&mut result, BLOCK * after, &|block, result| {
        let x = x[block * BLOCK * before..].chunks_exact(before);
        for (result, x) in result.chunks_exact_mut(after).zip(x) {
            for (element, u) in result.iter_mut().zip(u.columns()) {
                *element = x.iter().zip(u).map(|(x, u)| x * u).sum();
            }
        }
    });
    result
}

/// x_k ← x_k + a_k y_k, for vectors by rows.
fn add_multiples(x: &mut [f64], y: &[f64], a: &[f64]) {
    let count = a.len().max(1);
    over_chunks(x, BLOCK * count, &|block, x| {
        let y = y[block * BLOCK * count..].chunks_exact(count);
        for (x, y) in x.chunks_exact_mut(count).zip(y) {
            x.iter_mut().zip(y).zip(a).for_each(|((x, y), a)| *x += a * y);
        }
    });
}

/// The α for which x + α p has the smallest Rayleigh quotient; x has norm 1.
///
/// The derivative of (xᵀAx + 2α xᵀAp + α² pᵀAp) / (1 + 2α xᵀp + α² pᵀp) vanishes at the roots of a
/// quadratic. One is the minimum, the other the maximum; either may be at infinity.
fn best_step(xax: f64, xp: f64, pp: f64, xap: f64, pap: f64) -> f64 {
    let (q0, q1, q2) = (xap - xax * xp, pap - xax * pp, pap * xp - xap * pp);
    // The root of larger magnitude first: the other one follows without cancellation.
    let larger = -0.5 * (q1 + q1.signum() * (q1 * q1 - 4.0 * q0 * q2).max(0.0).sqrt());
    let quotient =
        |step: f64| (xax + step * (2.0 * xap + step * pap)) / (1.0 + step * (2.0 * xp + step * pp));
    let roots = [larger / q2, q0 / larger].into_iter().filter(|step| quotient(*step) <= xax);
    roots.min_by(|one, other| quotient(*one).total_cmp(&quotient(*other))).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use crate::interpolate::NearKernel;
    use ziggurat_sparse::gallery::Problem;

    /// D^-½ A D^-½.
    fn dense(a: CsrRef<'_, f64>) -> Dense<f64> {
        let root = |i: usize| a.get(i, i).unwrap().sqrt();
        from_formula(a.rows(), a.cols(), |i, j| a.get(i, j).unwrap_or(0.0) / (root(i) * root(j))).unwrap()
    }

    fn vectors_of(problem: &str, count: usize, steps: usize) -> (Dense<f64>, TestVectors) {
        let a = problem.parse::<Problem>().unwrap().matrix().unwrap();
        let whole = Whole::new(a.rows());
        let kernel = NearKernel::constants(a.rows(), 1).unwrap();
        let start = TestVectors::start(a.view(), &kernel, count, &whole);
        (dense(a.view()), srqcg(a.view(), &whole, start, steps).unwrap())
    }

    #[test]
    fn quotients_are_the_smallest_eigenvalues() {
        for problem in ["poisson2d:12", "jump3d:6", "elasticity3d:3"] {
            let (a, vectors) = vectors_of(problem, 6, 300);
            let exact = SymmetricEigen::new(a).unwrap().values;
            for (found, exact) in vectors.quotients().iter().zip(&exact).take(3) {
                assert!((found / exact - 1.0).abs() < 1e-6, "{problem}: {found} for {exact}");
            }
        }
    }

    #[test]
    fn vectors_are_orthonormal_and_quotients_are_theirs() {
        let (a, vectors) = vectors_of("poisson3d:7", 5, 4);
        let x = from_formula(a.rows(), 5, |i, k| vectors.scaled_row(i)[k]).unwrap();
        let transposed = from_formula(5, a.rows(), |k, i| x[(i, k)]).unwrap();
        let gram = product(&transposed, &x).unwrap();
        let energy = product(&transposed, &product(&a, &x).unwrap()).unwrap();
        for i in 0..5 {
            for j in 0..5 {
                let (one, quotient) = if i == j { (1.0, vectors.quotients()[i]) } else { (0.0, 0.0) };
                assert!((gram[(i, j)] - one).abs() < 1e-13);
                assert!((energy[(i, j)] - quotient).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn every_step_lowers_the_sum_of_quotients() {
        let sums: Vec<f64> =
            (0..6).map(|steps| vectors_of("jump3d:8", 4, steps).1.quotients().iter().sum()).collect();
        assert!(sums.windows(2).all(|sums| sums[1] < sums[0]), "{sums:?}");
    }

    #[test]
    fn dependent_vectors_are_dropped() {
        let a = "poisson2d:5".parse::<Problem>().unwrap().matrix().unwrap();
        let whole = Whole::new(a.rows());
        let one = TestVectors::start(a.view(), &NearKernel::constants(a.rows(), 1).unwrap(), 1, &whole);
        let twice = TestVectors {
            count: 3,
            values: one.values.iter().flat_map(|x| [*x, 0.0, -2.0 * x]).collect(),
            ..one.clone()
        };
        assert_eq!(srqcg(a.view(), &whole, twice, 2).unwrap().count(), 1);
        let zero = TestVectors { values: vec![0.0; a.rows()], ..one };
        assert_eq!(srqcg(a.view(), &whole, zero.clone(), 2).unwrap(), zero);
    }

    #[test]
    fn the_step_minimises_the_quotient() {
        // x = e_1, p = e_2: the eigenvector of [[2, 1], [1, 1]] for its smaller eigenvalue.
        let step = best_step(2.0, 0.0, 1.0, 1.0, 1.0);
        assert!((step + (1.0 + 5f64.sqrt()) / 2.0).abs() < 1e-14);
        // Already minimal, and nothing to move along.
        assert_eq!(best_step(1.0, 0.0, 1.0, 0.0, 2.0), 0.0);
        assert_eq!(best_step(1.0, 0.0, 0.0, 0.0, 0.0), 0.0);
    }
}
