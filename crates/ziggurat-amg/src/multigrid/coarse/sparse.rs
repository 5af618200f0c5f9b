//! Sparse factorisation of a coarsest matrix that is too large to invert: Cholesky where it
//! succeeds, LU otherwise. If the coarsest matrix is the only one, this is a direct solver.
//!
//! `ziggurat-direct` has the factors; this file decides which, and whether they are worth while.
//! Nothing stops a factorisation once it runs, so its size is predicted from the pattern before it
//! begins. Graphs without small separators, such as random ones, have nearly dense factors: for
//! 40,000 rows they take minutes, while a grid takes a fraction of a second.

use ziggurat_direct::{DirectError, Rows, SymbolicSize};
use ziggurat_sparse::algebra::{add, scale_columns, scale_rows, transpose};
use ziggurat_sparse::{Csr, CsrRef, parallel};

use super::equilibrate::Equilibrated;
use crate::{Cancel, SetupError};

/// Entries of the factors up to which a matrix is factorised: with their indices about 1.5 GB.
pub(crate) const MAX_ENTRIES: usize = 100_000_000;

/// Multiplications per second and thread that a factorisation hardly exceeds, so that none is given
/// up that would be in time: the rate of dense products on a fast core.
const OPERATIONS_PER_SECOND: f64 = 2e10;

/// Multiplications up to which a matrix is factorised: some seconds to a minute. These are
/// [`MAX_ENTRIES`] in columns of 1000.
pub(crate) const MAX_WORK: f64 = 1e11;

/// Rows from which on the factors of a dense matrix would exceed the limits.
const FEW_ROWS: usize = 6000;

/// Factors of a matrix.
#[derive(Debug)]
pub(crate) struct Factors {
    factors: ziggurat_direct::Factors,
    /// The equilibration factors R and C, if R A C is factorised.
    scaling: Option<(Vec<f64>, Vec<f64>)>,
}

impl Factors {
    /// Factorises a square matrix, unless the factors are too large.
    pub(crate) fn new(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        // Columns of A are rows of its transpose.
        let at = transpose(a, a.all_rows());
        let is_symmetric = at.view() == a;
        let size = if a.rows() > FEW_ROWS { size_of(a, &at)? } else { SymbolicSize::default() };
        Ok(Factors { factors: factorised(&at, is_symmetric, size)?, scaling: None })
    }

    /// Factorises a square matrix after equilibration, unless the factors are too large or take too
    /// long.
    pub(crate) fn equilibrated(a: CsrRef<'_, f64>, cancel: &Cancel) -> Result<Self, SetupError> {
        // The analysis of such a matrix alone takes long.
        if a.nnz() > MAX_ENTRIES / 4 {
            return Err(too_large(a.rows(), a.nnz()));
        }
        let Equilibrated { rows, columns, symmetric } = Equilibrated::new(a);
        let mut at = transpose(a, a.all_rows());
        let size = size_of(a, &at)?;
        let halves = if symmetric { 1.0 } else { 2.0 };
        let threads = parallel::threads() as f64;
        cancel.check_for(halves * size.multiplications / (OPERATIONS_PER_SECOND * threads))?;
        scale_rows(&mut at, &columns)?;
        scale_columns(&mut at, &rows)?;
        let factors = factorised(&at, symmetric, size)?;
        let factors = Factors { factors, scaling: Some((rows, columns)) };
        match factors.is_regular(a.rows()) {
            true => Ok(factors),
            false => Err(SetupError::CoarseSolve { rows: a.rows(), reason: SINGULAR.to_owned() }),
        }
    }

    /// Whether solves give finite numbers. They do not if a pivot is zero, as in a singular matrix,
    /// which is not reported.
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
        self.factors.solve_in_place(b);
        if let Some((_, columns)) = &self.scaling {
            scale(b, columns);
        }
    }
}

const SINGULAR: &str = "it is singular";

fn too_large(rows: usize, entries: usize) -> SetupError {
    let reason = format!("its factors have at least {entries} entries; the limit is {MAX_ENTRIES}");
    SetupError::CoarseSolve { rows, reason }
}

fn refused(rows: usize, error: &DirectError) -> SetupError {
    SetupError::CoarseSolve { rows, reason: error.to_string() }
}

/// The arrays of a matrix.
fn rows_of(a: &Csr<f64>) -> Rows<'_> {
    Rows { row_ptr: a.row_ptr(), columns: a.columns(), values: a.values() }
}

/// The size of the Cholesky factor of the pattern of A + Aᵀ. LU has twice the entries and the work;
/// pivoting may add some.
fn size_of(a: CsrRef<'_, f64>, at: &Csr<f64>) -> Result<SymbolicSize, SetupError> {
    let pattern = add(1.0, a, 1.0, at.view(), a.all_rows())?;
    SymbolicSize::of(rows_of(&pattern)).map_err(|error| refused(a.rows(), &error))
}

