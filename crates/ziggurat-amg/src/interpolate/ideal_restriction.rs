//! Local approximate ideal restriction (ℓAIR), for matrices that are far from symmetric.
//!
//! With the rows ordered into fine and coarse ones,
//!
//! ```text
//! A = [A_ff A_fc; A_cf A_cc],    R = [Z I],    ideal: Z A_ff + A_cf = 0
//! ```
//!
//! An ideal restriction gives the exact error at the coarse rows, whatever the interpolation, and
//! relaxation of the fine rows removes the rest. Its Z is dense, so each coarse row i solves the
//! condition within a neighbourhood N of fine rows only:
//!
//! ```text
//! Σ_{k∈N} z_ik a_kj = −a_ij        for all j ∈ N
//! ```
//!
//! N are the fine rows that i depends on and, at distance two, those that these depend on.
//! T. A. Manteuffel, S. Münzenmaier, J. Ruge and B. S. Southworth, *Nonsymmetric reduction-based
//! algebraic multigrid*, SIAM J. Sci. Comput. 41, 2019. Where the flow of a transport problem
//! reaches i only through N, the condition holds exactly.
//!
//! Cost: a dense system of |N| unknowns per coarse row; |N| is 3 to 20 for 5 to 7 points. The rows
//! of N are read, so they must be present, also where another process owns them.

use std::ops::Range;

use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::collapse::check;
use crate::coarsen::Splitting;
use crate::strength::StrongGraph;

/// The most rows of a neighbourhood. A larger one at distance two is reduced to distance one, and a
/// larger one at distance one to its first rows.
const MOST: usize = 64;

/// A pivot of at most this fraction of its column's largest entry means that the system is
/// singular.
const SINGULAR: f64 = 1e-10;

/// Builds the rows of R that belong to the coarse rows in `rows`, in their order. Its columns are
/// the columns of `a`.
///
/// `strong` and `splitting` cover all of `a`, halo included: `strong` has the dimensions of `a`,
/// and `splitting` has one row per column of `a`. `distance` is 1 or 2; rows within this many
/// connections of `rows` must be present.
///
/// ```
/// use ziggurat_amg::{coarsen::{Point, Splitting}, interpolate::ideal_restriction, strength::StrongGraph};
/// use ziggurat_sparse::Csr;
/// // Transport along a line: every second row is coarse, and receives what enters the row before it.
/// let a = Csr::try_new(3, 3, vec![0, 1, 3, 5], vec![0, 0, 1, 1, 2], vec![1., -1., 1., -1., 1.])?;
/// let strong = StrongGraph::try_new(3, vec![0, 0, 1, 2], vec![0, 1])?;
/// let splitting = Splitting::new(3, |row| if row % 2 == 0 { Point::Coarse } else { Point::Fine });
/// let r = ideal_restriction(a.view(), a.all_rows(), &strong, &splitting, 1)?;
/// assert_eq!((r.row(0), r.row(1)), ((&[0][..], &[1.][..]), (&[1, 2][..], &[1., 1.][..])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `strong` or `splitting` does not match `a`, or `a` does not have the requested rows.
pub fn ideal_restriction(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    distance: usize,
) -> Result<Csr<f64>, MatrixError> {
    check(a, &rows, strong, splitting)?;
    let is_own = |row: &u32| rows.contains(&(*row as usize));
    let coarse: Vec<u32> = splitting.coarse_points().into_iter().filter(is_own).collect();
    let work: Vec<usize> = (0..=coarse.len()).collect();
    let collect = |local: &mut Neighbourhood, place: usize, entries: &mut Entries<f64>| {
        let row = coarse[place];
        local.find(row as usize, strong, splitting, distance);
        local.solve(a, row as usize);
        let before = local.rows.partition_point(|&fine| fine < row);
        entries.extend(&local.rows[..before], &local.weights[..before]);
        entries.push(row, 1.0);
        entries.extend(&local.rows[before..], &local.weights[before..]);
    };
    Csr::collect(&work, 0..coarse.len(), a.cols(), Neighbourhood::default, collect)
}

