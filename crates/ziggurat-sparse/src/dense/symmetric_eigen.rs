//! Eigenvalues and eigenvectors of a symmetric matrix.
//!
//! ```text
//! A = Q T Qᵀ    T tridiagonal, by Householder's reflections
//! T = S Λ Sᵀ    by implicit QL steps with Wilkinson's shift
//! A = V Λ Vᵀ,   V = Q S
//! ```
//!
//! H. Bowdler, R. S. Martin, C. Reinsch & J. H. Wilkinson, *The QR and QL algorithms for symmetric
//! matrices*, 1968; C. Reinsch & J. H. Wilkinson, *Handbook for Automatic Computation*, II/2 and
//! II/4. The errors of the eigenvalues are some units in the last place of the largest one. Cost:
//! 2n³ operations for T, from which the eigenvalues alone take n² more, and about 7n³ for the
//! vectors.

use super::reflector::{dot, reflect, reflector};
use super::update::Part;
use super::{DenseError, identity, mirror, normalise, order};
use crate::matrix::Dense;
use crate::simd::{Isa, Kernel, Simd};

/// Steps per eigenvalue; hardly any takes more than three.
const MAX_STEPS: usize = 60;

/// Off-diagonal elements that count as zero beside a largest element of one, whatever their
/// neighbours on the diagonal are.
const NEGLIGIBLE: f64 = f64::EPSILON * f64::EPSILON;

/// A symmetric matrix as Q T Qᵀ with a tridiagonal T: enough for the eigenvalues.
///
/// ```
/// use ziggurat_sparse::{Dense, dense::Tridiagonal};
/// let a = Dense::try_new(2, 2, vec![2.0, 1.0, 1.0, 2.0])?;
/// let eigenvalues = Tridiagonal::new(a)?.eigenvalues()?;
/// assert!((eigenvalues[0] - 1.0).abs() < 1e-15 && (eigenvalues[1] - 3.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tridiagonal {
    diagonal: Vec<f64>,
    off_diagonal: Vec<f64>,
    /// The vector of reflection k: column k from row k + 1 on.
    reflectors: Dense<f64>,
    /// β of each reflection.
    betas: Vec<f64>,
    /// The factor that T is to be multiplied by.
    scale: f64,
    simd: Simd,
}

/// The eigenvalues and eigenvectors of a symmetric matrix.
///
/// ```
/// use ziggurat_sparse::{Dense, dense::SymmetricEigen};
/// let a = Dense::try_new(2, 2, vec![2.0, 1.0, 1.0, 2.0])?;
/// let eigen = SymmetricEigen::new(a)?;
/// assert!((eigen.values[1] - 3.0).abs() < 1e-15);
/// let [x, y] = eigen.vectors.column(1) else { unreachable!() };
/// assert!((x - y).abs() < 1e-15 && (x * x + y * y - 1.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SymmetricEigen {
    /// The eigenvalues, in increasing order.
    pub values: Vec<f64>,
    /// Orthonormal eigenvectors, as columns in the order of the eigenvalues.
    pub vectors: Dense<f64>,
}

impl SymmetricEigen {
    /// The eigenvalues and eigenvectors of a symmetric matrix, of which only the lower triangle is
    /// read.
    ///
    /// # Errors
    /// If it is not square or not finite, or if there is no convergence.
    pub fn new(a: Dense<f64>) -> Result<Self, DenseError> {
        Tridiagonal::new(a)?.eigen()
    }
}

impl Tridiagonal {
    /// Reduces a symmetric matrix, of which only the lower triangle is read.
    ///
    /// # Errors
    /// If it is not square or not finite.
    pub fn new(a: Dense<f64>) -> Result<Self, DenseError> {
        Self::with(a, Simd::best())
    }

    fn with(mut a: Dense<f64>, simd: Simd) -> Result<Self, DenseError> {
        let n = order(&a)?;
        let scale = normalise(&mut a)?;
        mirror(&mut a, Part::Lower);
        let (diagonal, off_diagonal) = (vec![0.0; n], vec![0.0; n.saturating_sub(1)]);
        let betas = vec![0.0; n.saturating_sub(2)];
        let mut made = Tridiagonal { diagonal, off_diagonal, reflectors: a, betas, scale, simd };
        simd.run(Reduce { rows: n, made: &mut made });
        Ok(made)
    }