/// Refuses a matrix of `rows` rows whose factors have `times` this size.
fn check(size: SymbolicSize, rows: usize, times: usize) -> Result<(), SetupError> {
    let (entries, work) = (times * size.entries, times as f64 * size.multiplications);
    if entries > MAX_ENTRIES {
        return Err(too_large(rows, entries));
    }
    if work > MAX_WORK {
        let reason = format!("that takes at least {work:.0e} multiplications; the limit is {MAX_WORK:.0e}");
        return Err(SetupError::CoarseSolve { rows, reason });
    }
    Ok(())
}

/// The entries that sparse factors of a square matrix will have at least, by an analysis of its
/// pattern; `None` if they are too many or take too long, so that it is not factorised, and without
/// the feature `direct`. With their indices they take about 16 bytes each.
///
/// ```
/// let a = "poisson2d:30".parse::<ziggurat_sparse::gallery::Problem>()?.matrix()?;
/// if let Some(entries) = ziggurat_amg::factor_entries(a.view()) {
///     assert!(a.nnz() < entries && entries < 10 * a.nnz());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn factor_entries(a: CsrRef<'_, f64>) -> Option<usize> {
    if a.rows() != a.cols() || a.nnz() > MAX_ENTRIES / 4 {
        return None;
    }
    let symmetric = Equilibrated::new(a).symmetric;
    let size = size_of(a, &transpose(a, a.all_rows())).ok()?;
    let may_be_positive = symmetric && a.diagonal(a.all_rows()).iter().all(|&value| value > 0.0);
    let times = if may_be_positive { 1 } else { 2 };
    check(size, a.rows(), times).ok().map(|()| times * size.entries)
}

/// Factorises the matrix whose transpose is `at`, unless factors of that size are too large.
fn factorised(
    at: &Csr<f64>,
    is_symmetric: bool,
    size: SymbolicSize,
) -> Result<ziggurat_direct::Factors, SetupError> {
    let (rows, a) = (at.rows(), rows_of(at));
    let may_be_positive = is_symmetric && at.view().diagonal(at.all_rows()).iter().all(|&value| value > 0.0);
    if may_be_positive {
        check(size, rows, 1)?;
        if let Ok(factors) = ziggurat_direct::Factors::cholesky(a) {
            return Ok(factors);
        }
    }
    check(size, rows, 2)?;
    ziggurat_direct::Factors::lu(a).map_err(|error| refused(rows, &error))
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
        let factors = Factors::equilibrated(scaled.view(), &Cancel::NEVER).unwrap();
        let mut x = units.clone();
        factors.solve_in_place(&mut x);
        for row in a.all_rows() {
            let (columns, values) = a.row(row);
            let product: f64 = columns.iter().zip(values).map(|(&j, v)| v * x[j as usize]).sum();
            assert!((product - 1.0).abs() < 1e-10, "row {row}: {product}");
        }
        let singular = "neumann3d:4".parse::<Problem>().unwrap().matrix().unwrap();
        let zero = Csr::try_new(2, 2, vec![0, 1, 1], vec![0], vec![1.0]).unwrap();
        assert!(
            Factors::equilibrated(zero.view(), &Cancel::NEVER).is_err()
                && Factors::new(singular.view()).is_ok()
        );
    }

    #[test]
    fn a_factorisation_that_would_exceed_the_time_limit_is_not_begun() {
        let a = "poisson3d:20".parse::<Problem>().unwrap().matrix().unwrap();
        let work = size_of(a.view(), &transpose(a.view(), a.all_rows())).unwrap().multiplications;
        let fastest = work / (OPERATIONS_PER_SECOND * parallel::threads() as f64);
        let error = Factors::equilibrated(a.view(), &Cancel::NEVER.within(0.9 * fastest)).unwrap_err();
        assert!(error.is_cancelled(), "{error}");
        assert!(Factors::equilibrated(a.view(), &Cancel::NEVER.within(1e6)).is_ok());
    }

    #[test]
    fn factors_that_take_too_long_are_refused() {
        let size = SymbolicSize { entries: 1000, multiplications: 9e10 };
        assert!(check(size, 7000, 1).is_ok());
        let error = check(size, 7000, 2).unwrap_err().to_string();
        assert!(error.ends_with("that takes at least 2e11 multiplications; the limit is 1e11"), "{error}");
    }

    #[test]
    fn both_factorisations_solve() {
        for name in ["poisson2d:20", "convection3d:6"] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            let factors = Factors::new(a.view()).unwrap();
            assert_eq!(factors.factors.is_cholesky(), name.starts_with("poisson"));
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
