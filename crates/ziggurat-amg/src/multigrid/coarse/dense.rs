//! The inverse of a small matrix, or its pseudo-inverse where it is singular.
//!
//! It uses Cholesky if the matrix is symmetric positive definite, and LU otherwise. A matrix counts
//! as singular if its pivots span more than 1/(n u), where u is the unit roundoff. Then A⁺ is
//! formed from the eigenvalues (symmetric) or the singular values; those below n u times the
//! largest are taken as zero. Cost: about 2n³ operations, 20n³ for a singular matrix, once per
//! setup.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side};
use ziggurat_sparse::{Csr, CsrRef};

use crate::SetupError;

/// A⁻¹, or A⁺ where A is singular.
pub(crate) fn inverse(a: CsrRef<'_, f64>) -> Result<Csr<f64>, SetupError> {
    let n = a.rows();
    let mut dense = Mat::<f64>::zeros(n, n);
    for row in a.all_rows() {
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            dense[(row, column as usize)] = value;
        }
    }
    if n == 0 {
        return to_csr(&dense);
    }
    let symmetric = is_symmetric(&dense);
    // NaN counts as singular, because every comparison with it is false.
    let regular = |smallest: f64, largest: f64| smallest > n as f64 * f64::EPSILON * largest;
    if symmetric && let Ok(cholesky) = dense.llt(Side::Lower) {
        let l = cholesky.L();
        let pivots = (0..n).map(|i| l[(i, i)] * l[(i, i)]);
        let (smallest, largest) = extremes(pivots);
        if regular(smallest, largest) {
            return to_csr(&cholesky.inverse());
        }
    } else {
        let lu = dense.partial_piv_lu();
        let u = lu.U();
        let (smallest, largest) = extremes((0..n).map(|i| u[(i, i)].abs()));
        if regular(smallest, largest) {
            return to_csr(&lu.inverse());
        }
    }
    let fail = |reason: String| SetupError::CoarseSolve { rows: n, reason };
    // A = U S Vᵀ in both cases; a symmetric matrix has V = U and signed S.
    let (u, s, v) = if symmetric {
        let eigen = dense.self_adjoint_eigen(Side::Lower).map_err(|error| fail(format!("{error:?}")))?;
        let s: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        (eigen.U().to_owned(), s, eigen.U().to_owned())
    } else {
        let svd = dense.svd().map_err(|error| fail(format!("{error:?}")))?;
        let s: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        (svd.U().to_owned(), s, svd.V().to_owned())
    };
    let largest = s.iter().fold(0.0_f64, |largest, s| largest.max(s.abs()));
    let kept = |s: f64| if regular(s.abs(), largest) { s.recip() } else { 0.0 };
    let scaled = Mat::from_fn(n, n, |i, j| v[(i, j)] * kept(s[j]));
    to_csr(&(scaled * u.transpose()))
}

/// Smallest and largest of some positive numbers. A NaN becomes the smallest, so that it is not
/// lost.
fn extremes(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, 0.0), |(smallest, largest), x| {
        (if x < smallest || x.is_nan() { x } else { smallest }, if x > largest { x } else { largest })
    })
}

fn is_symmetric(a: &Mat<f64>) -> bool {
    let largest = a.norm_max();
    (0..a.nrows()).all(|i| (0..i).all(|j| (a[(i, j)] - a[(j, i)]).abs() <= 1e-12 * largest))
}

/// Stores every entry, so that the device's sparse product is a dense one.
fn to_csr(a: &Mat<f64>) -> Result<Csr<f64>, SetupError> {
    let n = a.nrows();
    let inverse = Csr::build(
        0..n,
        n,
        || (),
        |(), _| n,
        |(), row, columns, values| {
            for (j, (column, value)) in columns.iter_mut().zip(values).enumerate() {
                (*column, *value) = (j as u32, a[(row, j)]);
            }
        },
    )?;
    inverse.view().check_finite()?;
    Ok(inverse)
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

    #[test]
    fn empty_and_zero_matrices_have_inverses() {
        assert_eq!(inverse(Csr::try_new(0, 0, vec![0], vec![], vec![]).unwrap().view()).unwrap().rows(), 0);
        let zero = Csr::try_new(1, 1, vec![0, 0], vec![], vec![]).unwrap();
        assert_eq!(inverse(zero.view()).unwrap().get(0, 0), Some(0.0));
    }
}
