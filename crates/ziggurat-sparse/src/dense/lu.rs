//! LU factorisation with partial pivoting, and the inverse.
//!
//! ```text
//! A Π = L U:    u_kj = a_kj / l_kk,    a_j ← a_j − u_kj l_k    (j > k)
//! A⁻¹ = Π U⁻¹ L⁻¹
//! ```
//!
//! Columns are contiguous, so columns are exchanged and U has the unit diagonal (Crout): the pivot
//! of a step is the largest element that is left in its *row*. Rows are eliminated in panels, whose
//! effect on the rows after them is one step of `update.rs`. Exchanges compare elements only, so
//! they depend on nothing but the matrix. Cost: 2n³/3 operations for the factors and 4n³/3 for the
//! inverse.

use super::update::{Columns, Panel, Part, panels, subtract_multiple};
use super::{DenseError, identity, order};
use crate::matrix::Dense;
use crate::simd::{Isa, Kernel, Simd};

/// The factors of a matrix A Π = L U.
///
/// ```
/// use ziggurat_sparse::{Dense, dense::Lu};
/// let a = Dense::try_new(2, 2, vec![0.0, 2.0, 4.0, 1.0])?;
/// assert_eq!(Lu::new(a)?.inverse()?.values(), [-0.125, 0.25, 0.5, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lu {
    /// L, and U above its diagonal.
    factors: Dense<f64>,
    /// The column of A that is column k of A Π.
    order: Vec<usize>,
    simd: Simd,
}

impl Lu {
    /// Factorises a square matrix. Every matrix has such factors; if it is singular, a pivot is
    /// zero, or of the size of rounding errors.
    ///
    /// # Errors
    /// If it is not square.
    pub fn new(a: Dense<f64>) -> Result<Self, DenseError> {
        Self::with(a, Simd::best())
    }

    fn with(mut a: Dense<f64>, simd: Simd) -> Result<Self, DenseError> {
        let n = order(&a)?;
        let mut order: Vec<usize> = (0..n).collect();
        for panel in panels(n) {
            let (first, end) = (panel.start, panel.end);
            simd.run(Eliminate { values: a.values_mut(), rows: n, panel, order: &mut order });
            let (done, rest) = a.values_mut().split_at_mut(end * n);
            let strips = Panel::new(&done[first * n..], n, end..n);
            // The factors are the elements of these columns in the rows of the panel.
            let factors: Vec<f64> =
                rest.chunks_exact(n).flat_map(|column| &column[first..end]).copied().collect();
            let rest = Columns { values: rest, rows: n, first: end, part: Part::All };
            rest.subtract(simd, &strips, |column, k| factors[(column - end) * (end - first) + k]);
        }
        Ok(Lu { factors: a, order, simd })
    }

    /// The pivots, which are the diagonal of L.
    ///
    /// ```
    /// use ziggurat_sparse::{Dense, dense::Lu};
    /// let a = Dense::try_new(2, 2, vec![0.0, 2.0, 4.0, 1.0])?;
    /// assert_eq!(Lu::new(a)?.pivots().collect::<Vec<_>>(), [4.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pivots(&self) -> impl Iterator<Item = f64> {
        (0..self.factors.rows()).map(|k| self.factors[(k, k)])
    }

    /// A⁻¹.
    ///
    /// # Errors
    /// If a pivot is zero or not a number, or if the inverse does not fit in memory.
    pub fn inverse(&self) -> Result<Dense<f64>, DenseError> {
        let (n, simd) = (self.factors.rows(), self.simd);
        if let Some(step) = self.pivots().position(|pivot| pivot == 0.0 || pivot.is_nan()) {
            return Err(DenseError::Singular { step });
        }
        let factors = self.factors.values();
        let mut inverse = identity(n)?;
        for panel in panels(n) {
            let (done, rest) = inverse.values_mut().split_at_mut(panel.end * n);
            let columns = &mut done[panel.start * n..];
            simd.run(Forward { columns, factors: &self.factors, first: panel.start });
            let strips = Panel::new(columns, n, 0..panel.end);
            let rest = Columns { values: rest, rows: n, first: panel.end, part: Part::All };
            rest.subtract(simd, &strips, |column, k| factors[column * n + panel.start + k]);
        }
        for panel in panels(n).rev() {
            let (before, rest) = inverse.values_mut().split_at_mut(panel.start * n);
            let columns = &mut rest[..panel.len() * n];
            simd.run(Back { columns, factors: &self.factors, first: panel.start });
            let strips = Panel::new(columns, n, 0..n);
            let before = Columns { values: before, rows: n, first: 0, part: Part::All };
            before.subtract(simd, &strips, |column, k| factors[column * n + panel.start + k]);
        }
        let mut column_before = vec![0.0; n];
        for column in inverse.values_mut().chunks_exact_mut(n.max(1)) {
            column_before.copy_from_slice(column);
            self.order.iter().zip(&column_before).for_each(|(&row, &value)| column[row] = value);
        }
        Ok(inverse)
    }
}

/// The elimination in the rows of a panel, and the columns of L that belong to them.
struct Eliminate<'a> {
    values: &'a mut [f64],
    rows: usize,
    panel: std::ops::Range<usize>,
    order: &'a mut [usize],
}