    /// The eigenvalues, in increasing order.
    ///
    /// # Errors
    /// If there is no convergence.
    pub fn eigenvalues(&self) -> Result<Vec<f64>, DenseError> {
        let mut values = self.diagonal.clone();
        implicit_ql(&mut values, &mut self.off_diagonal.clone(), |_, _| {})?;
        values.iter_mut().for_each(|value| *value *= self.scale);
        values.sort_unstable_by(f64::total_cmp);
        Ok(values)
    }

    /// The eigenvalues and eigenvectors.
    ///
    /// # Errors
    /// If there is no convergence, or if the vectors do not fit in memory.
    pub fn eigen(&self) -> Result<SymmetricEigen, DenseError> {
        let n = self.diagonal.len();
        // Column i of the result is row i of Q S, where Q = H₀ H₁ ….
        let mut rotated = identity(n)?;
        self.simd.run(Accumulate { vectors: &mut rotated, of: self });
        let (mut values, mut off_diagonal) = (self.diagonal.clone(), self.off_diagonal.clone());
        implicit_ql(&mut values, &mut off_diagonal, |first, rotations| {
            self.simd.run(Rotate { vectors: &mut rotated, first, rotations });
        })?;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
        let mut vectors = Dense::zeros(n, n)?;
        for (to, &from) in order.iter().enumerate() {
            vectors.column_mut(to).copy_from_slice(rotated.column(from));
        }
        let values = order.into_iter().map(|place| values[place] * self.scale).collect();
        Ok(SymmetricEigen { values, vectors })
    }
}

/// The reduction to a tridiagonal matrix. The matrix is in the place of the reflectors.
struct Reduce<'a> {
    rows: usize,
    made: &'a mut Tridiagonal,
}

impl Kernel for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Reduce { rows: n, made } = self;
        let values = made.reflectors.values_mut();
        let mut image = vec![0.0; n];
        for k in 0..n {
            let (done, rest) = values.split_at_mut((k + 1) * n);
            let column = &mut done[k * n..];
            made.diagonal[k] = column[k];
            if k + 2 >= n {
                if k + 2 == n {
                    made.off_diagonal[k] = column[k + 1];
                }
                continue;
            }
            let (beta, alpha) = reflector(&mut column[k + 1..]);
            (made.off_diagonal[k], made.betas[k]) = (alpha, beta);
            if beta == 0.0 {
                continue;
            }
            // B ← H B H = B − u qᵀ − q uᵀ with p = β B u and q = p − (β/2 uᵀp) u
            let (u, image) = (&column[k + 1..], &mut image[k + 1..]);
            multiply(rest, n, k + 1, u, image);
            for value in image.iter_mut() {
                *value *= beta;
            }
            let half = 0.5 * beta * dot(u, image);
            for (image, u) in image.iter_mut().zip(u) {
                *image -= half * u;
            }
            for ((column, &u_j), &q_j) in rest.chunks_exact_mut(n).zip(u).zip(&*image) {
                for ((value, u), q) in column[k + 1..].iter_mut().zip(u).zip(&*image) {
                    *value -= q_j * u + u_j * q;
                }
            }
        }
    }
}

/// y = B x for the rows from `first` on of columns with `rows` elements.
#[inline(always)]
fn multiply(columns: &[f64], rows: usize, first: usize, x: &[f64], y: &mut [f64]) {
    y.fill(0.0);
    let (groups, last) = x.as_chunks::<4>();
    let mut columns = columns.chunks_exact(rows).map(|column| &column[first..]);
    let mut next = || columns.next().unwrap_or(&[]);
    for [a, b, c, d] in groups {
        let (one, two, three, four) = (next(), next(), next(), next());
        for ((((y, one), two), three), four) in y.iter_mut().zip(one).zip(two).zip(three).zip(four) {
            *y = *y + a * one + b * two + c * three + d * four;
        }
    }
    for factor in last {
        for (y, value) in y.iter_mut().zip(next()) {
            *y += factor * value;
        }
    }
}

/// The rows of Q, in the place of the identity, as columns.
struct Accumulate<'a> {
    vectors: &'a mut Dense<f64>,
    of: &'a Tridiagonal,
}

impl Kernel for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.vectors.rows();
        for (k, &beta) in self.of.betas.iter().enumerate().rev() {
            if beta != 0.0 {
                let u = &self.of.reflectors.column(k)[k + 1..];
                for column in self.vectors.values_mut().chunks_exact_mut(n).skip(k + 1) {
                    reflect(&mut column[k + 1..], u, beta);
                }
            }
        }
    }
}

/// A rotation of two neighbours: cosine and sine.
type Rotation = [f64; 2];

