//! The inverse of a small matrix, or a generalised inverse where it is singular.
//!
//! ```text
//! B = R A C    equilibrated: the largest entry of every row and column is near one
//! A⁻¹ = C B⁻¹ R,    A⁻ = C B⁺ R where B is singular (A A⁻ A = A)
//! ```
//!
//! R and C are powers of two, so they round nothing, and whether a matrix counts as singular does
//! not depend on the units of its rows: penalty terms, mixed units and decoupled fields of very
//! different size are regular. B is factorised by Cholesky if it is symmetric positive definite,
//! and by LU otherwise.
//!
//! **Rank.** B counts as singular if its pivots span more than 1/(64 n u), where u is the unit
//! roundoff: Galerkin products of a singular matrix round each entry by some units in the last
//! place, and these errors add up over the n rows that a pivot depends on. Then B⁺ is formed from
//! the eigenvalues (symmetric) or the singular values; those below 64 n u times the largest are
//! taken as zero. If a symmetric B has small negative eigenvalues, rounding has made it indefinite;
//! then all eigenvalues up to twice their size are taken as zero, so that the coarse correction
//! stays positive. Cost: n³ operations if it is positive definite, 2n³ if it is regular, 10n³ to
//! 50n³ for a singular matrix, once per setup.

use ziggurat_sparse::dense::{Cholesky, DenseError, Lu, Svd, Tridiagonal, weighted_product};
use ziggurat_sparse::{Csr, CsrRef, Dense};

use super::equilibrate::Equilibrated;
use crate::SetupError;

/// Rounding errors per entry of a Galerkin product, in units of the last place.
const GALERKIN_ROUNDING: f64 = 32.0;

/// A symmetric matrix without eigenvalues below −10⁻⁶ times the largest is positive semidefinite up
/// to rounding; a more negative eigenvalue is taken seriously.
const SEMIDEFINITE: f64 = 1e-6;

/// A⁻¹, or a generalised inverse where A is singular.
pub(crate) fn inverse(a: CsrRef<'_, f64>) -> Result<Csr<f64>, SetupError> {
    let n = a.rows();
    let Equilibrated { rows, columns, symmetric } = Equilibrated::new(a);
    let mut dense = Dense::zeros(n, n)?;
    for row in a.all_rows() {
        let (indices, values) = a.row(row);
        for (&column, &value) in indices.iter().zip(values) {
            dense[(row, column as usize)] = rows[row] * value * columns[column as usize];
        }
    }
    let inverse = inverse_of_equilibrated(dense, symmetric)
        .map_err(|error| SetupError::CoarseSolve { rows: n, reason: error.to_string() })?;
    // Stores every entry, so that the device's sparse product is a dense one.
    let inverse = Csr::build(
        0..n,
        n,
        || (),
        |(), _| n,
        |(), row, indices, values| {
            for (j, (index, value)) in indices.iter_mut().zip(values).enumerate() {
                (*index, *value) = (j as u32, columns[row] * inverse[(row, j)] * rows[j]);
            }
        },
    )?;
    inverse.view().check_finite()?;
    Ok(inverse)
}

/// B⁻¹, or B⁺ where B is singular.
fn inverse_of_equilibrated(dense: Dense<f64>, symmetric: bool) -> Result<Dense<f64>, DenseError> {
    let rounding = GALERKIN_ROUNDING * dense.rows() as f64 * f64::EPSILON;
    // NaN counts as singular, because every comparison with it is false.
    let regular = |(smallest, largest): (f64, f64)| smallest > rounding * largest;
    if symmetric {
        if let Ok(cholesky) = Cholesky::new(dense.clone())
            && regular(extremes(cholesky.pivots()))
        {
            return cholesky.inverse();
        }
        let tridiagonal = Tridiagonal::new(dense.clone())?;
        let eigenvalues = tridiagonal.eigenvalues()?;
        let least = eigenvalues.iter().fold(0.0_f64, |least, value| least.min(*value));
        let largest = eigenvalues.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        if -least <= SEMIDEFINITE * largest {
            let eigen = tridiagonal.eigen()?;
            let cutoff = (rounding * largest).max(-2.0 * least);
            return weighted_product(&eigen.vectors, &reciprocals(&eigen.values, cutoff), &eigen.vectors);
        }
    }
    let lu = Lu::new(dense.clone())?;
    if regular(extremes(lu.pivots().map(f64::abs))) {
        return lu.inverse();
    }
    let svd = Svd::new(dense)?;
    let largest = svd.values.first().copied().unwrap_or(0.0);
    weighted_product(&svd.right, &reciprocals(&svd.values, rounding * largest), &svd.left)
}

