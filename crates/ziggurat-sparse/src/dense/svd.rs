//! Singular values and vectors of a square matrix, by one-sided Jacobi rotations after a QR
//! factorisation with pivoting.
//!
//! ```text
//! A Π = Q R,    M = Jᵀ R with orthogonal rows m_i,    σ_i = ‖m_i‖
//! A = U Σ Vᵀ,   U = Q J,    V = Π [m_1/σ_1, m_2/σ_2, …]
//! ```
//!
//! J is a product of rotations of two rows each, which make them orthogonal, sweep by sweep
//! (M. R. Hestenes, *Inversion of matrices by biorthogonalization and related results*, 1958). The
//! rows of R decrease, so that a few sweeps suffice (Z. Drmač & K. Veselić, *New fast and accurate
//! Jacobi SVD algorithm*, 2008). Small singular values have small errors: every error is a few
//! units in the last place of the largest value, and often of the value itself. Cost: 2n³
//! operations for Q R and U, and up to 8n³ per sweep, of which there are four to eight.

use super::reflector::{dot, reflect, reflector};
use super::{DenseError, identity, normalise, order};
use crate::matrix::Dense;
use crate::simd::{Isa, Kernel, Simd};

/// Sweeps at most.
const MAX_SWEEPS: usize = 60;

/// The singular values and vectors of a square matrix A = U Σ Vᵀ.
///
/// ```
/// use ziggurat_sparse::{Dense, dense::Svd};
/// let a = Dense::try_new(2, 2, vec![1.0, 2.0, 3.0, 6.0])?;
/// let Svd { values, .. } = Svd::new(a)?;
/// assert!((values[0] - 50f64.sqrt()).abs() < 1e-14 && values[1] < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Svd {
    /// The singular values, in decreasing order.
    pub values: Vec<f64>,
    /// U: the left singular vectors as columns, in the order of the values. Orthonormal.
    pub left: Dense<f64>,
    /// V: the right singular vectors. Orthonormal, but for zeros where the singular value is zero.
    pub right: Dense<f64>,
}

impl Svd {
    /// The singular values and vectors of a square matrix.
    ///
    /// # Errors
    /// If it is not square or not finite, if there is no convergence, or if the vectors do not fit
    /// in memory.
    pub fn new(a: Dense<f64>) -> Result<Self, DenseError> {
        Self::with(a, Simd::best())
    }

    fn with(mut a: Dense<f64>, simd: Simd) -> Result<Self, DenseError> {
        let n = order(&a)?;
        let scale = normalise(&mut a)?;
        let mut pivots: Vec<usize> = (0..n).collect();
        let mut betas = vec![0.0; n];
        let diagonal = simd.run(Triangularise { a: &mut a, order: &mut pivots, betas: &mut betas });
        // Column i is row i of R.
        let mut rows = Dense::zeros(n, n)?;
        for i in 0..n {
            let row = &mut rows.column_mut(i)[i..];
            row.iter_mut().zip(i..).for_each(|(value, j)| *value = a[(i, j)]);
            row[0] = diagonal[i];
        }
        let mut rotated = identity(n)?;
        if !simd.run(Orthogonalise { rows: &mut rows, rotated: &mut rotated }) {
            return Err(DenseError::NoConvergence { what: "singular values", rows: n });
        }
        simd.run(Reflect { columns: &mut rotated, reflectors: &a, betas: &betas });
        let norms: Vec<f64> = rows.columns().map(|row| dot(row, row).sqrt()).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&one, &other| norms[other].total_cmp(&norms[one]));
        let (mut left, mut right) = (Dense::zeros(n, n)?, Dense::zeros(n, n)?);
        for (to, &from) in order.iter().enumerate() {
            left.column_mut(to).copy_from_slice(rotated.column(from));
            if norms[from] > 0.0 {
                let column = right.column_mut(to);
                pivots.iter().zip(rows.column(from)).for_each(|(&j, value)| column[j] = value / norms[from]);
            }
        }
        let values = order.into_iter().map(|place| norms[place] * scale).collect();
        Ok(Svd { values, left, right })
    }
}

