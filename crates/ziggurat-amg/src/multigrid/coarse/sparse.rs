//! Sparse factorisation, by faer, of a coarsest matrix that is too large to invert: Cholesky where
//! it succeeds, LU otherwise.

use faer::prelude::*;
use faer::sparse::linalg::solvers::{Llt, Lu};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{MatMut, Side};
use ziggurat_sparse::CsrRef;
use ziggurat_sparse::algebra::transpose;

use crate::SetupError;

/// Factors of a matrix.
#[derive(Debug)]
pub(crate) enum Factors {
    /// A = L Lᵀ
    Cholesky(Llt<usize, f64>),
    /// P A Q = L U
    Lu(Box<Lu<usize, f64>>),
}

impl Factors {
    /// Factorises a square matrix.
    pub(crate) fn new(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        let fail = |reason: String| SetupError::CoarseSolve { rows: a.rows(), reason };
        // Columns of A are rows of its transpose.
        let at = transpose(a, a.all_rows());
        let symmetric = at.view() == a;
        let (column_ptr, rows, values) = at.into_parts();
        let rows: Vec<usize> = rows.into_iter().map(|row| row as usize).collect();
        let pattern = SymbolicSparseColMat::new_checked(a.rows(), a.cols(), column_ptr, None, rows);
        let a = SparseColMat::new(pattern, values);
        if symmetric && let Ok(factors) = a.sp_cholesky(Side::Lower) {
            return Ok(Factors::Cholesky(factors));
        }
        a.sp_lu().map(|factors| Factors::Lu(Box::new(factors))).map_err(|error| fail(format!("{error:?}")))
    }

    /// Whether solves give finite numbers. They do not if a pivot is zero, as in a singular matrix;
    /// faer does not report it.
    pub(crate) fn is_regular(&self, rows: usize) -> bool {
        let mut probe: Vec<f64> = (0..rows).map(|row| 1.0 + (row % 7) as f64).collect();
        self.solve_in_place(&mut probe);
        probe.iter().all(|value| value.is_finite())
    }

    /// b ← A⁻¹ b
    pub(crate) fn solve_in_place(&self, b: &mut [f64]) {
        let rows = b.len();
        let b = MatMut::from_column_major_slice_mut(b, rows, 1);
        match self {
            Factors::Cholesky(factors) => factors.solve_in_place(b),
            Factors::Lu(factors) => factors.solve_in_place(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::Csr;
    use ziggurat_sparse::gallery::Problem;

    #[test]
    fn a_zero_pivot_is_noticed() {
        let singular = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 4.0]).unwrap();
        let regular = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 5.0]).unwrap();
        assert!(!Factors::new(singular.view()).is_ok_and(|factors| factors.is_regular(2)));
        assert!(Factors::new(regular.view()).unwrap().is_regular(2));
    }

    #[test]
    fn both_factorisations_solve() {
        for name in ["poisson2d:20", "convection3d:6"] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            let factors = Factors::new(a.view()).unwrap();
            assert_eq!(matches!(factors, Factors::Cholesky(_)), name.starts_with("poisson"));
            let mut x = vec![1.0; a.rows()];
            factors.solve_in_place(&mut x);
            for row in a.all_rows() {
                let (columns, values) = a.row(row);
                let product: f64 = columns.iter().zip(values).map(|(&j, v)| v * x[j as usize]).sum();
                assert!((product - 1.0).abs() < 1e-10);
            }
        }
    }
}