/// 1/s, or zero where |s| is at most the cutoff.
fn reciprocals(values: &[f64], cutoff: f64) -> Vec<f64> {
    values.iter().map(|s| if s.abs() > cutoff { s.recip() } else { 0.0 }).collect()
}

/// Smallest and largest of some positive numbers. A NaN becomes the smallest, so that it is not
/// lost.
fn extremes(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, 0.0), |(smallest, largest), x| {
        (if x < smallest || x.is_nan() { x } else { smallest }, if x > largest { x } else { largest })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::algebra::product;
    use ziggurat_sparse::gallery::Problem;

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    fn close(a: &Csr<f64>, b: &Csr<f64>, tolerance: f64) {
        for i in 0..a.rows() {
            for j in 0..a.cols() {
                let (x, y) = (a.get(i, j).unwrap_or(0.0), b.get(i, j).unwrap_or(0.0));
                assert!((x - y).abs() < tolerance, "({i}, {j}): {x}, {y}");
            }
        }
    }

    #[test]
    fn a_regular_matrix_times_its_inverse_is_the_identity() {
        for name in ["poisson2d:5", "convection3d:4", "elasticity3d:1"] {
            let a = matrix(name);
            let inverse = inverse(a.view()).unwrap();
            let one = product(a.view(), a.all_rows(), inverse.view()).unwrap();
            close(&one, &Csr::identity(a.rows()).unwrap(), 1e-10);
        }
    }

    #[test]
    fn a_singular_matrix_gets_its_pseudo_inverse() {
        let a = matrix("neumann3d:4");
        let pseudo = inverse(a.view()).unwrap();
        let a_pseudo = product(a.view(), a.all_rows(), pseudo.view()).unwrap();
        close(&product(a_pseudo.view(), a.all_rows(), a.view()).unwrap(), &a, 1e-10);
        let row_sum: f64 = pseudo.row(7).1.iter().sum();
        assert!(row_sum.abs() < 1e-10, "constants are the kernel of A and of A⁺");
    }

    #[test]
    fn a_singular_matrix_without_symmetry_gets_its_pseudo_inverse() {
        let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 4.0001]).unwrap();
        close(
            &product(a.view(), 0..2, inverse(a.view()).unwrap().view()).unwrap(),
            &Csr::identity(2).unwrap(),
            1e-8,
        );
        let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 3.0, 2.0, 6.0]).unwrap();
        let pseudo = inverse(a.view()).unwrap();
        let a_pseudo = product(a.view(), 0..2, pseudo.view()).unwrap();
        close(&product(a_pseudo.view(), 0..2, a.view()).unwrap(), &a, 1e-12);
    }

    /// A tridiagonal Neumann problem, of rank n − 1 up to the rounding of a Galerkin product.
    fn perturbed_neumann(n: usize, shift: f64) -> Csr<f64> {
        let entry = |i: usize, j: usize| {
            let noise = 1.0 + 4.0 * f64::EPSILON * ((7 * i.min(j) + 3 * i.max(j)) % 5) as f64;
            match i.abs_diff(j) {
                0 if i == 0 || i + 1 == n => 1.0 + shift,
                0 => 2.0 + shift,
                1 => -noise,
                _ => 0.0,
            }
        };
        from_formula(n, entry)
    }

    fn from_formula(n: usize, entry: impl Fn(usize, usize) -> f64) -> Csr<f64> {
        let (mut pointers, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..n {
            for j in (0..n).filter(|&j| entry(i, j) != 0.0) {
                columns.push(j as u32);
                values.push(entry(i, j));
            }
            pointers.push(columns.len());
        }
        Csr::try_new(n, n, pointers, columns, values).unwrap()
    }

    #[test]
    fn galerkin_rounding_leaves_a_singular_matrix_singular() {
        let largest =
            |a: &Csr<f64>| a.values().iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        for n in [5, 40, 150] {
            let singular = largest(&inverse(perturbed_neumann(n, 0.0).view()).unwrap());
            assert!(singular < n as f64, "{n}: {singular}");
            // A shift that is clearly above rounding leaves it regular.
            let regular = largest(&inverse(perturbed_neumann(n, 1e-12).view()).unwrap());
            assert!(regular > 1e8, "{n}: {regular}");
        }
    }

    #[test]
    fn small_negative_eigenvalues_are_rounding_and_large_ones_are_not() {
        let with_least = |least: f64| {
            // Eigenvalues 2, 1 and `least`, in directions that are not axes.
            let basis = [[1.0, 1.0, 1.0], [1.0, -1.0, 0.0], [1.0, 1.0, -2.0]];
            let sizes = [3.0, 2.0, 6.0];
            let eigenvalues = [2.0, 1.0, least];
            from_formula(3, |i, j| {
                (0..3).map(|k| eigenvalues[k] * basis[k][i] * basis[k][j] / sizes[k]).sum()
            })
        };
        let least_of_inverse = |least: f64| {
            let inverse = inverse(with_least(least).view()).unwrap();
            let values = inverse.values().to_vec();
            Tridiagonal::new(Dense::try_new(3, 3, values).unwrap()).unwrap().eigenvalues().unwrap()[0]
        };
        assert!(least_of_inverse(-1e-9).abs() < 1e-6, "semidefinite");
        assert!((least_of_inverse(-0.01) + 100.0).abs() < 1e-8, "indefinite");
        assert!((least_of_inverse(1e-9) - 0.5).abs() < 1e-6, "positive definite");
    }

    #[test]
    fn units_of_rows_do_not_decide_about_rank() {
        let scale = |i: usize| 10f64.powi(if i.is_multiple_of(3) { 100 } else { -60 } + i as i32);
        for name in ["poisson2d:6", "convection3d:3"] {
            let a = matrix(name);
            let scaled = from_formula(a.rows(), |i, j| a.get(i, j).map_or(0.0, |v| scale(i) * v * scale(j)));
            let (found, expected) = (inverse(scaled.view()).unwrap(), inverse(a.view()).unwrap());
            for (i, j) in (0..a.rows()).flat_map(|i| (0..a.rows()).map(move |j| (i, j))) {
                let [found, expected] = [&found, &expected].map(|a| a.get(i, j).unwrap());
                let found = scale(i) * found * scale(j);
                assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{name} ({i}, {j})");
            }
        }
        // The review's cases: decoupled unknowns of very different size, and penalty rows.
        let a = from_formula(1000, |i, j| if i == j { 10f64.powi(8 - (i % 17) as i32) } else { 0.0 });
        let diagonal = inverse(a.view()).unwrap();
        assert!((0..1000).all(|i| (a.get(i, i).unwrap() * diagonal.get(i, i).unwrap() - 1.0).abs() < 1e-14));
        let penalty = |i: usize, j: usize| match i.abs_diff(j) {
            0 if i.is_multiple_of(10) => 1e17,
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let a = from_formula(50, penalty);
        let one = product(a.view(), a.all_rows(), inverse(a.view()).unwrap().view()).unwrap();
        for i in (0..50).filter(|i| i % 10 != 0) {
            assert!((one.get(i, i).unwrap() - 1.0).abs() < 1e-12, "{i}");
        }
    }

    #[test]
    fn empty_and_zero_matrices_have_inverses() {
        assert_eq!(inverse(Csr::try_new(0, 0, vec![0], vec![], vec![]).unwrap().view()).unwrap().rows(), 0);
        let zero = Csr::try_new(1, 1, vec![0, 0], vec![], vec![]).unwrap();
        assert_eq!(inverse(zero.view()).unwrap().get(0, 0), Some(0.0));
    }
}