/// Implicit QL steps until T is diagonal. `rotate` gets the rotations of a step: the first rotates
/// columns `first` and `first + 1`, the next `first − 1` and `first`, and so on.
fn implicit_ql(
    diagonal: &mut [f64],
    off_diagonal: &mut [f64],
    mut rotate: impl FnMut(usize, &[Rotation]),
) -> Result<(), DenseError> {
    let n = diagonal.len();
    let mut rotations: Vec<Rotation> = Vec::with_capacity(n);
    for first in 0..n {
        let mut steps = 0;
        loop {
            let splits = |k: &usize| {
                let size = diagonal[*k].abs() + diagonal[*k + 1].abs();
                off_diagonal[*k].abs() <= f64::EPSILON * size + NEGLIGIBLE
            };
            let last = (first..n - 1).find(splits).unwrap_or(n - 1);
            if last == first {
                break;
            }
            steps += 1;
            if steps > MAX_STEPS {
                return Err(DenseError::NoConvergence { what: "eigenvalues", rows: n });
            }
            rotations.clear();
            step(diagonal, off_diagonal, first, last, &mut rotations);
            rotate(last - 1, &rotations);
        }
    }
    Ok(())
}

/// One QL step on the rows from `first` to `last`.
fn step(d: &mut [f64], e: &mut [f64], first: usize, last: usize, rotations: &mut Vec<Rotation>) {
    // Wilkinson's shift: the eigenvalue of the first 2 × 2 block that is nearer to its first
    // element.
    let ratio = (d[first + 1] - d[first]) / (2.0 * e[first]);
    let mut g = d[last] - d[first] + e[first] / (ratio + ratio.hypot(1.0).copysign(ratio));
    if let Some(negligible) = e.get_mut(last) {
        *negligible = 0.0;
    }
    let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
    for k in (first..last).rev() {
        let (f, b) = (sine * e[k], cosine * e[k]);
        let length = f.hypot(g);
        if k + 1 < last {
            e[k + 1] = length;
        }
        if length == 0.0 {
            // The block splits here.
            d[k + 1] -= shift;
            return;
        }
        (sine, cosine) = (f / length, g / length);
        g = d[k + 1] - shift;
        let r = (d[k] - g) * sine + 2.0 * cosine * b;
        shift = sine * r;
        d[k + 1] = g + shift;
        g = cosine * r - b;
        rotations.push([cosine, sine]);
    }
    d[first] -= shift;
    e[first] = g;
}

/// Rotates pairs of neighbouring columns, the last pair first.
struct Rotate<'a> {
    vectors: &'a mut Dense<f64>,
    first: usize,
    rotations: &'a [Rotation],
}

impl Rotate<'_> {
    /// The rotations for `ROWS` rows at a time, from `row` on; returns the first row that is left.
    /// The column that a pair shares with the next stays in registers.
    #[inline(always)]
    fn rows<const ROWS: usize>(&mut self, mut row: usize) -> usize {
        let Rotate { vectors, first, rotations } = self;
        let n = vectors.rows();
        let values = vectors.values_mut();
        while row + ROWS <= n {
            let mut right: [f64; ROWS] = *rows_at(values, (*first + 1) * n + row);
            for (back, &[cosine, sine]) in rotations.iter().enumerate() {
                let place = (*first - back) * n + row;
                let left: [f64; ROWS] = *rows_at(values, place);
                let rotated: &mut [f64; ROWS] = rows_at(values, place + n);
                for k in 0..ROWS {
                    rotated[k] = sine * left[k] + cosine * right[k];
                    right[k] = cosine * left[k] - sine * right[k];
                }
            }
            *rows_at(values, (*first + 1 - rotations.len()) * n + row) = right;
            row += ROWS;
        }
        row
    }
}

/// Some elements of a column.
///
/// # Panics
/// Beyond the last column.
#[inline(always)]
fn rows_at<const ROWS: usize>(values: &mut [f64], place: usize) -> &mut [f64; ROWS] {
    match values[place..].first_chunk_mut() {
        Some(rows) => rows,
        None => unreachable!("all columns have {ROWS} more rows"),
    }
}

