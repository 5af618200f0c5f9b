//! Cholesky's factorisation A = L Lᵀ of a symmetric positive definite matrix, and its inverse.
//!
//! ```text
//! l_k = a_k / √a_kk,    a_j ← a_j − l_jk l_k    (j > k)
//! A⁻¹ = L⁻ᵀ L⁻¹:    y_k = (e_k − Σ_{j<k} l_kj y_j) / l_kk,    x_k = (y_k − Σ_{j>k} l_jk x_j) / l_kk
//! ```
//!
//! Columns are eliminated in panels, whose effect on the columns after them is one step of
//! `update.rs` (G. H. Golub & C. F. Van Loan, *Matrix Computations*, 4th ed., section 4.2.9). The
//! y_k are the columns of L⁻ᵀ, of which only the elements up to the diagonal are not zero, and of
//! the x_k, the columns of the symmetric inverse, only these are computed. Cost: n³/3 operations
//! for the factor and 2n³/3 for the inverse.

use super::update::{Columns, Panel, Part, panels, subtract_multiple};
use super::{DenseError, identity, mirror, order};
use crate::matrix::Dense;
use crate::simd::{Isa, Kernel, Simd};

/// The factor L of a matrix A = L Lᵀ.
///
/// ```
/// use ziggurat_sparse::{Dense, dense::Cholesky};
/// let a = Dense::try_new(2, 2, vec![4.0, 2.0, 2.0, 2.0])?;
/// let inverse = Cholesky::new(a)?.inverse()?;
/// assert_eq!(inverse.values(), [0.5, -0.5, -0.5, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cholesky {
    /// L, and anything above its diagonal.
    factor: Dense<f64>,
    simd: Simd,
}

impl Cholesky {
    /// Factorises a symmetric matrix, of which only the lower triangle is read.
    ///
    /// # Errors
    /// If it is not square or not positive definite.
    pub fn new(a: Dense<f64>) -> Result<Self, DenseError> {
        Self::with(a, Simd::best())
    }

    fn with(mut a: Dense<f64>, simd: Simd) -> Result<Self, DenseError> {
        let n = order(&a)?;
        for panel in panels(n) {
            let (done, rest) = a.values_mut().split_at_mut(panel.end * n);
            let columns = &mut done[panel.start * n..];
            simd.run(Factorise { columns, rows: n, first: panel.start })?;
            let strips = Panel::new(columns, n, panel.end..n);
            let rest = Columns { values: rest, rows: n, first: panel.end, part: Part::Lower };
            rest.subtract(simd, &strips, |column, k| columns[k * n + column]);
        }
        Ok(Cholesky { factor: a, simd })
    }

    /// The pivots, which are the squares of the diagonal of L.
    ///
    /// ```
    /// use ziggurat_sparse::{Dense, dense::Cholesky};
    /// let a = Dense::try_new(2, 2, vec![4.0, 2.0, 2.0, 2.0])?;
    /// assert_eq!(Cholesky::new(a)?.pivots().collect::<Vec<_>>(), [4.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pivots(&self) -> impl Iterator<Item = f64> {
        (0..self.factor.rows()).map(|k| self.factor[(k, k)] * self.factor[(k, k)])
    }

    /// A⁻¹.
    ///
    /// # Errors
    /// If it does not fit in memory.
    pub fn inverse(&self) -> Result<Dense<f64>, DenseError> {
        let (n, simd) = (self.factor.rows(), self.simd);
        let l = self.factor.values();
        let mut inverse = identity(n)?;
        for panel in panels(n) {
            let (done, rest) = inverse.values_mut().split_at_mut(panel.end * n);
            let columns = &mut done[panel.start * n..];
            simd.run(Forward { columns, factor: &self.factor, first: panel.start });
            let strips = Panel::new(columns, n, 0..panel.end);
            let rest = Columns { values: rest, rows: n, first: panel.end, part: Part::All };
            rest.subtract(simd, &strips, |column, k| l[(panel.start + k) * n + column]);
        }
        for panel in panels(n).rev() {
            let (before, rest) = inverse.values_mut().split_at_mut(panel.start * n);
            let columns = &mut rest[..panel.len() * n];
            simd.run(Back { columns, factor: &self.factor, first: panel.start });
            let strips = Panel::new(columns, n, 0..panel.start);
            let before = Columns { values: before, rows: n, first: 0, part: Part::Upper };
            before.subtract(simd, &strips, |column, k| l[column * n + panel.start + k]);
        }
        mirror(&mut inverse, Part::Upper);
        Ok(inverse)
    }
}

/// Factorises the columns of a panel, which those before it have been subtracted from.
struct Factorise<'a> {
    columns: &'a mut [f64],
    rows: usize,
    first: usize,
}

