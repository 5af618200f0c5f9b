//! The factorisations themselves: Cholesky's of a symmetric positive definite matrix, and LU with
//! partial pivoting of any other, each after a permutation that keeps the factors small.

use faer::prelude::*;
use faer::sparse::SparseColMat;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::solvers::{Llt, Lu};
use faer::{MatMut, Side};

use crate::{DirectError, Rows};

/// Factors of a square matrix.
///
/// ```
/// use ziggurat_direct::{Factors, Rows};
/// let a = Rows { row_ptr: &[0, 2, 4], columns: &[0, 1, 0, 1], values: &[2.0, -1.0, -1.0, 2.0] };
/// let factors = Factors::cholesky(a)?;
/// let mut x = [1.0, 1.0];
/// factors.solve_in_place(&mut x);
/// assert!(factors.is_cholesky() && x.iter().all(|x| (x - 1.0).abs() < 1e-15));
/// # Ok::<(), ziggurat_direct::DirectError>(())
/// ```
#[derive(Debug)]
pub struct Factors {
    kind: Kind,
    rows: usize,
}

#[derive(Debug)]
enum Kind {
    /// P A Pᵀ = L Lᵀ
    Cholesky(Llt<usize, f64>),
    /// P A Q = L U
    Lu(Box<Lu<usize, f64>>),
}

impl Factors {
    /// Cholesky's factor of a symmetric matrix.
    ///
    /// # Errors
    /// If it is not positive definite, if the arrays are not those of a square matrix, or if there
    /// is not enough memory.
    pub fn cholesky(a: Rows<'_>) -> Result<Self, DirectError> {
        let (a, rows) = by_columns(a)?;
        match a.sp_cholesky(Side::Lower) {
            Ok(factors) => Ok(Factors { kind: Kind::Cholesky(factors), rows }),
            Err(faer::sparse::linalg::LltError::Numeric(_)) => Err(DirectError::NotPositiveDefinite),
            Err(error) => Err(DirectError::Faer(format!("{error:?}"))),
        }
    }

    /// The LU factors of the matrix with this transpose. A pivot that is zero is no error: solves
    /// then give numbers that are not finite.
    ///
    /// # Errors
    /// If no order of the rows puts entries on the whole diagonal, if the arrays are not those of a
    /// square matrix, or if there is not enough memory.
    pub fn lu(transpose: Rows<'_>) -> Result<Self, DirectError> {
        let (a, rows) = by_columns(transpose)?;
        match a.sp_lu() {
            Ok(factors) => Ok(Factors { kind: Kind::Lu(Box::new(factors)), rows }),
            Err(LuError::SymbolicSingular { .. }) => Err(DirectError::StructurallySingular),
            Err(error) => Err(DirectError::Faer(format!("{error:?}"))),
        }
    }

    /// Whether these are Cholesky's.
    pub fn is_cholesky(&self) -> bool {
        matches!(self.kind, Kind::Cholesky(_))
    }

    /// b ← A⁻¹ b
    ///
    /// # Panics
    /// If b has not as many elements as the matrix has rows.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.rows, "elements of a right-hand side");
        let b = MatMut::from_column_major_slice_mut(b, self.rows, 1);
        match &self.kind {
            Kind::Cholesky(factors) => factors.solve_in_place(b),
            Kind::Lu(factors) => factors.solve_in_place(b),
        }
    }
}

/// A matrix by columns, given by the rows of its transpose.
fn by_columns(transpose: Rows<'_>) -> Result<(SparseColMat<usize, f64>, usize), DirectError> {
    let pattern = transpose.pattern()?;
    if transpose.values.len() != transpose.columns.len() {
        let row = transpose.row_ptr.len() - 1;
        return Err(DirectError::Invalid { row, reason: "there is not one value for each entry" });
    }
    Ok((SparseColMat::new(pattern, transpose.values.to_vec()), transpose.row_ptr.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matrix with 4 on the diagonal and `left` and `right` beside it, and its transpose.
    fn tridiagonal(n: usize, left: f64, right: f64) -> [(Vec<usize>, Vec<u32>, Vec<f64>); 2] {
        let rows = |left: f64, right: f64| {
            let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for i in 0..n {
                for (j, value) in [(i.wrapping_sub(1), left), (i, 4.0), (i + 1, right)] {
                    if j < n {
                        columns.push(j as u32);
                        values.push(value);
                    }
                }
                row_ptr.push(columns.len());
            }
            (row_ptr, columns, values)
        };
        [rows(left, right), rows(right, left)]
    }

    fn view((row_ptr, columns, values): &(Vec<usize>, Vec<u32>, Vec<f64>)) -> Rows<'_> {
        Rows { row_ptr, columns, values }
    }

    #[test]
    fn both_factorisations_solve() {
        for (n, left, right) in [(1, 0.0, 0.0), (50, -1.0, -1.0), (2000, -1.0, -1.0), (50, 2.0, -1.5)] {
            let [a, transpose] = tridiagonal(n, left, right);
            let mut all = vec![Factors::lu(view(&transpose)).unwrap()];
            if left == right {
                all.push(Factors::cholesky(view(&transpose)).unwrap());
            }
            for factors in all {
                let mut x = vec![1.0; n];
                factors.solve_in_place(&mut x);
                for i in 0..n {
                    let row = a.0[i]..a.0[i + 1];
                    let product: f64 = row.map(|k| a.2[k] * x[a.1[k] as usize]).sum();
                    assert!((product - 1.0).abs() < 1e-12, "{n} {i}: {product}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_factors_is_an_error_or_gives_no_numbers() {
        let [indefinite, _] = tridiagonal(10, 9.0, 9.0);
        assert_eq!(Factors::cholesky(view(&indefinite)).unwrap_err(), DirectError::NotPositiveDefinite);
        let no_entries = Rows { row_ptr: &[0, 1, 1], columns: &[0], values: &[1.0] };
        assert_eq!(Factors::lu(no_entries).unwrap_err(), DirectError::StructurallySingular);
        let singular = Rows { row_ptr: &[0, 2, 4], columns: &[0, 1, 0, 1], values: &[1.0, 2.0, 2.0, 4.0] };
        let mut x = [1.0, 2.0];
        let solved = Factors::lu(singular).map(|factors| factors.solve_in_place(&mut x));
        assert!(solved.is_err() || !x.iter().all(|x| x.is_finite()));
        let no_values = Rows { row_ptr: &[0, 1], columns: &[0], values: &[] };
        assert!(matches!(Factors::lu(no_values), Err(DirectError::Invalid { .. })));
    }
}