impl Kernel for Eliminate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Eliminate { values, rows, panel, order } = self;
        for k in panel.clone() {
            let size = |column: usize| values[column * rows + k].abs();
            // The first of equal ones; NaN is never chosen unless it is the first.
            let pivot =
                (k + 1..rows).fold(k, |best, column| if size(column) > size(best) { column } else { best });
            if pivot != k {
                order.swap(k, pivot);
                let (left, right) = values.split_at_mut(pivot * rows);
                left[k * rows..(k + 1) * rows].swap_with_slice(&mut right[..rows]);
            }
            let (done, rest) = values.split_at_mut((k + 1) * rows);
            let column = &done[k * rows..];
            if column[k] == 0.0 {
                continue; // the row is zero: there is nothing to eliminate
            }
            for other in rest.chunks_exact_mut(rows) {
                other[k] /= column[k];
                let factor = other[k];
                subtract_multiple(&mut other[k + 1..panel.end], factor, &column[k + 1..panel.end]);
            }
        }
        // The rest of the panel's columns, below its rows.
        for k in panel.clone() {
            let (done, rest) = values.split_at_mut((k + 1) * rows);
            let column = &done[k * rows..];
            for other in rest.chunks_exact_mut(rows).take(panel.end - k - 1) {
                let factor = other[k];
                subtract_multiple(&mut other[panel.end..], factor, &column[panel.end..]);
            }
        }
    }
}

/// Computes columns of U⁻¹, transposed, in place, from the identity minus the contributions of
/// earlier panels.
struct Forward<'a> {
    columns: &'a mut [f64],
    factors: &'a Dense<f64>,
    first: usize,
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Forward { columns, factors, first } = self;
        let rows = factors.rows();
        for k in 0..columns.len() / rows {
            let (done, rest) = columns.split_at_mut((k + 1) * rows);
            let (column, diagonal) = (&done[k * rows..][..=first + k], first + k);
            for (other, j) in rest.chunks_exact_mut(rows).zip(diagonal + 1..) {
                subtract_multiple(other, factors.column(j)[diagonal], column);
            }
        }
    }
}

/// Computes columns of U⁻¹ L⁻¹ in place, from the result of [`Forward`] minus the contributions of
/// later panels.
struct Back<'a> {
    columns: &'a mut [f64],
    factors: &'a Dense<f64>,
    first: usize,
}

impl Kernel for Back<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Back { columns, factors, first } = self;
        let rows = factors.rows();
        for k in (0..columns.len() / rows).rev() {
            let (before, rest) = columns.split_at_mut(k * rows);
            let (column, diagonal) = (&mut rest[..rows], first + k);
            let pivot = factors[(diagonal, diagonal)];
            for value in column.iter_mut() {
                *value /= pivot;
            }
            for (other, j) in before.chunks_exact_mut(rows).zip(first..) {
                subtract_multiple(other, factors.column(j)[diagonal], column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::testing::{graded, largest_difference, product, random};

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        for n in [0, 1, 2, 31, 32, 33, 64, 100, 150] {
            let a = random(n, n);
            let lu = Lu::new(a.clone()).unwrap();
            let (mut l, mut u) = (lu.factors.clone(), identity(n).unwrap());
            for j in 0..n {
                u.column_mut(j)[..j].copy_from_slice(&lu.factors.column(j)[..j]);
                l.column_mut(j)[..j].fill(0.0);
                assert!(u.column(j).iter().all(|value| value.abs() <= 1.0), "pivots are the largest");
            }
            let mut ordered = a.clone();
            (0..n).for_each(|k| ordered.column_mut(k).copy_from_slice(a.column(lu.order[k])));
            assert!(largest_difference(&product(&l, &u), &ordered) <= 1e-13 * n as f64, "{n}");
            let inverse = lu.inverse().unwrap();
            assert!(largest_difference(&product(&a, &inverse), &identity(n).unwrap()) < 1e-9, "{n}");
            assert!(largest_difference(&product(&inverse, &a), &identity(n).unwrap()) < 1e-9, "{n}");
        }
    }

    #[test]
    fn units_of_columns_change_no_digit() {
        let (n, units) = (60, graded(60));
        let (mut a, plain) = (random(n, n), Lu::new(random(n, n)).unwrap().inverse().unwrap());
        (0..n).for_each(|j| a.column_mut(j).iter_mut().for_each(|value| *value *= units[n / 2]));
        let inverse = Lu::new(a).unwrap().inverse().unwrap();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            assert!((inverse[(i, j)] * units[n / 2] - plain[(i, j)]).abs() < 1e-11, "({i}, {j})");
        }
    }

    #[test]
    fn a_singular_matrix_has_a_small_pivot_and_no_panic_follows() {
        for n in [2, 33, 80] {
            let mut a = random(n, n);
            let first = a.column(0).to_vec();
            a.column_mut(n - 1).copy_from_slice(&first);
            let least =
                Lu::new(a.clone()).unwrap().pivots().fold(f64::INFINITY, |least, x| least.min(x.abs()));
            assert!(least < 1e-13, "{n}: {least}");
            a.column_mut(n / 2).fill(0.0);
            a.column_mut(0).fill(0.0);
            let error = Lu::new(a.clone()).unwrap().inverse().unwrap_err();
            assert!(matches!(error, DenseError::Singular { .. }), "{error}");
            a.column_mut(n / 2).fill(f64::NAN);
            assert!(Lu::new(a).unwrap().inverse().is_err());
        }
        let infinite = Dense::try_new(2, 2, vec![f64::INFINITY; 4]).unwrap();
        assert!(Lu::new(infinite).unwrap().inverse().is_err());
        assert!(matches!(Lu::new(random(3, 2)), Err(DenseError::NotSquare { rows: 3, columns: 2 })));
    }

    #[test]
    fn instruction_sets_and_threads_change_no_bit() {
        let expected = Lu::with(random(150, 150), Simd::Portable).unwrap().inverse().unwrap();
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for simd in Simd::available() {
                let found = pool.install(|| Lu::with(random(150, 150), simd).unwrap().inverse().unwrap());
                assert_eq!(found, expected, "{simd:?}, {threads}");
            }
        }
    }
}
