//! Sparse factorisation, by faer, of a coarsest matrix that is too large to invert: Cholesky where
//! it succeeds, LU otherwise. If the coarsest matrix is the only one, this is a direct solver.
//!
//! Nothing stops a factorisation once it runs, so its size is predicted from the pattern before it
//! begins. Graphs without small separators, such as random ones, have nearly dense factors: those
//! of 40,000 rows take minutes, where those of a grid take a fraction of a second.

use faer::prelude::*;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::cholesky::{SymbolicCholeskyRaw, factorize_symbolic_cholesky};
use faer::sparse::linalg::solvers::{Llt, Lu};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{MatMut, Side};
use ziggurat_sparse::algebra::{add, scale_columns, scale_rows, transpose};
use ziggurat_sparse::{Csr, CsrRef};

use super::equilibrate::Equilibrated;
use crate::{Cancel, SetupError};

/// Entries of the factors up to which a matrix is factorised: with their indices about 1.5 GB.
pub(crate) const MAX_ENTRIES: usize = 100_000_000;

/// Multiplications per second and thread that a factorisation hardly exceeds, so that none is given
/// up that would be in time: those of dense products on a fast core.
const OPERATIONS_PER_SECOND: f64 = 2e10;

/// Multiplications up to which a matrix is factorised: some seconds to a minute. These are
/// [`MAX_ENTRIES`] in columns of 1000.
pub(crate) const MAX_WORK: f64 = 1e11;

/// Rows from which on the factors of a dense matrix would exceed the limits.
const FEW_ROWS: usize = 6000;

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
    /// Factorises a square matrix, unless the factors are too large.
    pub(crate) fn new(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        // Columns of A are rows of its transpose.
        let at = transpose(a, a.all_rows());
        let is_symmetric = at.view() == a;
        let size = if a.rows() > FEW_ROWS { Size::of(a, &at)? } else { Size::default() };
        Ok(Factors { kind: factorised(at, is_symmetric, &size)?, scaling: None })
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
        let size = Size::of(a, &at)?;
        let halves = if symmetric { 1.0 } else { 2.0 };
        let threads = rayon::current_num_threads() as f64;
        cancel.check_for(halves * size.work / (OPERATIONS_PER_SECOND * threads))?;
        scale_rows(&mut at, &columns)?;
        scale_columns(&mut at, &rows)?;
        let factors = Factors { kind: factorised(at, symmetric, &size)?, scaling: Some((rows, columns)) };
        match factors.is_regular(a.rows()) {
            true => Ok(factors),
            false => Err(SetupError::CoarseSolve { rows: a.rows(), reason: SINGULAR.to_owned() }),
        }
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

const SINGULAR: &str = "it is singular";

fn too_large(rows: usize, entries: usize) -> SetupError {
    let reason = format!("its factors have at least {entries} entries; the limit is {MAX_ENTRIES}");
    SetupError::CoarseSolve { rows, reason }
}

/// The size of the Cholesky factor of the pattern of A + Aᵀ. LU has twice the entries and the work;
/// pivoting may add some.
#[derive(Default)]
struct Size {
    entries: usize,
    /// Multiplications.
    work: f64,
}

impl Size {
    fn of(a: CsrRef<'_, f64>, at: &Csr<f64>) -> Result<Self, SetupError> {
        let fail = |error| SetupError::CoarseSolve { rows: a.rows(), reason: format!("{error:?}") };
        let (pattern, _) = in_columns(add(1.0, a, 1.0, at.view(), a.all_rows())?);
        let symbolic = factorize_symbolic_cholesky(
            pattern.as_ref(),
            Side::Lower,
            Default::default(),
            Default::default(),
        );
        let symbolic = symbolic.map_err(fail)?;
        let square = |length: usize| (length as f64).powi(2);
        let squares: f64 = match symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(columns) => {
                columns.col_ptr().windows(2).map(|ends| square(ends[1] - ends[0])).sum()
            }
            SymbolicCholeskyRaw::Supernodal(nodes) => {
                let of_node = |node: usize| -> f64 {
                    let columns = nodes.supernode_end()[node] - nodes.supernode_begin()[node];
                    let below = nodes.col_ptr_for_row_idx()[node + 1] - nodes.col_ptr_for_row_idx()[node];
                    (1..=columns).map(|column| square(column + below)).sum()
                };
                (0..nodes.n_supernodes()).map(of_node).sum()
            }
        };
        Ok(Size { entries: symbolic.len_val(), work: 0.5 * squares })
    }

    /// Refuses a matrix of `rows` rows whose factors have `times` this size.
    fn check(&self, rows: usize, times: usize) -> Result<(), SetupError> {
        let (entries, work) = (times * self.entries, times as f64 * self.work);
        if entries > MAX_ENTRIES {
            return Err(too_large(rows, entries));
        }
        if work > MAX_WORK {
            let reason =
                format!("that takes at least {work:.0e} multiplications; the limit is {MAX_WORK:.0e}");
            return Err(SetupError::CoarseSolve { rows, reason });
        }
        Ok(())
    }
}

