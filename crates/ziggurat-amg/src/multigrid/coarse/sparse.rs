//! Sparse factorisation, by faer, of a coarsest matrix that is too large to invert: Cholesky where
//! it succeeds, LU otherwise. If the coarsest matrix is the only one, this is a direct solver.

use faer::prelude::*;
use faer::sparse::linalg::cholesky::factorize_symbolic_cholesky;
use faer::sparse::linalg::solvers::{Llt, Lu};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{MatMut, Side};
use ziggurat_sparse::algebra::{add, scale_columns, scale_rows, transpose};
use ziggurat_sparse::{Csr, CsrRef};

use super::equilibrate::Equilibrated;
use crate::SetupError;

/// Entries of the factors up to which a matrix is factorised: with their indices about 1.5 GB.
pub(crate) const MAX_ENTRIES: usize = 100_000_000;

/// Factors of a matrix.
#[derive(Debug)]
pub(crate) struct Factors {
    kind: Kind,
    /// R and C, if R A C is what is factorised.
    scaling: Option<(Vec<f64>, Vec<f64>)>,
}

#[derive(Debug)]
enum Kind {
    /// A = L Lᵀ
    Cholesky(Llt<usize, f64>),
    /// P A Q = L U
    Lu(Box<Lu<usize, f64>>),
}

impl Factors {
    /// Factorises a square matrix.
    pub(crate) fn new(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        // Columns of A are rows of its transpose.
        let at = transpose(a, a.all_rows());
        let is_symmetric = at.view() == a;
        Ok(Factors { kind: factorised(at, is_symmetric)?, scaling: None })
    }

    /// Factorises a square matrix after equilibration, unless the factors are too large. Their
    /// entries are those of the Cholesky factor of the pattern of A + Aᵀ, twice for LU; pivoting
    /// may add some.
    pub(crate) fn equilibrated(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        let fail = |reason: String| SetupError::CoarseSolve { rows: a.rows(), reason };
        let too_large = |entries: usize| {
            fail(format!("its factors have at least {entries} entries; the limit is {MAX_ENTRIES}"))
        };
        // The analysis of such a matrix alone takes long.
        if a.nnz() > MAX_ENTRIES / 4 {
            return Err(too_large(a.nnz()));
        }
        let Equilibrated { rows, columns, symmetric } = Equilibrated::new(a);
        let mut at = transpose(a, a.all_rows());
        let both = add(1.0, a, 1.0, at.view(), a.all_rows())?;
        let (pattern, _) = in_columns(both);
        let symbolic = factorize_symbolic_cholesky(
            pattern.as_ref(),
            Side::Lower,
            Default::default(),
            Default::default(),
        );
        let entries = symbolic.map_err(|error| fail(format!("{error:?}")))?.len_val();
        let entries = if symmetric { entries } else { 2 * entries };
        if entries > MAX_ENTRIES {
            return Err(too_large(entries));
        }
        scale_rows(&mut at, &columns)?;
        scale_columns(&mut at, &rows)?;
        let factors = Factors { kind: factorised(at, symmetric)?, scaling: Some((rows, columns)) };
        if factors.is_regular(a.rows()) { Ok(factors) } else { Err(fail("it is singular".to_owned())) }
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
        let scale = |b: &mut [f64], factors: &[f64]| {
            b.iter_mut().zip(factors).for_each(|(b, factor)| *b *= factor);
        };
        if let Some((rows, _)) = &self.scaling {
            scale(b, rows);
        }
        let matrix = MatMut::from_column_major_slice_mut(b, b.len(), 1);
        match &self.kind {
            Kind::Cholesky(factors) => factors.solve_in_place(matrix),
            Kind::Lu(factors) => factors.solve_in_place(matrix),
        }
        if let Some((_, columns)) = &self.scaling {
            scale(b, columns);
        }
    }
}

/// Factorises the matrix whose transpose is `at`.
fn factorised(at: Csr<f64>, is_symmetric: bool) -> Result<Kind, SetupError> {
    let size = at.rows();
    let (pattern, values) = in_columns(at);
    let a = SparseColMat::new(pattern, values);
    if is_symmetric && let Ok(factors) = a.sp_cholesky(Side::Lower) {
        return Ok(Kind::Cholesky(factors));
    }
    let fail = |error| SetupError::CoarseSolve { rows: size, reason: format!("{error:?}") };
    a.sp_lu().map(|factors| Kind::Lu(Box::new(factors))).map_err(fail)
}

/// A matrix by columns, given by the rows of its transpose.
fn in_columns(at: Csr<f64>) -> (SymbolicSparseColMat<usize>, Vec<f64>) {
    let (rows, cols) = (at.rows(), at.cols());
    let (column_ptr, indices, values) = at.into_parts();
    let indices: Vec<usize> = indices.into_iter().map(|row| row as usize).collect();
    (SymbolicSparseColMat::new_checked(cols, rows, column_ptr, None, indices), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::gallery::Problem;

    #[test]
    fn a_zero_pivot_is_noticed() {
        let singular = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 4.0]).unwrap();
        let regular = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 5.0]).unwrap();
        assert!(!Factors::new(singular.view()).is_ok_and(|factors| factors.is_regular(2)));
        assert!(Factors::new(regular.view()).unwrap().is_regular(2));
    }

    /// Rows and columns in units that are 1e±12 apart.
    #[test]
    fn equilibration_makes_units_irrelevant() {
        let a = "convection3d:6".parse::<Problem>().unwrap().matrix().unwrap();
        let units: Vec<f64> = (0..a.rows()).map(|row| 10f64.powi((row % 25) as i32 - 12)).collect();
        let mut scaled = a.clone();
        scale_rows(&mut scaled, &units).unwrap();
        let factors = Factors::equilibrated(scaled.view()).unwrap();
        let mut x = units.clone();
        factors.solve_in_place(&mut x);
        for row in a.all_rows() {
            let (columns, values) = a.row(row);
            let product: f64 = columns.iter().zip(values).map(|(&j, v)| v * x[j as usize]).sum();
            assert!((product - 1.0).abs() < 1e-10, "row {row}: {product}");
        }
        let singular = "neumann3d:4".parse::<Problem>().unwrap().matrix().unwrap();
        let zero = Csr::try_new(2, 2, vec![0, 1, 1], vec![0], vec![1.0]).unwrap();
        assert!(Factors::equilibrated(zero.view()).is_err() && Factors::new(singular.view()).is_ok());
    }

    #[test]
    fn both_factorisations_solve() {
        for name in ["poisson2d:20", "convection3d:6"] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            let factors = Factors::new(a.view()).unwrap();
            assert_eq!(matches!(factors.kind, Kind::Cholesky(_)), name.starts_with("poisson"));
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