impl Kernel for Rotate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let row = self.rows::<16>(0);
        let row = self.rows::<4>(row);
        self.rows::<1>(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::testing::{from_formula, largest_difference, product, random, symmetric, transposed};
    use crate::dense::weighted_product;

    fn check(a: &Dense<f64>, what: &str) {
        let n = a.rows();
        let SymmetricEigen { values, vectors } = SymmetricEigen::new(a.clone()).unwrap();
        assert!(values.is_sorted(), "{what}");
        let size = values.iter().fold(f64::MIN_POSITIVE, |size: f64, value| size.max(value.abs()));
        let orthogonal = largest_difference(&product(&transposed(&vectors), &vectors), &identity(n).unwrap());
        assert!(orthogonal < 1e-14 * (n as f64 + 10.0), "{what}: {orthogonal}");
        let again = weighted_product(&vectors, &values, &vectors).unwrap();
        let difference = largest_difference(&again, a) / size;
        assert!(difference < 1e-14 * (n as f64 + 10.0), "{what}: {difference}");
        let alone = Tridiagonal::new(a.clone()).unwrap().eigenvalues().unwrap();
        assert!(alone.iter().zip(&values).all(|(one, other)| (one - other).abs() <= 1e-14 * n as f64 * size));
    }

    #[test]
    fn vectors_and_values_are_those_of_the_matrix() {
        for n in [0, 1, 2, 3, 4, 5, 16, 17, 33, 70, 130] {
            check(&symmetric(n), &format!("random {n}"));
            check(&identity(n).unwrap(), &format!("identity {n}"));
            check(&Dense::zeros(n, n).unwrap(), &format!("zero {n}"));
            check(&from_formula(n, n, |i, j| f64::from(u8::from(i.abs_diff(j) == 1))), &format!("path {n}"));
            check(&from_formula(n, n, |_, _| 1.0), &format!("ones {n}"));
            check(&from_formula(n, n, |i, j| 10f64.powi(-(i as i32) - j as i32)), &format!("graded {n}"));
            check(&from_formula(n, n, |i, j| 10f64.powi((i + j) as i32 - 140)), &format!("graded up {n}"));
            let tiny = from_formula(n, n, |i, j| if i == j { i as f64 } else { 1e-300 });
            check(&tiny, &format!("nearly diagonal {n}"));
        }
    }

    #[test]
    fn the_size_of_elements_does_not_matter() {
        let plain = Tridiagonal::new(symmetric(20)).unwrap().eigenvalues().unwrap();
        for exponent in [-1000, -300, 300, 1000] {
            let scale = 2f64.powi(exponent);
            let mut a = symmetric(20);
            a.values_mut().iter_mut().for_each(|value| *value *= scale);
            let scaled = SymmetricEigen::new(a).unwrap().values;
            let near = |(one, other): (&f64, &f64)| (one / scale - other).abs() < 1e-13;
            assert!(scaled.iter().zip(&plain).all(near), "2^{exponent}");
        }
    }

    #[test]
    fn only_the_lower_triangle_is_read() {
        let mut a = symmetric(70);
        let expected = SymmetricEigen::new(a.clone()).unwrap();
        (1..70).for_each(|j| a.column_mut(j)[..j].fill(7.0));
        let found = SymmetricEigen::new(a).unwrap();
        assert_eq!((found.values, found.vectors), (expected.values, expected.vectors));
    }

    /// Eigenvalues of the path: 2 − 2 cos(kπ/(n + 1)).
    #[test]
    fn small_eigenvalues_have_the_accuracy_of_large_ones() {
        let n = 200;
        let entry = |i: usize, j: usize| [2.0, -1.0, 0.0][i.abs_diff(j).min(2)];
        let values = Tridiagonal::new(from_formula(n, n, entry)).unwrap().eigenvalues().unwrap();
        for (k, value) in (1..).zip(values) {
            let exact = 2.0 - 2.0 * (f64::from(k) * std::f64::consts::PI / (n as f64 + 1.0)).cos();
            assert!((value - exact).abs() < 1e-14, "{k}: {value} for {exact}");
        }
    }

    #[test]
    fn what_is_not_finite_or_not_square_is_an_error() {
        for value in [f64::NAN, f64::INFINITY] {
            let mut a = symmetric(10);
            a[(3, 7)] = value;
            assert_eq!(SymmetricEigen::new(a).unwrap_err(), DenseError::NotFinite { row: 3, column: 7 });
        }
        assert!(matches!(Tridiagonal::new(random(2, 3)), Err(DenseError::NotSquare { .. })));
    }

    #[test]
    fn instruction_sets_change_no_bit() {
        let of = |simd| Tridiagonal::with(symmetric(93), simd).unwrap().eigen().unwrap();
        let expected = of(Simd::Portable);
        for simd in Simd::available() {
            let found = of(simd);
            assert_eq!((found.values, found.vectors), (expected.values.clone(), expected.vectors.clone()));
        }
    }
}