/// The entries that sparse factors of a square matrix will have at least, by an analysis of its
/// pattern; `None` if they are too many or take too long, so that it is not factorised. With their
/// indices they take about 16 bytes each.
///
/// ```
/// let a = "poisson2d:30".parse::<ziggurat_sparse::gallery::Problem>()?.matrix()?;
/// let entries = ziggurat_amg::factor_entries(a.view()).unwrap();
/// assert!(a.nnz() < entries && entries < 10 * a.nnz());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn factor_entries(a: CsrRef<'_, f64>) -> Option<usize> {
    if a.rows() != a.cols() || a.nnz() > MAX_ENTRIES / 4 {
        return None;
    }
    let symmetric = Equilibrated::new(a).symmetric;
    let size = Size::of(a, &transpose(a, a.all_rows())).ok()?;
    let times = if symmetric { 1 } else { 2 };
    size.check(a.rows(), times).ok().map(|()| times * size.entries)
}

/// Factorises the matrix whose transpose is `at`, unless factors of that size are too large.
fn factorised(at: Csr<f64>, is_symmetric: bool, size: &Size) -> Result<Kind, SetupError> {
    let rows = at.rows();
    let may_be_positive = is_symmetric && at.view().diagonal(at.all_rows()).iter().all(|&value| value > 0.0);
    let (pattern, values) = in_columns(at);
    let a = SparseColMat::new(pattern, values);
    if may_be_positive {
        size.check(rows, 1)?;
        if let Ok(factors) = a.sp_cholesky(Side::Lower) {
            return Ok(Kind::Cholesky(factors));
        }
    }
    size.check(rows, 2)?;
    let fail = |error| {
        let reason = match error {
            LuError::SymbolicSingular { .. } => format!("{SINGULAR}: some rows share too few columns"),
            error => format!("{error:?}"),
        };
        SetupError::CoarseSolve { rows, reason }
    };
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
        let work = Size::of(a.view(), &transpose(a.view(), a.all_rows())).unwrap().work;
        let fastest = work / (OPERATIONS_PER_SECOND * rayon::current_num_threads() as f64);
        let error = Factors::equilibrated(a.view(), &Cancel::NEVER.within(0.9 * fastest)).unwrap_err();
        assert!(error.is_cancelled(), "{error}");
        assert!(Factors::equilibrated(a.view(), &Cancel::NEVER.within(1e6)).is_ok());
    }

    #[test]
    fn the_size_of_factors_is_predicted() {
        let size = |a: &Csr<f64>| Size::of(a.view(), &transpose(a.view(), a.all_rows())).unwrap();
        let full = Csr::try_new(
            50,
            50,
            (0..=50).map(|row| 50 * row).collect(),
            (0..50).flat_map(|_| 0..50).collect(),
            vec![1.0; 2500],
        );
        let full = size(&full.unwrap());
        // Dense blocks are stored with their upper triangles.
        assert!((1275..=2500).contains(&full.entries), "{}", full.entries);
        assert_eq!(full.work, 0.5 * f64::from((1..=50).map(|column| column * column).sum::<i32>()));
        let diagonal = size(&Csr::identity(100).unwrap());
        assert_eq!((diagonal.entries, diagonal.work), (100, 50.0));
        assert!(Size { entries: 1000, work: 9e10 }.check(7000, 1).is_ok());
        let error = Size { entries: 1000, work: 9e10 }.check(7000, 2).unwrap_err().to_string();
        assert!(error.ends_with("that takes at least 2e11 multiplications; the limit is 1e11"), "{error}");
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