/// A Π = Q R: R is left above the diagonal, the vectors of the reflections from the diagonal on.
/// Returns the diagonal of R.
struct Triangularise<'a> {
    a: &'a mut Dense<f64>,
    order: &'a mut [usize],
    betas: &'a mut [f64],
}

impl Kernel for Triangularise<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Vec<f64> {
        let Triangularise { a, order, betas } = self;
        let n = a.rows();
        let values = a.values_mut();
        let mut diagonal = vec![0.0; n];
        for k in 0..n {
            // Norms are computed anew in each step, which costs as much as the reflection.
            let left = values[k * n..].chunks_exact(n).map(|column| dot(&column[k..], &column[k..]));
            let longest =
                (k..).zip(left).fold((k, -1.0), |best, next| if next.1 > best.1 { next } else { best });
            if longest.0 != k {
                order.swap(k, longest.0);
                let (before, after) = values.split_at_mut(longest.0 * n);
                before[k * n..(k + 1) * n].swap_with_slice(&mut after[..n]);
            }
            let (done, rest) = values.split_at_mut((k + 1) * n);
            let u = &mut done[k * n..][k..];
            (betas[k], diagonal[k]) = reflector(u);
            if betas[k] != 0.0 {
                for column in rest.chunks_exact_mut(n) {
                    reflect(&mut column[k..], u, betas[k]);
                }
            }
        }
        diagonal
    }
}

/// Rotates pairs of rows until all are orthogonal, and the columns of another matrix with them.
/// False if they are not orthogonal after the last sweep.
struct Orthogonalise<'a> {
    /// The rows, as columns.
    rows: &'a mut Dense<f64>,
    rotated: &'a mut Dense<f64>,
}

impl Kernel for Orthogonalise<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let Orthogonalise { rows, rotated } = self;
        let n = rows.rows();
        let tolerance = f64::EPSILON * (n as f64).max(4.0);
        let (rows, rotated) = (rows.values_mut(), rotated.values_mut());
        for _ in 0..MAX_SWEEPS {
            let mut squares: Vec<f64> = rows.chunks_exact(n.max(1)).map(|row| dot(row, row)).collect();
            let mut settled = true;
            for i in 0..n {
                for j in i + 1..n {
                    let (before, after) = rows.split_at_mut(j * n);
                    let (one, other) = (&mut before[i * n..(i + 1) * n], &mut after[..n]);
                    let product = dot(one, other);
                    let [a, b] = [squares[i], squares[j]];
                    // Also true if a row is so small that its square is zero.
                    if product.abs() <= tolerance * a.sqrt() * b.sqrt() {
                        continue;
                    }
                    settled = false;
                    let tangent = tangent((b - a) / (2.0 * product));
                    let cosine = (1.0 + tangent * tangent).sqrt().recip();
                    rotate(one, other, cosine, cosine * tangent);
                    let (before, after) = rotated.split_at_mut(j * n);
                    rotate(&mut before[i * n..(i + 1) * n], &mut after[..n], cosine, cosine * tangent);
                    squares[i] = (a - tangent * product).max(0.0);
                    squares[j] = b + tangent * product;
                }
            }
            if settled {
                return true;
            }
        }
        false
    }
}

/// The smaller root of t² + 2 r t − 1.
#[inline(always)]
fn tangent(ratio: f64) -> f64 {
    /// Beyond, the square would only add rounding, and might overflow.
    const LARGE: f64 = 1e9;
    if ratio.abs() > LARGE {
        0.5 / ratio
    } else {
        (ratio.abs() + (1.0 + ratio * ratio).sqrt()).recip().copysign(ratio)
    }
}

#[inline(always)]
fn rotate(x: &mut [f64], y: &mut [f64], cosine: f64, sine: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

/// Multiplies columns by Q, from the left.
struct Reflect<'a> {
    columns: &'a mut Dense<f64>,
    reflectors: &'a Dense<f64>,
    betas: &'a [f64],
}