/// The fine rows around a coarse one, and their weights.
#[derive(Default)]
struct Neighbourhood {
    /// In increasing order.
    rows: Vec<u32>,
    weights: Vec<f64>,
    /// The transposed matrix of the rows, one column of it after the other.
    dense: Vec<f64>,
}

impl Neighbourhood {
    fn find(&mut self, row: usize, strong: &StrongGraph, splitting: &Splitting, distance: usize) {
        let is_fine = |row: &u32| splitting.coarse_index(*row as usize).is_none();
        let fine = |row: usize| strong.row(row).iter().copied().filter(is_fine);
        self.rows.clear();
        self.rows.extend(fine(row));
        if distance > 1 {
            for place in 0..self.rows.len() {
                self.rows.extend(fine(self.rows[place] as usize));
            }
            self.rows.sort_unstable();
            self.rows.dedup();
            if self.rows.len() > MOST {
                self.rows.clear();
                self.rows.extend(fine(row));
            }
        }
        self.rows.truncate(MOST);
    }

    /// Computes the weights. Where the system is singular, each fine row is eliminated alone.
    fn solve(&mut self, a: CsrRef<'_, f64>, row: usize) {
        let Neighbourhood { rows, weights, dense } = self;
        let size = rows.len();
        dense.clear();
        dense.resize(size * size, 0.0);
        // Column k of the transposed matrix is row k of A.
        for (&fine, column) in rows.iter().zip(dense.chunks_exact_mut(size.max(1))) {
            gather(a.row(fine as usize), rows, column);
        }
        let condition = |weights: &mut Vec<f64>| {
            weights.clear();
            weights.resize(size, 0.0);
            gather(a.row(row), rows, weights);
            weights.iter_mut().for_each(|weight| *weight = -*weight);
        };
        condition(weights);
        if !eliminate(dense, weights) {
            condition(weights);
            for (weight, &fine) in weights.iter_mut().zip(&*rows) {
                let alone = *weight / a.get(fine as usize, fine as usize).unwrap_or(0.0);
                *weight = if alone.is_finite() { alone } else { 0.0 };
            }
        }
    }
}

/// Solves M z = b by Gaussian elimination with row pivoting; M is stored by columns, and z replaces
/// b. Returns false if M is singular. There is one system per coarse row, mostly of 3 to 20
/// unknowns, for which a library's factorisation takes several times as long.
fn eliminate(m: &mut [f64], b: &mut [f64]) -> bool {
    let size = b.len();
    for k in 0..size {
        let column = &m[k * size..(k + 1) * size];
        let largest = |from: usize| column[from..].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let pivot = (k..size).find(|&row| column[row].abs() == largest(k));
        let Some(pivot) = pivot.filter(|&pivot| column[pivot].abs() > SINGULAR * largest(0)) else {
            return false;
        };
        if pivot != k {
            b.swap(k, pivot);
            m.chunks_exact_mut(size).for_each(|column| column.swap(k, pivot));
        }
        let (before, after) = m.split_at_mut((k + 1) * size);
        let column = &before[k * size..];
        for row in k + 1..size {
            let factor = column[row] / column[k];
            if factor != 0.0 {
                b[row] -= factor * b[k];
                after.chunks_exact_mut(size).for_each(|other| other[row] -= factor * other[k]);
            }
        }
    }
    for k in (0..size).rev() {
        b[k] /= m[k * (size + 1)];
        let (value, column) = (b[k], &m[k * size..]);
        b[..k].iter_mut().zip(column).for_each(|(b, entry)| *b -= value * entry);
    }
    true
}