impl Kernel for Factorise<'_> {
    type Output = Result<(), DenseError>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        let Factorise { columns, rows, first } = self;
        for k in 0..columns.len() / rows {
            let (done, rest) = columns.split_at_mut((k + 1) * rows);
            let (column, diagonal) = (&mut done[k * rows..], first + k);
            let pivot = column[diagonal];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return Err(DenseError::NotPositiveDefinite { column: diagonal, pivot });
            }
            let root = pivot.sqrt();
            divide(&mut column[diagonal..], root);
            for (other, row) in rest.chunks_exact_mut(rows).zip(diagonal + 1..) {
                subtract_multiple(&mut other[row..], column[row], &column[row..]);
            }
        }
        Ok(())
    }
}

/// Computes columns of L⁻ᵀ in place, from the identity minus the contributions of earlier panels.
struct Forward<'a> {
    columns: &'a mut [f64],
    factor: &'a Dense<f64>,
    first: usize,
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Forward { columns, factor, first } = self;
        let rows = factor.rows();
        for k in 0..columns.len() / rows {
            let (done, rest) = columns.split_at_mut((k + 1) * rows);
            let (of_factor, diagonal) = (factor.column(first + k), first + k);
            let column = &mut done[k * rows..][..=diagonal];
            divide(column, of_factor[diagonal]);
            for (other, row) in rest.chunks_exact_mut(rows).zip(diagonal + 1..) {
                subtract_multiple(other, of_factor[row], column);
            }
        }
    }
}

/// Computes columns of A⁻¹ in place, from L⁻ᵀ minus the contributions of later panels.
struct Back<'a> {
    columns: &'a mut [f64],
    factor: &'a Dense<f64>,
    first: usize,
}

impl Kernel for Back<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Back { columns, factor, first } = self;
        let rows = factor.rows();
        for k in (0..columns.len() / rows).rev() {
            let (before, rest) = columns.split_at_mut(k * rows);
            let diagonal = first + k;
            let column = &mut rest[..=diagonal];
            divide(column, factor[(diagonal, diagonal)]);
            for (other, row) in before.chunks_exact_mut(rows).zip(first..) {
                subtract_multiple(&mut other[..=row], factor.column(row)[diagonal], column);
            }
        }
    }
}

#[inline(always)]
fn divide(column: &mut [f64], divisor: f64) {
    for value in column {
        *value /= divisor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::testing::{definite, graded, largest_difference, product, random, transposed};

    #[test]
    fn the_factor_and_the_inverse_are_those_of_the_matrix() {
        for n in [0, 1, 2, 31, 32, 33, 64, 100, 150] {
            let a = definite(n);
            let cholesky = Cholesky::new(a.clone()).unwrap();
            let mut l = cholesky.factor.clone();
            (0..n).for_each(|j| l.column_mut(j)[..j].fill(0.0));
            assert!(largest_difference(&product(&l, &transposed(&l)), &a) <= 1e-13 * n as f64, "{n}");
            let inverse = cholesky.inverse().unwrap();
            assert!(largest_difference(&product(&a, &inverse), &identity(n).unwrap()) < 1e-11, "{n}");
            assert_eq!(inverse, transposed(&inverse));
        }
    }

    #[test]
    fn rows_in_other_units_have_the_same_accuracy() {
        let (n, units) = (70, graded(70));
        let (mut a, plain) = (definite(n), Cholesky::new(definite(n)).unwrap().inverse().unwrap());
        (0..n).for_each(|j| (0..n).for_each(|i| a[(i, j)] *= units[i] * units[j]));
        let inverse = Cholesky::new(a).unwrap().inverse().unwrap();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            assert!((inverse[(i, j)] * units[i] * units[j] - plain[(i, j)]).abs() < 1e-12, "({i}, {j})");
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_an_error() {
        let at = |n: usize, place: usize, value: f64| {
            let mut a = identity(n).unwrap();
            a[(place, place)] = value;
            Cholesky::new(a).err()
        };
        for place in [0, 5, 31, 32, 49] {
            for pivot in [0.0, -1.0, f64::INFINITY] {
                assert_eq!(
                    at(50, place, pivot),
                    Some(DenseError::NotPositiveDefinite { column: place, pivot })
                );
            }
            assert!(matches!(at(50, place, f64::NAN), Some(DenseError::NotPositiveDefinite { .. })));
        }
        assert!(matches!(Cholesky::new(random(2, 3)), Err(DenseError::NotSquare { rows: 2, columns: 3 })));
    }

    #[test]
    fn instruction_sets_and_threads_change_no_bit() {
        let expected = Cholesky::with(definite(150), Simd::Portable).unwrap().inverse().unwrap();
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for simd in Simd::available() {
                let found = pool.install(|| Cholesky::with(definite(150), simd).unwrap().inverse().unwrap());
                assert_eq!(found, expected, "{simd:?}, {threads}");
            }
        }
    }
}