impl Kernel for Reflect<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.columns.rows();
        for (k, &beta) in self.betas.iter().enumerate().rev() {
            if beta != 0.0 {
                for column in self.columns.values_mut().chunks_exact_mut(n) {
                    reflect(&mut column[k..], &self.reflectors.column(k)[k..], beta);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::testing::{from_formula, graded, largest_difference, product, random, transposed};
    use crate::dense::weighted_product;

    fn check(a: &Dense<f64>, rank: usize, what: &str) -> Vec<f64> {
        let n = a.rows();
        let Svd { values, left, right } = Svd::new(a.clone()).unwrap();
        assert!(values.iter().rev().is_sorted() && values.iter().all(|&value| value >= 0.0), "{what}");
        let largest = values.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        let tolerance = 1e-14 * (n as f64 + 10.0);
        let again = largest_difference(&weighted_product(&left, &values, &right).unwrap(), a) / largest;
        assert!(again < tolerance, "{what}: {again}");
        let one = identity(n).unwrap();
        let left = largest_difference(&product(&transposed(&left), &left), &one);
        assert!(left < tolerance, "{what}: {left}");
        let gram = product(&transposed(&right), &right);
        for (i, j) in (0..rank).flat_map(|i| (0..rank).map(move |j| (i, j))) {
            assert!((gram[(i, j)] - one[(i, j)]).abs() < tolerance, "{what} ({i}, {j})");
        }
        assert!(values[rank..].iter().all(|&value| value < tolerance * largest), "{what}: {values:?}");
        values
    }

    #[test]
    fn vectors_and_values_are_those_of_the_matrix() {
        for n in [0, 1, 2, 3, 5, 16, 17, 33, 70] {
            check(&random(n, n), n, &format!("random {n}"));
            check(&identity(n).unwrap(), n, &format!("identity {n}"));
            check(&Dense::zeros(n, n).unwrap(), 0, &format!("zero {n}"));
            check(&from_formula(n, n, |_, _| 1.0), n.min(1), &format!("ones {n}"));
            check(
                &from_formula(n, n, |i, j| f64::from(u8::from(j == i + 1))),
                n.saturating_sub(1),
                "nilpotent",
            );
            check(&product(&random(n, 3), &random(3, n)), n.min(3), &format!("rank 3 of {n}"));
        }
    }

    #[test]
    fn small_singular_values_have_small_errors() {
        let (n, units) = (40, graded(40));
        let mut a = random(n, n);
        (0..n).for_each(|j| a.column_mut(j).iter_mut().for_each(|value| *value *= units[j]));
        let values = check(&a, n, "graded columns");
        // The determinant is the product of the pivots: all values have the accuracy of the
        // largest.
        let pivots = crate::dense::Lu::new(a).unwrap();
        let logarithms = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x.abs().ln()).sum::<f64>();
        let [one, other] = [logarithms(&mut pivots.pivots()), logarithms(&mut values.into_iter())];
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }

    #[test]
    fn the_size_of_elements_does_not_matter() {
        let plain = Svd::new(random(20, 20)).unwrap().values;
        for exponent in [-1000, -300, 300, 1000] {
            let scale = 2f64.powi(exponent);
            let mut a = random(20, 20);
            a.values_mut().iter_mut().for_each(|value| *value *= scale);
            let scaled = Svd::new(a).unwrap().values;
            let near = |(one, other): (&f64, &f64)| (one / scale - other).abs() < 1e-13;
            assert!(scaled.iter().zip(&plain).all(near), "2^{exponent}");
        }
    }

    #[test]
    fn what_is_not_finite_or_not_square_is_an_error() {
        for value in [f64::NAN, f64::INFINITY] {
            let mut a = random(10, 10);
            a[(3, 7)] = value;
            assert_eq!(Svd::new(a).unwrap_err(), DenseError::NotFinite { row: 3, column: 7 });
        }
        assert!(matches!(Svd::new(random(2, 3)), Err(DenseError::NotSquare { .. })));
    }

    #[test]
    fn instruction_sets_change_no_bit() {
        let expected = Svd::with(random(61, 61), Simd::Portable).unwrap();
        for simd in Simd::available() {
            let found = Svd::with(random(61, 61), simd).unwrap();
            assert_eq!((found.values, found.left), (expected.values.clone(), expected.left.clone()));
            assert_eq!(found.right, expected.right);
        }
    }
}