/// Copies the entries of a row in the wanted columns. Both lists increase.
fn gather((columns, values): (&[u32], &[f64]), wanted: &[u32], to: &mut [f64]) {
    let mut place = 0;
    for (&column, &value) in columns.iter().zip(values) {
        while wanted.get(place).is_some_and(|&other| other < column) {
            place += 1;
        }
        if wanted.get(place) == Some(&column) {
            to[place] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::{Point, pmis};
    use crate::halo::Whole;
    use crate::strength::{Filter, Strength, strong_connections};
    use ziggurat_sparse::algebra::product;
    use ziggurat_sparse::gallery::Problem;

    #[test]
    fn r_a_vanishes_in_the_neighbourhood_of_every_coarse_row() {
        for (name, distance) in [("convection3d:8", 1), ("convection3d:8", 2), ("transport3d:9", 2)] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            let whole = Whole::new(a.rows());
            let filter = Filter::Threshold(0.05);
            let strength = Strength { filter, max_row_sum: None, ..Strength::classical() };
            let strong = strong_connections(a.view(), a.all_rows(), &strength, &[], &whole).unwrap();
            let splitting = pmis(&strong, &whole).unwrap();
            let r = ideal_restriction(a.view(), a.all_rows(), &strong, &splitting, distance).unwrap();
            let image = product(r.view(), r.all_rows(), a.view()).unwrap();
            let mut longest = 0;
            for (place, &row) in splitting.coarse_points().iter().enumerate() {
                assert_eq!(r.get(place, row as usize), Some(1.0));
                let fine = r.row(place).0.iter().filter(|&&column| column != row);
                longest = longest.max(fine.clone().count());
                for &column in fine {
                    let left = image.get(place, column as usize).unwrap();
                    assert!(left.abs() < 1e-12 * a.get(row as usize, row as usize).unwrap(), "{name}");
                }
            }
            assert!((3..=MOST).contains(&longest), "{name}: {longest}");
        }
    }

    /// On a line, two of three rows are fine, and the flow passes all of them.
    #[test]
    fn the_coarse_rows_of_a_transport_problem_are_exact() {
        let (n, weight) = (31, |row: usize| 1.0 + (row * row % 7) as f64);
        let mut columns = vec![0u32];
        let mut values = vec![weight(0)];
        for row in 1..n {
            columns.extend([row as u32 - 1, row as u32]);
            values.extend([-weight(row), weight(row) + 0.5]);
        }
        let row_ptr = (0..=n).map(|row: usize| (2 * row).saturating_sub(1)).collect();
        let a = Csr::try_new(n, n, row_ptr, columns, values).unwrap();
        let strong = (1..n as u32).map(|row| row - 1).collect();
        let strong = StrongGraph::try_new(n, (0..=n).map(|row| row.saturating_sub(1)).collect(), strong);
        let splitting = Splitting::new(n, |row| if row % 3 == 0 { Point::Coarse } else { Point::Fine });
        let r = ideal_restriction(a.view(), a.all_rows(), &strong.unwrap(), &splitting, 2).unwrap();
        let image = product(r.view(), r.all_rows(), a.view()).unwrap();
        for place in 0..image.rows() {
            let (columns, values) = image.row(place);
            for (column, value) in columns.iter().zip(values) {
                assert!(column % 3 == 0 || value.abs() < 1e-14, "row {place}, column {column}: {value}");
            }
        }
    }

    #[test]
    fn a_singular_neighbourhood_is_eliminated_row_by_row() {
        let columns = [0, 1, 2].repeat(3);
        let values = vec![4.0, -1.0, -2.0, 0.0, 2.0, 2.0, 0.0, 2.0, 2.0];
        let a = Csr::try_new(3, 3, vec![0, 3, 6, 9], columns, values).unwrap();
        let strong = StrongGraph::try_new(3, vec![0, 2, 2, 2], vec![1, 2]).unwrap();
        let splitting = Splitting::new(3, |row| if row == 0 { Point::Coarse } else { Point::Fine });
        let r = ideal_restriction(a.view(), a.all_rows(), &strong, &splitting, 1).unwrap();
        assert_eq!(r.row(0), (&[0, 1, 2][..], &[1.0, 0.5, 1.0][..]));
        // Other graphs and rows are refused.
        let other = StrongGraph::try_new(2, vec![0, 0, 0], vec![]).unwrap();
        assert!(ideal_restriction(a.view(), a.all_rows(), &other, &splitting, 1).is_err());
        assert!(ideal_restriction(a.view(), 0..4, &strong, &splitting, 1).is_err());
    }
}
